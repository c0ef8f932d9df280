package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file finds where the blocks of a grid over ranges in memory stand (ir.Ranges). Each thread goes through the ranges by itself and
// counts their tiles: a range takes twenty to forty instructions, one of them a load that the L1 has behind the first of 32 ranges. So no
// launch before this one has to make a list of tiles, and the copying thread of a block that stays finds its tiles without the others.

// rangesTogether is of how many ranges the bounds are loaded before they are looked at: as loads in flight at once.
const rangesTogether = 4

// rangesGrid is the axis of the grid that goes through ranges in memory; nil where none does.
func (k *kernel) rangesGrid() *ir.Axis {
	for _, x := range k.Func.Grid() {
		if x.Ranges != nil {
			return x
		}
	}
	return nil
}

// rangeAt is a range that a walk has come to: its number, where those before end, where it begins and ends, and how many tiles it has. The
// walk may be left by the label.
type rangeAt struct {
	number, before, from, to, tiles asm.Reg
	leave                           asm.Label
}

// walkRanges emits a walk through the ranges of x, from the first on, and gives where the last ends.
func (k *kernel) walkRanges(x *ir.Axis, visit func(r rangeAt)) (last asm.Reg) {
	a := k.a
	op := func(name string, args ...asm.Operand) asm.Reg { return a.Op(asm.B32, name, args...) }
	count, size := k.size(x.Ranges.Of.Dim), k.size(x.Dim)
	// Positions before behind have been given to ranges.
	number, behind := a.Reg(asm.B32), a.Reg(asm.B32)
	a.Set(number, "mov.b32", asm.Int(0))
	a.Set(behind, "mov.b32", asm.Int(0))
	for _, e := range []*ir.Element{x.Ranges.Lo, x.Ranges.Hi} {
		if e != nil {
			k.pointer(e.Tensor)
		}
	}
	top, leave := a.Label(), a.Label()
	a.PlaceRolled(top) // sixteen copies of it, of 64 ranges, were more than half of a grouped product's code
	var numbers, los, his []asm.Reg
	lo, hi := x.Ranges.Lo, x.Ranges.Hi
	sideBySide := lo != nil && hi != nil && lo.Tensor == hi.Tensor && lo.Plus+1 == hi.Plus
	for i := range rangesTogether {
		n := number
		if i > 0 {
			n = op("add.s32", number, asm.Int(i))
		}
		there := a.Op(asm.Pred, "setp.lt.s32", n, count)
		numbers = append(numbers, n)
		if sideBySide && i > 0 { // behind the last range it does not matter
			los = append(los, his[i-1])
		} else {
			los = append(los, k.rangeEnd(lo, n, there, asm.Int(0)))
		}
		his = append(his, k.rangeEnd(hi, n, there, size))
	}
	for i, n := range numbers {
		to := op("max.s32", op("min.s32", his[i], size), behind)
		from := op("max.s32", los[i], behind)
		before := op("mov.b32", behind)
		a.Set(behind, "mov.b32", to)
		tiles := op("max.s32", op("sub.s32", to, from), asm.Int(0))
		if x.Extent > 1 {
			tiles = op("add.s32", tiles, asm.Int(x.Extent-1))
			tiles = a.Register(a.Quotient(tiles, asm.Int(x.Extent)))
		}
		visit(rangeAt{n, before, from, to, tiles, leave})
	}
	a.Set(number, "add.s32", number, asm.Int(rangesTogether))
	a.If(a.Op(asm.Pred, "setp.lt.s32", number, count)).Do("bra", top)
	a.Place(leave)
	return behind
}

// rangeEnd loads an end of a range, where there is one of that number; another has nothing. An end that is open is where the dimension's is.
func (k *kernel) rangeEnd(e *ir.Element, number, there asm.Reg, open asm.Number) asm.Reg {
	a := k.a
	end := a.Reg(asm.B32)
	if e == nil {
		a.Set(end, "mov.b32", open)
		if there.Valid() && open != asm.Int(0) {
			a.Unless(there).Set(end, "mov.b32", asm.Int(0))
		}
		return end
	}
	t := e.Tensor
	stride := asm.Number(asm.Int(1))
	if t.Strides != nil {
		stride = asm.Int(t.Strides[0].Value)
		if !t.Strides[0].Known() {
			stride = k.strideReg(t, 0)
		}
	}
	base := k.pointer(t)
	at := a.Op(asm.B64, "cvt.s64.s32", a.Op(asm.B32, "add.s32", number, asm.Int(e.Plus)))
	if stride != asm.Int(1) {
		at = a.Op(asm.B64, "mul.lo.s64", at, stride)
	}
	at = a.Op(asm.B64, "mad.lo.s64", at, asm.Int(t.DType.Size()), base)
	if there.Valid() {
		a.Set(end, "mov.b32", asm.Int(0))
	}
	load := "ld.global.b32"
	if !k.Dependent() {
		load = "ld.global.nc.b32"
	}
	a.If(there).Set(end, load, asm.At(at))
	return end
}

// tilesOfRanges is how many tiles the ranges of x have together.
func (k *kernel) tilesOfRanges(x *ir.Axis) asm.Reg {
	return k.a.Once("tiles along "+x.Name, func() asm.Reg {
		if k.Dependent() { // the launches before may write where ranges lie
			k.a.Do("griddepcontrol.wait")
		}
		k.a.Comment("the tiles of all ranges of %s", x.Name)
		for _, t := range x.Ranges.Outside { // what is computed once is at hand before the first branch
			k.pointer(t)
			for _, d := range t.Shape {
				k.size(d)
			}
		}
		sum := k.a.Reg(asm.B32)
		k.a.Set(sum, "mov.b32", asm.Int(0))
		last := k.walkRanges(x, func(r rangeAt) {
			k.zeroOutside(x, r.before, k.a.Op(asm.B32, "min.s32", r.from, r.to))
			k.a.Set(sum, "add.s32", sum, r.tiles)
		})
		k.zeroOutside(x, last, k.size(x.Dim))
		return sum
	})
}

// zeroOutside emits stores of zeros to the positions of outputs between two ranges. All threads of the launch share them; mostly there are none.
func (k *kernel) zeroOutside(x *ir.Axis, from asm.Reg, to asm.Number) {
	a := k.a
	for _, t := range x.Ranges.Outside {
		// How many bytes a position has, and how many of them a thread can store at once.
		var row asm.Number = asm.Int(t.DType.Size())
		known := int64(t.DType.Size())
		for _, d := range t.Shape[1:] {
			known *= d.Multiple()
			n, isInt := k.size(d).(asm.Int)
			if have, ok := row.(asm.Int); ok && isInt {
				row = have * n
				continue
			}
			wide := func(x asm.Number) asm.Reg {
				r := a.Register(x)
				if r.Class != asm.B64 {
					r = a.Op(asm.B64, "cvt.u64.u32", r)
				}
				return r
			}
			row = a.Op(asm.B64, "mul.lo.u64", wide(row), wide(k.size(d)))
		}
		unit := 16
		for int64(unit) > t.Align || known%int64(unit) != 0 {
			unit /= 2
		}
		unit = max(unit, t.DType.Size())
		at := func(position asm.Number) asm.Reg {
			p := a.Op(asm.B64, "cvt.u64.u32", a.Register(position))
			return a.Op(asm.B64, "mad.lo.u64", p, row, k.pointer(t))
		}
		done, top := a.Label(), a.Label()
		a.If(a.Op(asm.Pred, "setp.ge.s32", from, to)).Do("bra", done)
		next, end := at(from), at(to)
		thread := a.Op(asm.B32, "mad.lo.u32", a.Op(asm.B32, "mov.u32", asm.Block), asm.Int(k.Threads()), k.thread)
		stride := a.Op(asm.B64, "mul.wide.u32", a.Op(asm.B32, "mov.u32", asm.Blocks), asm.Int(k.Threads()*unit))
		a.Set(next, "add.u64", next, a.Op(asm.B64, "mul.wide.u32", thread, asm.Int(unit)))
		a.PlaceRolled(top)
		there := a.Op(asm.Pred, "setp.lt.u64", next, end)
		switch zero := asm.Int(0); unit {
		case 16:
			r := a.Op(asm.B32, "mov.b32", zero)
			a.If(there).Do("st.global.v4.b32", asm.At(next), asm.Vector{r, r, r, r})
		case 8:
			r := a.Op(asm.B32, "mov.b32", zero)
			a.If(there).Do("st.global.v2.b32", asm.At(next), asm.Vector{r, r})
		default:
			r := a.Op(asm.B32, "mov.b32", zero)
			a.If(there).Do([...]string{1: "st.global.u8", 2: "st.global.u16", 4: "st.global.b32"}[unit], asm.At(next), r)
		}
		a.Set(next, "add.u64", next, stride)
		a.If(there).Do("bra", top)
		a.Place(done)
	}
}

// standInRange sets where x stands for one of the tiles of its ranges, and the axis each of whose positions has one.
func (k *kernel) standInRange(x *ir.Axis, tile asm.Reg) {
	a := k.a
	a.Comment("the range of %s with tile number %s", x.Name, tile)
	left, start, end, number := a.Reg(asm.B32), a.Reg(asm.B32), a.Reg(asm.B32), a.Reg(asm.B32)
	a.Move(left, tile)
	k.walkRanges(x, func(r rangeAt) {
		a.Set(number, "mov.b32", r.number)
		a.Set(start, "mad.lo.s32", left, asm.Int(x.Extent), r.from)
		a.Set(end, "mov.b32", r.to)
		a.If(a.Op(asm.Pred, "setp.lt.u32", left, r.tiles)).Do("bra", r.leave)
		a.Set(left, "sub.s32", left, r.tiles)
	})
	a.Set(end, "min.s32", end, a.Op(asm.B32, "add.s32", start, asm.Int(x.Extent)))
	k.setAxis(x, start, end)
	k.setAxis(x.Ranges.Of, number, a.Op(asm.B32, "add.s32", number, asm.Int(1)))
}

// storeWhole emits what stores a tile of which all positions along x exist, and what stores one of which a part does.
func (k *kernel) storeWhole(x *ir.Axis, whole, part func()) {
	a := k.a
	st := k.state(x)
	all := a.Calc(asm.Pred, "setp.eq.s32", a.Register(a.Add(st.start, asm.Int(x.Extent))), st.end)
	other, done := a.Label(), a.Label()
	begin := a.Here()
	a.Unless(all).Do("bra.uni", other)
	k.push(begin)
	k.assumeTouched()
	whole()
	begin = a.Begin()
	k.pop()
	a.Do("bra.uni", done)
	a.Place(other)
	a.Comment("the range ends within the tile")
	k.push(begin)
	k.assumeTouched()
	part()
	k.pop()
	a.Place(done)
	k.assumeTouched()
}
