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
	// has says, for each of the axes, which of the operands from outside vary
	// along it, one entry an operand.
	has [][]bool
}

// leastRun is the shortest run, in elements, for which an operation joins others.
const leastRun = 64

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

// accepts reports that an operation can join: it has the group's axes, and the
// operands that it adds leave runs that are long enough.
func (g *group) accepts(op *ir.Op, l *liveness, made map[*ir.Value]bool) bool {
	if !sameOrder(op.Result().Type.Axes, g.axes) {
		return false
	}
	if len(g.ops) == 1 && g.rearranges() {
		return false
	}
	has := g.has
	for _, a := range op.Args {
		h, ordered := pattern(a, g.axes)
		if !ordered || made[l.root(a)] && !sameOrder(a.Type.Axes, g.axes) {
			return false
		}
		has = append(has[:len(has):len(has)], h)
	}
	if len(has) > maxOutside {
		return false
	}
	run := runFrom(g.axes, split(has, len(g.axes)))
	return run >= leastRun || run == runFrom(g.axes, split(g.has, len(g.axes)))
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
			h, _ := pattern(a, g.axes)
			g.has = append(g.has, h)
		}
	}
}

// split is the first of the trailing axes along which every operand is either
// dense or one element.
func split(has [][]bool, rank int) int {
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

// runFrom is the most elements of the axes from s on.
func runFrom(axes []*ir.Axis, s int) int {
	n := 1
	for _, a := range axes[s:] {
		n *= most(a)
	}
	return n
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
