package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file has what matrix products cost.

// joinedRegisters is how many registers of a thread the parts of a product may take, of all the blocks that share its depth: the
// assembler loads them all at once, and keeps in memory what does not fit (256 do not; 128 do).
const joinedRegisters = 128

// loadedClock is the part of its clock that a multiprocessor has left, under the power that products of f32 take: with all of it,
// shared memory would not hold those of 128 x 128 up, which it does (an H200: 1.755 GHz of 1.98).
const loadedClock = 0.885

// turnedColumns is with how many columns of an instruction target.Turned8 was measured: with fewer, threads have less time to turn the next rows. With twice as many
// it was turnedTwice of that (an H200: 1024 and 2048 x 4096 x 4096 of i8 31.4 and 68.0 us by tiles of 128 x 128, 27.4 and 60.8 by 256 x 128).
const turnedColumns, turnedTwice = 128, 1.2

// columnsTaken is the part of an instruction's time, in columns, that it takes longer than by its columns: of 16 bits, a depth of 4,096 more takes 5 % longer by
// 128 columns than by 256 (an H200: 1024 x 4096 x 4096 of bf16 48.4 and 47.3 us, of f16 that a launch before has made of f8 73.4 and 64.9 with that launch; with depths up to 2,048 they are equal).
const columnsTaken, mostColumns = 9, 256

// columnsWidened is that of rows of 8 bits that threads widen for columns of 16 (an H200, 8192 x 4096 x 4096 of bf16 and i8, by two warpgroups: with 256 columns 342 us, with 128 419 and 413, of f8 337, 365 and
// 387; 256 rows by 64 columns 24.5 and 22.4).
const columnsWidened = 60

// columnsMade is what each operation adds to that of a function that makes the rows of what was copied, past a conversion (an H200, 8192 x 4096 x 4096 of bf16, i8 with a scale for each row, by two warpgroups
// and 256 columns 442 us, where rows that are only widened take 401).
const columnsMade = 13

// packedMore is how many operations an element of f4e2m1 takes beyond an integer, by instructions.
const packedMore = 1

// made is how many operations the function of a product of two types has for each element, past the conversion of what was copied: what integers are is part of that, and floats of 16 bits are
// computed two at a time.
func made(op *ir.Op) float64 {
	n := 0.0
	if op.Fn == nil {
		return n
	}
	if op.Args[1].Type.DType.Bits() > 8 { // of a word, each element is shifted by itself
		n++
	}
	for _, inner := range op.Fn.Ops {
		d := inner.Result().Type.DType
		switch {
		case op.InParts() && inner == op.Fn.Yield[0].Def: // two at a time, each part
			n++
		case op.InParts() && inner.Code == lang.OpCast && inner.Args[0].Type.DType == lang.BF16:
		case inner.Code == lang.OpConst || d.IsInt():
		case inner.Code == lang.OpCast && inner.Args[0].Type.DType.Packed():
			n += packedMore
		case inner.Code == lang.OpCast && (inner.Args[0].Type.DType.IsInt() || inner.Args[0].Type.DType.Bits() <= 8):
		case d.IsFloat() && d.Bits() == 16 && (inner.Code == lang.OpAdd || inner.Code == lang.OpSub || inner.Code == lang.OpMul):
			n += 0.5
		default:
			n++
		}
	}
	return n
}

// turnedRate is how many times the rate with turnedColumns columns rows of bytes have that threads turn. Where each step begins a sum anew, no more columns than those have been
// seen to be faster (176 and 192 are slower).
func (c at) turnedRate(columns int64) float64 {
	n := float64(float64(columns) / turnedColumns)
	if c.stepwise {
		return min(n, 1)
	}
	return min(n, 1+float64((turnedTwice-1)*min(n-1, 1)))
}

// widenedInWarps is the part of its rate that mma.sync reaches where warps widen both operands, floats of 8 bits (an H200, 64x8192x8192: 35.6 us where 26.3 were predicted at the whole rate).
const widenedInWarps = 0.7

// wideningCycles is what it takes a thread to widen an element of a product of two types by mma.sync, its share of four schedulers in cycles (an H200, 16x8192x8192 of bf16 and i8, 64 columns a block: by
// four warps, each of which widens rows of its own, 29.3 us, by eight, of which two widen the same, 32.7).
const wideningCycles = 4.0

// aloneWidens is how many times as long it takes where each scheduler has one warp, which waits for itself (an H200, 16x8192x8192 of bf16 by 64 columns and four warps, or by as many for each half of the
// depth, and so twice on a multiprocessor: int4_linear 24.1 and 20.3 us in steps of 256, mxfp4_linear 34.7 and 27.4 of 128).
const aloneWidens = 1.5

// widening is the time in which warps widen what a product of two types takes, by mma.sync, of as many multiplications; full is the part of the machine that is busy.
func (c at) widening(op *ir.Op, n, full float64, resident int64) float64 {
	if !op.Mixed() || c.byWarpgroups(op) {
		return 0
	}
	rows, columns := c.sides(op)
	all := c.warps & -c.warps
	same := all / block.RowWarps(int(ceilDiv(rows, 16)), int(ceilDiv(columns, 8)), all)
	cycles := wideningCycles + made(op)
	const schedulers = 4
	if min(resident, ceilDiv(c.blocks(), c.sms()))*int64(c.warps) <= schedulers {
		cycles *= aloneWidens
	}
	return n / float64(columns) * float64(same) * cycles / (full * float64(c.target.Lanes) * c.target.Clock)
}

// contract gives, for a contraction, its FLOP/s, by how much padding makes it
// larger, and the bytes of shared memory traffic for each multiplication.
func (c at) contract(op *ir.Op) (rate, padding, bytes float64) {
	t := &c.target
	d := op.Args[0].Type.DType
	m, n := c.sides(op)
	e := float64(d.Size())
	rate, matrix := contractRate(t, op)
	if c.inF8(op) {
		rate = t.Tensor8
	}
	if !matrix {
		return rate, 1, 2 * e / 8 // each operand is used from registers a few times
	}
	rows, depth := int64(16), int64(1)
	if d == lang.I8 || d == lang.U8 || c.inF8(op) {
		depth = int64(block.Depth(lang.I8)) // less takes as long
	}
	// B is read again by each group of four warps, or for each 64 rows.
	reads := float64(max(c.warps/4, 1))
	switch {
	case c.byWarpgroups(op):
		rows = max(16*int64(c.warps), wgmmaRows)
		reads = float64(roundUp(m, rows)) / wgmmaRows
		if d == lang.F32 {
			e /= loadedClock
		}
		if d.Bits() == 16 && n <= mostColumns && c.products == 1 {
			taken := float64(columnsTaken)
			if op.Mixed() {
				taken = columnsWidened + float64(columnsMade*made(op))
			}
			rate /= 1 + float64(taken*(1/float64(n)-1.0/mostColumns))
		}
		if d.Bits() == 8 && c.roles[op].Across {
			rate *= t.Turned8 * c.turnedRate(n)
		}
	case t.Has(target.Wgmma) && d != lang.F64:
		rows = wgmmaRows
		if block.Widens(op, *t) {
			rate *= widenedInWarps
		}
		switch {
		case d == lang.F32:
			rate *= t.MmaSync32
		case d.Size() <= 2:
			rate *= t.MmaSync16
		}
	}
	k := c.count(tile{axes: c.places(op.Over)}, false)
	padded := func(n, to int64) float64 { return float64(roundUp(n, to)) / float64(n) }
	if c.deep { // the many are the instruction's rows, and each of them is written once and read once
		few, many := min(m, n), max(m, n)
		return rate, padded(many, 16) * padded(few, 8) * padded(k, depth) * c.depthPadding(op), 2 * e / float64(few)
	}
	padding = padded(m, rows) * padded(n, 8) * padded(k, depth) * c.depthPadding(op)
	if d == lang.F32 && !c.byWarpgroups(op) && len(c.operands) == 2 { // products of products, of which warps have whole rows, have not been timed
		return rate, padding, e * c.roundedReads(m, n)
	}
	rowBytes := e
	if op.Mixed() {
		rowBytes = float64(op.Args[1].Type.DType.Size())
	}
	if again := c.sameTile(op); again > 1 && c.products == 1 && !c.f.Dependent && !c.byWarpgroups(op) {
		along := block.RowWarps(int(ceilDiv(m, 16)), int(ceilDiv(n, 8)), c.warps&-c.warps)
		return rate, padding, float64(rowBytes*float64(1+c.warps/along)/float64(n)) + float64(e*float64(1+along*again)/float64(m))
	}
	written := 1.0
	if len(c.windowed) > 0 {
		written = c.inWindow(op.Args[c.columnsOf(op)].Def)
	}
	bytes = float64(rowBytes*c.rowPasses(op)/float64(n)) + float64(e*(written+reads)/float64(m))
	return rate, padding, bytes
}

// sameTile is how many warps multiply the same rows and columns of a product by mma.sync, where a tile has fewer than one for each warp: each of them reads its operands from shared
// memory by itself (an H200, 8x8192x2048 of bf16, 16 columns a block in steps of 128, by 2, 4, 8 and 16 warps: 15.7, 18.0, 26.1 and 42.2 us). Launches that begin while those before them
// run were planned worse by that (steps of Llama's 1B, 8 texts: 925 us without, 1,042 with).
func (c at) sameTile(op *ir.Op) int {
	rows, columns := c.sides(op)
	all, high, wide := c.warps&-c.warps, int(ceilDiv(rows, 16)), int(ceilDiv(columns, 8))
	along := block.RowWarps(high, wide, all)
	return max(1, all/(along*min(all/along, wide)))
}

// rowPasses is how often each of a product's rows crosses shared memory's port in a step: twice, written and read. Of a product by warpgroups, rows that are loaded before the loop are
// only read, and rows that are computed are in registers, as queries and weights of attention are (an H200, 4x32x1024x128: by 64x64, of which both were reckoned here, 101.7 us where
// 122 were predicted; by 128x128, 110 of 110).
func (c at) rowPasses(op *ir.Op) float64 {
	const read = 1
	if !c.byWarpgroups(op) {
		return 1 + read
	}
	rows := op.Args[1-c.columnsOf(op)]
	written := c.inWindow(rows.Def)
	for _, o := range c.operands {
		if o.op != op || o.value != rows {
			continue
		}
		_, stages := c.operandBytes(o)
		switch {
		case rows.Def == nil || rows.Def.Code != lang.OpLoad:
			return 0
		case o.looped && !o.inLoop && stages == 1:
			return read
		}
	}
	return written + read
}

// roundedReads is, for each multiplication of a product by mma.sync of rows and columns of f32, the elements that are written to shared memory
// and read from it: each warp reads its rows and its columns, and rounds what it has read, for which so much more could be read.
func (c at) roundedReads(m, n int64) float64 {
	t := &c.target
	all := c.warps & -c.warps // the power of two in it
	across := block.RowWarps(int(ceilDiv(m, 16)), int(ceilDiv(n, 8)), all)
	times := t.SharedBytesPerClock / t.RoundedBytesPerClock
	return (1+float64(times*float64(all/across)))/float64(n) + (1+float64(times*float64(across)))/float64(m)
}

// contractRate is the most FLOP/s of a contraction, and whether a matrix unit does it.
func contractRate(t *target.Machine, op *ir.Op) (rate float64, matrix bool) {
	switch d := op.Args[0].Type.DType; {
	case op.InParts():
		return t.Tensor16 / 2, true
	case d.IsFloat() && d.Bits() <= 16:
		return t.Tensor16, true
	case d == lang.I8 || d == lang.U8:
		return t.Tensor8, true
	case d == lang.F64 && t.Has(target.MmaF64):
		return t.Tensor64, true
	case d == lang.F32 && op.Precision != "ieee":
		return t.Tensor32, true
	}
	return t.FMA32, false
}

// sides is how many rows and columns a product has in a block.
func (c at) sides(op *ir.Op) (rows, columns int64) {
	rows, columns = c.free(op.Args[0], op.Args[1]), c.free(op.Args[1], op.Args[0])
	if op.Mixed() || c.columnsOf(op) == 0 && c.target.Has(target.Wgmma) && c.wgmma != block.WgmmaNever {
		return columns, rows
	}
	return rows, columns
}

// facts is what is known of a product: deep of each operand, and the rest of one candidate, that which was asked about last.
type facts struct {
	deep    [2]bool
	asked   int
	columns int   // (columnsOf)
	rows    int64 // (window)
	taken   bool  // (byWarpgroups)
}

// deep reports an operand that is loaded, and contiguous along the depth of its product.
func deep(op *ir.Op, arg int) bool {
	v := op.Args[arg]
	return v.Def != nil && v.Def.Code == lang.OpLoad && slices.Contains(op.Over, block.Contiguous(block.AccessOf(v.Def)))
}

// known is what is known of a product of this candidate; nil where nothing is kept of it.
func (c at) known(op *ir.Op) *facts {
	if c.asked == 0 {
		return nil
	}
	k := c.facts[op]
	if k != nil && k.asked != c.asked { // each is found by those before it
		k.asked = c.asked
		k.columns = c.findColumns(op)
		k.rows = c.findWindow(op)
		k.taken = c.takenByWarpgroups(op)
	}
	return k
}

// columnsOf is the argument of a product that plays the columns where wgmma takes it.
func (c at) columnsOf(op *ir.Op) int {
	if k := c.known(op); k != nil {
		return k.columns
	}
	return c.findColumns(op)
}

func (c at) findColumns(op *ir.Op) int {
	if w := c.windowOf(op); w != nil && c.hasTaps() && w.AsColumns(c.extentOf, c.warps) {
		return w.Arg
	}
	if roles, ok := c.roles[op]; ok {
		return roles.Columns
	}
	if block.FirstAsColumns(op, c.free(op.Args[0], op.Args[1]), c.free(op.Args[1], op.Args[0])) {
		return 0
	}
	return 1
}

// byWarpgroups reports a product that the backend computes by wgmma: warpgroups
// read operands from shared memory, which a warp of its own fills.
func (c at) byWarpgroups(op *ir.Op) bool {
	if k := c.known(op); k != nil {
		return k.taken
	}
	return c.takenByWarpgroups(op)
}

func (c at) takenByWarpgroups(op *ir.Op) bool {
	if !c.target.Has(target.Wgmma) || c.wgmma == block.WgmmaNever || c.warps%4 != 0 {
		return false
	}
	for _, a := range op.Result().Type.Axes { // several products at once are none of its shapes
		if op.Args[0].Type.Has(a) && op.Args[1].Type.Has(a) && c.extent[c.place[a]] > 1 {
			return false
		}
	}
	d := op.Args[0].Type.DType
	rows, columns := c.sides(op)
	if columns < block.WgmmaColumns && !c.besideWide(op) || nextPow2(ceilDiv(rows, 16)) < int64(c.warps) {
		return false
	}
	switch {
	case d == lang.F32:
		return c.byTF32(op, rows, columns)
	case d == lang.I8 || d == lang.U8 || block.F8(c.f, op, c.target):
		_, ok := c.roles[op]
		return ok && (columns <= 32 || columns%16 == 0) && c.oneDepth(op)
	}
	return d.IsFloat() && d.Size() == 2 && c.oneDepth(op)
}

// besideWide reports a product whose rows are loaded for another one too, which has columns enough (block.WgmmaColumns).
func (c at) besideWide(op *ir.Op) bool {
	v := op.Args[1-c.columnsOf(op)]
	return v.Def != nil && v.Def.Code == lang.OpLoad && slices.ContainsFunc(c.multiplied[v], func(other *ir.Op) bool {
		i := slices.Index(other.Args[:2], v)
		return other != op && c.free(other.Args[1-i], v) >= block.WgmmaColumns
	})
}

// oneDepth reports a product that one axis has all the depth of, or several that are contiguous in neither of two operands of 16 bits that are loaded, and one all the columns, or one that
// is divided, along which depth rows and columns of several axes lie contiguous.
func (c at) oneDepth(op *ir.Op) bool {
	long := func(axes []*ir.Axis) (places []int) {
		for _, i := range c.places(axes) {
			if c.extent[i] > 1 {
				places = append(places, i)
			}
		}
		return places
	}
	of := c.columnsOf(op)
	x, y := op.Args[1-of], op.Args[of]
	deepX, deepY := c.facts[op].deep[1-of], c.facts[op].deep[of]
	rows, columns := ir.Without(x.Type.Axes, y.Type.Axes), ir.Without(y.Type.Axes, x.Type.Axes)
	over := len(long(op.Over))
	if over > 1 {
		if rows, arg := c.window(op); rows > 0 {
			return arg == of || len(long(columns)) < 2 || ir.Divided(columns) < 2 && deepY
		}
	}
	if over > 1 && (deepX || deepY || x.Def == nil || y.Def == nil || x.Def.Code != lang.OpLoad || y.Def.Code != lang.OpLoad || op.Args[0].Type.DType.Size() != 2) || len(long(columns)) > 1 && (ir.Divided(columns) > 1 || !deepY) {
		return false
	}
	return len(long(rows)) < 2 || x.Def == nil || x.Def.Code != lang.OpLoad || deepX
}

// inF8 reports a product of floats of 8 bits that are multiplied as they are.
func (c at) inF8(op *ir.Op) bool { return block.F8(c.f, op, c.target) && c.byWarpgroups(op) }

// sumsSteps reports a kernel of one product that has a sum for each step, whose two warpgroups a warpgroup that only copies gives its registers to.
func (c at) sumsSteps() bool {
	if !c.target.IsGPU() || c.products != 1 || c.warps != 2*teamWarps || c.occupancy > 1 || !c.stepwise || !c.allByWarpgroups() || !c.loadsOperands() {
		return false
	}
	for _, s := range c.ops {
		if isContraction(s.op) {
			rows, _ := c.sides(s.op)
			return rows%(2*wgmmaRows) == 0
		}
	}
	return false
}

// stepSums is the registers of a thread for the sum of one step, beside the sum of all.
func (c at) stepSums() int64 {
	most := int64(0)
	for _, s := range c.ops {
		if isContraction(s.op) && c.inF8(s.op) {
			most = max(most, c.count(c.tile(s.op.Result()), false)/c.threads())
		}
	}
	return most
}

// byTF32 reports a product of f32 that wgmma takes: a loop brings its operands by boxes.
func (c at) byTF32(op *ir.Op, rows, columns int64) bool {
	roles, ok := c.roles[op]
	if !ok || !c.oneDepth(op) || c.stages < 2 || !c.target.Has(target.TMA) {
		return false
	}
	if c.sharing()*rows*columns/c.threads() > joinedRegisters && c.sharing() > 1 {
		return false
	}
	depth, looped := int64(1), false
	for _, a := range op.Over {
		i := c.place[a]
		depth, looped = max(depth, c.extent[i]), looped || a.Kind == ir.Loop || c.streamed(i)
	}
	return looped && block.TF32Extents(rows, columns, depth, c.warps, roles.Across)
}

// allByWarpgroups reports products, each of them by wgmma.
func (c at) allByWarpgroups() bool {
	for _, s := range c.ops {
		if isContraction(s.op) && !c.byWarpgroups(s.op) {
			return false
		}
	}
	return c.contracts
}

// loadsOperands reports products of nothing but what is loaded: such operands stay in shared memory.
func (c at) loadsOperands() bool {
	for _, s := range c.ops {
		if !isContraction(s.op) {
			continue
		}
		for _, v := range s.op.Args[:2] {
			if v.Def == nil || v.Def.Code != lang.OpLoad {
				return false
			}
		}
	}
	return true
}

// oneInStep is by how much longer the chains of more than two products take that two warpgroups of one block go through, which wait for the same stages, than
// those of two blocks (an H200, attention's gradients of keys and values, 4x16x4096 positions of 64 channels: 64 keys and 64 queries by two blocks 636 us, 128 keys by one
// 754; its gradients of queries of 128 channels, of which a multiprocessor has one block anyway: 128 queries 612 us, 64 by one warpgroup 820).
const oneInStep = 1.1

// together is by how much the products of a launch take longer than at full rate
// where so many blocks share a multiprocessor: the last of them do not spread over
// all, and one warpgroup does not keep the tensor cores busy.
func (c at) together(resident int64) float64 {
	sms := c.sms()
	longer := float64(ceilDiv(c.blocks(), sms*resident)*resident) / float64(ceilDiv(c.blocks(), sms))
	if alone := resident*int64(c.warps) < 4*warpgroupsBusy; alone && !c.teamIsEnough() {
		longer /= c.target.OneWarpgroup
		if c.mixed { // nor what it widens between its products
			longer /= c.target.OneWarpgroup
		}
	}
	if resident == 1 && c.products > 2 && c.warps == 4*warpgroupsBusy {
		longer *= oneInStep
	}
	if c.takesTurns() && c.fromRegisters() && c.columns() < teamColumns { // and few columns as well
		longer /= c.target.OneWarpgroup
	}
	return longer
}
