package jit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// What no argument changes is computed when a graph is bound; what is made of arguments, of weights too, is computed in each run, for
// the memory of an argument may change between runs.
func TestConstantsAreComputedOnce(t *testing.T) {
	const source = `import "std/math"

graph g<T: float>(x: T[M, N], w: T[M, N], s: f32) -> (y: T[M, N], z: T[M, N], c: f32[M, N]) {
    let angle = arange(f32, [M, N]) * 0.01
    let table = cos(angle) + sin(angle)
    let weights = softmax_rows(w) * 2
    y = (x as f32 * table) as T
    z = weights * x
    c = softmax_rows(table) * s
}

kernel softmax_rows<T: float>(x: T[M, N]) -> y: T[M, N]
    grid i in M by BM
{
    axis j in N
    let v = x[i, j] as f32
    let e = exp(v - max(v, over j))
    y[i, j] = (e / sum(e, over j)) as T
}
`
	program, problems := jit.Load("once.tile", []byte(source), nil)
	require.Empty(t, problems)
	emulator, err := jit.OpenEmulator("sm_90a")
	require.NoError(t, err)
	for _, device := range []jit.Device{jit.OpenCPU(), emulator} {
		t.Run(device.ID(), func(t *testing.T) {
			compiler := jit.NewCompiler(device, nil)
			shape := []int64{5, 33}
			alloc := func(name string) *jit.Tensor {
				a := jittest.Normal(lang.F32, name, shape...)
				m, err := device.Alloc(int64(len(a.Data)))
				require.NoError(t, err)
				t.Cleanup(func() { device.Free(m) })
				require.NoError(t, device.Write(m, 0, a.Data))
				return &jit.Tensor{DType: lang.F32, Shape: shape, Memory: m}
			}
			x, w := alloc("x"), alloc("w")
			args := []jit.Value{jit.TensorValue(x), jit.TensorValue(w), jit.FloatValue(lang.F32, 3)}
			text := ""
			whole, err := compiler.BindGraph(program.Graphs[0], args, jit.Options{Separate: true})
			require.NoError(t, err)
			defer whole.Close()
			kept, err := compiler.BindGraph(program.Graphs[0], args, jit.Options{Dump: func(_ string, after lang.Listing) { text = after.String() }})
			require.NoError(t, err)
			defer kept.Close()
			assert.Equal(t, 3, strings.Count(text, "  once %"), text) // two for the table, and one that normalises it
			assert.Contains(t, text, "softmax_rows.x w:")
			for range 2 {
				read := func(p *jit.Program) (out [][]byte) {
					results, err := p.Run(args)
					require.NoError(t, err)
					for _, r := range results {
						data := make([]byte, r.Tensor.Bytes())
						require.NoError(t, jit.ReadTensor(device, r.Tensor, data))
						out = append(out, data)
					}
					return out
				}
				assert.Equal(t, read(whole), read(kept))
				require.NoError(t, device.Write(w.Memory, 0, jittest.Normal(lang.F32, "other", shape...).Data))
			}
		})
	}
}
