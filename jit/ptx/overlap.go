package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
)

// This file emits loops whose two products overlap (block.Overlap). A step begins while its first product, started in the step
// before, is under way, and behind it that step's last product:
//
//	wait for the first product; give its operand's stage back
//	what lies between the products
//	wait for the last product of the step before; give its operand's stage back
//	change what the last product adds to; pack what it multiplies
//	if there is a next step, wait for its first operand, and start its first product
//	wait for the last operand, and start the last product
//
// The steps of each phase of the loop are code of their own, which go on where those of the phase before end.

// overlapped is the code of such a loop.
type overlapped struct {
	*pipeline
	*block.Overlap
	k       *kernel
	carried [][]asm.Reg
	// scores are the registers of the first product's result.
	scores       []asm.Reg
	position, hi asm.Reg
	// next and turn are the stage of the step to come, and its phase.
	next, turn asm.Reg
	over       asm.Label
}

// The numbers of the sets of copies: see sets.
const firstSet, lastSet = 0, 1

// forwardsOverlapped emits the steps of a loop in order.
func (k *kernel) forwardsOverlapped(op *ir.Op, stages *pipeline, carried [][]asm.Reg, position, hi asm.Reg) {
	a, r := k.a, stages.ring
	o := &overlapped{pipeline: stages, Overlap: stages.Overlap, k: k, carried: carried, position: position, hi: hi, over: a.Label()}
	o.scores = a.Regs(elem.ClassOf(o.First.MMA.Sum), o.First.Result.Regs())
	o.next, o.turn = a.Reg(asm.B32), a.Reg(asm.B32)
	end := hi
	split := k.Ragged(op.Axis)
	if split {
		end = a.Op(asm.B32, "sub.s32", hi, asm.Int(op.Axis.Extent-1))
	}
	phases := k.phasesOf(op, hi, end)
	begin := a.Here()
	nothing := a.Label()
	a.If(a.Op(asm.Pred, "setp.ge.s32", position, hi)).Do("bra.uni", nothing)
	// What changes as the loop runs is not computed before it.
	k.push(begin)
	o.changes()
	a.Comment("the first product of the first step")
	k.awaitLoads()
	o.startFirst(r.stage, r.phase, false)
	k.awaitWgmma(0)
	if o.Turns {
		a.Comment("the first warpgroup begins")
		a.If(o.warpgroup(1)).Do("bar.arrive", asm.Int(turnBarrier), asm.Int(k.Warps*layout.Lanes))
	}
	begin = a.Begin()
	k.pop()
	for n, f := range phases {
		top, done := a.Label(), a.Label()
		k.enterSteps()
		if n < len(phases)-1 || split {
			a.If(a.Op(asm.Pred, "setp.ge.s32", position, f.end)).Do("bra.uni", done)
		}
		a.Place(top)
		around := k.holds
		if f.holds != nil {
			k.holds = f.holds
		}
		begin = o.emitStep(begin, true, func() { a.If(a.Op(asm.Pred, "setp.lt.s32", position, f.end)).Do("bra.uni", top) })
		k.holds = around
		a.Place(done)
		k.leaveSteps()
	}
	if split {
		k.enterSteps()
		begin = o.emitStep(begin, false, nil)
		k.leaveSteps()
	}
	a.Do("bra.uni", o.over)
	a.Place(nothing)
	k.push(begin)
	k.awaitLoads()
	k.pop()
	a.Place(o.over)
	k.coming = nil
}

// changes says which registers change as the loop runs.
func (o *overlapped) changes() {
	a, r := o.k.a, o.ring
	a.Changes(o.position, o.next, o.turn, r.stage, r.phase, r.before)
	a.Changes(o.scores...)
	for _, regs := range o.carried {
		a.Changes(regs...)
	}
}

// turnBarrier is the barrier behind which the first warpgroup's turn begins; that of the second is the next one.
const turnBarrier = 1

// warpgroup is the predicate of the threads of a warpgroup.
func (o *overlapped) warpgroup(n int) asm.Reg {
	k := o.k
	return k.a.Calc(asm.Pred, "setp.eq.u32", k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(7)), asm.Int(n))
}

// takeTurn waits until the other warpgroup has started its products, and passTurn says that this one has.
func (o *overlapped) takeTurn() {
	if k := o.k; o.Turns {
		mine := k.a.Calc(asm.B32, "add.s32", k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(7)), asm.Int(turnBarrier))
		k.a.Do("bar.sync", mine, asm.Int(k.Warps*layout.Lanes))
	}
}

func (o *overlapped) passTurn() {
	if k := o.k; o.Turns {
		other := k.a.Calc(asm.B32, "sub.s32", asm.Int(turnBarrier+1), k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(7)))
		k.a.Do("bar.arrive", other, asm.Int(k.Warps*layout.Lanes))
	}
}

// operand waits for a product's operand of a stage, and has it at hand.
func (o *overlapped) operand(set int, stage, phase asm.Reg) {
	k, x := o.k, o.items[set]
	o.wait(o.of(set, o.ring.full), stage, phase)
	k.scope.tiles[x.Load.Result()] = []*sharedTile{o.at(x, stage)}
}

// startFirst starts the first product of the step in a stage, in the warpgroup's turn where there are turns.
func (o *overlapped) startFirst(stage, phase asm.Reg, inTurn bool) {
	k := o.k
	k.a.Loc(o.First.Op.At)
	k.a.Comment("start %s", describe(o.First.Op))
	o.operand(firstSet, stage, phase)
	x := k.operandsOfWgmma(o.First)
	if inTurn {
		o.takeTurn()
	}
	k.startWgmma(o.First, x, o.scores)
	x.release(k)
}

// emitStep emits one step; full says that the whole range of the axis exists. Again goes on with the next one in the same code; nil
// where there is none. The region of the step begins where that of the first one does, before any step: the last step of each phase
// goes past the code of those behind it, and what is computed before the region holds behind the loop. It gives where that now is.
func (o *overlapped) emitStep(begin asm.Point, full bool, again func()) asm.Point {
	k, a, r, op := o.k, o.k.a, o.ring, o.Op
	body := op.Blocks[0]
	k.push(begin)
	o.changes()
	k.assumeTouched()
	k.hold(body.Params[0], layout.Uniform(k.Warps), []asm.Reg{o.position})
	for i, p := range body.Params[1:] {
		k.hold(p, k.Homes[p], o.carried[i])
	}
	k.enter(op.Axis, o.position, o.hi, full)

	k.awaitWgmma(1)
	a.Do("bar.warp.sync", asm.AllLanes)
	o.arrive(o.mbarrier(o.of(firstSet, r.empty), r.stage))
	first := o.First.Op.Result()
	k.hold(first, k.Homes[first], o.scores)
	for _, x := range body.Ops {
		if x != o.First.Op && x != o.Last.Op && x != o.Rescale {
			k.emit(x)
		}
	}
	k.awaitWgmma(0)
	a.Do("bar.warp.sync", asm.AllLanes)
	o.leaveBefore()
	o.rescale()
	o.yield()
	columns := o.items[lastSet]
	k.scope.tiles[columns.Load.Result()] = []*sharedTile{o.at(columns, r.stage)}
	x := k.operandsOfWgmma(o.Last)
	if !full {
		o.lastStep(x, true)
		begin = a.Begin()
		k.pop()
		return begin
	}
	a.Move(o.next, r.stage)
	a.Move(o.turn, r.phase)
	o.advance(o.next, o.turn)
	a.Set(o.position, "add.s32", o.position, asm.Int(o.pipeline.step))
	end, behind := a.Label(), a.Label()
	branch := a.Here()
	a.If(a.Op(asm.Pred, "setp.ge.s32", o.position, o.hi)).Do("bra.uni", end)
	k.push(branch)
	a.Changes(o.next, o.turn)
	o.startFirst(o.next, o.turn, true)
	o.wait(o.of(lastSet, r.full), r.stage, r.phase)
	o.startLast(x)
	o.passTurn()
	o.leaveLater(o.mbarrier(o.of(lastSet, r.empty), r.stage))
	a.Move(r.stage, o.next)
	a.Move(r.phase, o.turn)
	again()
	branch = a.Begin()
	k.pop()
	a.Do("bra.uni", behind)
	a.Place(end)
	k.push(branch)
	o.lastStep(x, false)
	k.pop()
	a.Place(behind)
	begin = a.Begin()
	k.pop()
	return begin
}

// startLast starts the last product of a step.
func (o *overlapped) startLast(x *wgmmaOperands) {
	o.k.a.Loc(o.Last.Op.At)
	o.k.a.Comment("start %s", describe(o.Last.Op))
	o.k.startWgmma(o.Last, x, o.carried[o.Carried])
	x.release(o.k)
}

// lastStep ends the last step of the loop.
func (o *overlapped) lastStep(x *wgmmaOperands, partial bool) {
	k, a := o.k, o.k.a
	o.wait(o.of(lastSet, o.ring.full), o.ring.stage, o.ring.phase)
	if partial {
		o.wipe()
	}
	o.startLast(x)
	if o.Turns {
		a.Comment("the turn that nobody takes any more")
		a.If(o.warpgroup(0)).Do("bar.sync", asm.Int(turnBarrier), asm.Int(k.Warps*layout.Lanes))
	}
	k.awaitWgmma(0)
	a.Do("bra.uni", o.over)
}

// rescale changes what the last product adds to, in place.
func (o *overlapped) rescale() {
	k, op := o.k, o.Rescale
	if op == nil {
		return
	}
	k.a.Loc(op.At)
	k.a.Comment("%s", describe(op))
	for i, r := range k.elementwise(op, k.Homes[op.Result()]) {
		k.a.Move(o.carried[o.Carried][i], r)
	}
}

// yield hands on what the loop carries, but for what the last product adds to.
func (o *overlapped) yield() {
	k, body := o.k, o.Op.Blocks[0]
	next := make([][]asm.Reg, len(o.carried))
	for i, v := range body.Yield {
		if next[i] = o.carried[i]; i != o.Carried {
			next[i] = slices.Clone(k.get(v, k.Homes[body.Params[i+1]]))
		}
	}
	k.moveAll(o.carried, next)
}
