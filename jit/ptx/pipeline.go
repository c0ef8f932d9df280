package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/target"
	"tilec/lang"
)

// pipeline is a cut through a loop: the slice that loads the operands of its
// contractions runs some steps ahead of the rest. Its copies go from global to
// shared memory without passing through registers; a ring of stages in shared
// memory holds what is under way.
type pipeline struct {
	k      *kernel
	op     *ir.Op
	hi     asm.Reg
	step   int64
	stages int
	items  []pipelined
	// ahead is how many steps the copies run before the rest.
	ahead int
	// overlapped: a step's product is waited for in the next step.
	overlapped bool
	// read and write number the stages that the step consumes and fills.
	read, write asm.Reg
	base        buffer
	// ring is set where a warp of its own does the copies.
	ring *ring
}

// pipelined is one load of the slice.
type pipelined struct {
	load *ir.Op
	tile *sharedTile   // of a stage; its buffer is that of all stages
	l    layout.Layout // in which threads copy
	vec  int           // neighbours that one copy moves
}

// newPipeline cuts a loop and emits the first copies; a loop with nothing to run ahead gives an empty pipeline.
func (k *kernel) newPipeline(op *ir.Op, lo, hi asm.Reg, step int64) *pipeline {
	p := k.produced[op]
	if p == nil {
		p = &pipeline{k: k, op: op, hi: hi, step: step, stages: k.plan.Stages, ahead: k.plan.Stages - 1}
		if op.Axis == nil || op.Reverse || p.stages < 2 || !k.target.Has(target.CpAsync) {
			return p
		}
		p.items = k.slice(op)
		if len(p.items) == 0 {
			return p
		}
		p.deepen()
	}
	for i, x := range p.items {
		x.tile.buffer = k.allocate(x.tile.bytes()*p.stages, "stages of "+valueName(x.load.Result()))
		x.tile.buffer.guarded = p.ring != nil
		if i == 0 {
			p.base = x.tile.buffer
		}
	}
	if c := k.overlaps(op, p.items); c != nil && p.stages >= 3 {
		// The stage of the step before is still being read.
		c.overlapped, p.overlapped, p.ahead = true, true, p.stages-2
	}
	if p.ring != nil {
		p.begin()
		return p
	}
	a := k.a
	// What used this memory before must be done with.
	k.barrier()
	p.read, p.write = a.Reg(asm.B32), a.Reg(asm.B32)
	a.Set(p.read, "mov.b32", asm.Int(0))
	a.Set(p.write, "mov.b32", asm.Int(p.ahead))
	for s := range p.ahead {
		at := lo
		if s > 0 {
			at = a.Op(lo.Class, lo.Class.Signed("add"), lo, asm.Int(int64(s)*step))
		}
		p.copies(at, asm.Int(s))
	}
	return p
}

// slice finds the loads that may run ahead: those that only contractions of this
// loop read, through addresses that depend on nothing that the loop computes.
func (k *kernel) slice(loop *ir.Op) []pipelined {
	inside := map[*ir.Value]bool{}
	for _, v := range loop.Blocks[0].Params {
		inside[v] = true
	}
	for _, op := range loop.Blocks[0].Ops {
		for _, v := range op.Results {
			inside[v] = true
		}
	}
	var items []pipelined
	for _, op := range loop.Blocks[0].Ops {
		if op.Code != lang.OpLoad || !op.Tensor.ReadOnly() || op.Else() != nil || !k.again(op.Result()) {
			continue
		}
		v := op.Result()
		dims := k.access(op)
		c := contiguous(dims)
		ok := c != nil
		for _, d := range dims {
			ok = ok && !d.gather
			for _, s := range d.affine.scalars {
				ok = ok && !inside[s.value]
			}
		}
		var tile *sharedTile
		for _, u := range k.uses[v] {
			p := k.products[u.op]
			if p == nil || u.arg > 1 || p.mma == nil || p.element(u.arg) != v.Type.DType || !inside[u.op.Result()] {
				ok = false
				break
			}
			want := k.tileFor(p, u.arg)
			if tile != nil && !(tile.holds(want) && want.holds(tile)) {
				ok = false
				break
			}
			tile = want
		}
		if !ok || tile == nil || tile.contiguous() != c {
			continue
		}
		vec := min(k.vector(op.Tensor, dims, c), k.sharedVector(tile))
		if vec*v.Type.DType.Size() < 4 {
			continue // cp.async moves 4, 8 or 16 bytes
		}
		items = append(items, pipelined{op, tile, layout.Blocked(tile.axes, tile.ext, vec, k.warps), vec})
	}
	return items
}

// overlaps gives the contraction of a loop whose product may still be under way
// when the next step begins: the only one, by wgmma, from operands that all run
// ahead, into an accumulator that nothing but the next step reads.
func (k *kernel) overlaps(loop *ir.Op, items []pipelined) *contraction {
	body := loop.Blocks[0]
	var only *contraction
	for _, op := range body.Ops {
		if len(op.Blocks) > 0 {
			return nil
		}
		if c := k.products[op]; c != nil {
			if only != nil {
				return nil
			}
			only = c
		}
	}
	if only == nil || !only.wide || only.op.Code != lang.OpMma || len(items) != 2 {
		return nil
	}
	acc, result := only.op.Args[2], only.op.Result()
	if result.Type.DType != only.mma.sum || len(k.uses[acc]) != 1 || len(k.uses[result]) > 0 {
		return nil
	}
	for i, v := range body.Yield {
		if (v == result) != (body.Params[i+1] == acc) {
			return nil
		}
	}
	for _, v := range only.op.Args[:2] {
		if v != items[0].load.Result() && v != items[1].load.Result() {
			return nil
		}
	}
	return only
}

// copies emits the copies for the step at position, into a stage: a constant, or p.write.
func (p *pipeline) copies(position asm.Reg, stage asm.Number) {
	k, a := p.k, p.k.a
	begin := a.Here()
	skip := a.Label()
	a.If(a.Op(asm.Pred, p.hi.Class.Signed("setp.ge"), position, p.hi)).Do("bra.uni", skip)
	k.push(begin)
	k.enter(p.op.Axis, position, p.hi, !k.ragged(p.op.Axis))
	for _, x := range p.items {
		a.Comment("copy ahead %s", describe(x.load))
		t := p.at(x, stage)
		k.copyAsync(x.load, t, x.l, x.vec)
	}
	k.pop()
	a.Place(skip)
	a.Do("cp.async.commit_group")
}

// at is a stage of an item.
func (p *pipeline) at(x pipelined, stage asm.Number) *sharedTile {
	k, t := p.k, *x.tile
	size := x.tile.bytes()
	if n, ok := stage.(asm.Int); ok {
		t.at += int(n) * size
		return &t
	}
	t.base = k.a.Op(asm.B32, "mad.lo.s32", stage, asm.Int(size), k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(x.tile.at)))
	return &t
}

// copyAsync copies a load's elements to a tile; those that do not exist become 0.
func (k *kernel) copyAsync(op *ir.Op, t *sharedTile, l layout.Layout, vec int) {
	from, to := k.addressing(op, l), k.accessing(t, l)
	c := t.contiguous()
	groups, n := l.Groups(c, vec)
	bytes := n * t.d.Size()
	name := "cp.async.ca.shared.global"
	if bytes == 16 {
		name = "cp.async.cg.shared.global"
	}
	if t.ext[0]*t.d.Size() >= 128 { // neighbours take the rest of the line
		k.a.Require(74)
		name += ".L2::128B"
	}
	for _, g := range groups {
		p, ok := k.room(t, t.ext, l, g[0], k.owner(l))
		if !ok {
			continue
		}
		var size []asm.Operand // of what exists; the rest becomes 0
		if m := k.mask(l, t.axes, g[0]); m.Valid() {
			size = append(size, k.a.Calc(asm.B32, "selp.b32", asm.Int(bytes), asm.Int(0), m))
		}
		k.a.If(p).Do(name, append([]asm.Operand{to.at(g[0]), from.at(g[0]).addr(), asm.Int(bytes)}, size...)...)
	}
}

// next begins a step of the loop: it waits for the step's stage, and starts the
// copies of a step to come into the stage that the last step has left.
func (p *pipeline) next(position asm.Reg) {
	if len(p.items) == 0 {
		return
	}
	if p.ring != nil {
		p.await()
		return
	}
	k, a := p.k, p.k.a
	a.Changes(p.read, p.write)
	a.Do("cp.async.wait_group", asm.Int(p.ahead-1))
	for _, x := range p.items {
		if x.tile.async {
			a.Do("fence.proxy.async.shared::cta")
			break
		}
	}
	k.barrier()
	for _, x := range p.items {
		v := x.load.Result()
		k.scope.tiles[v] = append(k.scope.tiles[v], p.at(x, p.read))
	}
	p.copies(a.Op(position.Class, position.Class.Signed("add"), position, asm.Int(int64(p.ahead)*p.step)), p.write)
	for _, r := range []asm.Reg{p.read, p.write} {
		a.Set(r, "add.s32", r, asm.Int(1))
		wrap := a.Op(asm.Pred, "setp.eq.s32", r, asm.Int(p.stages))
		a.Set(r, "selp.b32", asm.Int(0), r, wrap)
	}
}

// end ends a step.
func (p *pipeline) end() {
	if p.ring != nil {
		p.leave()
	}
}

// finish gives the stages' memory back.
func (p *pipeline) finish() {
	if p.overlapped {
		p.k.a.Do("wgmma.wait_group.sync.aligned", asm.Int(0))
	}
	if len(p.items) > 0 {
		p.k.release(p.base)
	}
}
