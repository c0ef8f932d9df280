package ptx

import (
	"math"
	"sort"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// strideReg is the register of a stride that is only known at launch, in elements, 64 bits.
func (k *kernel) strideReg(t *ir.Tensor, i int) asm.Reg {
	if t.Strides != nil {
		d := t.Strides[i]
		return k.a.Once("stride "+d.Name, func() asm.Reg {
			return k.argument(ir.Param{Kind: ir.ParamStride, Dim: d})
		})
	}
	var r asm.Number
	known := int64(1)
	for _, d := range t.Shape[i+1:] {
		if d.Known() {
			known *= d.Value
			continue
		}
		wide := k.a.Wide(k.size(d).(asm.Reg))
		if r == nil {
			r = wide
		} else {
			r = k.a.Calc(asm.B64, "mul.lo.s64", r, wide)
		}
	}
	if known != 1 {
		r = k.a.Calc(asm.B64, "mul.lo.s64", r, asm.Int(known))
	}
	return r.(asm.Reg)
}

// pointer is the address of a tensor's element 0.
func (k *kernel) pointer(t *ir.Tensor) asm.Reg {
	return k.a.Once("pointer "+t.Name, func() asm.Reg {
		if t.Shared {
			first := k.a.Op(asm.B64, "cvt.u64.u32", k.a.Register(k.a.Add(k.sharedBase(), asm.Int(k.kept[t]))))
			if t.Split > 1 { // the block has its part, and indices count from where the axis begins
				part := t.Shape[len(t.Shape)-1].Value
				first = k.a.Op(asm.B64, "sub.s64", first, k.a.Op(asm.B64, "mul.wide.u32", k.rank(), asm.Int(t.Held().Bytes(part))))
			}
			return first
		}
		if t.Scratch {
			return k.scratch(t)
		}
		r := k.argument(ir.Param{Kind: ir.ParamPointer, Tensor: t})
		return k.a.Op(asm.B64, "cvta.to.global.u64", r)
	})
}

// scratch is the address of a scratch tensor, in the share of the block: launches that have not room for
// all blocks at once run some after the others, from the number of the first on.
func (k *kernel) scratch(t *ir.Tensor) asm.Reg {
	base := k.argument(ir.Param{Kind: ir.ParamScratch})
	share := k.a.Op(asm.B64, "cvt.u64.u32", asm.Block)
	base = k.a.Op(asm.B64, "cvta.to.global.u64", base)
	base = k.a.Op(asm.B64, "mad.lo.s64", share, asm.Int(k.Func.ScratchBytes()), base)
	return k.a.Op(asm.B64, "add.s64", base, asm.Int(k.Func.ScratchOffset(t)))
}

// address is the address of element r of an access in the layout l: a register and an offset in bytes.
type address struct {
	base   asm.Reg
	offset int64
	// halves: both count half bytes, from address 0 on; see packed.go.
	halves bool
}

// addr is the address as an operand.
func (x address) addr() asm.Addr {
	if x.offset == 0 {
		return asm.At(x.base)
	}
	return asm.At(x.base).Plus(int(x.offset))
}

// addressing computes the addresses of one access in one layout.
type addressing struct {
	k      *kernel
	tensor *ir.Tensor
	dims   []block.DimAccess
	l      layout.Layout
	base   asm.Reg
	// gathered are the registers of the indices that are tiles.
	gathered map[int][]asm.Reg
	// size is how far one element is from the next: bytes or, of a packed type, half bytes.
	size int64
	// clamped is the axis whose last position that exists stands for those behind it; see clamp.go.
	clamped *ir.Axis
}

// indexing has the indices of one access in one layout, and no addresses.
func (k *kernel) indexing(op *ir.Op, l layout.Layout) *addressing {
	return k.indexingBy(op, k.Access(op), l)
}

// indexingBy is indexing of an access that is read in a way of its own.
func (k *kernel) indexingBy(op *ir.Op, dims []block.DimAccess, l layout.Layout) *addressing {
	x := &addressing{k: k, tensor: op.Tensor, dims: dims, l: l, gathered: map[int][]asm.Reg{}, size: int64(op.Tensor.Held().Size())}
	for i, d := range x.dims {
		if d.Gather {
			x.gathered[i] = k.get(d.Index, l.Slice(d.Index.Type.Axes))
		}
	}
	return x
}

func (k *kernel) addressing(op *ir.Op, l layout.Layout) *addressing {
	return k.addressingBy(op, k.Access(op), l)
}

// addressingBy computes the addresses of an access that is read in a way of its own.
func (k *kernel) addressingBy(op *ir.Op, dims []block.DimAccess, l layout.Layout) *addressing {
	x := k.indexingBy(op, dims, l)
	x.base = k.pointer(op.Tensor)
	if op.Tensor.Held().Packed() {
		x.base = k.inHalves(op.Tensor)
	}
	// What holds longest comes first, so that it is computed outside the loops.
	type summand struct {
		part
		dim, level int
	}
	var sum []summand
	for i, d := range x.dims {
		if d.Gather {
			continue
		}
		for _, p := range x.parts(d) {
			level := 0
			if r, ok := p.value.(asm.Reg); ok {
				level = k.a.LevelOf(r)
			}
			sum = append(sum, summand{p, i, level})
		}
	}
	sort.SliceStable(sum, func(i, j int) bool { return sum[i].level < sum[j].level })
	for _, p := range sum {
		x.base = x.step(x.base, p.dim, p.value, p.coef)
	}
	x.base = x.fromWord(x.base)
	return x
}

// part is one summand of an index: coef times a number.
type part struct {
	value asm.Number
	coef  int64
}

// parts are the summands of an index that do not depend on the register.
func (x *addressing) parts(d block.DimAccess) []part {
	var ps []part
	k := x.k
	for _, t := range d.Affine.Terms {
		start := k.state(t.Axis).start
		if r, ok := start.(asm.Reg); ok && k.a.LevelOf(r) > 1 {
			ps = append(ps, part{k.threadCoord(x.l, t.Axis), t.Coef}, part{start, t.Coef})
		} else {
			ps = append(ps, part{k.position(x.l, t.Axis), t.Coef})
		}
	}
	for _, s := range d.Affine.Scalars {
		ps = append(ps, part{k.scalar(s.Value), s.Coef})
	}
	if d.Affine.Offset != 0 {
		ps = append(ps, part{asm.Int(d.Affine.Offset), 1})
	}
	return ps
}

// step moves an address by coef*n along dimension i.
func (x *addressing) step(base asm.Reg, i int, n asm.Number, coef int64) asm.Reg {
	k := x.k
	if n == asm.Int(0) || coef == 0 {
		return base
	}
	bytes := x.size * coef
	d := x.dims[i]
	if d.Span > 1 { // all that is added up is a multiple of it
		if m, ok := n.(asm.Int); ok {
			n = m / asm.Int(d.Span)
		} else {
			r := n.(asm.Reg)
			n = k.a.Calc(r.Class, "shr."+map[asm.Class]string{asm.B32: "u32", asm.B64: "u64"}[r.Class], r, asm.Int(log2(int(d.Span))))
		}
	}
	if m, ok := n.(asm.Int); ok {
		if d.Stride >= 0 {
			return k.offset(base, int64(m)*d.Stride*bytes)
		}
		return k.a.Calc(asm.B64, "mad.lo.s64", k.strideReg(x.tensor, i), asm.Int(int64(m)*bytes), base)
	}
	r := n.(asm.Reg)
	if d.Stride >= 0 {
		if by := d.Stride * bytes; r.Class == asm.B32 && by >= math.MinInt32 && by <= math.MaxInt32 {
			return k.a.Calc(asm.B64, "mad.wide.s32", r, asm.Int(by), base)
		}
		return k.a.Calc(asm.B64, "mad.lo.s64", k.a.Wide(r), asm.Int(d.Stride*bytes), base)
	}
	scaled := k.strideReg(x.tensor, i)
	if bytes != 1 {
		scaled = k.a.Calc(asm.B64, "mul.lo.s64", scaled, asm.Int(bytes))
	}
	return k.a.Calc(asm.B64, "mad.lo.s64", k.a.Wide(r), scaled, base)
}

// offset moves an address by a constant.
func (k *kernel) offset(base asm.Reg, bytes int64) asm.Reg {
	if bytes == 0 {
		return base
	}
	return k.a.Calc(asm.B64, "add.s64", base, asm.Int(bytes))
}

// coord is the register's part of the index of dimension i.
func (x *addressing) coord(i, r int) int64 { return x.along(x.dims[i].Affine.Terms, r) }

// along is the register's part of a sum of positions.
func (x *addressing) along(terms []block.AxisTerm, r int) (n int64) {
	for _, t := range terms {
		if t.Axis != x.clamped {
			n += t.Coef * int64(x.l.RegCoord(r, t.Axis))
		}
	}
	return n
}

// at is the address of register r's element.
func (x *addressing) at(r int) address {
	out := address{base: x.base, halves: x.tensor.Held().Packed()}
	for i, d := range x.dims {
		switch n := x.coord(i, r); {
		case d.Gather:
			out.base = x.step(out.base, i, x.gathered[i][x.l.Project(r, d.Index.Type.Axes)], 1)
		case n == 0:
		case d.Stride >= 0:
			out.offset += n / max(d.Span, 1) * d.Stride * x.size
		default:
			out.base = x.step(out.base, i, asm.Int(n), 1)
		}
	}
	if x.clamped != nil {
		out.base = x.alongClamped(out.base, r)
	}
	if out.offset != int64(int32(out.offset)) {
		out = address{base: x.k.offset(out.base, out.offset), halves: out.halves}
	}
	return out
}

// inside is the predicate that the checked indices of register r lie in the tensor; no register when none is checked.
func (x *addressing) inside(r int) asm.Reg {
	k := x.k
	var p asm.Reg
	for i, d := range x.dims {
		if !d.Checked {
			continue
		}
		var index asm.Number
		if d.Gather {
			index = x.gathered[i][x.l.Project(r, d.Index.Type.Axes)]
		} else {
			index = x.index(i, r)
		}
		size := k.size(x.tensor.Shape[i])
		at, isReg := index.(asm.Reg)
		var q asm.Reg
		if isReg && at.Class == asm.B64 || x.tensor.Shape[i].Wide {
			if s, ok := size.(asm.Reg); ok {
				size = k.a.Wide(s)
			}
			q = k.a.Calc(asm.Pred, "setp.lt.u64", k.counted(lang.I64, index), size)
		} else {
			q = k.a.Calc(asm.Pred, "setp.lt.u32", k.a.Register(index), size)
		}
		p = k.both(p, q)
	}
	return p
}

// index is the value of an affine index at register r, in 32 bits, or 64 when something in it has those.
func (x *addressing) index(i, r int) asm.Number {
	k, d := x.k, x.dims[i]
	in64 := d.Affine.In64()
	var sum asm.Number = asm.Int(x.coord(i, r))
	for _, p := range x.parts(d) {
		value := p.value
		if n, ok := value.(asm.Reg); ok && in64 {
			value = k.a.Wide(n) // times its factor a number of 32 bits may have more
		}
		sum = k.a.Add(sum, k.a.Mul(value, int(p.coef)))
	}
	return sum
}
