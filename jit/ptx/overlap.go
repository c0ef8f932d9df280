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
// The steps of each phase of the loop are code of their own, which go on where those of the phase before end. What the last product multiplies in the last step
// goes to registers that are the same for all phases, and the code behind, which starts that product, is there once: the assembler's time grows with the square of
// the products that it sees, and the newer one's registers ran out (attention of 128 channels: 128 bytes a thread by ptxas 13.0).

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
	// ready are the operands of products that are ready to start.
	ready map[*block.Product]*wgmmaOperands
	// packed is what the last product multiplies in the last step of the loop, by instruction, at ending, where steps start it.
	packed [][]asm.Reg
	// guards is the condition of a step of two phases that have one code; nil where there is none.
	guards       func(a *asm.Builder, position asm.Reg) guarded
	ending, over asm.Label
}

// forwardsOverlapped emits the steps of a loop in order.
func (k *kernel) forwardsOverlapped(op *ir.Op, stages *pipeline, carried [][]asm.Reg, position, hi asm.Reg) {
	a := k.a
	o := &overlapped{pipeline: stages, Overlap: stages.Overlap, k: k, carried: carried, position: position, hi: hi, ready: map[*block.Product]*wgmmaOperands{}, ending: a.Label(), over: a.Label()}
	o.scores = a.Regs(elem.ClassOf(o.First.MMA.Sum), o.First.Result.Regs())
	o.next, o.turn = a.Reg(asm.B32), a.Reg(asm.B32)
	end := hi
	split := k.Ragged(op.Axis)
	if split {
		end = a.Op(asm.B32, "sub.s32", hi, asm.Int(op.Axis.Extent-1))
	}
	end, o.guards = oneRun(k.phasesOf(op, hi, end))
	begin := a.Here()
	nothing := a.Label()
	a.If(a.Op(asm.Pred, "setp.ge.s32", position, hi)).Do("bra.uni", nothing)
	// What changes as the loop runs is not computed before it.
	k.push(begin)
	o.changes()
	a.Comment("the first product of the first step")
	for _, x := range o.Schedule.First {
		o.do(x)
	}
	begin = a.Begin()
	k.pop()
	top, done := a.Label(), a.Label()
	k.enterSteps()
	if split {
		a.If(a.Op(asm.Pred, "setp.ge.s32", position, end)).Do("bra.uni", done)
	}
	a.Place(top)
	again := func() {
		if split {
			a.If(a.Op(asm.Pred, "setp.lt.s32", position, end)).Do("bra.uni", top)
			return
		}
		// Where there is a next step, it is here. A way past it would lead from products that have begun to what reads their sums,
		// and though it is never gone, the assembler would wait for each of them.
		a.Do("bra.uni", top)
	}
	begin = o.emitStep(begin, true, again)
	a.Place(done)
	k.leaveSteps()
	if split {
		k.enterSteps()
		begin = o.emitStep(begin, false, nil)
		k.leaveSteps()
	}
	o.end()
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

// do emits one act of the loop, of a step that is in the ring's stage; what it has to do with the next one is in the stage behind.
func (o *overlapped) do(x block.Act) {
	k, a, r := o.k, o.k.a, o.ring
	stage, phase := r.stage, r.phase
	if x.Step > 0 {
		stage, phase = o.next, o.turn
	}
	switch x.Do {
	case block.AwaitLoads:
		k.awaitLoads()
	case block.AwaitCopies:
		if x.Set == block.FirstSet {
			k.a.Loc(o.First.Op.At)
			k.a.Comment("start %s", describe(o.First.Op))
		}
		o.wait(o.of(x.Set, r.full), stage, phase)
	case block.Ready:
		set := block.FirstSet
		if x.Product == o.Last {
			set = block.LastSet
		}
		c := o.items[set]
		k.scope.tiles[c.Load.Result()] = []*sharedTile{o.at(c, stage)}
		o.ready[x.Product] = k.operandsOfWgmma(x.Product)
	case block.StartProduct:
		out := o.scores
		if x.Product == o.Last {
			a.Loc(o.Last.Op.At)
			a.Comment("start %s", describe(o.Last.Op))
			out = o.carried[o.Carried]
		}
		k.startWgmma(x.Product, o.ready[x.Product], out)
		o.ready[x.Product].release(k)
	case block.Rescale:
		o.rescale()
	case block.Carry:
		o.yield()
	case block.TakeTurn, block.PassTurn:
		o.turnAct(x)
	default:
		o.pipeline.do(x)
	}
}

// turnAct emits what has to do with the turns of the two warpgroups.
func (o *overlapped) turnAct(x block.Act) {
	k, a := o.k, o.k.a
	switch {
	case x.By == 0 && x.Do == block.TakeTurn:
		k.takeTurn(x.Turn)
	case x.By == 0:
		k.leaveTurn(x.Turn)
	case x.Do == block.TakeTurn:
		a.Comment("the turn that nobody takes any more")
		a.If(o.warpgroup(x.By-1)).Do("bar.sync", asm.Int(x.Turn+x.By-1), k.takers())
	default:
		a.Comment("the first warpgroup begins")
		a.If(o.warpgroup(x.By-1)).Do("bar.arrive", asm.Int(x.Turn+2-x.By), k.takers())
	}
}

// warpgroup is the predicate of the threads of a warpgroup.
func (o *overlapped) warpgroup(n int) asm.Reg {
	return o.k.a.Calc(asm.Pred, "setp.eq.u32", o.k.taker(), asm.Int(n))
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
	if o.guards != nil {
		k.guard = o.guards(a, o.position)
		defer func() { k.guard = guarded{} }()
	}

	for _, x := range o.Schedule.Step {
		if x.Do != block.Compute {
			o.do(x)
			continue
		}
		first := o.First.Op.Result()
		k.hold(first, k.Homes[first], o.scores)
		for _, inner := range body.Ops {
			if inner != o.First.Op && inner != o.Last.Op && inner != o.Rescale {
				k.emit(inner)
			}
		}
	}
	if !full {
		o.lastStep()
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
	for _, x := range o.Schedule.Next {
		o.do(x)
	}
	a.Move(r.stage, o.next)
	a.Move(r.phase, o.turn)
	again()
	branch = a.Begin()
	k.pop()
	a.Do("bra.uni", behind)
	a.Place(end)
	k.push(branch)
	o.lastStep()
	k.pop()
	a.Place(behind)
	begin = a.Begin()
	k.pop()
	return begin
}

// lastStep goes from the last step of the loop to where all phases start its last product.
func (o *overlapped) lastStep() {
	k := o.k
	if k.partial(o.Op.Axis) {
		for _, x := range o.Schedule.Last {
			if x.Do == block.AwaitCopies || x.Do == block.Wipe {
				o.do(x)
			}
		}
	}
	x := o.ready[o.Last]
	for i, regs := range x.frags {
		if len(o.packed) == i {
			o.packed = append(o.packed, k.a.Regs(asm.B32, len(regs)))
		}
		for j, r := range regs {
			k.a.Move(o.packed[i][j], r)
		}
	}
	x.release(k)
	k.a.Do("bra.uni", o.ending)
}

// end starts the last product of the last step, and waits for it.
func (o *overlapped) end() {
	k, a := o.k, o.k.a
	a.Place(o.ending)
	k.push(a.Here())
	for _, x := range o.Schedule.Last {
		if x.Do == block.Wipe { // which the step has done that is not whole
			continue
		}
		if x.Do == block.StartProduct {
			c := o.items[block.LastSet]
			k.scope.tiles[c.Load.Result()] = []*sharedTile{o.at(c, o.ring.stage)}
			o.ready[x.Product] = k.operandsBeside(x.Product, o.packed)
		}
		o.do(x)
	}
	k.pop()
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
