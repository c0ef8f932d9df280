package plan

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file estimates what blocks wait for: chains of steps, each of which begins when the one before it has ended.

// latency is the time beside the busy time. The blocks that a multiprocessor
// holds at once hide one another's chains of dependent steps, but each place for
// a block works through its share of them, chain after chain.
func (c at) latency(e *estimate, resident int64, busy float64) float64 {
	steps, starts := c.chained()
	t := &c.target
	step := c.stepTime(steps, busy*float64(resident)/float64(ceilDiv(c.blocks(), c.sms())))
	chain := t.BlockOverhead + float64(starts*t.LoadLatency) + float64(steps*step) + c.joining() + float64(c.staged(steps)*t.StageLatency) + float64(c.exchanges()*t.ExchangeLatency) + c.selecting(resident) + c.scanning()
	if c.allByWarpgroups() || t.Has(target.Wgmma) && c.contracts && c.loadsOperands() { // all blocks store their tiles at about the same time
		chain += float64(c.resultBytes()*min(c.blocks(), int64(t.SMs))) / t.DRAM
	}
	waves := float64(ceilDiv(c.blocks(), c.sms()*resident))
	hidden := 0.0
	if c.persist == alone && c.allByWarpgroups() { // the operands of the next tile come while this one's results are stored
		if n := float64((waves - 1) * (t.BlockOverhead + float64(starts*t.LoadLatency))); n > float64(worthStaying*busy) {
			hidden = n
		}
	}
	over := 0.0
	if t.Has(target.Wgmma) && resident > 1 && c.contracts && c.loadsOperands() {
		over = float64((waves - 1) * t.TurnoverTime)
		if !c.allByWarpgroups() {
			over = float64(over * inStep / float64(resident))
		}
		if resident == inStep && !c.outOfStep() { // two go in step, and store at the same time; of three, no such time was seen (an H200, convolutions of f32)
			over += max(c.multiplying(e)+float64((waves-1)*float64(resident)*c.storedByThreads())-busy, 0)
		}
	}
	return max(chain, float64(waves*chain)-hidden+busy/float64(resident)-busy) + over + c.unhidden(e)
}

// inStep is how many blocks of a multiprocessor go in step, and store and start at about the same time: target.TurnoverTime is that of two. While two of more do, the others multiply:
// of products by mma.sync the rest is hidden (an H200, 4,096 products of 32x32x32 of f32, nine blocks of one a multiprocessor: 18.5 us; seven of two 19.6, four of four 20.4, two of eight
// 20.7 - with the whole of that time for each wave of blocks those of four were predicted to be the fastest). Of those by warpgroups three blocks and more have not been timed beside two.
const inStep = 2

// outOfStep reports blocks that do not go in step: their loops have as many steps as their residues have taps (an H200, transposed convolutions in steps of 2, us: 3x3 to 32 x 64 x 256 x 256 by 128
// places of two residues in two blocks a multiprocessor with 2 stages 343, with 3 of them 368, by 64 in three blocks 395).
func (c at) outOfStep() bool {
	var ofBlock func(v *ir.Value) bool
	ofBlock = func(v *ir.Value) bool {
		op := v.Def
		return op != nil && (op.Code == lang.OpStart && op.Axis.Kind == ir.Grid && op.Axis.Scalar || op.Code.Row().Elementwise && slices.ContainsFunc(op.Args, ofBlock))
	}
	return slices.ContainsFunc(c.f.Body.Ops, func(op *ir.Op) bool { return op.Code == lang.OpFor && ofBlock(op.Args[1]) })
}

// chained is how many steps of loops a block does one after the other, and how often it starts a loop.
func (c at) chained() (steps, starts float64) {
	starts = 1
	for _, loop := range c.loops {
		trips := c.trips(loop)
		if loop.Axis != nil && c.blocksAlong(c.place[loop.Axis]) > 1 {
			trips = math.Ceil(trips / float64(c.blocksAlong(c.place[loop.Axis])))
		}
		steps += float64(trips*max(c.ranged[loop].loads, 1)) / float64(loop.Unroll(c.threads(), func(a *ir.Axis) int64 { return c.extent[c.place[a]] }, c.numbers(loop)))
	}
	for i := range c.f.Axes {
		if c.streamed(i) {
			around := c.around(i)
			steps += float64(c.waysAlong(i) * around * float64(ceilDiv(c.size[i], c.extent[i]*c.blocksAlong(i))))
			if around > 1 { // a loop in a loop begins anew with each step of it
				starts += around
			}
		}
	}
	more, again := c.nested()
	return steps + more, starts + again
}

// unhiddenPart is what part of the shorter of both is not hidden: what the L2 brings to shared memory and what products read of it (an H200, 1024x4096x1024 of
// bf16: 64 rows by 128 columns 19.9 us, 128 by 64 22.0).
const unhiddenPart = 0.02

// unhidden is that time, in seconds, of products whose operands lie ready in shared memory.
func (c at) unhidden(e *estimate) float64 {
	if !c.allByWarpgroups() || c.fromRegisters() {
		return 0
	}
	return float64(unhiddenPart * min(e.l2, e.shared))
}

// stepTime is the time of one of so many steps of a loop beside what it does, where all of them are busy for some time.
func (c at) stepTime(steps, busy float64) float64 {
	t := &c.target
	step := t.LoadLatency
	if c.windows() {
		step *= rowsThere
	}
	// What the only step loads is on its way with what is loaded before the loop, but for a range that this has to bring first.
	if steps == 1 && c.stages == 1 && len(c.ranged) == 0 {
		step = 0
	}
	if c.stages > 1 && steps > 0 {
		step = t.StepOverhead
		if c.made {
			step += madeInStep
		}
		if c.mixed && c.columns() < mostColumns { // nothing hides that the first rows of a step are widened
			step += firstWidened
		}
		// A stage is under way while it is loaded and while it is used, one is still being read: where the
		// others do not cover a load, each step waits.
		used := busy / steps
		ahead := c.stages - 2
		if ahead == 0 && c.outOfStep() { // blocks of one multiprocessor load while others multiply
			ahead = 1
		}
		if ahead == 0 && c.overlapRegisters() > 0 && !c.awaits(1) {
			// What the first of two products has read is handed back before the last one begins (H200, bf16, causal attention of 4,096
			// positions, 128 channels: with 2 stages of 128 keys 568 us, with 3 of 64 619).
			ahead = 1
		}
		before := float64(float64(ahead) * used)
		if c.oneEach() || c.named {
			step += uncoveredLoad(t.LoadLatency, before) / float64(c.stages-1)
		} else {
			step += max(t.LoadLatency-before, 0) / float64(c.stages-1)
		}
	}
	return step
}

// madeInStep is how long a step waits for loads of which it computes what a product takes (an H200, bf16, 8 rows by two matrices of 2,048 x 8,192 in steps of 128: 25.2 us, and 31.2 where
// the rows are normalised in each step, of which the norm itself takes some 1.5).
const madeInStep = 280e-9

// firstWidened is how long the matrix unit waits for that (an H200, of bf16 and i8: 256x4096x4096 by 128 x 64 22.3 us in steps of 128 and 24.3 of 64, 64x8192x8192 by 64 x 64 28.7 and 30.5 us in
// steps of 256 and 128, 16x8192x8192 25.1, 26.3 and 29.2 us in steps of 256, 128 and 64).
const firstWidened = 50e-9

// oneEach reports products by warpgroups that give multiprocessors one tile and none of them two: nothing else covers what a block waits for. Where fewer than half of them have
// one, it is so of f32, whose depth is too short to be shared (an H200, 256x768x768 by 48 tiles of 64x64: 10.0 us with 8 stages of 32, 11.1 with 3 of 128), and of launches that begin
// while those before them run, whose weights are there by then (bf16 of 128x768x768, in a graph, by 24 tiles of 64x64: 2.6 us behind its wait with 6 stages of 128, by 48 of 64x32 with
// 4 stages 4.8). By themselves such of bf16 gain nothing (208x416x304 6.5 us by 64x64, 5.7 by 32x32), and convolutions have not been timed so.
func (c at) oneEach() bool {
	n := c.blocks()
	return c.allByWarpgroups() && c.loadsOperands() && !c.manyMatrixAxes() && c.sharing() == 1 && n <= c.sms() && (2*n > c.sms() || c.fromRegisters() || c.f.Dependent)
}

// coversNothing reports such products, and those of which no multiprocessor has more than a part of a tile, whose depth two blocks share (an H200, 256x3072x768: of bf16 10.2 us with
// 6 stages, 11.2 with 4; of f32 15.4 with 6 of 64, 18.0 with 3 of 128).
func (c at) coversNothing() bool {
	return c.oneEach() || c.allByWarpgroups() && c.loadsOperands() && !c.manyMatrixAxes() && c.sharing() == 2 && c.blocks() <= c.sms()
}

// uncoveredLoad is how much of a load's time is left, on average, that was begun so long before: under load some take next to nothing, and some twice the mean
// (an H200, 1024x4096x1024 of bf16 by 64x128: steps begun 0.5, 1 and 1.5 us before, 24 to 26, 19.6 and 17.8 us).
func uncoveredLoad(mean, before float64) float64 {
	left := max(2*mean-before, 0)
	return left * left / (4 * mean)
}

// staged is how many contractions bring their larger operand from memory to shared memory, where the matrix unit reads it, with
// nothing to cover that trip: no other step of a loop, and, of what is constant, no launch before.
func (c at) staged(steps float64) float64 {
	n := 0.0
	for pair := range slices.Chunk(c.operands, 2) {
		larger := pair[0]
		if c.count(pair[1].tile, false) > c.count(larger.tile, false) {
			larger = pair[1]
		}
		if !larger.constant && (steps == 0 || larger.looped && steps == 1 && c.stages == 1) {
			n++
		}
	}
	return n
}
