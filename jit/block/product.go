package block

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
	Op *ir.Op
	// A gives the rows, B the columns; argument numbers of op, swapped when that wastes less.
	A, B           int
	M, N, K, Batch []*ir.Axis
	// BatchReps are the repetitions along the batch axes in each warp.
	BatchReps []layout.Digit
	// Result is the accumulator's layout; aLayout and bLayout the fragments'. Without
	// tensor cores only Result is set.
	Result, aLayout, bLayout layout.Layout
	// Parts is how many warps share a product's depth, each of which has a sum of its own; 1 where none do. Joined is the layout
	// in which these are added up.
	Parts int
	// Chains is how many sums of each tile are under way, which are added up at the end: an instruction waits for the sum of the one before.
	Chains int
	Joined layout.Layout
	// MMA is the tensor-core instruction; nil for multiply-add on the ordinary cores.
	MMA *MMA
	// Wgmma: the instruction is wgmma, which a group of four warps executes together
	// with the operands in shared memory.
	Wgmma bool
	// RowsInRegisters: threads load the rows from a tile across which the depth lies, and wgmma takes them from registers.
	RowsInRegisters bool
	// Groups is how many parts of a step's instructions are waited for one by one, each while the next is under way.
	Groups int
	// Passes is how often the code of a step's instructions is run, each time for a part of the depth; 1 where each instruction has its own.
	Passes int
	// Stepwise: each step of the loop around it has a sum of its own, which is added to those of the steps before.
	Stepwise bool
	// Overlapped are the products of the loop around this one, with it, where they are waited for in the next step.
	Overlapped []*Product
	// The digits from which the layouts are made: single bits, then repetitions.
	MBits, NBits, KBits []layout.Digit
	MReps, NReps, KReps []layout.Digit
	// Warp are those of the warps, by the axes of all roles; AWarp and BWarp are those of them that tell rows and columns apart, with copies
	// in place of the others.
	Warp, AWarp, BWarp []layout.Digit
	// aAcross and bAcross: an operand of bytes lies along its rows (or columns) in
	// shared memory, not along the depth: they are read by columns and taken apart.
	aAcross, bAcross bool
	// Window is how an operand lies in shared memory of which steps of the depth have several taps of a window, each of whose elements is there once; nil where they have not.
	Window *Tile
	// Tiles are the shapes in which the operands lie in shared memory, where they have to.
	Tiles [2]*Tile
}

// MMA is a tensor-core instruction m16n8k<depth>.
type MMA struct {
	// Depth is how many products the instruction sums.
	Depth int
	// Elements are the types of rows and columns in shared memory and registers, sum that of the accumulator.
	Elements [2]lang.DType
	Sum      lang.DType
	// InRegister is how many of the depth's bits lie in one register: 1 for pairs of
	// 16-bit elements, 2 for four bytes.
	InRegister int
	Terms      int // products a step: 3 for tf32x3
	// Widened: the elements, floats of 8 bits, are made f16 in registers, which two instructions of half the depth multiply.
	Widened bool
}

// Depth is how many products of elements of a type a tensor-core instruction sums.
func Depth(d lang.DType) int {
	switch {
	case d.Size() == 1 && d.IsInt():
		return 32
	case d.Size() <= 2: // floats of 8 bits and less as f16
		return 16
	}
	return 8
}

// mmaFor is the instruction for rows of one type and columns of another; nil where there is none.
func mmaFor(t target.Machine, rows, columns lang.DType, precision string) *MMA {
	if !t.Has(target.MmaSync) {
		return nil
	}
	switch d := rows; d {
	case lang.I8, lang.U8:
		return newMMA(rows, columns)
	case lang.F16, lang.BF16:
		return newMMA(d, d)
	case lang.F4E2M1, lang.F8E4M3, lang.F8E5M2:
		return newMMA(lang.F16, lang.F16) // holds them exactly
	case lang.F32:
		single := newMMA(d, d)
		switch precision {
		case "":
			return single
		case "tf32x3":
			single.Terms = 3
			return single
		}
	case lang.F64:
		if t.Has(target.MmaF64) {
			return newMMA(d, d)
		}
	}
	return nil
}

// newMMA is the instruction that takes rows and columns of two types as they are.
func newMMA(rows, columns lang.DType) *MMA {
	inRegister := map[int]int{1: 2, 2: 1}[rows.Size()]
	return &MMA{Depth: 8 << inRegister, Elements: [2]lang.DType{rows, columns}, Sum: rows.Accumulator(), InRegister: inRegister, Terms: 1}
}

// Element is the type of an operand as the instruction takes it.
func (c *Product) Element(arg int) lang.DType {
	if arg == c.A {
		return c.MMA.Elements[0]
	}
	return c.MMA.Elements[1]
}

// InShared is the type of an operand's elements in shared memory: the narrower ones of a product of two types lie there as they are, and threads make what they multiply of what they read.
func (c *Product) InShared(arg int) lang.DType {
	if arg == 1 && c.Op.Mixed() {
		return c.Op.Args[arg].Type.DType
	}
	return c.Element(arg)
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

// spread takes w warps (a power of two) from the repetitions, the last ones first, neighbours to
// different warps, and gives the warps' digits, what is left, and the number used.
func spread(reps []layout.Digit, w int) (warp, left []layout.Digit, used int) {
	reps = slices.Clone(reps)
	slices.Reverse(reps)
	warp, left, used = spreadInOrder(reps, w)
	slices.Reverse(left)
	return warp, left, used
}

// spreadInOrder is spread that takes the first repetitions first, as the rows of wgmma are divided: neighbours of 16 rows are those
// of neighbours among the warps.
func spreadInOrder(reps []layout.Digit, w int) (warp, left []layout.Digit, used int) {
	used = 1
	for _, d := range reps {
		f := min(w, layout.PowerAbove(d.Size))
		if f > 1 {
			warp = append(warp, layout.Digit{Axis: d.Axis, Stride: d.Stride, Size: f})
			d = layout.Digit{Axis: d.Axis, Stride: d.Stride * f, Size: (d.Size + f - 1) / f}
			w /= f
			used *= f
		}
		if d.Size > 1 {
			left = append(left, d)
		}
	}
	return warp, left, used
}

// newProduct decides roles and layouts. Rowwise asks for rows that stay in one warp.
func (p *Program) newProduct(op *ir.Op, rowwise bool) *Product {
	x, y := op.Args[0].Type, op.Args[1].Type
	c := &Product{Op: op, A: 0, B: 1, K: op.Over, Parts: 1, Chains: 1}
	for _, a := range op.Result().Type.Axes {
		switch {
		case x.Has(a) && y.Has(a):
			c.Batch = append(c.Batch, a)
		case x.Has(a):
			c.M = append(c.M, a)
		default:
			c.N = append(c.N, a)
		}
	}
	// The last axis of a type is the fastest.
	c.M, c.N, c.K, c.Batch = reversed(c.M), reversed(c.N), reversed(c.K), reversed(c.Batch)
	switch {
	case op.Mixed(): // the bytes play the rows, which instructions take from registers
		c.A, c.B, c.M, c.N = 1, 0, c.N, c.M
		y.DType = x.DType
	case Volume(c.M) < 16 && Volume(c.N) > Volume(c.M) && mmaFor(p.Target, x.DType, y.DType, op.Precision) != nil:
		c.A, c.B, c.M, c.N = 1, 0, c.N, c.M
		x, y = y, x
	}
	c.MMA = mmaFor(p.Target, x.DType, y.DType, op.Precision)
	if c.MMA == nil {
		p.layOut(c)
		return c
	}
	c.K = contiguousFirst(c.K, op)
	p.inF16(c)
	p.inF8(c)
	p.orient(c)
	c.MBits, c.MReps = flatten(c.M, 4)
	c.NBits, c.NReps = flatten(c.N, 3)
	copyBeyond(c.NBits)
	depth := c.K
	if alone(c.K) { // what an instruction has beyond a short depth is of this axis too: wgmma reads one axis alone
		depth = c.K[:1]
	}
	c.KBits, c.KReps = flatten(depth, c.MMA.InRegister+3)
	p.findAcross(c)
	between := c.layAcross()
	c.Wgmma = p.fitsWgmma(c)
	p.takeRuns(c)
	batchWarp, among := c.spreadBatch(p.Warps)
	wm := c.rowWarps(p.Warps/among, rowwise || c.Wgmma)
	mWarp, mReps, used := spread(c.MReps, wm)
	if c.Wgmma {
		mWarp, mReps, used = spreadInOrder(c.MReps, wm)
	}
	c.MReps = mReps
	if c.Wgmma && (op.Mixed() || c.MMA.InRegister != 1 && p.wgmmaFirst(c, c.A) != c.K[0]) {
		c.RowsInRegisters = true
		if c.MMA.InRegister == 0 {
			mWarp, used = c.neighbouringRows(p.Warps), p.Warps
		}
	}
	rest := p.Warps / among / used
	nWarp, nReps, used := spread(c.NReps, layout.PowerBelow(rest&-rest))
	c.NReps = append(between, nReps...)
	var kWarp []layout.Digit
	if !rowwise && !c.Wgmma {
		kWarp = p.shareDepth(c, rest/used)
	}
	c.Warp = slices.Concat(mWarp, nWarp, kWarp, batchWarp)
	if idle := rest / used / c.Parts; idle > 1 || len(c.Warp) == 0 {
		c.Warp = append(c.Warp, layout.Digit{Size: idle})
	}
	p.chain(c)
	p.layOut(c)
	return c
}

// fewChains is how many sums of tiles keep the tensor cores of a warp busy.
const fewChains = 4

// chain decides how many sums of a tile are under way: several where warps share the depth, which has few tiles, and where a warp has one tile of many steps.
func (p *Program) chain(c *Product) {
	if c.Wgmma {
		return
	}
	tiles, steps := layout.Product(c.MReps)*layout.Product(c.NReps)*c.Batches(), layout.Product(c.KReps)
	switch {
	case c.Parts > 1:
		c.Chains = max(1, min(fewChains/tiles, steps))
	case tiles == 1 && c.MMA.Sum == lang.F32 && p.asks("chains", 2) == 2:
		c.Chains = max(1, min(fewChains, steps/2))
	}
}

// layOut makes the layouts of a product of its roles and digits.
func (p *Program) layOut(c *Product) {
	if c.MMA == nil {
		c.Result = p.simtLayout(c)
		return
	}
	// The warps of a role, with copies where digits are along other axes.
	warps := func(roles ...[]*ir.Axis) []layout.Digit {
		axes := slices.Concat(roles...)
		out := make([]layout.Digit, len(c.Warp))
		for i, d := range c.Warp {
			if out[i] = d; !slices.Contains(axes, d.Axis) {
				out[i] = layout.Digit{Size: d.Size}
			}
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
	c.AWarp, c.BWarp = warps(c.M, c.K, c.Batch), warps(c.N, c.K, c.Batch)
	m, n, kk, in, batch := c.MBits, c.NBits, c.KBits, c.MMA.InRegister, c.BatchReps
	lane := func(low, high []layout.Digit) []layout.Digit {
		return append(append([]layout.Digit(nil), low...), high...)
	}
	// Registers of padding bits without an axis must not vanish from the
	// fragments, so roles without axes are given copies by unitRegs.
	c.Result = layout.Layout{Reg: join(n[:1], m[3:4], c.NReps, c.MReps, batch), Lane: lane(n[1:3], m[:3]), Warp: warps(c.M, c.N, c.Batch)}
	c.aLayout = layout.Layout{Reg: join(kk[:in], m[3:4], kk[in+2:], c.KReps, c.MReps, batch), Lane: lane(kk[in:in+2], m[:3]), Warp: c.AWarp}
	c.bLayout = layout.Layout{Reg: join(kk[:in], kk[in+2:], c.KReps, c.NReps, batch), Lane: lane(kk[in:in+2], n[:3]), Warp: c.BWarp}
	if c.Parts > 1 {
		axes := slices.Concat(c.M, c.N, c.Batch)
		c.Joined = layout.Blocked(axes, Extents(axes), c.joinedVector(), p.Warps)
	}
}

// shareDepth gives the depth of a product outside of loops to warps that have neither rows nor columns of their own, and says
// which parts of it: as many warps as divide its steps.
func (p *Program) shareDepth(c *Product, idle int) []layout.Digit {
	if !p.sharesDepth(c) || len(c.KReps) != 1 {
		return nil
	}
	steps := c.KReps[0].Size
	n := min(layout.PowerBelow(idle), steps&-steps)
	if n < 2 || int(c.K[0].Extent) != steps<<len(c.KBits) {
		return nil
	}
	warp, left, _ := spread(c.KReps, n)
	c.KReps, c.Parts = left, n
	return warp
}

// sharesDepth reports a product of whose depth warps may have parts: one outside of loops, that adds to nothing.
func (p *Program) sharesDepth(c *Product) bool {
	return c.Op.Code == lang.OpDot && len(c.K) == 1 && slices.Contains(p.Func.Body.Ops, c.Op)
}

// copyBeyond makes copies of the bits of columns, single ones, that stand for nothing but columns that do not exist.
func copyBeyond(bits []layout.Digit) {
	for i, b := range bits {
		if b.Axis != nil && int64(b.Stride) >= b.Axis.Extent {
			bits[i] = layout.Digit{Size: 2}
		}
	}
}

// joinedVector is how many neighbours along the rows a thread adds up: two where there are as many for each thread, since
// accesses of 2 bytes each are as many as of 4.
func (c *Product) joinedVector() int {
	if len(c.M) > 0 && c.M[0].Extent%2 == 0 {
		return 2
	}
	return 1
}

// Home is the layout in which a product leaves its result.
func (c *Product) Home() layout.Layout {
	if c.Parts > 1 {
		return c.Joined
	}
	return c.Result
}

// contiguousFirst moves to the front the axis along which an operand of a product lies contiguous in memory.
func contiguousFirst(axes []*ir.Axis, of *ir.Op) []*ir.Axis {
	for arg, v := range of.Args[:2] {
		if v.Def == nil || v.Def.Code != lang.OpLoad {
			continue
		}
		c := Contiguous(operandAccess(of, arg))
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
	return RowWarps(max(layout.Product(c.MReps), 1), max(layout.Product(c.NReps), 1), all)
}

// RowWarps is how many of so many warps, a power of two, divide the rows of a product by mma.sync of so many tiles of 16 rows and of 8 columns.
func RowWarps(mTiles, nTiles, warps int) int {
	best, least := 1, 0
	for w := 1; w <= warps; w *= 2 {
		m, n := (mTiles+w-1)/w, (nTiles+warps/w-1)/(warps/w)
		// The products of a warp first, then what it reads for them.
		if cost := m*n*1000 + 2*m + n; least == 0 || cost < least {
			best, least = w, cost
		}
	}
	return best
}

// Spots gives the registers of the result that the four accumulators of a tile
// are; -1 for a copy that the layout does not hold.
func (c *Product) Spots(i, j, batch int) [4]int {
	var at [4]int
	nBit, mBit := c.NBits[0].Axis != nil, c.MBits[3].Axis != nil
	unit := 1
	if nBit {
		unit *= 2
	}
	if mBit {
		unit *= 2
	}
	base := unit * (j + layout.Product(c.NReps)*(i+layout.Product(c.MReps)*batch))
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

// FragmentLayout is the layout of an operand's fragments.
func (c *Product) FragmentLayout(arg int) layout.Layout {
	if arg == c.A {
		return c.aLayout
	}
	return c.bLayout
}

// FragmentRegisters is how many registers a thread needs for all fragments of an operand.
func (c *Product) FragmentRegisters(arg int) int {
	reps, each := layout.Product(c.MReps), 4
	if arg == c.B {
		reps, each = layout.Product(c.NReps), 2
	}
	return each * reps * layout.Product(c.KReps) * c.Batches()
}

// UnitBits are the register bits of one fragment of an operand, low first.
func (c *Product) UnitBits(arg int) []layout.Digit {
	in := c.MMA.InRegister
	bits := append([]layout.Digit(nil), c.KBits[:in]...)
	if arg == c.A {
		bits = append(bits, c.MBits[3])
	}
	return append(bits, c.KBits[in+2:]...)
}

// WgmmaColumns is from how many columns on wgmma is used without a hint that asks for it: with
// fewer, it reads both operands from shared memory faster than shared memory gives them. At 64 it
// keeps up with mma.sync (one plan of attention with heads of 64 took 128 µs on an H200; by mma.sync,
// in a run of another day, 134).
const WgmmaColumns = 64

// WgmmaRows are the rows of one wgmma.
const WgmmaRows = 64

// leastColumns is how many columns the smallest wgmma reads: a tile of half of them or less has no room for the others.
const leastColumns = 8

// WgmmaNever and WgmmaAlways are settings of which products are by wgmma: none, and each that can be.
const WgmmaNever, WgmmaAlways = 1, 2

// fitsWgmma reports a contraction in a shape that wgmma takes.
func (p *Program) fitsWgmma(c *Product) bool {
	asked := p.Wgmma == WgmmaAlways
	if p.Wgmma == WgmmaNever || !p.Target.Has(target.Wgmma) || c.MMA.Sum == lang.F64 || c.MMA.Widened || c.Element(0) != c.Op.Args[0].Type.DType {
		return false
	}
	if c.Window = p.windowOf(c); len(c.M) == 0 || len(c.N) == 0 || !alone(c.K) && !p.depthAcross(c) && c.Window == nil || Volume(c.Batch) > 1 || p.Warps%4 != 0 || p.Warps&(p.Warps-1) != 0 {
		return false
	}
	n, depth := Volume(c.N), c.K[0]
	if layout.PowerAbove((Volume(c.M)+15)/16) < p.Warps || n > 256 || n <= leastColumns/2 || !asked && n < WgmmaColumns && !p.besideWide(c) {
		return false
	}
	if !alone(c.N) && (p.wgmmaFirst(c, c.B) != depth || !powers(c.N[:len(c.N)-1])) { // and so do columns
		return false
	}
	if !alone(c.M) && (p.wgmmaFirst(c, c.A) != depth || !powers(c.M)) { // rows of several axes follow one another
		return false
	}
	columns, steps := (n+7)/8*8, (int(depth.Extent)+c.MMA.Depth-1)/c.MMA.Depth*c.MMA.Depth
	panel := func(elements int) bool { return panelOf(elements*c.Element(0).Size()) > 0 }
	if !panel(steps) {
		return false
	}
	b := c.Op.Args[c.B]
	if b.Def == nil || b.Def.Code != lang.OpLoad {
		return false
	}
	deep := p.wgmmaFirst(c, c.B) == depth
	if c.MMA.InRegister == 0 {
		return p.fitsTF32(c)
	}
	if _, ok := WgmmaRoles(c.Op); c.Op.Mixed() && !ok {
		return false
	}
	if c.MMA.InRegister == 2 { // bytes are never transposed, and there are fewer shapes
		return deep && (columns <= 32 || columns%16 == 0) && (p.wgmmaFirst(c, c.A) == depth || liesAcross(c.Op, c.A, c.M))
	}
	return deep || panel(columns)
}

// depthAcross reports a product of 16 bits over several axes that are not contiguous in either operand: in shared memory their positions are rows, one behind the other, the first axis the
// fastest, whatever the axis is.
func (p *Program) depthAcross(c *Product) bool {
	return c.MMA.InRegister == 1 && !c.Op.Mixed() && len(c.K) > 0 &&
		!slices.Contains(c.K, p.wgmmaFirst(c, c.A)) && !slices.Contains(c.K, p.wgmmaFirst(c, c.B))
}

// besideWide reports a product whose rows are loaded for another one too, which has columns enough: then both read the one tile that wgmma wants.
func (p *Program) besideWide(c *Product) bool {
	v := c.Op.Args[c.A]
	return v.Def != nil && v.Def.Code == lang.OpLoad && slices.ContainsFunc(p.Uses[v], func(u Use) bool {
		return u.Op != c.Op && u.Arg < 2 && u.Op.Code.Row().Group == lang.GroupContract && Volume(ir.Without(u.Op.Args[1-u.Arg].Type.Axes, v.Type.Axes)) >= WgmmaColumns
	})
}

// alone reports axes of which the first has all positions but one.
func alone(axes []*ir.Axis) bool { return len(axes) > 0 && Volume(axes) == Volume(axes[:1]) }

// powers reports axes of powers of two of positions each.
func powers(axes []*ir.Axis) bool {
	return !slices.ContainsFunc(axes, func(a *ir.Axis) bool { return a.Extent <= 0 || a.Extent&(a.Extent-1) != 0 })
}

// wgmmaFirst is the axis along which an operand lies contiguous in shared memory:
// as in global memory, or the depth for a computed one.
func (p *Program) wgmmaFirst(c *Product, arg int) *ir.Axis {
	v := c.Op.Args[arg]
	if v.Def != nil && v.Def.Code == lang.OpLoad {
		if a := Contiguous(operandAccess(c.Op, arg)); a != nil && v.Type.Has(a) {
			return a
		}
	}
	return c.K[0]
}

// takeRuns has lanes take several neighbours of the depth, as many as make 4 bytes of the narrower of two types, or 2 where an odd number of steps leaves no more: which positions of the depth
// an instruction multiplies together does not matter as long as they are the same of both operands. (wgmma reads the columns in their order.) Lanes that read at once then
// have columns whose chunks of 16 bytes are permuted otherwise, so that no two read one bank.
func (p *Program) takeRuns(c *Product) {
	if !c.Op.Mixed() || c.Wgmma || c.aAcross || p.lieAsMultiplied(c) {
		return
	}
	k, n := c.KBits, c.NBits
	if !natural(k, c.K[0]) {
		return
	}
	along := func(stride, size int) layout.Digit { return layout.Digit{Axis: c.K[0], Stride: stride, Size: size} }
	order := []int{1, 2, 0}
	if p.narrow(c) && len(c.KReps) == 1 && c.KReps[0].Size%2 == 0 && !p.sharesDepth(c) {
		c.KBits = []layout.Digit{k[0], k[3], along(16, 2), k[1]}
		steps := c.KReps[0].Size
		if c.KReps = []layout.Digit{k[2]}; steps > 2 {
			c.KReps = append(c.KReps, along(32, steps/2))
		}
		order = []int{2, 0, 1}
	} else {
		c.KBits = []layout.Digit{k[0], k[2], k[3], k[1]}
	}
	if len(c.N) > 0 && natural(n, c.N[0]) {
		c.NBits = []layout.Digit{n[order[0]], n[order[1]], n[order[2]]}
	}
}

// natural reports bits that count along an axis.
func natural(bits []layout.Digit, a *ir.Axis) bool {
	for i, d := range bits {
		if d != (layout.Digit{Axis: a, Stride: 1 << i, Size: 2}) {
			return false
		}
	}
	return true
}

// narrow reports a product of whose rows eight neighbours along the depth lie in 4 bytes, or fewer.
func (p *Program) narrow(c *Product) bool {
	load := c.Op.Args[c.A].Def
	if load == nil || load.Code != lang.OpLoad || Contiguous(operandAccess(c.Op, c.A)) != c.K[0] {
		return false
	}
	d, spans := load.Result().Type.DType, p.spansOf(c.Op, c.A, c.K[:1])
	return d.Packed() || spans != nil && d.Bits() <= 4*spans[0]
}

// Run is how many neighbours of the depth lanes take of a product.
func (c *Product) Run() int {
	switch {
	case !c.Op.Mixed() || c.KBits[3].Stride != 2:
		return 2
	case c.KBits[1].Stride == 8:
		return 8
	}
	return 4
}

// lieAsMultiplied reports rows of a product of two types that have 16 bits and an element for each position, as fragments have them.
func (p *Program) lieAsMultiplied(c *Product) bool {
	return c.InShared(c.A).Bits() == 16 && p.spansOf(c.Op, c.A, c.K[:1]) == nil
}

// findAcross finds which operands of bytes lie along their rows (or columns).
func (p *Program) findAcross(c *Product) {
	bytes := c.MMA.InRegister == 2
	c.aAcross = (bytes || c.Op.Mixed() && !p.lieAsMultiplied(c)) && liesAcross(c.Op, c.A, c.M)
	c.bAcross = bytes && liesAcross(c.Op, c.B, c.N)
}

// layAcross orders the digits of such rows and columns as they are read. It gives the repetition that tells the two tiles of columns
// apart, which no warps may divide.
func (c *Product) layAcross() (between []layout.Digit) {
	if c.aAcross {
		c.MBits = append(slices.Clone(c.MBits[1:]), c.MBits[0])
	}
	if c.bAcross {
		c.NBits, c.NReps = flatten(c.N, 4)
		between, c.NBits = c.NBits[:1:1], c.NBits[1:]
	}
	return between
}

// liesAcross reports an operand that is loaded contiguous along the first of the axes, with at least 16 bytes of it.
func liesAcross(of *ir.Op, arg int, axes []*ir.Axis) bool {
	v := of.Args[arg]
	return len(axes) > 0 && axes[0].Extent > 8 && v.Def != nil && v.Def.Code == lang.OpLoad && Contiguous(operandAccess(of, arg)) == axes[0]
}

// Across reports an operand of bytes that lies along its rows (or columns) in shared memory.
func (c *Product) Across(arg int) bool {
	if arg == c.A {
		return c.aAcross
	}
	return c.bAcross
}

// simtLayout is the layout of a result that the ordinary cores compute: every
// thread owns neighbours along the columns, a warp a row of them.
func (p *Program) simtLayout(c *Product) layout.Layout {
	axes := append(append(append([]*ir.Axis(nil), c.N...), c.M...), c.Batch...)
	if len(axes) == 0 {
		return layout.Uniform(p.Warps)
	}
	vec := min(4, layout.PowerBelow(int(axes[0].Extent)), layout.PowerBelow(max(1, Volume(axes)/(p.Warps*layout.Lanes))))
	return layout.Blocked(axes, Extents(axes), vec, p.Warps)
}
