package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds stores that meet themselves: in a loop of which different
// steps may store one element, by different threads. Their steps need a barrier.

// revisited is the tensors that such stores write.
func revisited(f *ir.Func) map[*ir.Tensor]bool {
	found := map[*ir.Tensor]bool{}
	var visit func(b *ir.Block, loops []*ir.Op)
	visit = func(b *ir.Block, loops []*ir.Op) {
		for _, op := range b.Ops {
			if op.Code == lang.OpStore && slices.ContainsFunc(loops, func(l *ir.Op) bool { return meets(op, l) }) {
				found[op.Tensor] = true
			}
			inside := loops
			if op.Code == lang.OpFor {
				inside = append(slices.Clone(loops), op)
			}
			for _, inner := range op.Blocks {
				visit(inner, inside)
			}
		}
	}
	visit(f.Body, nil)
	return found
}

// meets reports that steps of the loop may store one element. They do not where
// no index changes from step to step, for then each thread comes back to its own
// elements, nor where one index is the loop's position.
func meets(store, loop *ir.Op) bool {
	s := stepper{loop, map[*ir.Value]bool{}}
	s.enter(loop.Blocks[0])
	changes := false
	for _, v := range store.Indices() {
		if s.isPosition(v) {
			return false
		}
		changes = changes || s.changes(v)
	}
	return changes
}

// stepper tells what changes from step to step of a loop.
type stepper struct {
	loop   *ir.Op
	inside map[*ir.Value]bool
}

func (s stepper) enter(b *ir.Block) {
	for _, v := range b.Params {
		s.inside[v] = true
	}
	for _, op := range b.Ops {
		for _, v := range op.Results {
			s.inside[v] = true
		}
		for _, inner := range op.Blocks {
			s.enter(inner)
		}
	}
}

// changes reports a value that may differ from step to step.
func (s stepper) changes(v *ir.Value) bool {
	switch {
	case !s.inside[v]:
		return false
	case v.Def == nil || !v.Def.Pure() || s.loop.Axis != nil && v.Def.Mentions(s.loop.Axis):
		return true
	}
	return slices.ContainsFunc(v.Def.Args, s.changes)
}

// isPosition reports an index that is the loop's position, or its axis, moved by what does not change.
func (s stepper) isPosition(v *ir.Value) bool {
	if v == s.loop.Blocks[0].Params[0] {
		return true
	}
	if v.Def == nil {
		return false
	}
	args := v.Def.Args
	switch v.Def.Code {
	case lang.OpIndex:
		return v.Def.Axis == s.loop.Axis
	case lang.OpStart:
		return v.Def.Axis == s.loop.Axis
	case lang.OpCast:
		return v.Type.DType == lang.I64 && s.isPosition(args[0])
	case lang.OpAdd, lang.OpSub:
		still := func(x *ir.Value) bool { return x.Type.IsScalar() && !s.changes(x) }
		return s.isPosition(args[0]) && still(args[1]) || s.isPosition(args[1]) && still(args[0])
	}
	return false
}
