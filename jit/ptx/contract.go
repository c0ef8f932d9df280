package ptx

import (
	"fmt"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/jit/target"
	"tilec/lang"
)

// contraction is the plan of one dot or mma: which axes play the rows (m), the
// columns (n) and the depth (k) of a matrix product, in which layouts, by which
// instruction. Several axes in one role are flattened, the first the fastest.
type contraction struct {
	op *ir.Op
	// a gives the rows, b the columns; argument numbers of op, swapped when that wastes less.
	a, b           int
	m, n, k, batch []*ir.Axis
	// result is the accumulator's layout; aLayout and bLayout the fragments'. Without
	// tensor cores only result is set.
	result, aLayout, bLayout layout
	// mma is the tensor-core instruction; nil for multiply-add on the ordinary cores.
	mma *mmaShape
	// wide: the instruction is wgmma, which a group of four warps executes together
	// with the operands in shared memory.
	wide bool
	// overlapped: the product is waited for in the next step of the loop around it.
	overlapped bool
	// The digits from which the layouts are made: single bits, then repetitions.
	mBits, nBits, kBits []digit
	mReps, nReps, kReps []digit
	aWarp, bWarp        []digit
	// aAcross and bAcross: an operand of bytes lies along its rows (or columns) in
	// shared memory, not along the depth: see loadAcross.
	aAcross, bAcross bool
}

// mmaShape is a tensor-core instruction m16n8k<depth>.
type mmaShape struct {
	depth int
	// elements are the types of rows and columns in shared memory and registers, sum that of the accumulator.
	elements [2]lang.DType
	sum      lang.DType
	// inRegister is how many of the depth's bits lie in one register: 1 for pairs of
	// 16-bit elements, 2 for four bytes.
	inRegister int
	types      string // of the result and the operands, as instructions name them
	terms      int    // products a step: 3 for tf32x3
}

// name is the instruction of a single warp.
func (s *mmaShape) name() string {
	result, _, _ := strings.Cut(s.types, ".")
	return fmt.Sprintf("mma.sync.aligned.m16n8k%d.row.col.%s.%s", s.depth, s.types, result)
}

// mmaFor is the instruction for rows of one type and columns of another; nil where there is none.
func mmaFor(t target.Machine, rows, columns lang.DType, precision string) *mmaShape {
	floats := func(depth, inRegister int, e lang.DType, name string) *mmaShape {
		sum := e.Accumulator()
		return &mmaShape{depth: depth, elements: [2]lang.DType{e, e}, sum: sum, inRegister: inRegister, types: sum.String() + "." + name + "." + name, terms: 1}
	}
	if !t.Has(target.MmaSync) {
		return nil
	}
	switch d := rows; d {
	case lang.I8, lang.U8:
		names := map[lang.DType]string{lang.I8: "s8", lang.U8: "u8"}
		return &mmaShape{depth: 32, elements: [2]lang.DType{rows, columns}, sum: lang.I32, inRegister: 2, types: "s32." + names[rows] + "." + names[columns], terms: 1}
	case lang.F16, lang.BF16:
		return floats(16, 1, d, d.String())
	case lang.F4E2M1, lang.F8E4M3, lang.F8E5M2:
		return floats(16, 1, lang.F16, "f16") // holds them exactly
	case lang.F32:
		single := floats(8, 0, d, "tf32")
		switch precision {
		case "":
			return single
		case "tf32x3":
			single.terms = 3
			return single
		}
	case lang.F64:
		if t.Has(target.MmaF64) {
			return floats(8, 0, d, "f64")
		}
	}
	return nil
}

// element is the type of an operand as the instruction takes it.
func (c *contraction) element(arg int) lang.DType {
	if arg == c.a {
		return c.mma.elements[0]
	}
	return c.mma.elements[1]
}

// flatten gives the digits of axes as one number that counts in units of 1<<bits:
// the single bits of the unit, then the repetitions.
func flatten(axes []*ir.Axis, bits int) (unit, reps []digit) {
	for i, a := range axes {
		n := bits
		for i < len(axes)-1 && 1<<n > powerAbove(int(a.Extent)) {
			n--
		}
		for b := range n {
			unit = append(unit, digit{a, 1 << b, 2})
		}
		bits -= n
		if left := (max(int(a.Extent), 1) + 1<<n - 1) >> n; left > 1 {
			reps = append(reps, digit{a, 1 << n, left})
		}
	}
	for range bits { // no axis at all: copies
		unit = append(unit, digit{size: 2})
	}
	return unit, reps
}

// spread takes w warps (a power of two) from the repetitions, neighbours to
// different warps, and gives the warps' digits, what is left, and the number used.
func spread(reps []digit, w int) (warp, left []digit, used int) {
	used = 1
	for i := len(reps) - 1; i >= 0; i-- {
		d := reps[i]
		f := min(w, powerAbove(d.size))
		if f > 1 {
			warp = append(warp, digit{d.axis, d.stride, f})
			d = digit{d.axis, d.stride * f, (d.size + f - 1) / f}
			w /= f
			used *= f
		}
		if d.size > 1 {
			left = append([]digit{d}, left...)
		}
	}
	return warp, left, used
}

// volume is how many elements registers are kept for: one even along an axis without any.
func volume(axes []*ir.Axis) int {
	n := 1
	for _, a := range axes {
		n *= max(int(a.Extent), 1)
	}
	return n
}

// newContraction decides roles and layouts. Rowwise asks for rows that stay in one warp.
func (k *kernel) newContraction(op *ir.Op, rowwise bool) *contraction {
	x, y := op.Args[0].Type, op.Args[1].Type
	c := &contraction{op: op, a: 0, b: 1, k: op.Over}
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
	if volume(c.m) < 16 && volume(c.n) > volume(c.m) && mmaFor(k.target, x.DType, y.DType, op.Precision) != nil {
		c.a, c.b, c.m, c.n = 1, 0, c.n, c.m
	}
	c.mma = mmaFor(k.target, op.Args[c.a].Type.DType, op.Args[c.b].Type.DType, op.Precision)
	if c.mma == nil {
		c.result = k.simtLayout(c)
		return c
	}
	c.k = k.contiguousFirst(c.k, op.Args[0], op.Args[1])
	c.mBits, c.mReps = flatten(c.m, 4)
	c.nBits, c.nReps = flatten(c.n, 3)
	c.kBits, c.kReps = flatten(c.k, c.mma.inRegister+3)
	between := k.layAcross(c)
	batch := c.batchDigits()
	c.wide = k.fitsWgmma(c)
	wm := c.rowWarps(k.warps, rowwise || c.wide)
	mWarp, mReps, used := spread(c.mReps, wm)
	c.mReps = mReps
	rest := k.warps / used
	nWarp, nReps, used := spread(c.nReps, powerBelow(rest&-rest))
	c.nReps = append(between, nReps...)
	idle := digit{size: rest / used}
	warps := func(ms, ns []digit) []digit {
		out := append(append([]digit(nil), ms...), ns...)
		if idle.size > 1 || len(out) == 0 {
			out = append(out, idle)
		}
		return out
	}
	copies := func(ds []digit) []digit {
		out := make([]digit, len(ds))
		for i, d := range ds {
			out[i] = digit{size: d.size}
		}
		return out
	}
	join := func(parts ...[]digit) []digit {
		var out []digit
		for _, p := range parts {
			for _, d := range p {
				if d.axis != nil {
					out = append(out, d)
				}
			}
		}
		return out
	}
	c.aWarp, c.bWarp = warps(mWarp, copies(nWarp)), warps(copies(mWarp), nWarp)
	m, n, kk, in := c.mBits, c.nBits, c.kBits, c.mma.inRegister
	lane := func(low, high []digit) []digit { return append(append([]digit(nil), low...), high...) }
	// Registers of padding bits without an axis must not vanish from the
	// fragments, so roles without axes are given copies by unitRegs.
	c.result = layout{reg: join(n[:1], m[3:4], c.nReps, c.mReps, batch), lane: lane(n[1:3], m[:3]), warp: warps(mWarp, nWarp)}
	c.aLayout = layout{reg: join(kk[:in], m[3:4], kk[in+2:], c.kReps, c.mReps, batch), lane: lane(kk[in:in+2], m[:3]), warp: c.aWarp}
	c.bLayout = layout{reg: join(kk[:in], kk[in+2:], c.kReps, c.nReps, batch), lane: lane(kk[in:in+2], n[:3]), warp: c.bWarp}
	return c
}

// batchDigits are the repetitions along the batch axes.
func (c *contraction) batchDigits() []digit {
	var batch []digit
	for _, a := range c.batch {
		if a.Extent > 1 {
			batch = append(batch, digit{a, 1, int(a.Extent)})
		}
	}
	return batch
}

// contiguousFirst moves to the front the axis along which an operand lies contiguous in memory.
func (k *kernel) contiguousFirst(axes []*ir.Axis, operands ...*ir.Value) []*ir.Axis {
	for _, v := range operands {
		if v.Def == nil || v.Def.Code != lang.OpLoad {
			continue
		}
		c := contiguous(k.access(v.Def))
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
func (c *contraction) rowWarps(warps int, rowwise bool) int {
	all := warps & -warps // the power of two in it
	if rowwise {
		return all
	}
	mTiles, nTiles := max(product(c.mReps), 1), max(product(c.nReps), 1)
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

// contract emits a dot or an mma.
func (k *kernel) contract(op *ir.Op) {
	c := k.products[op]
	result := op.Result()
	d := op.Args[0].Type.DType.Accumulator()
	acc := make([]asm.Reg, c.result.regs())
	if op.Code == lang.OpMma {
		copy(acc, k.get(op.Args[2], c.result))
		if from := result.Type.DType; from != d {
			for i, r := range acc {
				acc[i] = elem.Cast(k.a, from, d, r)
			}
		}
	} else {
		zero := elem.Zero(k.a, d)
		for i := range acc {
			acc[i] = zero
		}
	}
	mark := k.arena.top
	if c.wide {
		acc = k.multiplyWide(c, acc)
	} else if c.mma != nil {
		acc = k.multiply(c, acc)
	} else {
		acc = k.multiplySimt(c, acc)
	}
	k.dropOperands(op, mark)
	if to := result.Type.DType; to != d {
		for i, r := range acc {
			acc[i] = elem.Cast(k.a, d, to, r)
		}
	}
	k.hold(result, c.result, acc)
	if _, same := c.result.permutation(k.home[result], result.Type.Axes); !same {
		k.get(result, k.home[result])
	}
}

// dropOperands gives back the shared memory of operands staged since mark, unless another contraction reads them.
func (k *kernel) dropOperands(op *ir.Op, mark int) {
	for _, v := range op.Args[:2] {
		for _, u := range k.uses[v] {
			if u.op != op && k.products[u.op] != nil && u.arg < 2 {
				return
			}
		}
	}
	for _, v := range op.Args[:2] {
		var left []*sharedTile
		for _, t := range k.scope.tiles[v] {
			if t.at < mark {
				left = append(left, t)
			}
		}
		k.scope.tiles[v] = left
	}
	k.arena.top = mark
}

// multiply emits the tensor-core instructions of a contraction.
func (k *kernel) multiply(c *contraction, acc []asm.Reg) []asm.Reg {
	aTile, bTile := k.stage(c, c.a), k.stage(c, c.b)
	a, b := k.fragments(c, c.a, aTile), k.fragments(c, c.b, bTile)
	mReps, nReps, kReps, batches := product(c.mReps), product(c.nReps), product(c.kReps), volume(c.batch)
	out := append([]asm.Reg(nil), acc...)
	// Where the rows or columns have no axis (or too few elements for a bit),
	// registers that would hold copies are not in the layout: see spot.
	for batch := range batches {
		for step := range kReps {
			rows := make([][][]asm.Reg, mReps)
			for i := range mReps {
				rows[i] = k.terms(c, a.at(step, i, batch))
			}
			for j := range nReps {
				column := k.terms(c, b.at(step, j, batch))
				for i := range mReps {
					spots := c.spots(i, j, batch)
					in := make([]asm.Reg, 4)
					for s, r := range spots {
						in[s] = elem.Zero(k.a, c.mma.sum)
						if r >= 0 {
							in[s] = out[r]
						}
					}
					for _, pair := range termOrder(c.mma.terms) {
						in = k.multiplyTile(c.mma, rows[i][pair[0]], column[pair[1]], in)
					}
					for s, r := range spots {
						if r >= 0 {
							out[r] = in[s]
						}
					}
				}
			}
		}
	}
	for _, s := range []staged{aTile, bTile} {
		if s.tile != nil {
			k.readUntilNow(s.tile.buffer)
		}
	}
	return out
}

// multiplyTile emits the instruction for one tile. What sm_90 multiplies at once of
// doubles, targets before it multiply in quarters of the rows and the depth.
func (k *kernel) multiplyTile(s *mmaShape, rows, columns, in []asm.Reg) []asm.Reg {
	multiply := func(name string, rows, columns, in []asm.Reg) []asm.Reg {
		out := k.a.Regs(elem.ClassOf(s.sum), len(in))
		k.a.Set(asm.Vector(out), name, asm.Vector(rows), asm.Vector(columns), asm.Vector(in))
		return out
	}
	if s.sum != lang.F64 || k.target.Has(target.LongMmaF64) {
		return multiply(s.name(), rows, columns, in)
	}
	var out []asm.Reg
	for half := range 2 {
		part := in[2*half : 2*half+2]
		for step := range 2 {
			part = multiply("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", rows[half+2*step:][:1], columns[step:][:1], part)
		}
		out = append(out, part...)
	}
	return out
}

// spots gives the registers of the result that the four accumulators of a tile
// are; -1 for a copy that the layout does not hold.
func (c *contraction) spots(i, j, batch int) [4]int {
	var at [4]int
	nBit, mBit := c.nBits[0].axis != nil, c.mBits[3].axis != nil
	unit := 1
	if nBit {
		unit *= 2
	}
	if mBit {
		unit *= 2
	}
	base := unit * (j + product(c.nReps)*(i+product(c.mReps)*batch))
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

// termOrder lists which terms of the operands are multiplied: the small ones
// first. A high part that is infinite or NaN meets the other's high part only:
// with a low part of 0 an infinity would give NaN.
func termOrder(terms int) [][2]int {
	if terms == 3 {
		return [][2]int{{lowTerm, finiteTerm}, {finiteTerm, lowTerm}, {highTerm, highTerm}}
	}
	return [][2]int{{0, 0}}
}

// The terms of a split operand: the value rounded to tf32, what that lost, and
// the rounded value with 0 for what is not finite.
const (
	highTerm = iota
	lowTerm
	finiteTerm
)

// terms rounds f32 fragments to tf32, and splits off what the rounding lost when
// the precision asks for it; 16-bit fragments stay.
func (k *kernel) terms(c *contraction, frag []asm.Reg) [][]asm.Reg {
	if c.mma.elements[0] != lang.F32 {
		return [][]asm.Reg{frag}
	}
	hi, lo, finiteHi := make([]asm.Reg, len(frag)), make([]asm.Reg, len(frag)), make([]asm.Reg, len(frag))
	for i, x := range frag {
		hi[i] = k.a.Calc(asm.B32, "cvt.rna.tf32.f32", x)
		if c.mma.terms == 3 {
			high := k.a.Calc(asm.F32, "mov.b32", hi[i])
			rest := k.a.Calc(asm.F32, "sub.f32", x, high)
			finite := k.a.Calc(asm.Pred, "testp.finite.f32", high)
			rest = k.a.Calc(asm.F32, "selp.f32", rest, elem.Zero(k.a, lang.F32), finite)
			lo[i] = k.a.Calc(asm.B32, "cvt.rna.tf32.f32", rest)
			finiteHi[i] = k.a.Calc(asm.B32, "selp.b32", hi[i], asm.Int(0), finite)
		}
	}
	if c.mma.terms == 3 {
		return [][]asm.Reg{hi, lo, finiteHi}
	}
	return [][]asm.Reg{hi}
}
