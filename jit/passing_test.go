package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/lang"
)

// Copies by the tensor memory accelerator tell the L2 of what a launch reads once, and of nothing else; the results are the same. One of the machines has
// an L2 of half a megabyte, for which small tensors are large.
func TestPassingThroughTheL2(t *testing.T) {
	const source = `
kernel product(x: bf16[M, K], w: bf16[K, N]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
}

kernel spread(x: bf16[M, N]) -> y: f32[M]
    grid i in M
{
    axis j in N
    let v = x[i, j] as f32
    let c = v - mean(v, over j)
    y[i] = sum(c * c, over j)
}
`
	numbers := func(rows, columns int) *Array {
		values := make([]float32, rows*columns)
		for i := range values {
			values[i] = float32(i*7%11-5) / 4 // exact, and so are products and sums
		}
		return Converted(lang.BF16, values, int64(rows), int64(columns))
	}
	program, ds := Load("passing.tile", []byte(source), nil)
	require.Empty(t, ds)
	tiles := map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3}
	pairs := map[string]int64{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 3, "persist": 1, "cluster": 2}
	for _, c := range []struct {
		name   string
		kernel int
		dims   map[string]int64
		pins   map[string]int64
		args   Args
		once   []string
		copies int // that say so
	}{
		{"weights that one block of rows reads", 0, map[string]int64{"M": 64, "K": 512, "N": 640}, tiles, Args{"x": numbers(64, 512), "w": numbers(512, 640)}, []string{"w"}, 1},
		{"weights that four blocks of rows read", 0, map[string]int64{"M": 256, "K": 1536, "N": 320}, tiles, Args{"x": numbers(256, 1536), "w": numbers(1536, 320)}, nil, 0},
		{"weights that a pair of blocks shares", 0, map[string]int64{"M": 128, "K": 1536, "N": 320}, pairs, Args{"x": numbers(128, 1536), "w": numbers(1536, 320)}, []string{"w"}, 1},
		{"rows that are kept", 1, map[string]int64{"M": 3, "N": 98304}, map[string]int64{"kept": 3, "split": 1}, Args{"x": numbers(3, 98304)}, []string{"x"}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			large, err := target.Find(target.Default)
			require.NoError(t, err)
			small := large
			small.L2Size = 1 << 19
			s, err := Specialise(program.Kernels[c.kernel], Options{Dims: c.dims, Pins: c.pins})
			require.NoError(t, err)
			run := func(m target.Machine, once []string, copies int) *Array {
				l, err := compile.Lower(s, m, nil)
				require.NoError(t, err)
				ptx, err := l.PTX()
				require.NoError(t, err)
				assert.Equal(t, once, l.Plan.Once)
				assert.Equal(t, copies, strings.Count(ptx, ".L2::cache_hint"))
				module, err := NewCompiler(emulator.New(m), nil).Load("passing.tile", []byte(source))
				require.NoError(t, err)
				args := Args{}
				for name, a := range c.args {
					args[name] = a
				}
				for name, n := range c.pins {
					args[name] = n
				}
				out, err := module.Call(program.Kernels[c.kernel].Name, args)
				require.NoError(t, err)
				return out["y"]
			}
			assert.Equal(t, run(large, nil, 0), run(small, c.once, c.copies))
		})
	}
}
