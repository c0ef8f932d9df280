package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/compile"
	"tilec/jit/jittest/sweep"
	"tilec/jit/target"
)

// tuned8 is a kernel over n axes whose extents are each one of eight.
func tuned8(n int) string {
	dims, axes := names("D", n)
	tunes, grids := make([]string, n), make([]string, n)
	for i := range n {
		tunes[i] = fmt.Sprintf("B%d in {1, 2, 4, 8, 16, 32, 64, 128}", i)
		grids[i] = fmt.Sprintf("%s in %s by B%d", axes[i], dims[i], i)
	}
	return fmt.Sprintf("kernel f(x: f32[%s]) -> y: f32[%s]\n    tune %s\n    grid %s\n{\n    y[%s] = x[%s] + 1\n}\n",
		list(dims), list(dims), strings.Join(tunes, ", "), strings.Join(grids, ", "), list(axes), list(axes))
}

// A space of choices is searched in bounded time, however many there are, and what fits in it is found.
func TestSpacesOfAnySizeAreSearched(t *testing.T) {
	sweep.Once(t)
	for _, n := range []int{4, 8, 9, 12, 20} {
		module, problems := Load("f.tile", []byte(tuned8(n)), nil)
		require.Empty(t, problems)
		dims := map[string]int64{}
		for i := range n {
			dims[fmt.Sprintf("D%d", i)] = 3
		}
		s, err := Specialise(module.Kernels[0], Options{Dims: dims})
		require.NoError(t, err)
		for _, name := range target.Names() {
			target, err := target.Find(name)
			require.NoError(t, err)
			first, err := compile.Lower(s, target, nil)
			require.NoError(t, err, "%d axes on %s", n, name)
			again, err := compile.Lower(s, target, nil)
			require.NoError(t, err)
			assert.Equal(t, first.Plan, again.Plan)
			elements := int64(1)
			for _, e := range first.Plan.Extents {
				elements *= e
			}
			if target.IsGPU() {
				assert.LessOrEqual(t, elements, int64(1<<20), "a block of %s for 3^%d elements", first.Plan, n)
			}
		}
	}
}

// What is tried of a kernel are pins that a launch takes: axes that it declares by itself have no name there.
func TestSpacesHaveNoFreeAxes(t *testing.T) {
	module, problems := Load("f.tile", []byte("kernel f(x: f32[M, N]) -> y: f32[M, N]\n    grid i in M by BM, j in N by BN\n{\n    axis r in 5\n    axis s in 5\n"+
		"    y[i, j] = max(x[i + r - 2, j + s - 2] else 0, over (r, s))\n}\n"), nil)
	require.Empty(t, problems)
	s, err := Specialise(module.Kernels[0], Options{Dims: map[string]int64{"M": 1024, "N": 1024}, Pins: map[string]int64{"BM": 2, "BN": 256, "warps": 4}})
	require.NoError(t, err)
	target, err := target.Find("sm_90a")
	require.NoError(t, err)
	space, err := compile.Space(s, target)
	require.NoError(t, err)
	f := KernelFunction(module.Kernels[0])
	pinned := 0
	for _, c := range space {
		for name := range c.Pins {
			assert.True(t, f.CanPin(name), "%s", name)
			pinned++
		}
	}
	assert.Greater(t, pinned, 10)
}

// An axis of its own has up to 2^31 - 1 elements on every target.
func TestLongFreeAxes(t *testing.T) {
	for _, n := range []int64{2130706432, 2130706433, 2147000000, 1<<31 - 1} {
		source := fmt.Sprintf("kernel f(x: i32[M]) -> y: i32[M]\n    grid i in M by B\n{\n    axis r in %d\n    y[i] = max(where(index(r) == x[i], index(r), -1), over r)\n}\n", n)
		module, problems := Load("f.tile", []byte(source), nil)
		require.Empty(t, problems)
		s, err := Specialise(module.Kernels[0], Options{Dims: map[string]int64{"M": 3}})
		require.NoError(t, err)
		for _, name := range target.Names() {
			target, err := target.Find(name)
			require.NoError(t, err)
			_, err = compile.Lower(s, target, nil)
			assert.NoError(t, err, "%d on %s", n, name)
		}
	}
}
