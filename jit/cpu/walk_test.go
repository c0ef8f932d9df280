package cpu

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestSinglePositionsAreNotWalked: along {j, i}, with one position of i, what has {i, j} is in order, and what has j alone is
// dense, so that all of j is one run. Walked, each position of j would be a run of its own.
func TestSinglePositionsAreNotWalked(t *testing.T) {
	turned := func(*frame, unsafe.Pointer, unsafe.Pointer) {}
	w := newWalk([]outside{
		{has: []bool{true, true}, order: []int{1, 0}, arrange: turned},
		{has: []bool{true, false}, order: []int{0}},
		{has: []bool{false, false}},
	}, []member{{n: 3}}, []int{7, 8})
	require.Equal(t, []int{8}, w.inner)
	v := w.drop(1)
	require.Equal(t, []int{7}, v.inner)
	require.Empty(t, v.outer)
	require.Empty(t, v.partial)
	require.Nil(t, v.outs[0].arrange)
	require.True(t, v.outs[0].dense && v.outs[1].dense && v.outs[2].fixed)
	require.NotNil(t, w.outs[0].arrange, "the walk of all axes stays as it is")
	require.True(t, w.drop(2).outs[1].fixed)
}
