package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// lineBytes is what the L2 brings at once.
const lineBytes = 128

// prefetch asks the L2 for what a block will load once the launches before have ended.
func (k *kernel) prefetch(x block.Prefetch) {
	a := k.a
	a.Loc(x.Load.At)
	a.Comment("prefetch %s", describe(x.Load))
	end := a.Label()
	if x.Under != nil {
		begin := a.Here()
		a.Unless(k.scalar(x.Under)).Do("bra.uni", end)
		k.push(begin)
		k.prefetchTile(x)
		k.pop()
		a.Place(end)
		return
	}
	if x.Loop == nil {
		k.prefetchTile(x)
		return
	}
	k.prefetchSteps(x, end)
}

// askSoon asks the L2, in the blocks that begin first, for what they load behind a reduction.
func (k *kernel) askSoon() {
	if len(k.Soon) == 0 {
		return
	}
	a := k.a
	end, begin := a.Label(), a.Here()
	a.If(a.Op(asm.Pred, "setp.ge.u32", a.Op(asm.B32, "mov.u32", asm.Block), asm.Int(k.Target.SMs))).Do("bra.uni", end)
	k.push(begin)
	for _, op := range k.Soon {
		k.prefetch(block.Prefetch{Load: op})
	}
	k.pop()
	a.Place(end)
}

// prefetchSteps asks for the tiles of the first steps of a loop.
func (k *kernel) prefetchSteps(x block.Prefetch, end asm.Label) {
	a, axis := k.a, x.Loop.Axis
	lo, hi, step := k.stepsOf(x.Loop)
	if p := k.begun[x.Loop]; p != nil && slices.ContainsFunc(p.early(), func(c pipelined) bool { return c.Load == x.Load }) {
		lo = p.stepAt(lo, p.Ahead) // what the block copies already is not asked for
	}
	c := lo.Class
	last := a.Op(c, c.Signed("min"), hi, a.Op(c, c.Signed("add"), lo, asm.Int(int64(x.Steps)*step)))
	position := a.Reg(c)
	a.Move(position, lo)
	top, begin := a.Label(), a.Here()
	a.If(a.Op(asm.Pred, c.Signed("setp.ge"), position, last)).Do("bra.uni", end)
	a.Place(top)
	k.push(begin)
	a.Changes(position)
	k.enter(axis, position, hi, !k.Ragged(axis))
	k.prefetchTile(x)
	a.Set(position, c.Signed("add"), position, asm.Int(step))
	k.pop()
	a.If(a.Op(asm.Pred, c.Signed("setp.lt"), position, last)).Do("bra.uni", top)
	a.Place(end)
}

// prefetchTile asks for the lines of a tile, each by one of the threads that will load from it.
func (k *kernel) prefetchTile(x block.Prefetch) {
	op := x.Load
	dims := k.Access(op)
	c := block.Contiguous(dims)
	size := op.Tensor.DType.Size()
	vector := k.Vector(op.Tensor, dims, c)
	axes := x.Load.Result().Type.Axes
	order := []*ir.Axis{c}
	for i := len(axes) - 1; i >= 0; i-- {
		if axes[i] != c {
			order = append(order, axes[i])
		}
	}
	l := layout.Blocked(order, block.Extents(order), vector, k.Warps)
	from := k.addressing(op, l)
	var first asm.Reg
	if n := min(lineBytes/(vector*size), layout.Lanes, layout.PowerBelow(int(c.Extent)/vector)); n > 1 {
		first = k.a.Calc(asm.Pred, "setp.eq.u32", k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(n-1)), asm.Int(0))
	}
	groups, _ := l.Groups(c, vector)
	for _, g := range groups {
		p := k.both(first, k.both(k.mask(l, axes, g[0]), from.inside(g[0])))
		k.a.If(p).Do("prefetch.global.L2", from.at(g[0]).addr())
	}
}
