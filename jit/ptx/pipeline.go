package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// pipeline is the code of a loop of which loads run ahead; a ring of stages in shared memory holds what is under way.
type pipeline struct {
	*block.Pipeline
	k     *kernel
	hi    asm.Reg
	step  int64
	items []pipelined
	// read and write number the stages that the step consumes and fills.
	read, write asm.Reg
	base        buffer
	// ring is set where a warp of its own does the copies.
	ring *ring
	// begun is of how many steps to come the producer's early copies are under way.
	begun asm.Reg
}

// pipelined is one load of the slice.
type pipelined struct {
	*block.Copy
	tile *sharedTile // of a stage; its buffer is that of all stages
	// share is which of its elements are copied: all but for the first steps of what grows.
	share share
}

// pipelineOf is the code of a loop's pipeline, not yet begun; one without items where nothing runs ahead.
func (k *kernel) pipelineOf(op *ir.Op) *pipeline {
	p := &pipeline{Pipeline: k.Pipelines[op], k: k}
	if p.Pipeline == nil {
		p.Pipeline = &block.Pipeline{Op: op}
	}
	for i := range p.Pipeline.Copies {
		c := &p.Pipeline.Copies[i]
		p.items = append(p.items, pipelined{Copy: c, tile: &sharedTile{Tile: *c.Tile}})
	}
	return p
}

// newPipeline makes room for the stages of a loop and emits the first copies.
func (k *kernel) newPipeline(op *ir.Op, lo, hi asm.Reg, step int64) *pipeline {
	if p := k.begun[op]; p != nil {
		p.hi = hi
		p.provideGathered()
		p.begin(lo, p.others())
		return p
	}
	p := k.produced[op]
	if p == nil {
		p = k.pipelineOf(op)
		p.hi, p.step = hi, step
		if len(p.items) == 0 {
			return p
		}
	}
	if p.Produced {
		k.askBeside()
	}
	p.provideGathered()
	p.makeRoom()
	if p.Produced {
		p.fill()
		p.doAll(p.Schedule.Begin)
		if k.Tiles == nil {
			p.ring.start(k.a)
		}
		return p
	}
	p.begin(lo, p.items)
	return p
}

// beginEarly emits, of loops whose threads copy, the copies of constants for the first steps, and of tensors that grow what was there before. The first
// step's group has them with what is copied of other tensors.
func (k *kernel) beginEarly() {
	for _, op := range k.Func.Body.Ops {
		x := k.Pipelines[op]
		if x == nil || x.Produced || x.Early == nil {
			continue
		}
		p := k.pipelineOf(op)
		lo, hi, step := k.stepsOf(op)
		p.hi, p.step = hi, step
		p.makeRoom()
		for _, act := range p.Schedule.Begin {
			if act.Do == block.StartCopies {
				p.copies(p.stepAt(lo, act.Step), asm.Int(act.Step), p.early())
			}
		}
		k.begun[op] = p
	}
}

// early are the items that are copied for the first steps before the launches before have ended, and others those that are not, or not wholly.
func (p *pipeline) early() (early []pipelined) {
	for _, i := range p.Early {
		x := p.items[i]
		if !p.wholly(x) {
			x.share = old
		}
		early = append(early, x)
	}
	return early
}

// wholly reports an early item of which all is there: the rest of a step, behind the end of the loop, becomes 0.
func (p *pipeline) wholly(x pipelined) bool {
	return x.Load.Tensor.Constant || p.k.EndsAtGrowth(p.Pipeline, x.Load)
}

func (p *pipeline) others() (others []pipelined) {
	for i, x := range p.items {
		if slices.Contains(p.Early, i) {
			if p.wholly(x) {
				continue
			}
			x.share = fresh
		}
		others = append(others, x)
	}
	return others
}

// makeRoom gives the stages their place.
func (p *pipeline) makeRoom() {
	for i, x := range p.items {
		x.tile.buffer = p.k.allocate(x.tile.Bytes()*p.Stages, "stages of "+block.ValueName(x.Load.Result()))
		x.tile.buffer.guarded = p.Produced
		if i == 0 {
			p.base = x.tile.buffer
		}
	}
}

// begin emits what threads do before the first step: the copies of the items for the first steps.
func (p *pipeline) begin(lo asm.Reg, items []pipelined) {
	a := p.k.a
	for _, x := range p.Schedule.Begin {
		if x.Do != block.StartCopies {
			p.do(x)
			continue
		}
		if !p.read.Valid() {
			p.read, p.write = a.Reg(asm.B32), a.Reg(asm.B32)
			a.Set(p.read, "mov.b32", asm.Int(0))
			a.Set(p.write, "mov.b32", asm.Int(p.Ahead))
		}
		if x.Step == 0 {
			p.k.bringOperands()
		}
		if len(items) > 0 {
			p.copies(p.stepAt(lo, x.Step), asm.Int(x.Step), items)
		}
		a.Do("cp.async.commit_group")
	}
}

// bringOperands begins the copies of operands that all steps of the loop take (block.Program.Brought).
func (k *kernel) bringOperands() {
	for _, b := range k.Brought {
		v := b.Load.Result()
		k.a.Loc(b.Load.At)
		k.a.Comment("bring %s", describe(b.Load))
		t := k.broughtTo(b)
		k.writing(t.buffer)
		k.copyAsync(b.Load, t, b.Layout, b.Vector)
		k.scope.tiles[v] = append(k.scope.tiles[v], t)
	}
}

// broughtTo is the tile that an operand is brought to.
func (k *kernel) broughtTo(b *block.Beside) *sharedTile {
	t := k.brought[b]
	if t == nil {
		t = &sharedTile{Tile: *b.Tile}
		t.buffer = k.allocate(t.Bytes(), "operand "+block.ValueName(b.Load.Result()))
		k.brought[b] = t
	}
	return t
}

// findBrought computes where operands are brought from and to, and copied from: behind the wait for the launches before, nothing is left to do but to
// bring them.
func (k *kernel) findBrought() {
	for _, b := range k.Copied {
		k.addressing(b.Load, b.Layout).at(0)
	}
	for _, b := range k.Brought {
		k.addressing(b.Load, b.Layout).at(0)
		k.accessing(k.broughtTo(b), b.Layout).at(0)
	}
}

// stepAt is the position of a step from lo on.
func (p *pipeline) stepAt(lo asm.Reg, step int) asm.Reg {
	if step == 0 {
		return lo
	}
	return p.k.a.Op(lo.Class, lo.Class.Signed("add"), lo, asm.Int(int64(step)*p.step))
}

// copies emits the copies of items for the step at position, into a stage: a constant, or p.write.
func (p *pipeline) copies(position asm.Reg, stage asm.Number, items []pipelined) {
	k, a := p.k, p.k.a
	begin := a.Here()
	skip := a.Label()
	a.If(a.Op(asm.Pred, p.hi.Class.Signed("setp.ge"), position, p.hi)).Do("bra.uni", skip)
	if all := p.allOld(position, items); all.Valid() {
		a.If(all).Do("bra.uni", skip)
	}
	k.push(begin)
	k.enter(p.Op.Axis, position, p.hi, !k.Ragged(p.Op.Axis))
	p.provideScalars(true)
	p.provideIndices(items)
	for _, x := range items {
		a.Comment("copy ahead %s", describe(x.Load))
		t := p.at(x, stage)
		if x.share == fresh && p.copyFresh(x, t) {
			continue
		}
		k.copyPart(x.Load, t, x.Layout, x.Vector, x.share, 1)
	}
	k.pop()
	a.Place(skip)
}

// provideScalars computes the scalars in the indices of what is copied: those that follow from the step, or the others.
func (p *pipeline) provideScalars(ofStep bool) {
	for _, x := range p.items {
		for _, d := range p.k.Access(x.Load) {
			for _, s := range d.Affine.Scalars {
				switch {
				case p.OfStep(s.Value) != ofStep:
				case ofStep:
					p.k.provideAnew(s.Value)
				default:
					p.k.provide(s.Value)
				}
			}
		}
	}
}

// provideGathered has threads hold, before the loop, the indices of their own part of what is copied from where they say.
func (p *pipeline) provideGathered() {
	for _, x := range p.items {
		if dims := p.k.CopiedAccess(x.Load); !slices.ContainsFunc(dims, func(d block.DimAccess) bool { return d.Gather && p.Inside(d.Index) }) {
			p.k.indexingBy(x.Load, dims, x.Layout)
		}
	}
}

// provideIndices computes, for the step that the loop's axis stands at now, the indices that a step gives, in threads for their own part of what they copy.
func (p *pipeline) provideIndices(items []pipelined) {
	var provide func(v *ir.Value, l layout.Layout)
	provide = func(v *ir.Value, l layout.Layout) {
		switch {
		case !p.Inside(v):
			return
		case v.Type.IsScalar():
			p.k.provideAnew(v)
			return
		}
		for _, h := range p.k.scope.values[v] {
			if _, same := h.layout.Permutation(l, v.Type.Axes); same {
				return
			}
		}
		for _, x := range v.Def.Args {
			provide(x, l.Slice(x.Type.Axes))
		}
		p.k.hold(v, l, p.k.recompute(v.Def, l))
	}
	for _, x := range items {
		for _, d := range p.k.CopiedAccess(x.Load) {
			if d.Gather {
				provide(d.Index, x.Layout.Slice(d.Index.Type.Axes))
			}
		}
	}
}

// at is a stage of an item.
func (p *pipeline) at(x pipelined, stage asm.Number) *sharedTile {
	k, t := p.k, *x.tile
	size := x.tile.Bytes()
	if n, ok := stage.(asm.Int); ok {
		t.at += int(n) * size
		return &t
	}
	t.base = k.a.Op(asm.B32, "mad.lo.s32", stage, asm.Int(size), k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(x.tile.at)))
	return &t
}

// copyAsync copies a load's elements to a tile; those that do not exist become 0.
func (k *kernel) copyAsync(op *ir.Op, t *sharedTile, l layout.Layout, vec int) {
	k.copyPart(op, t, l, vec, whole, 1)
}

// copyPart copies a part of a load's elements, where its tensor grows, and otherwise all, in so many rounds: a thread begins one when all before the
// last are there.
func (k *kernel) copyPart(op *ir.Op, t *sharedTile, l layout.Layout, vec int, what share, rounds int) {
	var start *ir.Value
	if what != whole {
		start = k.GrownFrom(op)
	}
	from, to := k.addressingBy(op, k.CopiedAccess(op), l), k.accessing(t, l)
	c := t.Contiguous()
	groups, n := l.Groups(c, vec)
	name, bytes := k.copyInstruction(t, n)
	each := (len(groups) + rounds - 1) / rounds
	for i, g := range groups {
		if i > 0 && i%each == 0 {
			k.a.Do("cp.async.commit_group")
			k.a.Do("cp.async.wait_group", asm.Int(1))
		}
		p, ok := k.room(t, t.Extents, l, g[0], k.owner(l))
		if !ok {
			continue
		}
		exists := k.both(k.mask(l, t.Axes, g[0]), from.inside(g[0]))
		if start != nil {
			p = k.both(p, k.inShare(k.a.Register(from.index(op.Tensor.Grows.Dim, g[0])), exists, start, what))
		}
		var size []asm.Operand // of what exists; the rest becomes 0
		if exists.Valid() && what != fresh {
			size = append(size, k.a.Calc(asm.B32, "selp.b32", asm.Int(bytes), asm.Int(0), exists))
		}
		at := from.at(g[0])
		if at.halves {
			at = k.inBytes(at)
		}
		k.a.If(p).Do(name, append([]asm.Operand{to.at(g[0]), at.addr(), asm.Int(bytes)}, size...)...)
	}
}

// copyInstruction is the copy of so many elements to a tile by one thread, and their bytes.
func (k *kernel) copyInstruction(t *sharedTile, elements int) (name string, bytes int) {
	bytes = t.BytesOf(elements)
	name = "cp.async.ca.shared.global"
	if bytes == 16 {
		name = "cp.async.cg.shared.global"
	}
	if t.RowBytes() >= 128 { // neighbours take the rest of the line
		k.a.Require(74)
		name += ".L2::128B"
	}
	return name, bytes
}
