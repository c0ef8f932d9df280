package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
)

// This file copies for the first steps of a loop what it reads of a tensor that grows (ir.Grows), as the keys in a cache: what was there when the
// program began, and zeros behind the loop's end, before the launches before have ended; the rest, which they may write, behind the wait for them.

// share says which elements of what grows are copied: all, those that were there before the program began, or those that it may write.
type share int

const (
	whole share = iota
	old
	fresh
)

// inShare narrows the predicate of an element that exists, where that is not sure, to the threads whose element is in the share: the old ones stand
// before the start of what grows, the fresh ones exist and stand from there on. Those that do not exist are with the old.
func (k *kernel) inShare(at asm.Reg, exists asm.Reg, start *ir.Value, what share) asm.Reg {
	begins := k.grownFrom(at, start)
	if what == fresh {
		return k.both(exists, k.a.Calc(asm.Pred, at.Class.Signed("setp.ge"), at, begins))
	}
	before := k.a.Calc(asm.Pred, at.Class.Signed("setp.lt"), at, begins)
	if !exists.Valid() {
		return before
	}
	return k.a.Calc(asm.Pred, "or.pred", before, k.a.Calc(asm.Pred, "not.pred", exists))
}

// grownFrom is the start of what grows, of the class of an index.
func (k *kernel) grownFrom(at asm.Reg, start *ir.Value) asm.Reg {
	begins := k.a.Register(k.scalar(start))
	if at.Class == asm.B64 {
		return k.a.Wide(begins)
	}
	return begins
}

// allOld is the predicate that a step from position on has no fresh rows; no register where that is not known of all items.
func (p *pipeline) allOld(position asm.Reg, items []pipelined) asm.Reg {
	var start *ir.Value
	for i, x := range items {
		if x.share != fresh || !p.rows(x) || i > 0 && p.k.GrownFrom(x.Load) != start {
			return asm.Reg{}
		}
		start = p.k.GrownFrom(x.Load)
	}
	if start == nil {
		return asm.Reg{}
	}
	end := p.k.a.Op(asm.B32, "add.s32", position, asm.Int(p.step))
	return p.k.a.Op(asm.Pred, "setp.le.s32", end, p.k.grownFrom(end, start))
}

// rows reports a load whose rows are the loop's positions: its tensor grows along the loop's axis.
func (p *pipeline) rows(x pipelined) bool {
	d := p.k.Access(x.Load)[x.Load.Tensor.Grows.Dim]
	of := d.Affine
	return !d.Gather && !of.In64() && p.hi.Class == asm.B32 && len(of.Terms) == 1 && of.Terms[0].Axis == p.Op.Axis && of.Terms[0].Coef == 1 && len(of.Scalars) == 0 && of.Offset == 0
}

// copyFresh copies the fresh rows of a step, of which decoding has one: each thread goes from its first fresh row to its last, and most have none.
// It reports false where a thread's rows do not lie at equal distances.
func (p *pipeline) copyFresh(x pipelined, t *sharedTile) bool {
	k, a, axis, l := p.k, p.k.a, p.Op.Axis, x.Layout
	if !p.rows(x) || slices.ContainsFunc(k.Access(x.Load), func(d block.DimAccess) bool { return d.Gather || d.Checked }) {
		return false
	}
	from, to := k.addressing(x.Load, l), k.accessing(t, l)
	groups, n := l.Groups(t.Contiguous(), x.Vector)
	every, ok := everyRow(axis, from, to, groups)
	if !ok {
		return false
	}
	exists := k.owner(l)
	for _, g := range groups {
		q, ok := k.room(t, t.Extents, l, g[0], k.owner(l))
		if m := k.mask(l, slices.DeleteFunc(slices.Clone(t.Axes), func(b *ir.Axis) bool { return b == axis }), g[0]); !ok || q != exists || m.Valid() {
			return false
		}
	}
	a.Comment("the rows from %s on", block.ValueName(k.GrownFrom(x.Load)))
	row := a.Register(k.position(l, axis))
	before := a.Op(asm.B32, "sub.s32", k.grownFrom(row, k.GrownFrom(x.Load)), row)
	begin := a.Here()
	over := a.Reg(asm.B32) // rows that the thread has gone over
	a.Set(over, "add.s32", before, asm.Int(every.rows-1))
	a.Set(over, "max.s32", over, asm.Int(0))
	a.Set(over, "and.b32", over, asm.Int(-every.rows))
	top, done := a.Label(), a.Label()
	a.Place(top)
	k.push(begin)
	a.Changes(over)
	left := a.Op(asm.Pred, "setp.lt.s32", a.Op(asm.B32, "add.s32", row, over), k.state(axis).end)
	a.Unless(k.both(exists, left)).Do("bra", done)
	at := to.moved(groups[0][0], a.Op(asm.B32, "mul.lo.s32", over, asm.Int(every.shared/every.rows)), 0)
	start := from.at(groups[0][0])
	source := a.Op(asm.B64, "mad.wide.s32", over, asm.Int(every.global/every.rows), k.offset(start.base, start.offset))
	name, bytes := k.copyInstruction(t, n)
	a.Do(name, at, asm.At(source), asm.Int(bytes))
	a.Set(over, "add.s32", over, asm.Int(every.rows))
	a.Do("bra", top)
	k.pop()
	a.Place(done)
	return true
}

// distance is how far a thread's rows are from each other: in rows, and in bytes of global and shared memory.
type distance struct{ rows, global, shared int64 }

// everyRow is the distance between neighbouring groups of an access, which are single rows; ok reports that it is the same between all of them, and a power of two.
func everyRow(axis *ir.Axis, from *addressing, to *sharedAccess, groups [][]int) (d distance, ok bool) {
	if !to.linear || len(groups) < 2 {
		return d, false
	}
	first, source := groups[0][0], from.at(groups[0][0])
	turn, begin := to.split(first)
	for i, g := range groups {
		n, row, at := int64(i), int64(to.l.RegCoord(g[0], axis)), from.at(g[0])
		xor, plus := to.split(g[0])
		if i == 1 {
			if d = (distance{row, at.offset - source.offset, int64(plus - begin)}); row <= 0 {
				return d, false
			}
		}
		if row != n*d.rows || at.base != source.base || at.offset-source.offset != n*d.global || xor != turn || int64(plus-begin) != n*d.shared {
			return d, false
		}
	}
	return d, d.rows&(d.rows-1) == 0 && d.global%d.rows == 0 && d.shared%d.rows == 0
}
