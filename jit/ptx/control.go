package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// loop emits a `for`. What the loop carries stays in the same registers throughout.
func (k *kernel) loop(op *ir.Op) {
	a := k.a
	body := op.Blocks[0]
	k.copyRows(op)
	lo, hi, step := k.stepsOf(op)
	inits := make([][]asm.Reg, len(op.Results))
	for i, v := range op.Args[2:] {
		inits[i] = k.get(v, k.Homes[body.Params[i+1]])
	}
	shared := op.Axis != nil && op.Axis.Split > 1
	if shared {
		k.sharing = op
	}
	// What the threads themselves copy for the first steps is on its way while they lay out what all steps take.
	var stages *pipeline
	if x := k.Pipelines[op]; x != nil && !x.Produced && k.Alone(op) {
		stages = k.newPipeline(op, lo, hi, step)
	}
	k.hoist(op)
	carried := make([][]asm.Reg, len(inits))
	for i, regs := range inits {
		carried[i] = make([]asm.Reg, len(regs))
		for j, r := range regs {
			carried[i][j] = a.Reg(r.Class)
			k.a.Move(carried[i][j], r)
		}
	}
	position := a.Reg(lo.Class)
	k.a.Move(position, lo)

	if stages == nil {
		stages = k.newPipeline(op, lo, hi, step)
	}
	if stages.Overlap != nil {
		k.forwardsOverlapped(op, stages, carried, position, hi)
	} else if op.Reverse {
		k.backwards(op, stages, carried, position, lo, hi)
	} else {
		k.forwards(op, stages, carried, position, hi)
	}
	stages.finish()
	k.assumeTouched()
	if shared {
		k.sharing = nil
	}
	for _, regs := range carried {
		k.a.Changes(regs...)
	}
	for _, d := range k.Deferred[op] {
		carried[d.Carried] = k.joinDeferred(d, carried[d.Carried])
	}
	for i, v := range op.Results {
		k.hold(v, k.Homes[body.Params[i+1]], carried[i])
	}
}

// stepsOf are the first position of what a block's steps of a loop go through, the one behind the last, and how far a step goes.
func (k *kernel) stepsOf(op *ir.Op) (lo, hi asm.Reg, step int64) {
	lo, hi = k.bounds(op.Axis, op.Args[0], op.Args[1])
	if op.Axis == nil {
		return lo, hi, 1
	}
	if k.LoopsByWords(op.Axis) {
		lo = k.a.Calc(asm.B32, "neg.s32", k.lead())
	}
	if op.Axis.Split > 1 {
		lo, hi = k.part(lo, hi, op.Axis.Extent)
	}
	return lo, hi, op.Axis.Extent
}

// bounds are the first position of a loop and the one behind its last: of a loop over an axis, of what exists.
func (k *kernel) bounds(x *ir.Axis, from, to *ir.Value) (lo, hi asm.Reg) {
	lo, hi = k.scalar(from), k.scalar(to)
	if x == nil {
		return lo, hi
	}
	if x.Dim != nil {
		// A range may reach beyond the dimension.
		if !k.notNegative(from) { // nor may where steps to come begin wrap around
			lo = k.a.Calc(lo.Class, lo.Class.Signed("max"), lo, asm.Int(0))
			lo = k.a.Calc(lo.Class, lo.Class.Signed("min"), lo, k.size(x.Dim))
		}
		if !block.WithinDim(to, x.Dim) {
			hi = k.a.Calc(hi.Class, hi.Class.Signed("min"), hi, k.size(x.Dim))
		}
	}
	if !k.notNegative(to) {
		hi = k.a.Calc(hi.Class, hi.Class.Signed("max"), hi, asm.Int(0)) // the end of the whole steps must not wrap around
	}
	return lo, hi
}

// forwards emits the steps of a loop in order.
func (k *kernel) forwards(op *ir.Op, stages *pipeline, carried [][]asm.Reg, position, hi asm.Reg) {
	a := k.a
	step := int64(1)
	if op.Axis != nil {
		step = op.Axis.Extent
	}
	// Steps whose range exists as a whole need no masks; the last one, when it may
	// have fewer positions, is a copy of the body with them.
	end := hi
	split := op.Axis != nil && k.Ragged(op.Axis)
	if split {
		end = a.Op(hi.Class, hi.Class.Signed("sub"), hi, asm.Int(step-1))
	}
	before, behind := hi.Class.Signed("setp.lt"), hi.Class.Signed("setp.ge")
	for _, f := range k.phasesOf(op, hi, end) {
		top, done := a.Label(), a.Label()
		k.enterSteps()
		begin := a.Here()
		a.If(a.Op(asm.Pred, behind, position, f.end)).Do("bra.uni", done)
		a.Place(top)
		around := k.holds
		if f.holds != nil {
			k.holds = f.holds
		}
		k.step(op, stages, carried, position, hi, begin, true)
		k.holds = around
		a.If(a.Op(asm.Pred, before, position, f.end)).Do("bra.uni", top)
		a.Place(done)
		k.leaveSteps()
	}
	if split {
		over := a.Label()
		k.enterSteps()
		begin := a.Here()
		a.If(a.Op(asm.Pred, behind, position, hi)).Do("bra.uni", over)
		k.step(op, stages, carried, position, hi, begin, false)
		a.Place(over)
		k.leaveSteps()
	}
}

// backwards emits the steps of a loop over an axis from the last to the first,
// which are those of forwards: the last may have fewer positions.
func (k *kernel) backwards(op *ir.Op, stages *pipeline, carried [][]asm.Reg, position, lo, hi asm.Reg) {
	a, step := k.a, op.Axis.Extent
	over, top := a.Label(), a.Label()
	ragged := k.Ragged(op.Axis)
	if !ragged {
		k.enterSteps()
	}
	begin := a.Here()
	c := hi.Class
	before, behind := c.Signed("setp.lt"), c.Signed("setp.ge")
	a.If(a.Op(asm.Pred, behind, lo, hi)).Do("bra.uni", over)
	last := a.Op(c, c.Signed("sub"), a.Op(c, c.Signed("sub"), hi, lo), asm.Int(1))
	last = a.Op(c, c.Signed("mul.lo"), a.Op(c, c.Signed("div"), last, asm.Int(step)), asm.Int(step))
	a.Set(position, c.Signed("add"), lo, last)
	if ragged {
		// What the steps behind this one compute from outside goes before it too: a loop without steps goes past both.
		begin = k.step(op, stages, carried, position, hi, begin, false)
		k.assumeTouched()
		k.enterSteps()
		a.If(a.Op(asm.Pred, before, position, lo)).Do("bra.uni", over)
	}
	a.Place(top)
	k.step(op, stages, carried, position, hi, begin, true)
	a.If(a.Op(asm.Pred, behind, position, lo)).Do("bra.uni", top)
	k.leaveSteps()
	a.Place(over)
}

// step emits the body of a loop once. Full says that the whole range of the loop's axis exists. It gives where its region begins now.
func (k *kernel) step(op *ir.Op, stages *pipeline, carried [][]asm.Reg, position, hi asm.Reg, begin asm.Point, full bool) asm.Point {
	a, body := k.a, op.Blocks[0]
	k.push(begin)
	a.Changes(position)
	for _, regs := range carried {
		for _, r := range regs {
			a.Changes(r)
		}
	}
	k.assumeTouched()
	k.hold(body.Params[0], layout.Uniform(k.Warps), []asm.Reg{position})
	for i, p := range body.Params[1:] {
		k.hold(p, k.Homes[p], carried[i])
	}
	step := int64(1)
	if op.Axis != nil {
		step = op.Axis.Extent
		k.enter(op.Axis, position, hi, full)
	}
	first := k.First[op]
	if len(stages.items) > 0 { // beside the wait for the step's copies
		for _, x := range first {
			k.provideFor(k.Access(x))
		}
		k.emitAhead(first)
	}
	stages.next(position)
	k.rowArrives(op, position)
	if len(stages.items) == 0 {
		k.emitAhead(first)
	}
	k.block(body)
	for _, x := range first {
		delete(k.emitted, x) // the loop's body may be written again
	}
	next := make([][]asm.Reg, len(carried))
	for i, v := range body.Yield {
		next[i] = k.get(v, k.Homes[body.Params[i+1]])
	}
	k.moveAll(carried, next)
	stages.end()
	k.rowLeaves(op, position, full)
	if op.Reverse {
		step = -step
	}
	a.Set(position, position.Class.Signed("add"), position, asm.Int(step))
	begin = a.Begin()
	k.pop()
	return begin
}

// enter sets where an axis stands: from start on, up to hi, or its whole extent.
func (k *kernel) enter(x *ir.Axis, start, hi asm.Reg, full bool) {
	end := k.a.Op(start.Class, start.Class.Signed("add"), start, asm.Int(x.Extent))
	if !full {
		end = k.a.Op(start.Class, start.Class.Signed("min"), end, hi)
	}
	k.setAxis(x, start, end)
	k.state(x).full = full
}

// notNegative reports a scalar that is 0 or more for sure.
func (k *kernel) notNegative(v *ir.Value) bool {
	if v.Def == nil {
		return false
	}
	switch v.Def.Code {
	case lang.OpConst:
		return v.Def.Const.Int >= 0
	case lang.OpStart, lang.OpEnd, lang.OpSize:
		return true
	}
	return false
}

// moveAll moves next into carried, all at once: a register that another position
// still needs is saved first.
func (k *kernel) moveAll(carried, next [][]asm.Reg) {
	target := map[asm.Reg]bool{}
	for _, regs := range carried {
		for _, r := range regs {
			target[r] = true
		}
	}
	for i, regs := range next {
		for j, r := range regs {
			if target[r] && r != carried[i][j] {
				saved := k.a.Reg(r.Class)
				k.a.Move(saved, r)
				next[i][j] = saved
			}
		}
	}
	for i, regs := range next {
		for j, r := range regs {
			if r != carried[i][j] {
				k.a.Move(carried[i][j], r)
			}
		}
	}
}

// hoist computes before a loop what its body takes from outside in another
// layout, so that the conversion is not repeated.
func (k *kernel) hoist(loop *ir.Op) {
	inside := map[*ir.Value]bool{}
	var mark func(b *ir.Block)
	mark = func(b *ir.Block) {
		for _, v := range b.Params {
			inside[v] = true
		}
		for _, op := range b.Ops {
			for _, v := range op.Results {
				inside[v] = true
			}
			for _, c := range op.Blocks {
				mark(c)
			}
		}
	}
	mark(loop.Blocks[0])
	loop.Blocks[0].Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpDot || op.Code == lang.OpMma {
			k.hoistOperands(op, inside)
		}
		if k.OnDemand(op) {
			return true
		}
		for i, v := range op.Args {
			if inside[v] || k.Cheap(v) || k.dependsOn(v, inside) {
				continue
			}
			if v.Def != nil && k.PackedCast(v.Def) && len(k.copies(v)) == 0 {
				v = v.Def.Args[0] // what is stored is packed as it is stored
			}
			if want, ok := k.Wanted(op, i); ok {
				k.get(v, want)
			}
		}
		return true
	})
}

// dependsOn reports a value that is computed where it is used, from something in the set.
func (k *kernel) dependsOn(v *ir.Value, set map[*ir.Value]bool) bool {
	if set[v] {
		return true
	}
	if v.Def == nil || !k.OnDemand(v.Def) {
		return false
	}
	for _, x := range v.Def.Args {
		if k.dependsOn(x, set) {
			return true
		}
	}
	return k.usesLoopAxis(v.Def)
}

// usesLoopAxis reports an operation that reads the position of a sequential axis.
func (k *kernel) usesLoopAxis(op *ir.Op) bool {
	if op.Axis != nil && op.Axis.Kind == ir.Loop {
		for s := k.scope; s != nil; s = s.parent {
			if s.axes[op.Axis] != nil {
				return false
			}
		}
		return true
	}
	return false
}

// branch emits an `if` on a scalar: the whole block takes one side.
func (k *kernel) branch(op *ir.Op) {
	a := k.a
	for _, inner := range op.Blocks[0].Ops { // what stores behind the branch take is there whether this block takes it or not
		k.arrangeFirst(inner)
	}
	cond := k.scalar(op.Args[0])
	other, end := a.Label(), a.Label()
	out := make([][]asm.Reg, len(op.Results))
	for i, v := range op.Results {
		out[i] = a.Regs(elem.ClassOf(v.Type.DType), k.Homes[v].Regs())
	}
	begin := a.Here()
	a.Unless(cond).Do("bra.uni", other)
	for i, b := range op.Blocks {
		k.push(begin)
		k.assumeTouched()
		k.block(b)
		for j, v := range b.Yield {
			for n, r := range k.get(v, k.Homes[op.Results[j]]) {
				k.a.Move(out[j][n], r)
			}
		}
		begin = k.a.Begin() // what was computed before it has moved it
		k.pop()
		if i == 0 {
			a.Do("bra.uni", end)
			a.Place(other)
		}
	}
	a.Place(end)
	k.assumeTouched()
	for i, v := range op.Results {
		k.hold(v, k.Homes[v], out[i])
	}
}
