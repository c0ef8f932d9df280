package jit

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/lang"
)

// A loop over pages that is an online softmax is one over the keys of all of them, but where steps store something, or might have nothing but what is masked and are not ready for it.
func TestLoopsOverPages(t *testing.T) {
	source, err := os.ReadFile("../testdata/tests/pages.tile")
	require.NoError(t, err)
	program, problems := Load("pages.tile", append(source, `
kernel unguarded(s: f32[NB, BS], table: i32[P]) -> total: f32[1]
    grid b in 1
{
    axis t in BS
    let (_, l) = for p in P with (m, l) = (-inf, 0.0) {
        let x = s[table[p], t] else 0
        let m2 = max(m, max(x, over t))
        (m2, l * exp(m - m2) + sum(exp(x - m2), over t))
    }
    total[b] = l
}`...), nil)
	require.Empty(t, problems)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	keys := map[string]int64{}
	for _, k := range program.Kernels {
		o := Options{Dims: map[string]int64{"B": 8, "G": 4, "D": 64, "NB": 256, "BS": 16, "P": 64, "N": 1024}}
		if len(k.TypeParams) > 0 {
			o.Types = map[string]lang.DType{"T": lang.BF16}
		}
		s, err := Specialise(k, o)
		require.NoError(t, err, k.Name)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err, k.Name)
		keys[k.Name] = l.Plan.Extents["p"]
	}
	assert.Equal(t, map[string]int64{"unguarded": 0, "apart": 0, "beside": 0, "gathered": 0, "paged": 128, "weighted": 1024}, keys)
}
