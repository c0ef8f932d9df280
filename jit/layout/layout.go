// Package layout says where the elements of a tile are: a layout is a linear map from the digits of a thread's register,
// its lane and its warp to coordinates along the tile's axes. It knows axes as names with extents, and must not know
// what is computed, for which machine, or in which text.
package layout

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tilec/jit/ir"
)

// Digit is a digit of a register, lane or warp number: it counts 0 to Size-1
// and each step moves Stride elements along Axis. A digit without an axis is
// replication: every count holds the same elements.
type Digit struct {
	Axis         *ir.Axis
	Stride, Size int
}

// String is `i+8*2`, two steps of 8 positions along i, or `*8`, eight copies.
func (d Digit) String() string {
	if d.Axis == nil {
		return fmt.Sprintf("*%d", d.Size)
	}
	return fmt.Sprintf("%s+%d*%d", ir.Quoted(d.Axis.Name), d.Stride, d.Size)
}

// Layout says which element of a tile each register of each thread holds: a
// linear map from the digits of (register, lane, warp) to coordinates. Digits are
// least significant first; the sizes of the lane digits multiply to 32, those of
// the warp digits to the number of warps. The digits on one axis form a mixed
// radix, so each element is held once, but for replication. Sizes are powers of
// two except for the digit of largest stride on an axis.
type Layout struct {
	Reg, Lane, Warp []Digit
}

// Lanes is the threads of a warp.
const Lanes = 32

// Product is how many numbers digits count.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Product(ds []Digit) int {
	n := 1
	for _, d := range ds {
		n *= d.Size
	}
	return n
}

// Equal reports layouts of the same digits.
func (l Layout) Equal(m Layout) bool {
	return slices.Equal(l.Reg, m.Reg) && slices.Equal(l.Lane, m.Lane) && slices.Equal(l.Warp, m.Warp)
}

// Regs is the number of registers a thread holds.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l Layout) Regs() int { return Product(l.Reg) }

// Warps is the number of warps.
func (l Layout) Warps() int { return Product(l.Warp) }

// At is the coordinate along a that the count n of the digits gives.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func At(ds []Digit, n int, a *ir.Axis) int {
	c := 0
	for _, d := range ds {
		if d.Axis == a {
			c += n % d.Size * d.Stride
		}
		n /= d.Size
	}
	return c
}

// RegCoord is the part of a coordinate along a that a register gives; an element's is the sum of this and ThreadCoord.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l Layout) RegCoord(r int, a *ir.Axis) int { return At(l.Reg, r, a) }

// ThreadCoord is the part of a coordinate along a that a thread gives.
func (l Layout) ThreadCoord(lane, warp int, a *ir.Axis) int {
	return At(l.Lane, lane, a) + At(l.Warp, warp, a)
}

// Copied reports a layout in which several threads hold the same elements.
func (l Layout) Copied() bool {
	return slices.ContainsFunc(slices.Concat(l.Lane, l.Warp), func(d Digit) bool { return d.Axis == nil && d.Size > 1 })
}

// Own are the bits of a thread's number by which threads have elements of their own: those whose numbers differ in the other bits alone hold the same.
func (l Layout) Own() (own int) {
	at := 0
	scan := func(ds []Digit) {
		for _, d := range ds {
			for n := 1; n < d.Size; n *= 2 {
				if d.Axis != nil {
					own |= 1 << at
				}
				at++
			}
		}
	}
	scan(l.Lane)
	at = bits.Len(Lanes - 1)
	scan(l.Warp)
	return own
}

// Reach is one more than the largest coordinate that the digits give along a.
func Reach(a *ir.Axis, groups ...[]Digit) int {
	n := 1
	for _, ds := range groups {
		for _, d := range ds {
			if d.Axis == a {
				n += (d.Size - 1) * d.Stride
			}
		}
	}
	return n
}

// Physical is the extent that the layout holds along a, at least the axis's own.
func (l Layout) Physical(a *ir.Axis) int { return Reach(a, l.Reg, l.Lane, l.Warp) }

// Slice is the layout of a tile that has only the axes in keep: registers that
// differ in the others are dropped, lanes and warps become copies.
func (l Layout) Slice(keep []*ir.Axis) Layout {
	has := func(a *ir.Axis) bool {
		for _, b := range keep {
			if a == b {
				return true
			}
		}
		return false
	}
	var s Layout
	for _, d := range l.Reg {
		if has(d.Axis) {
			s.Reg = append(s.Reg, d)
		}
	}
	replicate := func(ds []Digit) []Digit {
		out := make([]Digit, len(ds))
		for i, d := range ds {
			if !has(d.Axis) {
				d = Digit{Size: d.Size}
			}
			out[i] = d
		}
		return out
	}
	s.Lane, s.Warp = replicate(l.Lane), replicate(l.Warp)
	return s
}

// Rename is the layout with one axis in place of another.
func (l Layout) Rename(from, to *ir.Axis) Layout {
	swap := func(ds []Digit) []Digit {
		out := make([]Digit, len(ds))
		for i, d := range ds {
			if d.Axis == from {
				d.Axis = to
			}
			out[i] = d
		}
		return out
	}
	return Layout{swap(l.Reg), swap(l.Lane), swap(l.Warp)}
}

// sameThreads reports that every thread has the same coordinates along the axes in both layouts.
func (l Layout) sameThreads(m Layout, axes []*ir.Axis) bool {
	if l.Warps() != m.Warps() {
		return false
	}
	for w := range l.Warps() {
		for t := range Lanes {
			for _, a := range axes {
				if l.ThreadCoord(t, w, a) != m.ThreadCoord(t, w, a) {
					return false
				}
			}
		}
	}
	return true
}

// Permutation gives, for each register of want, the register of l in the same
// thread that holds the same element, or -1 when the element is padding that
// l does not hold; false when another thread holds it.
func (l Layout) Permutation(want Layout, axes []*ir.Axis) ([]int, bool) {
	if !l.sameThreads(want, axes) {
		return nil, false
	}
	held := map[string]int{}
	for r := l.Regs() - 1; r >= 0; r-- {
		held[l.coordKey(r, axes)] = r
	}
	from := make([]int, want.Regs())
	for r := range from {
		h, ok := held[want.coordKey(r, axes)]
		if !ok {
			for _, a := range axes {
				if want.RegCoord(r, a) >= int(a.Extent) {
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
func (l Layout) coordKey(r int, axes []*ir.Axis) string {
	var b strings.Builder
	for _, a := range axes {
		fmt.Fprintf(&b, "%d,", l.RegCoord(r, a))
	}
	return b.String()
}

// RegAt finds the register whose part of the coordinates is that of r moved by n along a; false when the thread has none.
func (l Layout) RegAt(r, n int, a *ir.Axis) (int, bool) {
	want := l.RegCoord(r, a) + n
	// Rewrite the digits on a so that they spell want, largest stride first.
	counts := make([]int, len(l.Reg))
	rest := r
	for i, d := range l.Reg {
		counts[i] = rest % d.Size
		rest /= d.Size
		if d.Axis == a {
			counts[i] = 0
		}
	}
	for want > 0 {
		best := -1
		for i, d := range l.Reg {
			if d.Axis == a && counts[i] == 0 && d.Stride <= want && (best < 0 || d.Stride > l.Reg[best].Stride) {
				best = i
			}
		}
		if best < 0 {
			return 0, false
		}
		counts[best] = min(want/l.Reg[best].Stride, l.Reg[best].Size-1)
		want -= counts[best] * l.Reg[best].Stride
	}
	out, scale := 0, 1
	for i, d := range l.Reg {
		out += counts[i] * scale
		scale *= d.Size
	}
	return out, true
}

// Project gives the register of l's slice to keep that goes with register r of l.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (l Layout) Project(r int, keep []*ir.Axis) int {
	out, scale := 0, 1
	for _, d := range l.Reg {
		for _, a := range keep {
			if d.Axis == a {
				out += r % d.Size * scale
				scale *= d.Size
			}
		}
		r /= d.Size
	}
	return out
}

// Run is how many neighbours along a the registers of a thread hold in a row, or those of its warp too.
func (l Layout) Run(a *ir.Axis, warp bool) int {
	n := 1
	for grown := true; grown; {
		grown = false
		ds := l.Reg
		if warp {
			ds = append(append([]Digit(nil), l.Reg...), l.Lane...)
		}
		for _, d := range ds {
			if d.Axis == a && d.Stride == n && d.Size > 1 {
				n *= d.Size
				grown = true
			}
		}
	}
	return n
}

// Aligned lowers a vector width until every thread's first element along c is a multiple of it.
func (l Layout) Aligned(c *ir.Axis, v int) int {
	for _, ds := range [][]Digit{l.Lane, l.Warp} {
		for _, d := range ds {
			for d.Axis == c && c != nil && d.Stride%v != 0 {
				v /= 2
			}
		}
	}
	return v
}

// Groups cuts the registers of a layout in runs of v neighbours along c; v is
// lowered to what the layout holds. Each group starts at a multiple of v.
func (l Layout) Groups(c *ir.Axis, v int) ([][]int, int) {
	if c == nil {
		v = 1
	}
	for v > 1 && l.Run(c, false)%v != 0 {
		v /= 2
	}
	var gs [][]int
	for r := range l.Regs() {
		if v > 1 && l.RegCoord(r, c)%v != 0 {
			continue
		}
		g := []int{r}
		for n := 1; n < v; n++ {
			s, ok := l.RegAt(r, n, c)
			if !ok {
				panic(fmt.Sprintf("layout %s has no neighbour %d of register %d along %s", l, n, r, c.Name))
			}
			g = append(g, s)
		}
		gs = append(gs, g)
	}
	return gs, v
}

// String is the digits of the layout, a text that equal layouts share.
func (l Layout) String() string {
	part := func(ds []Digit) string {
		var b strings.Builder
		for _, d := range ds {
			b.WriteString(" " + d.String())
		}
		return b.String()
	}
	return "reg" + part(l.Reg) + " | lane" + part(l.Lane) + " | warp" + part(l.Warp)
}

// Uniform is the layout of a scalar: every thread has it.
func Uniform(warps int) Layout {
	return Layout{Lane: []Digit{{Size: Lanes}}, Warp: []Digit{{Size: warps}}}
}

// side is one axis of a layout under construction: left more steps of stride are to be placed.
type side struct {
	axis         *ir.Axis
	stride, left int
}

// take places n of the side's steps on a digit.
func (s *side) take(n int) Digit {
	d := Digit{s.axis, s.stride, n}
	s.stride *= n
	s.left = (s.left + n - 1) / n
	return d
}

// PowerAbove is the least power of two that is n or more.
func PowerAbove(n int) int { return 1 << bits.Len(uint(max(n-1, 0))) }

// PowerBelow is the greatest power of two that is n or less; of n below 1, it is 1.
func PowerBelow(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// Blocked is the layout of a wide memory access. Axes come fastest first, with
// the extents to cover. Each thread holds vec neighbours along the first; lanes run
// along the fastest axes, so that a warp touches whole lines; warps along the
// slowest, so that a reduction along the fastest stays in a warp where it can.
func Blocked(axes []*ir.Axis, extents []int, vec, warps int) Layout {
	var l Layout
	sides := make([]side, len(axes))
	for i, a := range axes {
		sides[i] = side{a, 1, extents[i]}
	}
	if vec > 1 && len(sides) > 0 {
		l.Reg = append(l.Reg, sides[0].take(vec))
	}
	rest := Lanes
	for i := range sides {
		if n := min(rest, PowerAbove(sides[i].left)); n > 1 {
			l.Lane = append(l.Lane, sides[i].take(n))
			rest /= n
		}
	}
	if rest > 1 {
		l.Lane = append(l.Lane, Digit{Size: rest})
	}
	rest = warps
	place := func(s *side, n int) {
		for n > 1 && rest%n != 0 {
			n /= 2
		}
		if n > 1 {
			l.Warp = append(l.Warp, s.take(n))
			rest /= n
		}
	}
	for i := len(sides) - 1; i >= 0; i-- {
		place(&sides[i], min(PowerBelow(rest), PowerBelow(sides[i].left)))
	}
	for i := range sides {
		place(&sides[i], min(PowerBelow(rest), PowerAbove(sides[i].left)))
	}
	if rest > 1 || len(l.Warp) == 0 {
		l.Warp = append(l.Warp, Digit{Size: rest})
	}
	for i := range sides {
		if sides[i].left > 1 {
			l.Reg = append(l.Reg, sides[i].take(sides[i].left))
		}
	}
	return l
}

// InOrder is a layout in which later elements are in later lanes, then
// registers, then warps. Axes come fastest first.
func InOrder(axes []*ir.Axis, extents []int, warps int) Layout {
	var l Layout
	sides := make([]side, len(axes))
	for i, a := range axes {
		sides[i] = side{a, 1, extents[i]}
	}
	rest := Lanes
	for i := range sides {
		if n := min(rest, PowerAbove(sides[i].left)); n > 1 {
			l.Lane = append(l.Lane, sides[i].take(n))
			rest /= n
		}
	}
	if rest > 1 {
		l.Lane = append(l.Lane, Digit{Size: rest})
	}
	slowest := -1
	for i := range sides {
		if sides[i].left > 1 {
			slowest = i
		}
	}
	split := 1
	if slowest >= 0 {
		split = min(PowerBelow(warps), PowerAbove(sides[slowest].left))
	}
	for i := range sides {
		n := sides[i].left
		if i == slowest {
			n = (n + split - 1) / split
		}
		if n > 1 {
			l.Reg = append(l.Reg, sides[i].take(n))
		}
		if i == slowest && split > 1 {
			l.Warp = append(l.Warp, sides[i].take(split))
		}
	}
	if warps > split || len(l.Warp) == 0 {
		l.Warp = append(l.Warp, Digit{Size: warps / split})
	}
	return l
}
