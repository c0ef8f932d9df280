package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file stores rows that begin anywhere in memory from shared memory. A warp has a run of neighbours of a row at a time, as many as a line of memory has
// or a part of one, and which ones is chosen so that a run never lies in two lines: where a row begins some elements behind the start of a
// line, its lead, the first lanes have no element in the row's first run. They take those in the line where the row ends.

// lines stores a part of a tile.
type lines struct {
	k    *kernel
	tile *sharedTile
	l    layout.Layout
	// along is the axis of neighbours, rows are the other ones, and run how many neighbours a warp has at once.
	along *ir.Axis
	rows  []*ir.Axis
	run   int
	// first is the first position along the rows that the part has, and runs how many runs of each row.
	first, runs int
	to          *addressing
	// checked: the tensor's indices are compared with its shape. Then rows have no lead.
	checked bool
	// known are leads that were computed: a row has that of another one where whole lines lie between them.
	known []*lead
}

// lead is a row that a thread stores, moved to the start of the line where the row begins.
type lead struct {
	row int // what the register adds to the number of the thread's row
	at  address
	// line is where the thread's element of the line lies in memory, and held where those of the first runs lie in shared memory, which
	// is the same from panel to panel.
	line asm.Reg
	held []asm.Reg
	// first and heldFirst are the same of what the thread stores first: an element of the row's first run or, where it has none there, of its last.
	first, heldFirst asm.Reg
	// left is how many positions exist from the line on that do not come before the thread's, and leftFirst the same for what it stores first;
	// no registers where all exist.
	left, leftFirst asm.Reg
}

// linesAtOnce is how many elements a thread brings from shared memory before it stores the first of them.
const linesAtOnce = 8

// storeLines stores a part of a tile from shared memory, each warp neighbours.
func (k *kernel) storeLines(op *ir.Op, t *sharedTile, s *block.BoxStore, part int) {
	if t.Panels == 0 { // its rows are one panel, of which those before and behind are told as of others
		one := *t
		one.Panels = t.Bytes() / t.RowBytes()
		t = &one
	}
	x := &lines{k: k, tile: t, l: *s.Lines, along: t.Contiguous(), rows: t.Axes[1:], to: k.addressing(op, *s.Lines)}
	x.run = layout.Reach(x.along, x.l.Lane)
	x.checked = slices.ContainsFunc(x.to.dims, func(d block.DimAccess) bool { return d.Checked })
	var regs []int
	for r := range x.l.Regs() {
		if s.PartOf(x.l.RegCoord(r, t.Contiguous())) == part {
			regs = append(regs, r)
		}
	}
	slices.SortStableFunc(regs, func(a, b int) int { return x.row(a) - x.row(b) })
	x.first = x.l.RegCoord(regs[0], x.along)
	for _, r := range regs {
		if x.row(r) == x.row(regs[0]) {
			x.runs++
		}
	}
	bits := 8 * t.DType.Size()
	class := map[int]asm.Class{16: asm.B16, 32: asm.B32}[bits]
	load, store := fmt.Sprintf("ld.shared.b%d", bits), fmt.Sprintf("st.global.b%d", bits)
	for some := range slices.Chunk(regs, linesAtOnce) {
		elements := make([]lineElement, len(some))
		values := make([]asm.Reg, len(some))
		for i, r := range some {
			elements[i] = x.element(r)
			values[i] = k.a.Op(class, load, elements[i].from)
		}
		for i, e := range elements {
			k.a.If(e.exists).Do(store, e.to, values[i])
		}
	}
}

// row is what a register adds to the number of the row of the tile that a thread has.
func (x *lines) row(r int) int {
	row, _ := x.tile.Place(func(a *ir.Axis) int { return x.l.RegCoord(r, a) })
	return row
}

// lineElement is an element that a thread stores: where it lies, where it goes, and whether it exists.
type lineElement struct {
	from, to asm.Addr
	exists   asm.Reg
}

// element is the one that a thread stores in place of register r's, in the same row.
func (x *lines) element(r int) (e lineElement) {
	k, t := x.k, x.tile
	row := x.row(r)
	n := (x.l.RegCoord(r, x.along) - x.first) / x.run
	to := x.to.at(r)
	to.offset -= int64(n * x.run * t.DType.Size())
	from := x.lead(r, to)
	moved, down := int(to.offset-from.at.offset), (row-from.row)*t.Width()
	left := from.left
	if n == 0 {
		e.from, e.to, left = asm.At(from.heldFirst).Plus(down+x.back()), asm.At(from.first).Plus(moved), from.leftFirst
	} else {
		phases := len(from.held)
		e.from = asm.At(from.held[n%phases]).Plus(down + x.back() + n/phases*x.panel())
		e.to = asm.At(from.line).Plus(moved + n*x.run*t.DType.Size())
	}
	for _, a := range x.rows {
		e.exists = k.both(e.exists, k.exists(x.l, a, x.l.RegCoord(r, a)))
	}
	if left.Valid() {
		e.exists = k.both(e.exists, k.a.Calc(asm.Pred, "setp.gt.s32", left, asm.Int(x.first+n*x.run)))
	}
	if x.checked {
		e.exists = k.both(e.exists, x.to.inside(r))
	}
	return e
}

// panel is how many bytes a panel of the tile takes.
func (x *lines) panel() int { return x.tile.Panels * x.tile.Width() }

// back is from where the leads' elements are said to lie to where they do: they are computed one panel further, since an element of a lead may lie before
// the row, in the panel before. No register has an address below the tile, which could be below all of shared memory.
func (x *lines) back() int { return (x.first/(x.tile.Width()/x.tile.DType.Size()) - 1) * x.panel() }

// lead gives that of a register's row, whose first run the thread would have at an address if the row began with a line.
func (x *lines) lead(r int, at address) *lead {
	k, t, row := x.k, x.tile, x.row(r)
	size := t.DType.Size()
	turns := t.Swizzle << t.TurnShift() // so many rows from one another, rows are permuted alike
	for _, l := range x.known {
		if l.at.base == at.base && (at.offset-l.at.offset)%int64(x.run*size) == 0 && (row-l.row)%turns == 0 {
			return l
		}
	}
	l := &lead{row: row, at: at}
	x.known = append(x.known, l)

	lane := k.threadCoord(x.l, x.along)
	var bytes asm.Number = asm.Int(0) // of the lead
	l.line = k.offset(at.base, at.offset)
	if !x.checked {
		begin := k.a.Calc(asm.B32, "cvt.u32.u64", l.line)
		begin = k.a.Calc(asm.B32, "sub.s32", begin, k.a.Mul(lane, size))
		behind := k.a.Calc(asm.B32, "and.b32", begin, asm.Int(x.run*size-1))
		l.line = k.a.Calc(asm.B64, "sub.s64", l.line, k.a.Calc(asm.B64, "cvt.u64.u32", behind))
		bytes = behind
	}
	elements := bytes
	if b, ok := bytes.(asm.Reg); ok && size > 1 {
		elements = k.a.Calc(asm.B32, "shr.u32", b, asm.Int(log2(size)))
	}
	position := k.a.Sub(lane, elements) // of the thread's element in the row's first run; negative where it lies before the row

	columns := t.Width() / size
	coord := func(run int) func(*ir.Axis) asm.Number {
		return func(a *ir.Axis) asm.Number {
			if a == x.along {
				return k.a.Add(position, asm.Int(run*x.run+columns))
			}
			return k.a.Add(k.threadCoord(x.l, a), asm.Int(x.l.RegCoord(r, a)))
		}
	}
	from := &sharedAccess{k: k, t: t, l: x.l}
	phases := columns / x.run
	for run := range phases {
		l.held = append(l.held, k.a.Register(k.a.Add(t.base, from.compute(coord(run)))))
	}
	l.first, l.heldFirst = l.line, l.held[0]
	if k.partial(x.along) {
		l.left = k.a.Register(k.a.Add(k.left(x.l, x.along), elements))
		l.leftFirst = l.left
	}
	if !x.checked {
		early := k.a.Calc(asm.Pred, "setp.lt.s32", k.a.Register(position), asm.Int(0))
		last := k.a.Calc(asm.B64, "add.s64", l.line, asm.Int(x.runs*x.run*size))
		l.first = k.a.Calc(asm.B64, "selp.b64", last, l.line, early)
		heldLast := k.a.Register(k.a.Add(l.held[x.runs%phases], asm.Int(x.runs/phases*x.panel())))
		l.heldFirst = k.a.Calc(asm.B32, "selp.b32", heldLast, l.held[0], early)
		if l.left.Valid() {
			l.leftFirst = k.a.Calc(asm.B32, "selp.b32", k.a.Calc(asm.B32, "sub.s32", l.left, asm.Int(x.runs*x.run)), l.left, early)
		}
	}
	return l
}
