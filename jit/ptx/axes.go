package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/jit/target"
	"tilec/lang"
)

// axisState is where an axis stands in the code being emitted.
type axisState struct {
	// start is the first position; end, one past the last that exists: registers of 32 bits, of 64 for a wide axis, or known.
	start, end asm.Number
	// full: every position of the range exists, though those of another range may not.
	full bool
}

func (k *kernel) setAxis(a *ir.Axis, start, end asm.Number) {
	k.scope.axes[a] = &axisState{start: start, end: end}
}

func (k *kernel) state(a *ir.Axis) *axisState {
	for s := k.scope; s != nil; s = s.parent {
		if st, ok := s.axes[a]; ok {
			return st
		}
	}
	if a.Kind != ir.Whole {
		failf("axis %s is used outside its loop", a.Name)
	}
	st := &axisState{start: asm.Int(a.Lo), end: asm.Int(a.Lo + a.Len)}
	k.root.axes[a] = st
	return st
}

// countClass is the register class of positions along an axis.
func countClass(a *ir.Axis) asm.Class { return elem.ClassOf(a.Counts()) }

// size is the size of a dimension: known, or a register of the entry section.
func (k *kernel) size(d *ir.Dim) asm.Number {
	if d.Known() {
		return asm.Int(d.Value)
	}
	return k.a.Once("dim "+d.Name, func() asm.Reg {
		return k.argument(ir.Param{Kind: ir.ParamDim, Dim: d})
	})
}

// number decomposes the block number into the positions of the grid axes, the last axis fastest.
func (k *kernel) number() {
	axes := k.Func.Grid()
	if len(axes) == 0 && k.ClusterSize() <= 1 {
		k.startDebugOutput(nil, nil)
		return
	}
	k.a.AtEntry(func() {
		k.startDebugOutput(axes, k.place(k.blockNumber()))
	})
}

// place sets where the axes of the grid stand for a block, or a tile, and gives its numbers along them.
func (k *kernel) place(rest asm.Reg) []asm.Reg {
	axes := k.Func.Grid()
	numbers := make([]asm.Reg, len(axes))
	last := len(axes) - 1
	lengthening := -1
	if o := k.LongestFirst; o != nil {
		lengthening = slices.Index(axes, o.Axis)
		rest, numbers[lengthening] = k.longestFirst(rest, axes, o)
	} else if k.Program.Grouped {
		rest, numbers[last-1], numbers[last] = k.grouped(rest, axes[last-1], axes[last], last > 1)
		last -= 2
	}
	for i := last; i >= 0; i-- {
		if i == lengthening {
			continue
		}
		numbers[i] = rest
		if i > 0 {
			blocks := k.blocksOf(axes[i])
			numbers[i] = k.a.Register(k.a.Remainder(rest, blocks))
			rest = k.a.Register(k.a.Quotient(rest, blocks))
		}
	}
	if x := k.rangesGrid(); x != nil {
		k.standInRange(x, numbers[slices.Index(axes, x)])
	}
	for i, x := range axes {
		if x.Ranges != nil || k.Func.HasRange(x) {
			continue
		}
		number := numbers[i]
		if k.paired() && k.Tiles.Along == x {
			number = k.a.Op(asm.B32, "mad.lo.s32", number, asm.Int(2), k.rank())
		}
		start, c := number, countClass(x)
		switch {
		case c == asm.B64:
			start = k.a.Op(asm.B64, "mul.wide.u32", number, asm.Int(x.Extent))
		case x.Extent > 1:
			start = k.a.Op(asm.B32, "mul.lo.s32", number, asm.Int(x.Extent))
		}
		end := k.a.Op(c, c.Signed("add"), start, asm.Int(x.Extent))
		if k.Ragged(x) {
			end = k.a.Op(c, c.Signed("min"), end, k.size(x.Dim))
		}
		k.setAxis(x, start, end)
	}
	return numbers
}

// groupRows is how many rows of blocks run side by side before the columns advance.
const groupRows = 8

// grouped numbers the blocks of a matrix product so that those that run at the
// same time share rows and columns of the operands, which then stay in the L2
// cache: down a few rows first, then to the next column. It gives what is left of
// the block number for slower axes, the row and the column.
func (k *kernel) grouped(block asm.Reg, x, y *ir.Axis, slower bool) (rest, row, column asm.Reg) {
	rows, columns := k.tilesAlong(x), k.tilesAlong(y)
	rest = block
	if slower {
		both := k.a.Times(rows, columns)
		rest, block = k.a.Register(k.a.Quotient(block, both)), k.a.Register(k.a.Remainder(block, both))
	}
	row, column = k.inGroups(block, rows, columns, asm.Int(groupRows))
	return rest, row, column
}

// inGroups numbers the blocks of rows and columns: down so many rows, then the next column; behind the last column, the next rows.
func (k *kernel) inGroups(block asm.Reg, rows, columns asm.Number, together asm.Number) (row, column asm.Reg) {
	a := k.a
	size := a.Times(columns, together)
	first, within := a.Times(a.Quotient(block, size), together), a.Register(a.Remainder(block, size))
	height := a.Op(asm.B32, "min.s32", a.Register(a.Sub(a.Register(rows), first)), together)
	n, known := together.(asm.Int)
	if !known {
		return a.Register(a.Add(first, a.Remainder(within, height))), a.Register(a.Quotient(within, height))
	}
	// Nearly always there are as many rows, a number that is known.
	row, column, done := a.Reg(asm.B32), a.Reg(asm.B32), a.Label()
	a.Set(row, "mov.b32", a.Remainder(within, n))
	a.Set(column, "mov.b32", a.Quotient(within, n))
	a.If(a.Op(asm.Pred, "setp.eq.u32", height, n)).Do("bra.uni", done)
	a.Set(row, "rem.u32", within, height)
	a.Set(column, "div.u32", within, height)
	a.Place(done)
	return a.Register(a.Add(first, row)), column
}

// longestFirst numbers the blocks so that those with the longest loops begin first. It gives the number along the other axes, and
// that along the axis of which the last blocks have the longest loops.
func (k *kernel) longestFirst(number asm.Reg, axes []*ir.Axis, o *block.LongestFirst) (rest, last asm.Reg) {
	op := func(name string, args ...asm.Operand) asm.Reg { return k.a.Op(asm.B32, name, args...) }
	var others asm.Number = asm.Int(1)
	for _, x := range axes {
		if x == o.Axis {
			continue
		}
		n := k.blocksOf(x)
		if known, ok := others.(asm.Int); ok {
			others = k.a.Mul(n, int(known))
		} else {
			others = op("mul.lo.s32", others, n)
		}
	}
	columns := k.blocksOf(o.Axis)
	together := op("min.s32", k.a.Register(others), asm.Int(o.Together))
	rest, column := k.inGroups(number, others, columns, together)
	return rest, op("sub.s32", op("sub.s32", k.a.Register(columns), column), asm.Int(1))
}

// blocksOf is the number of blocks along a grid axis.
func (k *kernel) blocksOf(x *ir.Axis) asm.Number {
	switch {
	case x.Ranges != nil:
		return k.tilesOfRanges(x)
	case k.Func.HasRange(x):
		return asm.Int(1)
	}
	if x.Dim.Known() {
		return asm.Int(min((x.Dim.Value+x.Extent-1)/x.Extent, target.MaxBlocks)) // a launch of more is refused
	}
	n := k.size(x.Dim)
	if x.Extent == 1 && !x.Dim.Wide {
		return n
	}
	return k.a.Once("blocks along "+x.Name, func() asm.Reg {
		if x.Dim.Wide {
			up := k.a.Op(asm.B64, "add.s64", n, asm.Int(x.Extent-1))
			return k.a.Op(asm.B32, "cvt.u32.u64", k.a.Op(asm.B64, "div.u64", up, asm.Int(x.Extent)))
		}
		up := k.a.Op(asm.B32, "add.s32", n, asm.Int(x.Extent-1))
		return k.a.Register(k.a.Quotient(up, asm.Int(x.Extent)))
	})
}

// partial reports an axis whose range, in the code being emitted, may have fewer positions than its extent.
func (k *kernel) partial(a *ir.Axis) bool { return k.Ragged(a) && !k.state(a).full }

// threadCoord is the thread's part of the coordinate along a.
func (k *kernel) threadCoord(l layout.Layout, a *ir.Axis) asm.Number {
	type field struct{ at, bits, stride int }
	var fields []field
	scan := func(ds []layout.Digit, at, total int) {
		for i, d := range ds {
			if d.Axis == a && d.Size > 1 {
				size := d.Size
				if i == len(ds)-1 {
					size = layout.PowerAbove(size) // nothing lies above: no mask needed beyond it
				}
				bits := 0
				for 1<<bits < size {
					bits++
				}
				if 1<<bits != size {
					failf("layout %s has a thread digit of size %d", l, d.Size)
				}
				if n := len(fields); n > 0 && fields[n-1].at+fields[n-1].bits == at && fields[n-1].stride<<fields[n-1].bits == d.Stride {
					fields[n-1].bits += bits
				} else {
					fields = append(fields, field{at, bits, d.Stride})
				}
			}
			for n := 1; n < d.Size; n *= 2 {
				at++
			}
		}
	}
	scan(l.Lane, 0, layout.Lanes)
	scan(l.Warp, 5, k.Warps)
	if len(fields) == 0 {
		return asm.Int(0)
	}
	var sum asm.Number = asm.Int(0)
	for _, f := range fields {
		x := k.tid
		if f.at > 0 {
			x = k.a.Calc(asm.B32, "shr.u32", x, asm.Int(f.at))
		}
		if 1<<(f.at+f.bits) < k.Warps*layout.Lanes {
			x = k.a.Calc(asm.B32, "and.b32", x, asm.Int(1<<f.bits-1))
		}
		if r, ok := sum.(asm.Reg); ok {
			sum = k.a.Calc(asm.B32, "mad.lo.s32", x, asm.Int(f.stride), r)
		} else {
			sum = k.a.Mul(x, f.stride)
		}
	}
	return sum
}

// position is the absolute position along a of the thread's register coordinate 0: start plus the thread's part.
func (k *kernel) position(l layout.Layout, a *ir.Axis) asm.Number {
	return k.a.Add(k.threadCoord(l, a), k.state(a).start)
}

// left is how many positions of a's range lie from the thread's register coordinate 0 on, 32 bits.
func (k *kernel) left(l layout.Layout, a *ir.Axis) asm.Reg {
	if countClass(a) == asm.B64 {
		return k.a.Calc(asm.B32, "sub.s32", k.extent(a), k.threadCoord(l, a))
	}
	return k.a.Calc(asm.B32, "sub.s32", k.state(a).end, k.position(l, a))
}

// extent is how many positions a's range has, 32 bits.
func (k *kernel) extent(a *ir.Axis) asm.Number {
	st := k.state(a)
	start, startInt := st.start.(asm.Int)
	end, endInt := st.end.(asm.Int)
	switch {
	case startInt && endInt:
		return end - start
	case countClass(a) == asm.B64:
		return k.a.Calc(asm.B32, "cvt.u32.u64", k.a.Calc(asm.B64, "sub.s64", st.end, st.start))
	case st.start == asm.Int(0):
		return st.end
	}
	return k.a.Calc(asm.B32, "sub.s32", st.end, st.start)
}

// exists gives the predicate that the element at register coordinate c along a
// exists; no register when it always does.
func (k *kernel) exists(l layout.Layout, a *ir.Axis, c int) asm.Reg {
	most := layout.Reach(a, l.Lane, l.Warp) - 1 + c
	if k.partial(a) {
		// position + c < end; the end is never past start + extent, so padding is out too.
		return k.a.Calc(asm.Pred, "setp.gt.s32", k.left(l, a), asm.Int(c))
	}
	if k.inFirstWord(a, c) {
		return k.a.Calc(asm.Pred, "setp.ge.s32", k.a.Register(k.position(l, a)), asm.Int(-c))
	}
	if most < int(a.Extent) {
		return asm.Reg{}
	}
	t := k.threadCoord(l, a)
	if t == asm.Int(0) {
		return k.a.Calc(asm.Pred, "mov.pred", asm.Int(0))
	}
	return k.a.Calc(asm.Pred, "setp.lt.s32", t, asm.Int(int(a.Extent)-c))
}

// both is the conjunction of predicates; no register stands for true.
func (k *kernel) both(p, q asm.Reg) asm.Reg {
	switch {
	case !p.Valid():
		return q
	case !q.Valid() || p == q:
		return p
	}
	return k.a.Calc(asm.Pred, "and.pred", p, q)
}

// mask is the predicate that register r's element exists along all the axes. Of neighbours in a thread that exist together it is one.
func (k *kernel) mask(l layout.Layout, axes []*ir.Axis, r int) asm.Reg {
	var p asm.Reg
	for _, a := range axes {
		c := l.RegCoord(r, a)
		p = k.both(p, k.exists(l, a, c-c%l.Aligned(a, k.Together(a))))
	}
	return p
}

// scalarParam loads a scalar parameter.
func (k *kernel) scalarParam(p ir.Param) asm.Reg {
	var r asm.Reg
	k.a.AtEntry(func() {
		d := p.Scalar.Type.DType
		switch {
		case d == lang.Bool:
			byte := k.a.Op(asm.B32, "ld.param.u8", asm.At(param(p).Name))
			r = k.a.Op(asm.Pred, "setp.ne.u32", byte, asm.Int(0))
		case d.IsFloat() && d.Bits() < 32:
			raw := k.a.Op(asm.B32, fmt.Sprintf("ld.param.u%d", 8*d.Size()), asm.At(param(p).Name))
			r = elem.Unpack(k.a, d, raw, 1)[0]
		default:
			kind := "u"
			if d.IsFloat() {
				kind = "f"
			} else if d.IsSigned() {
				kind = "s"
			}
			r = k.a.Op(elem.ClassOf(d), fmt.Sprintf("ld.param.%s%d", kind, d.Bits()), asm.At(param(p).Name))
		}
	})
	return r
}
