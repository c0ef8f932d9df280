package ir

import (
	"fmt"
	"strconv"
	"strings"

	"tilec/lang"
)

// This file is what a kernel says while it runs: the operations print and
// assert, and the memory in which a launch leaves what they said. Every backend
// writes the same bytes there, so that what is read from them is the same.
//
// The memory is a head, a table with the bytes used by each block that has a
// record area, and the areas. A print takes its place in the area of its block:
//
//	the number of its site, from 1
//	for each argument: a scalar's value; or, of a tile, how many positions each
//	axis has, then the elements that are shown, the last axis fastest; axes are in
//	the order of their declaration
//
// all in words of 64 bits. Floats up to 32 bits are held as f32, signed integers
// are extended by their sign. A print that does not fit is dropped, and so are
// all that follow it in its block; the head counts them.
//
// Of the asserts that fail, the head holds the one whose site is the first in the
// kernel and, of that, the one whose positions are the first, compared one after
// the other: neither depends on the extents of blocks. Blocks take turns there by a lock.

// Offsets in the head, in bytes.
const (
	DebugLock = 0
	// DebugFailed is 1 when an assert has failed; then DebugSite is the number of its
	// site, and from DebugValues on are the values of its operands but the first, a word each.
	DebugFailed = 4
	DebugSite   = 8
	// DebugDropped counts, in 64 bits, the prints that found no room.
	DebugDropped = 16
	// DebugShare is the bytes of a block's area, DebugAreas the number of areas, in
	// 32 bits each; DebugFirst the offset of the first area, in 64. The host writes them.
	DebugShare  = 24
	DebugAreas  = 28
	DebugFirst  = 32
	DebugValues = 40
)

// DebugWord is the bytes of a word of a record.
const DebugWord = 8

// A tile of more than ShownElements elements is abbreviated: of an axis of more
// than 2*ShownEdge positions, only ShownEdge at each end are shown.
const (
	ShownElements = 64
	ShownEdge     = 3
)

// DebugHead is the bytes of the head and of the table behind it, for a number of areas.
func (f *Func) DebugHead(areas int) int {
	return (f.DebugTable() + areas*DebugWord + 63) / 64 * 64
}

// DebugTable is the offset of the table.
func (f *Func) DebugTable() int {
	values := 0
	for _, op := range f.Sites() {
		if op.Code == lang.OpAssert {
			values = max(values, len(op.Args)-1)
		}
	}
	return DebugValues + values*DebugWord
}

// InOrder is axes in the order of their declaration, in which tiles are shown whatever their order in a type.
func (f *Func) InOrder(axes []*Axis) []*Axis {
	var out []*Axis
	for _, a := range f.Axes {
		if (Type{Axes: axes}).Has(a) {
			out = append(out, a)
		}
	}
	return out
}

// Sites is the prints and asserts of the kernel, in order; records name them by their place here.
func (f *Func) Sites() []*Op {
	var sites []*Op
	f.Walk(func(op *Op) bool {
		if op.Code.IsDebug() {
			sites = append(sites, op)
		}
		return true
	})
	return sites
}

// HasDebug reports whether launches need memory for what the kernel says.
func (f *Func) HasDebug() bool { return len(f.Sites()) > 0 }

// Shown is how many positions of an axis of n are shown, in a tile of so many elements.
func Shown(n, elements int) int {
	if elements > ShownElements && n > 2*ShownEdge {
		return 2 * ShownEdge
	}
	return n
}

func checkDebug(op *Op, types []Type) error {
	if op.Code == lang.OpPrint {
		return nil
	}
	n := len(op.Names) + 1
	if len(types) < n || !types[0].Same(Scalar(lang.Bool)) {
		return fmt.Errorf("needs a bool scalar and %d positions", n-1)
	}
	for i, t := range types[1:] {
		if !t.IsScalar() || i+1 < n && t.DType != lang.I32 && t.DType != lang.I64 {
			return fmt.Errorf("has an operand of type %s", t)
		}
	}
	return nil
}

var debugConvention = convention{
	func(b *strings.Builder, op *Op) {
		b.WriteString(" " + strconv.Quote(op.Text))
		if len(op.Names) > 0 {
			fmt.Fprintf(b, " at %s", list(op.Names, quote))
		}
		if len(op.Args) > 0 {
			b.WriteString(" (" + uses(op.Args) + ")") // values behind it without would be those of the next operation's results
		}
	},
	func(p *parser, op *Op) {
		if p.tok.kind != tokString {
			p.fail("%s where a text belongs", p.tok)
		}
		op.Text = p.name()
		if p.acceptWord("at") {
			for ok := true; ok; ok = p.accept(",") {
				op.Names = append(op.Names, p.name())
			}
		}
		if p.accept("(") {
			p.items(")", func() { op.Args = append(op.Args, p.use()) })
		}
	},
}
