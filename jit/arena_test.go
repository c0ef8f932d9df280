package jit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

const arenaSource = `
kernel double(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] + x[i]
}
graph eight(x: f32[N]) -> y: f32[N] { y = double(double(double(x))) }
`

// Programs that share an arena take the memory of the largest, whatever their order, and give their results.
func TestArena(t *testing.T) {
	device := jittest.Device(t)
	compiler := jit.NewCompiler(device, nil)
	program, problems := jit.Load("arena.tile", []byte(arenaSource), nil)
	require.Empty(t, problems)
	graph := program.Graphs[0]
	arena := jit.NewArena(device)
	sizes := []int{1000, 10, 3000, 7}
	var programs []*jit.Program
	var args [][]jit.Value
	largest := int64(0)
	for _, n := range sizes {
		x := jittest.NewArray(lang.F32, int64(n))
		for i := range n {
			x.SetFloat(i, float64(i+n))
		}
		m, err := jit.Upload(device, x.Data, 4)
		require.NoError(t, err)
		args = append(args, []jit.Value{jit.TensorValue(&jit.Tensor{DType: lang.F32, Shape: x.Shape, Memory: m})})
		own := jit.NewArena(device)
		_, err = compiler.BindGraph(graph, args[len(args)-1], jit.Options{Arena: own})
		require.NoError(t, err)
		largest = max(largest, own.Bytes())
		own.Close()
		p, err := compiler.BindGraph(graph, args[len(args)-1], jit.Options{Arena: arena})
		require.NoError(t, err)
		programs = append(programs, p)
	}
	for round := range 3 {
		for i, p := range programs {
			out, err := p.Run(args[i])
			require.NoError(t, err)
			y := jittest.NewArray(lang.F32, int64(sizes[i]))
			require.NoError(t, jit.ReadTensor(device, out[0].Tensor, y.Data))
			for j := range sizes[i] {
				require.Equal(t, float64(8*(j+sizes[i])), y.Float(j))
			}
		}
		require.Equal(t, largest, arena.Bytes())
		if round == 1 {
			arena.Close() // is taken again
			require.Zero(t, arena.Bytes())
		}
	}
	for _, p := range programs {
		p.Close()
	}
	require.Equal(t, largest, arena.Bytes(), "a program does not close what others use")
	arena.Close()
}
