package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// Figures of the backend and of the model; those of a machine are in its row (jit/target).
const (
	// registerLimit is the most 32-bit registers a thread for tiles; the rest of 255 is for addresses and the like.
	registerLimit = 160
	// registerOverhead is what a thread needs beside tiles. Contractions need about as
	// much again as tiles for fragments of their operands, up to fragmentRegisters
	// (seen in what the assembler reports).
	registerOverhead, fragmentRegisters = 40, 64
	// accumulatorOverhead is the fewest registers beside accumulators with which the assembler still keeps all of these in
	// registers (products of 64 x 128 with 4 warps: 26 beside 64, without a spill).
	accumulatorOverhead = 28
	// Where no plan is within the limits, values for up to maxKept registers a thread may be live at once: code for more
	// would take the assembler minutes.
	maxKept = 1 << 12
	// rereadMiss is the part of reads by several blocks that the L2 does not hold although it could not hold all.
	rereadMiss = 0.1
	// reductionScratch is shared memory for reductions across warps, in bytes.
	reductionScratch = 4096
	// sharedReserve is shared memory that is not for tiles: barriers and alignment.
	sharedReserve = 1024
	// wgmmaRows are the rows of one wgmma. warpgroupsBusy warpgroups keep the tensor cores busy.
	wgmmaRows, warpgroupsBusy = block.WgmmaRows, 2
	// manyHeld is from how many registers a thread has of tiles that the assembler is told how many blocks are to share a multiprocessor: by itself it takes more
	// than is reckoned with, for loads of all elements at once (an H200, norms of 256 channels, 67 registers: 146 of them and one block 98 us, 128 and two 76).
	manyHeld = 48
	// manyElements is from how many elements a thread code gets long and registers short;
	// each further one costs longCode of the time.
	manyElements, longCode = 32, 0.002
	// longOrder is the same of what puts elements into order, which takes hundreds of instructions an element: 32 of them fill the caches for code.
	longOrder = 0.02
	// coarseWeight is what a function costs whose coarse form will do: one or two operations, and the special unit's time for one.
	coarseWeight = 3
	// accessWeight is what a load or a store of a vector of up to vectorBytes costs, in simple operations.
	accessWeight, vectorBytes = 4, 16
	// fragmentRun is how many neighbours of a matrix unit's result an access of a warp stores, where the TMA does not store it: of two
	// bytes each, half a sector.
	fragmentRun = 8
)

// estimate is the predicted cost of a candidate, in seconds, with what it is made of.
type estimate struct {
	time                               float64
	compute, l2, dram, shared, issue   float64
	latency, launch                    float64
	shorter                            float64 // see at.shorter; only of shared axes it is part of the time
	waves                              float64 // wave efficiency, 0 to 1
	blocks, perSM                      int64
	registers, sharedBytes, workingSet int64
	keeps                              bool    // rows, in shared memory
	copies                             float64 // see at.inPieces; it is no part of the time
}

// violation is a limit that a candidate breaks.
type violation struct {
	what       string
	need, have int64
	// inShared: it is the shared memory of a block; uses is what takes that, a line each, of the candidate that is reported.
	inShared bool
	uses     []string
}

func (v *violation) excess() float64 { return float64(v.need) / float64(v.have) }

// String is what is over its limit.
func (v *violation) String() string {
	return fmt.Sprintf("needs %d %s, the limit is %d: %d too many", v.need, v.what, v.have, v.need-v.have)
}

// bound names the term that the time comes from.
func (e *estimate) bound() string {
	names := []string{"compute", "l2", "dram", "shared", "issue"}
	terms := []float64{e.compute, e.l2, e.dram, e.shared, e.issue}
	i := slices.Index(terms, slices.Max(terms))
	if e.latency+e.launch > terms[i] {
		return "latency"
	}
	return names[i]
}

// String is the terms of the estimate, as a plan says why it was chosen.
func (e *estimate) String() string {
	s := fmt.Sprintf("%s, bound by %s:", seconds(e.time), e.bound())
	for _, t := range e.terms() {
		if t.Seconds > 0 {
			s += fmt.Sprintf(" %s %s", t.Name, seconds(t.Seconds))
		}
	}
	s += fmt.Sprintf("; %d blocks, wave efficiency %.2f", e.blocks, e.waves)
	if e.perSM > 0 {
		s += fmt.Sprintf(", %d a multiprocessor, %d registers a thread, %d bytes of shared memory", e.perSM, e.registers, e.sharedBytes)
	}
	if e.workingSet > 0 {
		s += fmt.Sprintf(", working set %d bytes", e.workingSet)
	}
	return s
}

func seconds(t float64) string {
	return time.Duration(math.Round(t * 1e9)).String()
}

// at is a candidate with what follows from its extents. asked numbers it among those of a search, for what is asked of each again and again (facts); 0 for others.
type at struct {
	*model
	candidate
	asked int
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// streamed reports a Whole axis that a loop goes through.
func (c at) streamed(i int) bool {
	return c.f.Axes[i].Kind == ir.Whole && (c.extent[i] < c.size[i] || i == c.depth && c.persist > 0 && c.stages > 1)
}

// inOrder reports that no store goes through parts of an axis in another order than that of all positions: inside
// steps of one position along the axes before, and with several positions at once along the last axis alone.
func (c at) inOrder() bool {
	for _, axes := range c.ordered {
		several := false // along an axis before
		for n, i := range axes {
			if c.streamed(i) && (several || n < len(axes)-1 && c.extent[i] > 1) {
				return false
			}
			several = several || c.extent[i] > 1
		}
	}
	return true
}

// trips is how many steps a loop takes, on average over the blocks: one that
// ends with a grid axis's block, as causal attention's does, takes half of them
// and what the block adds. One over a range that is read from memory takes those of a range of average length.
func (c at) trips(loop *ir.Op) float64 {
	lo, hi := uncut(loop.Args[0]), uncut(loop.Args[1])
	is := func(op *ir.Op, code lang.Op) bool { return op != nil && op.Code == code }
	if loop.Axis == nil {
		return float64(max(c.numbers(loop), 1))
	}
	i := c.place[loop.Axis]
	n := max(math.Ceil(c.length(loop)/float64(c.extent[i])), 1)
	for _, bound := range []*ir.Op{lo, hi} {
		if (is(bound, lang.OpEnd) || is(bound, lang.OpStart)) && bound.Axis.Kind == ir.Grid {
			block := c.place[bound.Axis]
			all := float64(c.size[block])
			if bound.Axis.Ranges != nil {
				all = c.length(loop)
			}
			part := max(float64(c.extent[block]), min(float64(bound.Span), all))
			half := (all + part) / 2 / float64(c.extent[i])
			n = min(n, half+0.5) // half a step is lost at the ragged end
		}
	}
	return n
}

// uncut is what an end of a range is before it is cut to the dimension.
func uncut(end *ir.Value) *ir.Op {
	op := end.Def
	for op != nil && (op.Code == lang.OpMin || op.Code == lang.OpMax) {
		if last := op.Args[1].Def; last == nil || last.Code != lang.OpSize && last.Code != lang.OpConst {
			break
		}
		op = op.Args[0].Def
	}
	return op
}

// numbers is how many steps a loop over numbers has, 0 where nobody knows.
func (m *model) numbers(loop *ir.Op) int64 {
	lo, known := m.number(loop.Args[0])
	hi, too := m.number(loop.Args[1])
	if !known || !too {
		return 0
	}
	return max(hi-lo, 0)
}

// number is what a scalar is that follows from sizes and constants, of the sizes that are planned for.
func (m *model) number(v *ir.Value) (n int64, known bool) {
	if v.Def == nil {
		return 0, false
	}
	switch op := v.Def; op.Code {
	case lang.OpConst:
		return op.Const.Int, true
	case lang.OpSize:
		return dimSize(op.Dim, m.sizes), true
	case lang.OpCast:
		return m.number(op.Args[0])
	case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv:
		x, ok := m.number(op.Args[0])
		y, too := m.number(op.Args[1])
		if !ok || !too {
			return 0, false
		}
		switch op.Code {
		case lang.OpAdd:
			return x + y, true
		case lang.OpSub:
			return x - y, true
		case lang.OpMul:
			return x * y, true
		}
		if y > 0 {
			return x / y, true
		}
	}
	return 0, false
}

// steps is how many times a loop does an operation over the axes, for each position along the loop's axis if that is one of them; padded
// counts those too that a ragged end has not.
func (c at) steps(loop *ir.Op, axes []int, padded bool) float64 {
	trips := c.trips(loop)
	if loop.Axis == nil || !slices.Contains(axes, c.place[loop.Axis]) {
		return trips
	}
	i := c.place[loop.Axis]
	per := float64(c.extent[i])
	if !padded {
		per = min(per, c.length(loop)/max(math.Ceil(c.length(loop)/float64(c.extent[i])), 1))
	}
	return trips * per
}

// elements is how many elements an operation over the axes handles in the whole
// launch, each pass counted; padded counts those too that ragged blocks have not.
func (c at) elements(s step, padded bool) (all, onePass float64) {
	all = 1
	for i, a := range c.f.Axes {
		blocks := 1.0
		if a.Kind == ir.Grid {
			blocks = float64(c.along(i))
		}
		switch has := slices.Contains(s.axes, i); {
		case a.Kind == ir.Grid && has && padded:
			all *= blocks * float64(c.extent[i])
		case a.Kind == ir.Grid && has:
			all *= float64(c.size[i])
		case a.Kind == ir.Grid && slices.Contains(s.once, i):
		case a.Kind == ir.Grid:
			all *= blocks
		case has && a.Kind == ir.Whole:
			all *= float64(c.size[i])
		}
	}
	for _, loop := range s.loops {
		all *= c.steps(loop, s.axes, padded)
	}
	// What the blocks of a cluster do not share, each does by itself, but for what it writes; of neighbours each writes.
	switch divided := c.divided(s); {
	case !c.target.IsGPU() || c.sharing() == 1:
	case divided && c.inGrid():
		all /= float64(c.sharing())
	case !divided && s.op.Code.Row().Effect != lang.Writes:
		all *= float64(c.forOne())
	}
	onePass = all
	for i := range c.passes[s.op] {
		if c.streamed(i) {
			all *= c.timesComputed(s.op, i)
		}
	}
	return all, onePass
}

// timesComputed is how often an operation is computed in the loops over a streamed axis.
func (c at) timesComputed(op *ir.Op, i int) float64 {
	n := float64(c.passes[op][i])
	if levels := c.loopsAround[op][i]; levels != nil {
		n = 0
		for _, loops := range levels {
			n += c.stepsAround(loops)
		}
	}
	if c.scanned[op][i] && c.blocksAlong(i) > 1 { // for the total of each block's part first
		n++
	}
	return n
}

// stepsAround adds up the steps of the loops around those of a level, of which those around which the same axes are streamed are one.
func (c at) stepsAround(loops [][]int) float64 {
	n := 0.0
	streamed := func(axes []int) []int {
		return slices.DeleteFunc(slices.Clone(axes), func(j int) bool { return !c.streamed(j) })
	}
	for k, axes := range loops {
		around := streamed(axes)
		if slices.ContainsFunc(loops[:k], func(before []int) bool { return slices.Equal(streamed(before), around) }) {
			continue
		}
		steps := 1.0
		for _, j := range around {
			steps *= float64(ceilDiv(c.size[j], c.extent[j]))
		}
		n += steps
	}
	return n
}

// tooMany stands for more elements than a block could have at once, and for more blocks than a launch: sums of bytes
// for so many still fit an int64.
const tooMany = 1 << 40

// times is a product of counts, tooMany where it is more than that.
func times(a, b int64) int64 {
	if b > 0 && a > tooMany/b {
		return tooMany
	}
	return a * b
}

// count is the elements of a tile at once.
func (c at) count(t tile, padded bool) int64 {
	n := int64(1)
	for _, i := range t.axes {
		e := c.extent[i]
		if padded {
			e = nextPow2(e)
		}
		n = times(n, e)
	}
	return ceilDiv(n, min(c.elementsAlike(t.alike), alikeInThread))
}

// weight is how many simple operations an element of an operation costs.
func (c at) weight(op *ir.Op) float64 {
	switch {
	case op.Code.Row().Group == lang.GroupSort:
		return c.sortWeight(op)
	case op.Coarse && !c.contracts: // beside products, functions wait for one another, and the figures are those that were fitted
		return coarseWeight
	}
	return weight(op)
}

// powerWeight is that of a power: 99 instructions for sm_90a.
const powerWeight = 100

// weight is how many simple operations an elementwise one costs.
func weight(op *ir.Op) float64 {
	switch row := op.Code.Row(); {
	case op.Combines():
		n := 1.0
		for _, inner := range op.Fn.Ops {
			n += weight(inner)
		}
		if op.Code == lang.OpScan {
			n *= 3 // in the thread, over lanes, over warps
		}
		return n
	case op.Code == lang.OpPow:
		return powerWeight
	case row.Ulp > 0, op.Code == lang.OpDiv, op.Code == lang.OpMod, op.Code == lang.OpFloorDiv, op.Code == lang.OpSqrt:
		return 8
	case op.Code == lang.OpRandomBits:
		return 40
	case row.Effect == lang.Reads || row.Effect == lang.Writes:
		return accessWeight
	}
	return 1
}

// free is the product of the extents of a's axes that are not in b.
func (c at) free(a, b *ir.Value) int64 {
	key := [2]*ir.Value{a, b}
	axes, ok := c.freeOf[key]
	if !ok {
		axes = c.places(ir.Without(a.Type.Axes, b.Type.Axes))
		c.freeOf[key] = axes
	}
	return c.count(tile{axes: axes}, false)
}

func roundUp(n, to int64) int64 { return ceilDiv(n, to) * to }

// gpu predicts the cost on a GPU, or says which limit the candidate breaks.
func (c at) gpu() (*estimate, *violation) {
	t := &c.target
	e := &estimate{blocks: c.blocks(), registers: c.registersPerThread() + c.stepSums() + c.orderRegisters(), sharedBytes: c.sharedBytes(), launch: t.Launch}
	if v := c.limits(e); v != nil {
		return nil, v
	}
	each, threads, wide := e.registers+registerOverhead, c.threads(), c.allByWarpgroups()
	switch {
	case c.takesTurns():
		threads = (teams*teamWarps + teamWarps) * 32
	case wide: // a warp more fills shared memory
		threads += 32
	}
	switch {
	case wide:
		each += c.packed()
	case c.contracts:
		each += min(e.registers, fragmentRegisters)
	}
	if kept := c.beyondRegisters(e); kept > 0 { // each is stored once and loaded once, at least
		each = min(each, target.RegistersPerThread)
		moved := float64(2 * 4 * kept * threads * e.blocks)
		e.launch += moved / t.L2
	}
	if n := c.overlapRegisters(); n > 0 && !c.awaits(1) { // counted one by one
		each = min(each, n)
	}
	need := threads * each
	if wide && !c.takesTurns() && !c.sumsSteps() && need > int64(t.RegistersPerSM) {
		return nil, &violation{what: "registers a block", need: need, have: int64(t.RegistersPerSM)}
	}
	e.perSM = min(int64(t.ThreadsPerSM)/threads, int64(t.BlocksPerSM), max(int64(t.RegistersPerSM)/(threads*each), 1))
	loads, rows := c.kept()
	e.keeps = len(loads) > 0
	e.sharedBytes += rows
	if e.sharedBytes > 0 {
		e.perSM = min(e.perSM, max(int64(t.SharedPerBlock)/e.sharedBytes, 1))
	}
	if wide {
		for e.perSM > 1 && int64(t.RegistersShare(int(e.perSM), int(threads/32))) < max(e.registers+accumulatorOverhead, c.overlapRegisters()) {
			e.perSM--
		}
	}
	if c.persist > 0 {
		e.perSM = 1
	}
	sms := c.sms()
	active := float64(min(e.blocks, sms))
	resident := min(e.perSM, ceilDiv(e.blocks, sms))
	e.waves = float64(e.blocks) / float64(int64(t.SMs)*ceilDiv(e.blocks, sms))

	moved := c.traffic(sms*resident, loads)
	tail := 1.0
	if e.blocks >= sms {
		tail = e.waves
	}
	perSM := t.L2BytesPerClock * t.Clock
	l2 := t.L2
	if wide && t.L2Boxes > 0 {
		l2 = t.L2Boxes
		// What it has no room for passes the L2 once more on its way from or to the main memory (an H200, products of bf16 of 128x128 a block, of which the L2 has twice as
		// much to bring as of 128x256: in groups they took 6 to 13 % longer, linear 3 %). Of f32, whose steps take twice as long, nothing of it was seen.
		if !c.fromRegisters() {
			moved.l2 += max(moved.once-float64(t.L2Size), 0)
		}
	}
	e.l2 = max(moved.l2/min(l2, active*perSM)/tail+c.runs(active), c.pieces(active))
	if wide && e.blocks >= sms {
		tail = lastRound(float64(e.blocks)/float64(t.SMs), t.DRAM/(float64(t.SMs)*perSM))
	}
	if c.sharing() > 1 && !c.contracts && e.blocks >= sms {
		// Multiprocessors that clusters leave idle leave the main memory to the others (an H200, rows that blocks of clusters of 8 keep: a softmax of 393,216 columns 298 us, instance norm of
		// 512 x 512 points 170; with the part that they are 420 and 297 were predicted).
		tail = float64(e.blocks) / float64(sms*ceilDiv(e.blocks, sms))
	}
	e.dram = moved.dram / min(t.DRAM, active*perSM) / tail

	full := float64(t.SMs) * e.waves
	ops, most := c.work(e, resident, full)
	inShared, inL2 := c.meeting(full)
	e.shared, e.l2 = e.shared+inShared, e.l2+inL2
	warps := float64(int64(c.warps) * resident)
	if c.takesTurns() {
		warps *= teams
	}
	e.issue += ops/(full*t.Lanes*t.Clock)/min(1, warps/c.busyWarps()) + float64(float64(e.blocks)*t.DispatchTime)
	busy := max(e.compute, e.l2, e.dram, e.shared, e.issue)
	limit, cost := int64(manyElements), longCode
	switch {
	case c.orders():
		cost = longOrder
	case c.short != nil && !c.longFunctions():
		limit = manyOfRows
	}
	if most > limit && !wide {
		busy *= 1 + float64(cost*float64(most-limit))
	}
	busy = float64(busy * c.narrowRecords())
	busy = float64(busy * c.shortRows(moved.dram))
	if c.busyWarps() == enoughWithWindows {
		busy += float64(besideWindowed * e.l2)
	}
	if (c.windows() || len(c.stencils) > 0) && c.severalVectors() {
		busy *= windowVector
	}
	if wide && c.awaits(resident) {
		busy *= awaitedProducts
	}
	if !wide && c.chainsF32 {
		busy *= chainedProducts
	}
	e.latency = c.latency(e, resident, busy) + uncovered(rows, ops/(full*t.Lanes*t.Clock), warps)
	if c.takesTurns() {
		e.latency = c.turns(e, busy)
	}
	if c.crowds(e) {
		e.latency += crowding
	}
	if c.paired {
		e.latency += pairTime
	}
	if wide && c.warps == teamWarps && (c.functionsOfImages() || c.outOfStep()) { // so that eight warps are taken, which are held for equal otherwise
		e.latency += e.issue
	}
	e.latency += c.slowerSoftmax(ceilDiv(e.blocks, sms), e.perSM, busy)
	e.latency = c.besideOthers(e, busy, e.latency)
	e.shorter = c.shorter(e, busy)
	e.time = busy + e.latency + e.launch
	if c.sharers > 1 {
		e.time -= e.shorter
	}
	return e, nil
}

// lastRound is what part of the main memory's time blocks of products keep it busy that are so many for each multiprocessor: those of the last round have more of it each, up to what
// one multiprocessor can take, of which the given part is what it has when all take some. (An H200, pointwise convolutions: of 32 images of 56 x 56 from 64 to 64 channels 12.4 us by
// 128 positions a block, of which the last round has few, 13.1 by 64. Elementwise kernels and rows were slower by what followed from this.)
func lastRound(each, part float64) float64 {
	whole := math.Floor(each)
	if each == whole {
		return 1
	}
	return each / (whole + max(each-whole, part))
}

// crowding is how much longer a launch takes, in seconds, that begins while others run and has blocks with all of a product's weights on more than half of
// the multiprocessors: the launches to come find no room to load theirs, and those that run share theirs. On an H200 a step of GPT-2 of 124M took 139.5 us
// with 72 blocks of 32 columns for queries, keys and values, and 131.4 with 36 of 64, which take 0.21 us longer by themselves, as the other terms have it.
// With 48 blocks of 64 columns in place of 96 for the next product too, which take 0.28 us longer, it took 133.4.
const crowding = 0.25e-6

// crowds reports a candidate that takes so much longer.
func (c at) crowds(e *estimate) bool {
	return c.deep && c.f.Dependent && e.blocks > int64(c.target.SMs)/2
}

// limits gives the limit of a block that the candidate breaks, nil where it breaks none. Where one may be broken for want of a better
// candidate, the estimate's launch takes the longer.
func (c at) limits(e *estimate) *violation {
	t := &c.target
	// Many threads share the registers of one multiprocessor.
	together := int64(max(c.occupancy, 1))
	if limit := int64(t.ThreadsPerSM); c.threads()*together > limit && c.occupancy > 1 {
		return &violation{what: "threads on a multiprocessor", need: c.threads() * together, have: limit}
	}
	known, guided := c.fewestBlocks()
	if known > target.MaxBlocks {
		return &violation{what: "blocks", need: known, have: target.MaxBlocks}
	}
	if guided > target.MaxBlocks {
		e.launch = lastResort
	}
	if v := c.tooLongToSort(t.SharedShare(c.occupancy) - sharedReserve); v != nil {
		return v
	}
	if code := c.combiningCode(); code > mostCombining {
		e.launch = lastResort * code / mostCombining
	}
	if limit := c.registerLimit(); e.registers > limit && !(c.beyond && e.registers <= maxKept) {
		return &violation{what: "registers a thread", need: e.registers, have: limit}
	}
	if limit := t.SharedShare(c.occupancy) - sharedReserve; e.sharedBytes > limit {
		if !c.beyond {
			return &violation{what: "bytes of shared memory a block", need: e.sharedBytes, have: limit, inShared: true}
		}
		e.launch = lastResort * float64(e.sharedBytes) / float64(limit)
	}
	return nil
}

// mostCombining is how many instructions of combining by a function a block should have: ptxas takes seconds for so many.
const mostCombining = 1 << 10

// combiningCode is how many instructions the longest reduce or scan by a function is written in. Elements keep their order, so each of a
// thread has steps of its own over the lanes, each step the function.
func (c at) combiningCode() (most float64) {
	const steps = 6 // in the thread, and over 32 lanes
	for _, s := range c.ops {
		if !s.op.Combines() {
			continue
		}
		code := 0.0
		for _, inner := range s.op.Fn.Ops {
			code += weight(inner)
		}
		most = max(most, float64(ceilDiv(c.count(tile{axes: s.axes}, true), c.threads()))*steps*code)
	}
	return most
}

// work adds the products to the estimate, where so many blocks are on a multiprocessor and so many multiprocessors are busy, and
// gives the other operations, as simple ones, and the most elements of a tile that a thread has.
func (c at) work(e *estimate, resident int64, full float64) (ops float64, most int64) {
	t := &c.target
	for _, s := range c.ops {
		n, _ := c.elements(s, true)
		n /= float64(min(c.elementsAlike(s.alike), alikeInThread))
		if isContraction(s.op) {
			rate, padding, bytes := c.contract(s.op)
			if c.byWarpgroups(s.op) {
				rate /= c.together(resident)
			}
			multiplied := 2*n*padding/rate/e.waves + c.widening(s.op, n, full, resident)
			each := n * bytes / (full * t.SharedBytesPerClock * t.Clock)
			if c.oneEach() && c.fromRegisters() && c.warps < 4*warpgroupsBusy {
				each /= oneFromRegisters
			}
			// What one of several products waits for, what another leaves over does not make up for: queries of 64 rows by keys of 64 columns take longer to be read than to be
			// multiplied, weights of 64 rows by values of 128 columns do not (see rowPasses).
			if c.products > 1 && c.byWarpgroups(s.op) {
				multiplied = max(multiplied, each)
			}
			e.compute, e.shared = e.compute+multiplied, e.shared+each
			continue
		}
		if len(s.axes) == 0 { // each thread computes scalars by itself; but for functions, nobody notices
			if each := c.weight(s.op); each > 1 && s.op.Code.Row().Elementwise {
				ops += float64(n * float64(c.threads()) * each)
			}
			continue
		}
		if s.op.Code == lang.OpLoad {
			e.issue += c.copied(s.op, n) / (full * t.Clock)
			e.copies += c.inPieces(s.op, n) / (full * t.Clock)
			if c.turned[s.op] { // written to shared memory and read from it
				e.shared += 2 * n * float64(s.op.Tensor.DType.Size()) / (full * t.SharedBytesPerClock * t.Clock)
			}
		}
		if g := c.runsOf[s.op]; g != nil {
			words, bytes := c.wordsOf(s, g)
			ops += float64(n * words * c.weight(s.op))
			e.shared += float64(n * words * c.linesOf(s, g, bytes) / (full * t.SharedBytesPerClock * t.Clock))
			continue
		}
		// Lanes without an element take their turn too.
		each := float64(c.count(tile{axes: s.axes}, false))
		width := 1.0
		if s.op.Tensor != nil {
			width = max(8*vectorBytes/float64(s.op.Tensor.DType.Bits()), 1)
		}
		ops += float64(n / each * max(each/width, float64(c.threads())) * c.weight(s.op) * c.inCommon(s))
		if _, windowed := c.windowElements(tile{axes: s.axes}); windowed {
			continue
		}
		most = max(most, c.count(tile{axes: s.axes}, c.short == nil)/c.threads())
	}
	return ops, most
}

// around is how often the loop over a streamed axis runs: once for each step of the loops around it.
func (c at) around(i int) float64 {
	most := 1.0
	for _, s := range c.ops {
		if slices.Contains(s.axes, i) {
			n := 1.0
			for _, loop := range s.loops {
				n *= c.trips(loop)
			}
			most = max(most, n)
		}
	}
	return most
}
