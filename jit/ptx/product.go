package ptx

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file decides how a matrix product is computed: which axes play which role, by which instruction, in which layouts.

// Product is the plan of one dot or mma: which axes play the rows (m), the
// columns (n) and the depth (k) of a matrix product, in which layouts, by which
// instruction. Several axes in one role are flattened, the first the fastest.
type Product struct {
	op *ir.Op
	// a gives the rows, b the columns; argument numbers of op, swapped when that wastes less.
	a, b           int
	m, n, k, batch []*ir.Axis
	// result is the accumulator's layout; aLayout and bLayout the fragments'. Without
	// tensor cores only result is set.
	result, aLayout, bLayout layout.Layout
	// mma is the tensor-core instruction; nil for multiply-add on the ordinary cores.
	mma *MMA
	// wide: the instruction is wgmma, which a group of four warps executes together
	// with the operands in shared memory.
	wide bool
	// overlapped: the product is waited for in the next step of the loop around it.
	overlapped bool
	// The digits from which the layouts are made: single bits, then repetitions.
	mBits, nBits, kBits []layout.Digit
	mReps, nReps, kReps []layout.Digit
	aWarp, bWarp        []layout.Digit
	// aAcross and bAcross: an operand of bytes lies along its rows (or columns) in
	// shared memory, not along the depth: see loadAcross.
	aAcross, bAcross bool
	// tiles are the shapes in which the operands lie in shared memory, where they have to.
	tiles [2]*Tile
}

// MMA is a tensor-core instruction m16n8k<depth>.
type MMA struct {
	depth int
	// elements are the types of rows and columns in shared memory and registers, sum that of the accumulator.
	elements [2]lang.DType
	sum      lang.DType
	// inRegister is how many of the depth's bits lie in one register: 1 for pairs of
	// 16-bit elements, 2 for four bytes.
	inRegister int
	terms      int // products a step: 3 for tf32x3
}

// mmaFor is the instruction for rows of one type and columns of another; nil where there is none.
func mmaFor(t target.Machine, rows, columns lang.DType, precision string) *MMA {
	floats := func(depth, inRegister int, e lang.DType) *MMA {
		return &MMA{depth: depth, elements: [2]lang.DType{e, e}, sum: e.Accumulator(), inRegister: inRegister, terms: 1}
	}
	if !t.Has(target.MmaSync) {
		return nil
	}
	switch d := rows; d {
	case lang.I8, lang.U8:
		return &MMA{depth: 32, elements: [2]lang.DType{rows, columns}, sum: lang.I32, inRegister: 2, terms: 1}
	case lang.F16, lang.BF16:
		return floats(16, 1, d)
	case lang.F8E4M3, lang.F8E5M2:
		return floats(16, 1, lang.F16) // holds both exactly
	case lang.F32:
		single := floats(8, 0, d)
		switch precision {
		case "":
			return single
		case "tf32x3":
			single.terms = 3
			return single
		}
	case lang.F64:
		if t.Has(target.MmaF64) {
			return floats(8, 0, d)
		}
	}
	return nil
}

// element is the type of an operand as the instruction takes it.
func (c *Product) element(arg int) lang.DType {
	if arg == c.a {
		return c.mma.elements[0]
	}
	return c.mma.elements[1]
}

// flatten gives the digits of axes as one number that counts in units of 1<<bits:
// the single bits of the unit, then the repetitions.
func flatten(axes []*ir.Axis, bits int) (unit, reps []layout.Digit) {
	for i, a := range axes {
		n := bits
		for i < len(axes)-1 && 1<<n > layout.PowerAbove(int(a.Extent)) {
			n--
		}
		for b := range n {
			unit = append(unit, layout.Digit{Axis: a, Stride: 1 << b, Size: 2})
		}
		bits -= n
		if left := (max(int(a.Extent), 1) + 1<<n - 1) >> n; left > 1 {
			reps = append(reps, layout.Digit{Axis: a, Stride: 1 << n, Size: left})
		}
	}
	for range bits { // no axis at all: copies
		unit = append(unit, layout.Digit{Size: 2})
	}
	return unit, reps
}

// spread takes w warps (a power of two) from the repetitions, neighbours to
// different warps, and gives the warps' digits, what is left, and the number used.
func spread(reps []layout.Digit, w int) (warp, left []layout.Digit, used int) {
	used = 1
	for i := len(reps) - 1; i >= 0; i-- {
		d := reps[i]
		f := min(w, layout.PowerAbove(d.Size))
		if f > 1 {
			warp = append(warp, layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: f})
			d = layout.Digit{Axis: d.Axis, Stride: d.Stride * f, Size: (d.Size + f - 1) / f}
			w /= f
			used *= f
		}
		if d.Size > 1 {
			left = append([]layout.Digit{d}, left...)
		}
	}
	return warp, left, used
}

// newProduct decides roles and layouts. Rowwise asks for rows that stay in one warp.
func (p *Program) newProduct(op *ir.Op, rowwise bool) *Product {
	x, y := op.Args[0].Type, op.Args[1].Type
	c := &Product{op: op, a: 0, b: 1, k: op.Over}
	for _, a := range op.Result().Type.Axes {
		switch {
		case x.Has(a) && y.Has(a):
			c.batch = append(c.batch, a)
		case x.Has(a):
			c.m = append(c.m, a)
		default:
			c.n = append(c.n, a)
		}
	}
	// The last axis of a type is the fastest.
	c.m, c.n, c.k, c.batch = reversed(c.m), reversed(c.n), reversed(c.k), reversed(c.batch)
	if volume(c.m) < 16 && volume(c.n) > volume(c.m) && mmaFor(p.target, x.DType, y.DType, op.Precision) != nil {
		c.a, c.b, c.m, c.n = 1, 0, c.n, c.m
	}
	c.mma = mmaFor(p.target, op.Args[c.a].Type.DType, op.Args[c.b].Type.DType, op.Precision)
	if c.mma == nil {
		c.result = p.simtLayout(c)
		return c
	}
	c.k = p.contiguousFirst(c.k, op.Args[0], op.Args[1])
	c.mBits, c.mReps = flatten(c.m, 4)
	c.nBits, c.nReps = flatten(c.n, 3)
	c.kBits, c.kReps = flatten(c.k, c.mma.inRegister+3)
	between := p.layAcross(c)
	batch := c.batchDigits()
	c.wide = p.fitsWgmma(c)
	wm := c.rowWarps(p.Warps, rowwise || c.wide)
	mWarp, mReps, used := spread(c.mReps, wm)
	c.mReps = mReps
	rest := p.Warps / used
	nWarp, nReps, used := spread(c.nReps, layout.PowerBelow(rest&-rest))
	c.nReps = append(between, nReps...)
	idle := layout.Digit{Size: rest / used}
	warps := func(ms, ns []layout.Digit) []layout.Digit {
		out := append(append([]layout.Digit(nil), ms...), ns...)
		if idle.Size > 1 || len(out) == 0 {
			out = append(out, idle)
		}
		return out
	}
	copies := func(ds []layout.Digit) []layout.Digit {
		out := make([]layout.Digit, len(ds))
		for i, d := range ds {
			out[i] = layout.Digit{Size: d.Size}
		}
		return out
	}
	join := func(parts ...[]layout.Digit) []layout.Digit {
		var out []layout.Digit
		for _, p := range parts {
			for _, d := range p {
				if d.Axis != nil {
					out = append(out, d)
				}
			}
		}
		return out
	}
	c.aWarp, c.bWarp = warps(mWarp, copies(nWarp)), warps(copies(mWarp), nWarp)
	m, n, kk, in := c.mBits, c.nBits, c.kBits, c.mma.inRegister
	lane := func(low, high []layout.Digit) []layout.Digit {
		return append(append([]layout.Digit(nil), low...), high...)
	}
	// Registers of padding bits without an axis must not vanish from the
	// fragments, so roles without axes are given copies by unitRegs.
	c.result = layout.Layout{Reg: join(n[:1], m[3:4], c.nReps, c.mReps, batch), Lane: lane(n[1:3], m[:3]), Warp: warps(mWarp, nWarp)}
	c.aLayout = layout.Layout{Reg: join(kk[:in], m[3:4], kk[in+2:], c.kReps, c.mReps, batch), Lane: lane(kk[in:in+2], m[:3]), Warp: c.aWarp}
	c.bLayout = layout.Layout{Reg: join(kk[:in], kk[in+2:], c.kReps, c.nReps, batch), Lane: lane(kk[in:in+2], n[:3]), Warp: c.bWarp}
	return c
}

// batchDigits are the repetitions along the batch axes.
func (c *Product) batchDigits() []layout.Digit {
	var batch []layout.Digit
	for _, a := range c.batch {
		if a.Extent > 1 {
			batch = append(batch, layout.Digit{Axis: a, Stride: 1, Size: int(a.Extent)})
		}
	}
	return batch
}

// contiguousFirst moves to the front the axis along which an operand lies contiguous in memory.
func (p *Program) contiguousFirst(axes []*ir.Axis, operands ...*ir.Value) []*ir.Axis {
	for _, v := range operands {
		if v.Def == nil || v.Def.Code != lang.OpLoad {
			continue
		}
		c := contiguous(p.access(v.Def))
		for i, a := range axes {
			if a == c {
				out := []*ir.Axis{a}
				return append(append(out, axes[:i]...), axes[i+1:]...)
			}
		}
	}
	return axes
}

// rowWarps is how many warps divide the rows; the others divide the columns.
func (c *Product) rowWarps(warps int, rowwise bool) int {
	all := warps & -warps // the power of two in it
	if rowwise {
		return all
	}
	mTiles, nTiles := max(layout.Product(c.mReps), 1), max(layout.Product(c.nReps), 1)
	best, least := 1, 0
	for w := 1; w <= all; w *= 2 {
		m, n := (mTiles+w-1)/w, (nTiles+all/w-1)/(all/w)
		// The products of a warp first, then what it reads for them.
		if cost := m*n*1000 + 2*m + n; least == 0 || cost < least {
			best, least = w, cost
		}
	}
	return best
}

// spots gives the registers of the result that the four accumulators of a tile
// are; -1 for a copy that the layout does not hold.
func (c *Product) spots(i, j, batch int) [4]int {
	var at [4]int
	nBit, mBit := c.nBits[0].Axis != nil, c.mBits[3].Axis != nil
	unit := 1
	if nBit {
		unit *= 2
	}
	if mBit {
		unit *= 2
	}
	base := unit * (j + layout.Product(c.nReps)*(i+layout.Product(c.mReps)*batch))
	for s := range at {
		n, m := s&1, s>>1
		r := base
		if n == 1 && !nBit || m == 1 && !mBit {
			at[s] = -1
			continue
		}
		if nBit {
			r += n
			if m == 1 {
				r += 2
			}
		} else {
			r += m
		}
		at[s] = r
	}
	return at
}

// fragmentLayout is the layout of an operand's fragments.
func (c *Product) fragmentLayout(arg int) layout.Layout {
	if arg == c.a {
		return c.aLayout
	}
	return c.bLayout
}

// unitBits are the register bits of one fragment of an operand, low first.
func (c *Product) unitBits(arg int) []layout.Digit {
	in := c.mma.inRegister
	bits := append([]layout.Digit(nil), c.kBits[:in]...)
	if arg == c.a {
		bits = append(bits, c.mBits[3])
	}
	return append(bits, c.kBits[in+2:]...)
}

// wgmmaColumns is from how many columns on wgmma is used without a hint that asks for it: with
// fewer, it reads both operands from shared memory faster than shared memory gives them. At 64 it
// keeps up with mma.sync (one plan of attention with heads of 64 took 128 µs on an H200; by mma.sync,
// in a run of another day, 134).
const wgmmaColumns = 64

// fitsWgmma reports a contraction in a shape that wgmma takes.
func (p *Program) fitsWgmma(c *Product) bool {
	hint, asked := p.f.Hints["wgmma"]
	if asked && hint == 0 || !p.target.Has(target.Wgmma) || c.mma.inRegister == 0 || c.element(0) != c.op.Args[0].Type.DType {
		return false
	}
	if len(c.m) != 1 || len(c.n) != 1 || len(c.k) != 1 || len(c.batch) > 0 || p.Warps%4 != 0 || p.Warps&(p.Warps-1) != 0 {
		return false
	}
	m, n, depth := c.m[0], c.n[0], c.k[0]
	if layout.PowerAbove((int(m.Extent)+15)/16) < p.Warps || n.Extent > 256 || !asked && n.Extent < wgmmaColumns {
		return false
	}
	columns, steps := (int(n.Extent)+7)/8*8, (int(depth.Extent)+c.mma.depth-1)/c.mma.depth*c.mma.depth
	panel := func(elements int) bool {
		bytes := elements * c.element(0).Size()
		return bytes == 32 || bytes == 64 || bytes%panelBytes == 0
	}
	if !panel(steps) {
		return false
	}
	b := c.op.Args[c.b]
	if b.Def == nil || b.Def.Code != lang.OpLoad {
		return false
	}
	deep := p.wideFirst(c, c.b) == depth
	if c.mma.inRegister == 2 { // bytes are never transposed, and there are fewer shapes
		return deep && p.wideFirst(c, c.a) == depth && (columns <= 32 || columns%16 == 0)
	}
	return deep || panel(columns)
}

// wideFirst is the axis along which an operand lies contiguous in shared memory:
// as in global memory, or the depth for a computed one.
func (p *Program) wideFirst(c *Product, arg int) *ir.Axis {
	v := c.op.Args[arg]
	if v.Def != nil && v.Def.Code == lang.OpLoad {
		if a := contiguous(p.access(v.Def)); a != nil && v.Type.Has(a) {
			return a
		}
	}
	return c.k[0]
}

// layAcross decides which operands are read so, and orders the digits of their rows
// and columns for it. It gives the repetition that tells the two tiles of columns
// apart, which no warps may divide.
func (p *Program) layAcross(c *Product) (between []layout.Digit) {
	if c.mma.inRegister != 2 {
		return nil
	}
	if c.aAcross = p.liesAcross(c.op.Args[c.a], c.m); c.aAcross {
		c.mBits = append(slices.Clone(c.mBits[1:]), c.mBits[0])
	}
	if c.bAcross = p.liesAcross(c.op.Args[c.b], c.n); c.bAcross {
		c.nBits, c.nReps = flatten(c.n, 4)
		between, c.nBits = c.nBits[:1:1], c.nBits[1:]
	}
	return between
}

// liesAcross reports a load that is contiguous along the first of the axes, with at least 16 bytes of it.
func (p *Program) liesAcross(v *ir.Value, axes []*ir.Axis) bool {
	return len(axes) > 0 && axes[0].Extent > 8 && v.Def != nil && v.Def.Code == lang.OpLoad && contiguous(p.access(v.Def)) == axes[0]
}

func (c *Product) across(arg int) bool {
	if arg == c.a {
		return c.aAcross
	}
	return c.bAcross
}

// simtLayout is the layout of a result that the ordinary cores compute: every
// thread owns neighbours along the columns, a warp a row of them.
func (p *Program) simtLayout(c *Product) layout.Layout {
	axes := append(append(append([]*ir.Axis(nil), c.n...), c.m...), c.batch...)
	if len(axes) == 0 {
		return layout.Uniform(p.Warps)
	}
	vec := min(4, layout.PowerBelow(int(axes[0].Extent)), layout.PowerBelow(max(1, volume(axes)/(p.Warps*layout.Lanes))))
	return layout.Blocked(axes, extents(axes), vec, p.Warps)
}
