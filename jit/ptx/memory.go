package ptx

import (
	"math"
	"sort"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// indexAxes is the axes of an access: those of its indices and, for a load, of its else value.
func indexAxes(op *ir.Op) []*ir.Axis {
	if op.Code == lang.OpLoad {
		return op.Result().Type.Axes
	}
	return op.AccessAxes()
}

// dimAccess is how an access walks one dimension of its tensor.
type dimAccess struct {
	index   *ir.Value
	affine  affine
	gather  bool // not affine: the index is a tile of its own
	checked bool
	// stride is in elements: known, or -1 with a number that divides it.
	stride, multiple int64
}

// access reads the structure of a load or a store.
func (k *kernel) access(op *ir.Op) []dimAccess {
	dims := make([]dimAccess, len(op.Tensor.Shape))
	for i, v := range op.Indices() {
		f, ok := affineOf(v)
		if ok && op.Checked[i] && !f.fits(op.Tensor.Shape[i]) {
			// Computed as the program says: what wraps around in 32 bits is compared and used as it comes out.
			f, ok = affine{}, false
		}
		stride, multiple := strideOf(op.Tensor, i)
		dims[i] = dimAccess{index: v, affine: f, gather: !ok, checked: op.Checked[i], stride: stride, multiple: multiple}
	}
	return dims
}

// strideOf is the stride of a dimension in elements, -1 when it is only known at launch, and what divides it.
func strideOf(t *ir.Tensor, i int) (stride, multiple int64) {
	if t.Strides != nil {
		return t.Strides[i].Value, multipleOf(t.Strides[i].Multiple())
	}
	stride, multiple = 1, 1
	for _, d := range t.Shape[i+1:] {
		if d.Known() && stride >= 0 {
			stride *= d.Value
		} else {
			stride = -1
		}
		multiple *= max(d.Multiple(), 1)
	}
	return stride, multiple
}

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

// contiguous is the axis along which neighbours are neighbours in memory; nil when there is none.
func contiguous(dims []dimAccess) *ir.Axis {
	if len(dims) == 0 {
		return nil
	}
	last := dims[len(dims)-1]
	if last.gather || last.stride != 1 {
		return nil
	}
	for _, t := range last.affine.terms {
		if last.affine.coef(t.axis) != 1 {
			continue
		}
		elsewhere := false
		for _, d := range dims[:len(dims)-1] {
			if d.gather {
				elsewhere = elsewhere || d.index.Type.Has(t.axis)
			} else {
				elsewhere = elsewhere || d.affine.coef(t.axis) != 0
			}
		}
		if !elsewhere {
			return t.axis
		}
	}
	return nil
}

// vector is how many neighbours along c one access may move: a power of two,
// such that every such group is aligned, and exists as a whole or not at all.
func (k *kernel) vector(t *ir.Tensor, dims []dimAccess, c *ir.Axis) int {
	if c == nil {
		return 1
	}
	bits := int64(t.Held().Bits())
	whole := gcd(k.startMultiple(c), k.endMultiple(c)) // elements
	if dims[len(dims)-1].checked {
		whole = 1
	}
	align := 8 * gcd(max(t.Align, int64(t.Held().Size())), 16) // bits
	for i, d := range dims {
		unit := multipleOf(d.multiple)
		if d.stride >= 0 {
			unit = multipleOf(d.stride)
		}
		parts := int64(manyMultiples)
		switch {
		case d.gather:
			parts = 1
		default:
			parts = gcd(parts, multipleOf(d.affine.offset))
			for _, s := range d.affine.scalars {
				parts = gcd(parts, multipleOf(s.coef)*min(k.multiple(s.value), 1<<20))
			}
			for _, s := range d.affine.terms {
				if s.axis == c && i == len(dims)-1 {
					parts = gcd(parts, k.startMultiple(c))
				} else {
					parts = gcd(parts, multipleOf(s.coef))
				}
			}
		}
		align = gcd(align, min(unit, 1<<20)*min(parts, 1<<20)*bits)
	}
	v := 1
	for int64(2*v)*bits <= 128 && align%(int64(2*v)*bits) == 0 && whole%int64(2*v) == 0 {
		v *= 2
	}
	return v
}

// accessLayout is the layout in which an access is widest, and how many bytes a thread then moves at once.
func (k *kernel) accessLayout(op *ir.Op) (layout, int) {
	axes := indexAxes(op)
	if len(axes) == 0 {
		return uniform(k.warps), op.Tensor.DType.Size()
	}
	dims := k.access(op)
	c := contiguous(dims)
	v := k.vector(op.Tensor, dims, c)
	var order []*ir.Axis
	put := func(a *ir.Axis) {
		if !(ir.Type{Axes: order}).Has(a) {
			order = append(order, a)
		}
	}
	if c != nil {
		put(c)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		for _, t := range dims[i].affine.terms {
			put(t.axis)
		}
		if dims[i].gather {
			for _, a := range dims[i].index.Type.Axes {
				put(a)
			}
		}
	}
	for _, a := range axes {
		put(a)
	}
	n := volume(order)
	if c != nil {
		v = min(v, powerAbove(int(c.Extent)))
	}
	v = max(1, min(v, max(powerBelow(n/(k.warps*lanes)), inByte(op.Tensor))))
	return blocked(order, extents(order), v, k.warps), int(op.Tensor.Held().Bytes(int64(v)))
}

// storeLayout is the layout in which a store takes its value: the value's own where that writes
// whole sectors, else the access's.
func (k *kernel) storeLayout(op *ir.Op) layout {
	if op.Code == lang.OpStore && op.Collides() {
		return k.scatterLayout(op)
	}
	axes := indexAxes(op)
	v := op.Stored()
	if len(v.Type.Axes) == len(axes) && !k.cheap(v) {
		home := k.home[v]
		dims := k.access(op)
		c := contiguous(dims)
		if op.Code.IsAtomic() || c == nil {
			return home
		}
		run := op.Tensor.Held().Bytes(int64(home.run(c, true)))
		if n := inByte(op.Tensor); home.run(c, false)%n != 0 && k.vector(op.Tensor, dims, c) >= n {
			run = 0 // threads store whole bytes
		}
		if run >= 32 || run >= op.Tensor.Held().Bytes(c.Extent) {
			return home
		}
	}
	l, _ := k.accessLayout(op)
	return l
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
				failf("layout %s has no neighbour %d of register %d along %s", l, n, r, c.Name)
			}
			g = append(g, s)
		}
		gs = append(gs, g)
	}
	return gs, v
}

// pointer is the address of a tensor's element 0.
func (k *kernel) pointer(t *ir.Tensor) asm.Reg {
	return k.a.Once("pointer "+t.Name, func() asm.Reg {
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
	base = k.a.Op(asm.B64, "mad.lo.s64", share, asm.Int(k.f.ScratchBytes()), base)
	return k.a.Op(asm.B64, "add.s64", base, asm.Int(k.f.ScratchOffset(t)))
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
	dims   []dimAccess
	l      layout
	base   asm.Reg
	// gathered are the registers of the indices that are tiles.
	gathered map[int][]asm.Reg
	// size is how far one element is from the next: bytes or, of a packed type, half bytes.
	size int64
}

func (k *kernel) addressing(op *ir.Op, l layout) *addressing {
	x := &addressing{k: k, tensor: op.Tensor, dims: k.access(op), l: l, gathered: map[int][]asm.Reg{}, size: int64(op.Tensor.Held().Size())}
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
		if d.gather {
			x.gathered[i] = k.get(d.index, l.slice(d.index.Type.Axes))
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
	return x
}

// part is one summand of an index: coef times a number.
type part struct {
	value asm.Number
	coef  int64
}

// parts are the summands of an index that do not depend on the register.
func (x *addressing) parts(d dimAccess) []part {
	var ps []part
	k := x.k
	for _, t := range d.affine.terms {
		start := k.state(t.axis).start
		if r, ok := start.(asm.Reg); ok && k.a.LevelOf(r) > 1 {
			ps = append(ps, part{k.threadCoord(x.l, t.axis), t.coef}, part{start, t.coef})
		} else {
			ps = append(ps, part{k.position(x.l, t.axis), t.coef})
		}
	}
	for _, s := range d.affine.scalars {
		ps = append(ps, part{k.scalar(s.value), s.coef})
	}
	if d.affine.offset != 0 {
		ps = append(ps, part{asm.Int(d.affine.offset), 1})
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
	if m, ok := n.(asm.Int); ok {
		if d.stride >= 0 {
			return k.offset(base, int64(m)*d.stride*bytes)
		}
		return k.a.Calc(asm.B64, "mad.lo.s64", k.strideReg(x.tensor, i), asm.Int(int64(m)*bytes), base)
	}
	r := n.(asm.Reg)
	if d.stride >= 0 {
		if by := d.stride * bytes; r.Class == asm.B32 && by >= math.MinInt32 && by <= math.MaxInt32 {
			return k.a.Calc(asm.B64, "mad.wide.s32", r, asm.Int(by), base)
		}
		return k.a.Calc(asm.B64, "mad.lo.s64", k.a.Wide(r), asm.Int(d.stride*bytes), base)
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
func (x *addressing) coord(i, r int) int64 {
	var n int64
	for _, t := range x.dims[i].affine.terms {
		n += t.coef * int64(x.l.regCoord(r, t.axis))
	}
	return n
}

// at is the address of register r's element.
func (x *addressing) at(r int) address {
	out := address{base: x.base, halves: x.tensor.Held().Packed()}
	for i, d := range x.dims {
		switch n := x.coord(i, r); {
		case d.gather:
			out.base = x.step(out.base, i, x.gathered[i][x.l.project(r, d.index.Type.Axes)], 1)
		case n == 0:
		case d.stride >= 0:
			out.offset += n * d.stride * x.size
		default:
			out.base = x.step(out.base, i, asm.Int(n), 1)
		}
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
		if !d.checked {
			continue
		}
		var index asm.Number
		if d.gather {
			index = x.gathered[i][x.l.project(r, d.index.Type.Axes)]
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
	in64 := d.affine.in64()
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
