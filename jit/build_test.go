package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/target"
)

// lowered gives the IR of a kernel for a target, as the backend gets it.
func lowered(t *testing.T, machine, source string, opts Options) string {
	t.Helper()
	program, ds := Load("test.tile", []byte(source), nil)
	require.Empty(t, ds)
	to, err := target.Find(machine)
	require.NoError(t, err)
	s, err := Specialise(program.Kernels[0], opts)
	require.NoError(t, err)
	l, err := Lower(s, to, nil)
	require.NoError(t, err)
	return l.Func.String()
}

// Found by fuzzing on the GPU: each of these was refused by the verifier, or computed with another precision.
func TestBuildRegressions(t *testing.T) {
	t.Run("a whole axis fixes its dimension", func(t *testing.T) {
		text := lowered(t, "cpu", `
kernel k(x: f32[M, N]) -> y: f32[N]
    grid i in N by 1
{
    axis d in M[0 .. 1]
    y[i] = sum(x[d, i], over d)
}`, Options{Dims: map[string]int64{"M": 3, "N": 5}})
		assert.Contains(t, text, "dim M = 3")
	})
	t.Run("the end of a streamed axis", func(t *testing.T) {
		text := lowered(t, "sm_90a", `
kernel k(x: f32[M, N]) -> y: f32[M]
    grid i in M by 1
{
    axis d in N
    y[i] = sum(x[i, d], over d) * d.end as f32
}`, Options{Dims: map[string]int64{"M": 3, "N": 100000}})
		assert.Contains(t, text, "for d")
		assert.NotContains(t, text, "end d")
	})
	t.Run("a sum that becomes a contraction keeps the precision asked for", func(t *testing.T) {
		text := lowered(t, "sm_90a", `
kernel k(x: f32[M, K], w: f32[K, N]) -> y: f32[M, N]
    grid i in M by 16, j in N by 16
{
    axis k in K
    y[i, j] = sum(x[i, k] * w[k, j], over k)
}`, Options{Dims: map[string]int64{"M": 32, "N": 32, "K": 32}, Precision: "ieee"})
		assert.Contains(t, text, "precision ieee")
	})
}

// ptxas 13.0 loses a negation between two minima, and ptxas 12.4 and 13.0 the
// NaN in |x| > -1 (see elem.go and elem_int.go in jit/ptx): neither may be emitted.
func TestAssemblerBugsAreAvoided(t *testing.T) {
	program, ds := Load("test.tile", []byte(`
kernel negate(x: i32[N]) -> y: i32[N]
    grid i in N by 32
{
    y[i] = min(0, min(x[i], 0 - x[i])) + min(1, min(x[i], x[i] * -1)) + min(2, min(x[i], -x[i]))
}
kernel compare(x: f32[N]) -> y: f32[N]
    grid i in N by 32
{
    y[i] = where(abs(x[i]) > -1.0, 1.0, 0.0)
}`), nil)
	require.Empty(t, ds)
	to, err := target.Find("sm_90a")
	require.NoError(t, err)
	var text strings.Builder
	for _, k := range program.Kernels {
		s, err := Specialise(k, Options{Dims: map[string]int64{"N": 64}})
		require.NoError(t, err)
		l, err := Lower(s, to, nil)
		require.NoError(t, err)
		ptx, err := l.PTX()
		require.NoError(t, err)
		text.WriteString(ptx)
	}
	assert.Contains(t, text.String(), "setp.leu.f32")
	for _, bad := range []string{"neg.s32", "setp.gt.f32", "sub.s32"} {
		assert.NotContains(t, text.String(), bad)
	}
}
