package cpu

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// group is a run of elementwise operations over the same axes. They run
// together, a piece of the tile at a time, so that what passes between them
// stays in the nearest cache.
type group struct {
	ops  []*ir.Op
	axes []*ir.Axis
	// outside counts the operands from outside, at most maxOutside.
	outside int
}

// schedule orders the operations of a block so that elementwise ones over the
// same axes stand together, and groups them.
func (l *liveness) schedule(b *ir.Block) []*ir.Op {
	if ops, ok := l.order[b]; ok {
		return ops
	}
	var done, open []*ir.Op // open: the current group and the renames within it
	var g *group
	made := map[*ir.Value]bool{} // by the current group
	shut := func() {
		done = append(done, open...)
		open, g = nil, nil
		clear(made)
	}
	depends := func(op *ir.Op) bool {
		for _, a := range op.Args {
			if made[l.root(a)] {
				return true
			}
		}
		return false
	}
	for _, op := range b.Ops {
		row := op.Code.Row()
		switch {
		case l.isAlias(op):
			if g != nil && depends(op) {
				open = append(open, op)
			} else {
				done = append(done, op)
			}
		case row.Elementwise && !op.Result().Type.IsScalar():
			if g == nil || !g.accepts(op, l, made) {
				shut()
				g = &group{axes: op.Result().Type.Axes}
				g.add(op, l, made)
			} else {
				g.add(op, l, made)
			}
			l.groupOf[op] = g
			open = append(open, op)
			made[op.Result()] = true
		case g != nil && (row.Effect == lang.Pure || row.Effect == lang.Reads) && !depends(op):
			done = append(done, op) // before the group
		default:
			shut()
			done = append(done, op)
		}
	}
	shut()
	l.order[b] = done
	return done
}

// pattern says along which of the axes a value varies, and whether it has them in order.
func pattern(v *ir.Value, axes []*ir.Axis) (has []bool, ordered bool) {
	has = make([]bool, len(axes))
	var in []*ir.Axis
	for i, a := range axes {
		if has[i] = v.Type.Has(a); has[i] {
			in = append(in, a)
		}
	}
	return has, sameOrder(in, v.Type.Axes)
}

// accepts reports that an operation can join: it has the group's axes, and so
// have its operands, in order, as far as they have any.
func (g *group) accepts(op *ir.Op, l *liveness, made map[*ir.Value]bool) bool {
	if !sameOrder(op.Result().Type.Axes, g.axes) {
		return false
	}
	if len(g.ops) == 1 && g.rearranges() {
		return false
	}
	for _, a := range op.Args {
		if _, ordered := pattern(a, g.axes); !ordered || made[l.root(a)] && !sameOrder(a.Type.Axes, g.axes) {
			return false
		}
	}
	return g.outside+len(op.Args) <= maxOutside
}

// rearranges reports an operand whose axes are in another order than the group's.
func (g *group) rearranges() bool {
	for _, a := range g.ops[0].Args {
		if _, ordered := pattern(a, g.axes); !ordered {
			return true
		}
	}
	return false
}

func (g *group) add(op *ir.Op, l *liveness, made map[*ir.Value]bool) {
	g.ops = append(g.ops, op)
	for _, a := range op.Args {
		if !made[l.root(a)] {
			g.outside++
		}
	}
}

// denseFrom is the first of the trailing axes along which every operand is either
// dense or one element.
func denseFrom(has [][]bool, rank int) int {
	s := rank - 1
	for s > 0 {
		for _, h := range has {
			if h[s-1] != h[rank-1] && !scalarPattern(h) {
				return s
			}
		}
		s--
	}
	return s
}

func scalarPattern(h []bool) bool {
	for _, b := range h {
		if b {
			return false
		}
	}
	return true
}

// local reports a value that only its own group uses: it needs room for one piece.
func (l *liveness) local(v *ir.Value) bool {
	v = l.root(v)
	g := l.groupOf[v.Def]
	if v.Def == nil || g == nil {
		return false
	}
	for _, u := range l.uses[v] {
		if l.groupOf[u] != g {
			return false
		}
	}
	return true
}

// within gives the numbers of a group's first and last operation.
func (l *liveness) within(g *group) (first, last int) {
	return l.pos[g.ops[0]], l.pos[g.ops[len(g.ops)-1]]
}
