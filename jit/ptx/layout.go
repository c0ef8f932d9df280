package ptx

import (
	"fmt"
	"math/bits"
	"strings"

	"tilec/jit/ir"
)

// digit is one part of a register, lane or warp number: it counts 0 to size-1
// and each step moves stride elements along axis. A digit without an axis is
// replication: every count holds the same elements.
type digit struct {
	axis         *ir.Axis
	stride, size int
}

// layout says which element of a tile each register of each thread holds: a
// linear map from the digits of (register, lane, warp) to coordinates. Digits are
// least significant first; the sizes of the lane digits multiply to 32, those of
// the warp digits to the number of warps. The digits on one axis form a mixed
// radix, so each element is held once, but for replication. Sizes are powers of
// two except for the digit of largest stride on an axis.
type layout struct {
	reg, lane, warp []digit
}

const lanes = 32

func product(ds []digit) int {
	n := 1
	for _, d := range ds {
		n *= d.size
	}
	return n
}

// regs is the number of registers a thread holds.
func (l layout) regs() int { return product(l.reg) }

// warps is the number of warps.
func (l layout) warps() int { return product(l.warp) }

// at is the coordinate along a that the count n of the digits gives.
func At(ds []digit, n int, a *ir.Axis) int {
	c := 0
	for _, d := range ds {
		if d.axis == a {
			c += n % d.size * d.stride
		}
		n /= d.size
	}
	return c
}

// regCoord and threadCoord are the two parts of a coordinate along a; an element's is their sum.
func (l layout) regCoord(r int, a *ir.Axis) int { return At(l.reg, r, a) }

func (l layout) threadCoord(lane, warp int, a *ir.Axis) int {
	return At(l.lane, lane, a) + At(l.warp, warp, a)
}

// reach is one more than the largest coordinate that the digits give along a.
func reach(a *ir.Axis, groups ...[]digit) int {
	n := 1
	for _, ds := range groups {
		for _, d := range ds {
			if d.axis == a {
				n += (d.size - 1) * d.stride
			}
		}
	}
	return n
}

// physical is the extent that the layout holds along a, at least the axis's own.
func (l layout) physical(a *ir.Axis) int { return reach(a, l.reg, l.lane, l.warp) }

// slice is the layout of a tile that has only the axes in keep: registers that
// differ in the others are dropped, lanes and warps become copies.
func (l layout) slice(keep []*ir.Axis) layout {
	has := func(a *ir.Axis) bool {
		for _, b := range keep {
			if a == b {
				return true
			}
		}
		return false
	}
	var s layout
	for _, d := range l.reg {
		if has(d.axis) {
			s.reg = append(s.reg, d)
		}
	}
	replicate := func(ds []digit) []digit {
		out := make([]digit, len(ds))
		for i, d := range ds {
			if !has(d.axis) {
				d = digit{size: d.size}
			}
			out[i] = d
		}
		return out
	}
	s.lane, s.warp = replicate(l.lane), replicate(l.warp)
	return s
}

// rename is the layout with one axis in place of another.
func (l layout) rename(from, to *ir.Axis) layout {
	swap := func(ds []digit) []digit {
		out := make([]digit, len(ds))
		for i, d := range ds {
			if d.axis == from {
				d.axis = to
			}
			out[i] = d
		}
		return out
	}
	return layout{swap(l.reg), swap(l.lane), swap(l.warp)}
}

// sameThreads reports that every thread has the same coordinates along the axes in both layouts.
func (l layout) sameThreads(m layout, axes []*ir.Axis) bool {
	if l.warps() != m.warps() {
		return false
	}
	for w := range l.warps() {
		for t := range lanes {
			for _, a := range axes {
				if l.threadCoord(t, w, a) != m.threadCoord(t, w, a) {
					return false
				}
			}
		}
	}
	return true
}

// permutation gives, for each register of want, the register of l in the same
// thread that holds the same element, or -1 when the element is padding that
// l does not hold. It fails when another thread holds it.
func (l layout) permutation(want layout, axes []*ir.Axis) ([]int, bool) {
	if !l.sameThreads(want, axes) {
		return nil, false
	}
	held := map[string]int{}
	for r := l.regs() - 1; r >= 0; r-- {
		held[l.coordKey(r, axes)] = r
	}
	from := make([]int, want.regs())
	for r := range from {
		h, ok := held[want.coordKey(r, axes)]
		if !ok {
			for _, a := range axes {
				if want.regCoord(r, a) >= int(a.Extent) {
					ok = true
				}
			}
			if !ok {
				return nil, false
			}
			h = -1
		}
		from[r] = h
	}
	return from, true
}

// coordKey names the register's part of the coordinates.
func (l layout) coordKey(r int, axes []*ir.Axis) string {
	var b strings.Builder
	for _, a := range axes {
		fmt.Fprintf(&b, "%d,", l.regCoord(r, a))
	}
	return b.String()
}

// regAt finds the register whose part of the coordinates is that of r moved by n along a.
func (l layout) regAt(r, n int, a *ir.Axis) (int, bool) {
	want := l.regCoord(r, a) + n
	// Rewrite the digits on a so that they spell want, largest stride first.
	counts := make([]int, len(l.reg))
	rest := r
	for i, d := range l.reg {
		counts[i] = rest % d.size
		rest /= d.size
		if d.axis == a {
			counts[i] = 0
		}
	}
	for want > 0 {
		best := -1
		for i, d := range l.reg {
			if d.axis == a && counts[i] == 0 && d.stride <= want && (best < 0 || d.stride > l.reg[best].stride) {
				best = i
			}
		}
		if best < 0 {
			return 0, false
		}
		counts[best] = min(want/l.reg[best].stride, l.reg[best].size-1)
		want -= counts[best] * l.reg[best].stride
	}
	out, scale := 0, 1
	for i, d := range l.reg {
		out += counts[i] * scale
		scale *= d.size
	}
	return out, true
}

// project gives the register of l's slice to keep that goes with register r of l.
func (l layout) project(r int, keep []*ir.Axis) int {
	out, scale := 0, 1
	for _, d := range l.reg {
		for _, a := range keep {
			if d.axis == a {
				out += r % d.size * scale
				scale *= d.size
			}
		}
		r /= d.size
	}
	return out
}

// run is how many neighbours along a the registers of a thread hold in a row, or those of its warp too.
func (l layout) run(a *ir.Axis, warp bool) int {
	n := 1
	for grown := true; grown; {
		grown = false
		ds := l.reg
		if warp {
			ds = append(append([]digit(nil), l.reg...), l.lane...)
		}
		for _, d := range ds {
			if d.axis == a && d.stride == n && d.size > 1 {
				n *= d.size
				grown = true
			}
		}
	}
	return n
}

// groups cuts the registers of a layout in runs of v neighbours along c; v is
// lowered to what the layout holds. Each group starts at a multiple of v.
func (l layout) groups(c *ir.Axis, v int) ([][]int, int) {
	if c == nil {
		v = 1
	}
	for v > 1 && l.run(c, false)%v != 0 {
		v /= 2
	}
	var gs [][]int
	for r := range l.regs() {
		if v > 1 && l.regCoord(r, c)%v != 0 {
			continue
		}
		g := []int{r}
		for n := 1; n < v; n++ {
			s, ok := l.regAt(r, n, c)
			if !ok {
				panic(fmt.Sprintf("layout %s has no neighbour %d of register %d along %s", l, n, r, c.Name))
			}
			g = append(g, s)
		}
		gs = append(gs, g)
	}
	return gs, v
}

// key is a text that equal layouts share.
func (l layout) key() string {
	part := func(ds []digit) string {
		var b strings.Builder
		for _, d := range ds {
			if d.axis == nil {
				fmt.Fprintf(&b, " *%d", d.size)
			} else {
				fmt.Fprintf(&b, " %s+%d*%d", d.axis.Name, d.stride, d.size)
			}
		}
		return b.String()
	}
	return "reg" + part(l.reg) + " | lane" + part(l.lane) + " | warp" + part(l.warp)
}

// String is the layout as comments in the PTX show it.
func (l layout) String() string { return l.key() }

// uniform is the layout of a scalar: every thread has it.
func uniform(warps int) layout {
	return layout{lane: []digit{{size: lanes}}, warp: []digit{{size: warps}}}
}

// side is one axis of a layout under construction: left more steps of stride are to be placed.
type side struct {
	axis         *ir.Axis
	stride, left int
}

// take places n of the side's steps on a digit.
func (s *side) take(n int) digit {
	d := digit{s.axis, s.stride, n}
	s.stride *= n
	s.left = (s.left + n - 1) / n
	return d
}

func powerAbove(n int) int { return 1 << bits.Len(uint(max(n-1, 0))) }
func powerBelow(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// blocked is the layout of a wide memory access. Axes come fastest first, with
// the extents to cover. Each thread holds vec neighbours along the first; lanes run
// along the fastest axes, so that a warp touches whole lines; warps along the
// slowest, so that a reduction along the fastest stays in a warp where it can.
func blocked(axes []*ir.Axis, extents []int, vec, warps int) layout {
	var l layout
	sides := make([]side, len(axes))
	for i, a := range axes {
		sides[i] = side{a, 1, extents[i]}
	}
	if vec > 1 && len(sides) > 0 {
		l.reg = append(l.reg, sides[0].take(vec))
	}
	rest := lanes
	for i := range sides {
		if n := min(rest, powerAbove(sides[i].left)); n > 1 {
			l.lane = append(l.lane, sides[i].take(n))
			rest /= n
		}
	}
	if rest > 1 {
		l.lane = append(l.lane, digit{size: rest})
	}
	rest = warps
	place := func(s *side, n int) {
		for n > 1 && rest%n != 0 {
			n /= 2
		}
		if n > 1 {
			l.warp = append(l.warp, s.take(n))
			rest /= n
		}
	}
	for i := len(sides) - 1; i >= 0; i-- {
		place(&sides[i], min(powerBelow(rest), powerBelow(sides[i].left)))
	}
	for i := range sides {
		place(&sides[i], min(powerBelow(rest), powerAbove(sides[i].left)))
	}
	if rest > 1 || len(l.warp) == 0 {
		l.warp = append(l.warp, digit{size: rest})
	}
	for i := range sides {
		if sides[i].left > 1 {
			l.reg = append(l.reg, sides[i].take(sides[i].left))
		}
	}
	return l
}

// inOrder is a layout in which later elements are in later lanes, then
// registers, then warps. Axes come fastest first.
func inOrder(axes []*ir.Axis, extents []int, warps int) layout {
	var l layout
	sides := make([]side, len(axes))
	for i, a := range axes {
		sides[i] = side{a, 1, extents[i]}
	}
	rest := lanes
	for i := range sides {
		if n := min(rest, powerAbove(sides[i].left)); n > 1 {
			l.lane = append(l.lane, sides[i].take(n))
			rest /= n
		}
	}
	if rest > 1 {
		l.lane = append(l.lane, digit{size: rest})
	}
	slowest := -1
	for i := range sides {
		if sides[i].left > 1 {
			slowest = i
		}
	}
	split := 1
	if slowest >= 0 {
		split = min(powerBelow(warps), powerAbove(sides[slowest].left))
	}
	for i := range sides {
		n := sides[i].left
		if i == slowest {
			n = (n + split - 1) / split
		}
		if n > 1 {
			l.reg = append(l.reg, sides[i].take(n))
		}
		if i == slowest && split > 1 {
			l.warp = append(l.warp, sides[i].take(split))
		}
	}
	if warps > split || len(l.warp) == 0 {
		l.warp = append(l.warp, digit{size: warps / split})
	}
	return l
}
