package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds, in loops, comparisons of positions that hold throughout the first steps, as those of a causal mask do until the
// diagonal, or throughout the last ones, as where the queries go by that see some keys: these steps have code of their own, without the
// comparison and the choices that it makes, or go around these in the code of all steps, where two products overlap.

// Phase is the first steps of a loop, or the last, in which a comparison holds for all elements.
type Phase struct {
	// Holds is the comparison: position <= Limit + the positions along Along, where that is not nil; of the last steps, position >= that. A
	// step is one of the phase where its last position is at most the least of these limits, or its first at least the greatest, and they
	// follow one another, as far as 32 bits hold them: where a limit wraps around, no step is.
	Holds *ir.Value
	Limit Sum
	Along *ir.Axis
	Last  bool
}

// Sum is scalars and a constant, added up as the program does, in 32 bits.
type Sum struct {
	Scalars []*ir.Value
	Offset  int64
}

// findPhases decides which loops have a phase. By themselves those do that multiply: there, what is not masked saves a good part of
// what is done beside the products.
func (p *Program) findPhases() {
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code != lang.OpFor {
			return true
		}
		best := int64(1)
		if slices.ContainsFunc(op.Blocks[0].Ops, func(inner *ir.Op) bool { return p.Products[inner] != nil }) {
			best = 2
		}
		if p.asks("phases", best) == 2 {
			if x := p.newPhase(op); x != nil {
				p.Phases[op] = x
			}
		}
		return true
	})
}

// newPhase finds the phase of a loop; nil where it has none.
func (p *Program) newPhase(loop *ir.Op) *Phase {
	if loop.Axis == nil || loop.Reverse || loop.Axis.Counts() != lang.I32 || len(p.loops[loop.Axis]) != 1 {
		return nil
	}
	for _, op := range loop.Blocks[0].Ops {
		if f := p.phaseOf(loop, op); f != nil {
			return f
		}
	}
	return nil
}

// phaseOf is the phase in which an operation of a loop's step, a comparison, holds; nil where there is none.
func (p *Program) phaseOf(loop, op *ir.Op) *Phase {
	if len(op.Results) != 1 || !p.OnDemand(op) || !p.onlyChooses(op.Result()) {
		return nil
	}
	less, more := 0, 1
	switch op.Code {
	case lang.OpLe, lang.OpLt:
	case lang.OpGe, lang.OpGt:
		less, more = 1, 0
	default:
		return nil
	}
	x, ok1 := affineOf(op.Args[less])
	y, ok2 := affineOf(op.Args[more])
	if !ok1 || !ok2 || op.Args[0].Type.DType != lang.I32 {
		return nil
	}
	f, beside := &Phase{Holds: op.Result()}, int64(-1)
	if !isPosition(x, loop.Axis) {
		x, y, beside, f.Last = y, x, 1, true
	}
	if !isPosition(x, loop.Axis) || len(y.Terms) > 1 {
		return nil
	}
	f.Limit.Offset = y.Offset
	if op.Code == lang.OpLt || op.Code == lang.OpGt {
		f.Limit.Offset += beside
	}
	known := true
	for _, t := range y.Terms {
		f.Along = t.Axis
		known = t.Coef == 1 && t.Axis.Kind == ir.Grid && t.Axis.Counts() == lang.I32
	}
	inside := values(loop.Blocks[0])
	for _, s := range y.Scalars {
		f.Limit.Scalars = append(f.Limit.Scalars, s.Value)
		known = known && s.Coef == 1 && !inside[s.Value]
	}
	if !known || f.Limit.Offset != int64(int32(f.Limit.Offset)) {
		return nil
	}
	return f
}

// isPosition reports the position along an axis and nothing else.
func isPosition(f affine, a *ir.Axis) bool {
	return len(f.Terms) == 1 && f.Terms[0] == AxisTerm{a, 1} && len(f.Scalars) == 0 && f.Offset == 0
}

// onlyChooses reports a condition that is used for nothing but choices between values.
func (p *Program) onlyChooses(v *ir.Value) bool {
	return v.Type.DType == lang.Bool && p.Yields(v) == 0 && len(p.Uses[v]) > 0 && !slices.ContainsFunc(p.Uses[v], func(u Use) bool { return u.Op.Code != lang.OpWhere || u.Arg != 0 })
}

// values are what a block defines: its parameters, and what it and the blocks inside compute.
func values(b *ir.Block) map[*ir.Value]bool {
	inside := map[*ir.Value]bool{}
	for _, v := range b.Params {
		inside[v] = true
	}
	for _, op := range b.Ops {
		for _, v := range op.Results {
			inside[v] = true
		}
		for _, c := range op.Blocks {
			for v := range values(c) {
				inside[v] = true
			}
		}
	}
	return inside
}
