package layout

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

func axis(name string, extent int64) *ir.Axis {
	return &ir.Axis{Name: name, Kind: ir.Whole, Len: extent, Extent: extent}
}

// holders counts, for each element, the (thread, register) pairs that hold it.
func holders(l Layout, axes []*ir.Axis) map[string]int {
	n := map[string]int{}
	for w := range l.Warps() {
		for t := range Lanes {
			for r := range l.Regs() {
				key := ""
				for _, a := range axes {
					key += fmt.Sprintf("%d,", l.RegCoord(r, a)+l.ThreadCoord(t, w, a))
				}
				n[key]++
			}
		}
	}
	return n
}

// requireCovers checks that every element is held, all equally often, and gives how often.
func requireCovers(t *testing.T, l Layout, axes []*ir.Axis) int {
	t.Helper()
	require.Equal(t, Lanes, Product(l.Lane))
	n := holders(l, axes)
	total, copies := 1, 0
	for _, a := range axes {
		require.GreaterOrEqual(t, l.Physical(a), int(a.Extent), "axis %s of %s", a.Name, l)
		total *= l.Physical(a)
	}
	require.Len(t, n, total, "%s", l)
	for _, c := range n {
		if copies == 0 {
			copies = c
		}
		require.Equal(t, copies, c, "%s", l)
	}
	return copies
}

func TestBlockedCoversEveryElement(t *testing.T) {
	for _, ext := range [][]int{{1}, {5}, {17}, {32}, {48}, {50}, {768}, {1000}, {1024, 4}, {768, 3}, {5, 7, 3}, {64, 1, 2}, {3, 100}} {
		for _, vec := range []int{1, 2, 4, 8} {
			for _, warps := range []int{1, 4, 6, 8} {
				axes := make([]*ir.Axis, len(ext))
				for i, e := range ext {
					axes[i] = axis(fmt.Sprint("a", i), int64(e))
				}
				l := Blocked(axes, ext, vec, warps)
				require.Equal(t, warps, l.Warps(), "%s", l)
				requireCovers(t, l, axes)
			}
		}
	}
}

func TestSliceReplicates(t *testing.T) {
	i, j := axis("i", 8), axis("j", 64)
	l := Blocked([]*ir.Axis{j, i}, []int{64, 8}, 4, 4)
	require.Equal(t, 1, requireCovers(t, l, []*ir.Axis{i, j}))
	s := l.Slice([]*ir.Axis{i})
	require.Equal(t, 16, requireCovers(t, s, []*ir.Axis{i}), "16 lanes run along j")
	_, ok := l.Permutation(s, []*ir.Axis{i})
	require.True(t, ok, "a slice is there already")
	_, ok = s.Permutation(l, []*ir.Axis{i, j})
	require.False(t, ok)
}

func TestPermutationWithinThread(t *testing.T) {
	i := axis("i", 6)
	a := Layout{Reg: []Digit{{i, 1, 2}, {i, 2, 3}}, Lane: []Digit{{nil, 0, 32}}, Warp: []Digit{{nil, 0, 1}}}
	b := Layout{Reg: []Digit{{i, 2, 4}, {i, 1, 2}}, Lane: []Digit{{nil, 0, 32}}, Warp: []Digit{{nil, 0, 1}}}
	p, ok := a.Permutation(b, []*ir.Axis{i})
	require.True(t, ok)
	require.Equal(t, []int{0, 2, 4, -1, 1, 3, 5, -1}, p, "elements 6 and 7 are padding")
}

func TestRegAt(t *testing.T) {
	i, j := axis("i", 4), axis("j", 8)
	l := Layout{Reg: []Digit{{i, 1, 4}, {j, 4, 2}, {j, 1, 2}}}
	r, ok := l.RegAt(1, 5, j)
	require.True(t, ok)
	require.Equal(t, 5, l.RegCoord(r, j))
	require.Equal(t, 1, l.RegCoord(r, i))
	r, ok = l.RegAt(8, 3, j) // 1 + 3 carries
	require.True(t, ok)
	require.Equal(t, 4, l.RegCoord(r, j))
	_, ok = l.RegAt(0, 2, j)
	require.False(t, ok)
}
