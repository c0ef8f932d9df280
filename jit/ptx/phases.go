package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// phase is a run of steps of a loop that have one code: those that begin before end.
type phase struct {
	end asm.Reg
	// holds is a condition that holds in all of them, nil for none.
	holds *ir.Value
}

// guarded is a condition for which steps of one code ask, as a whole, whether it holds for all elements.
type guarded struct {
	holds *ir.Value
	all   asm.Reg
}

// oneRun makes one run of the phases of a loop, up to an end, whose steps have one code: a predicate says whether the condition of the one phase holds. (The assembler takes half as long as for
// code of each phase, and attention is as fast or faster: bench/TRIALS.md.) It gives no predicate where there is one phase only.
func oneRun(phases []phase) (end asm.Reg, holds func(a *asm.Builder, position asm.Reg) guarded) {
	first, last := phases[0], phases[len(phases)-1]
	switch {
	case len(phases) == 1:
		return last.end, nil
	case first.holds != nil:
		return last.end, func(a *asm.Builder, position asm.Reg) guarded {
			return guarded{first.holds, a.Op(asm.Pred, "setp.lt.s32", position, first.end)}
		}
	}
	return last.end, func(a *asm.Builder, position asm.Reg) guarded {
		return guarded{last.holds, a.Op(asm.Pred, "setp.ge.s32", position, first.end)}
	}
}

// chosenUnless emits the choices of a condition, which steps go around where it holds for all elements.
func (k *kernel) chosenUnless(op *ir.Op, l layout.Layout) []asm.Reg {
	a, v := k.a, op.Args[1]
	x := k.get(v, l.Slice(v.Type.Axes))
	out := a.Regs(x[0].Class, l.Regs())
	for r := range out {
		a.Move(out[r], x[l.Project(r, v.Type.Axes)])
	}
	over, begin := a.Label(), a.Here()
	a.If(k.guard.all).Do("bra.uni", over)
	k.push(begin)
	around := k.guard
	k.guard = guarded{}
	for r, chosen := range k.elementwise(op, l) {
		a.Move(out[r], chosen)
	}
	k.guard = around
	k.pop()
	a.Place(over)
	return out
}

// phasesOf are the phases of a loop whose steps begin before end, each of which is whole.
func (k *kernel) phasesOf(op *ir.Op, hi, end asm.Reg) []phase {
	last := phase{end: end}
	f := k.Phases[op]
	if f == nil {
		return []phase{last}
	}
	k.a.Comment("where all of %s holds", block.ValueName(f.Holds))
	// A step is in the phase whose last position is at most the least limit, or whose first is at least the greatest. The limits follow one another, as far as 32 bits
	// hold them; where they do not, no step is.
	a := k.a
	var low asm.Number = asm.Int(f.Limit.Offset)
	for _, s := range f.Limit.Scalars {
		low = a.Add(low, k.scalar(s))
	}
	high := low
	if f.Along != nil {
		low = a.Add(low, k.state(f.Along).start)
		high = a.Add(low, asm.Int(f.Along.Extent-1))
	}
	least, most := a.Register(low), a.Register(high)
	ordered := a.Op(asm.Pred, "setp.le.s32", least, most)
	if f.Last {
		until := a.Op(asm.B32, "selp.b32", a.Op(asm.B32, "min.s32", most, end), end, ordered)
		return []phase{{end: until}, {end: end, holds: f.Holds}}
	}
	behind := a.Op(asm.B32, "min.s32", a.Op(asm.B32, "add.s32", least, asm.Int(1)), hi)
	behind = a.Op(asm.B32, "selp.b32", a.Op(asm.B32, "max.s32", behind, asm.Int(0)), asm.Int(0), ordered)
	return []phase{{end: a.Op(asm.B32, "sub.s32", behind, asm.Int(op.Axis.Extent-1)), holds: f.Holds}, last}
}
