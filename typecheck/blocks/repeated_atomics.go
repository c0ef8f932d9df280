package blocks

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file finds atomics that count blocks. What neither its index nor its value
// nor a condition tells apart along a grid axis, an atomic does once for every block
// along it, and how many these are the planner chooses. A maximum does not change by
// that, a sum does. Blocks are counted where the source says how many they are:
// `grid b in B`, `grid i in N by 64`.

// repetition is an atomic that every block along some grid axes does alike.
type repetition struct {
	s     *typed.Store
	along []*typed.Axis
	// begins are the axes along which blocks are told apart by where they begin or end alone.
	begins  []*typed.Axis
	partial bool // the value is of tiles of other axes
}

// noteRepeated remembers what is known, in this round, of an atomic that is done where and of a value.
func (p *gridFlow) noteRepeated(s *typed.Store, value, where blockwise) {
	join := joinOf[s.Op.Combines()]
	if join == 0 || join&idempotent != 0 {
		return
	}
	r := repetition{s: s, partial: value.of != nil}
	if value.of != nil || value.by&join == 0 { // to add 0 changes nothing
		known := unionOf(where.mentions, value.mentions)
		apart := value.axes
		for _, x := range s.Indices {
			apart = unionOf(apart, x.Types()[0].Axes)
		}
		for _, g := range p.Kernel.Axes {
			n, isConst := g.Dim.Const()
			switch {
			case g.Kind != typed.GridAxis || g.Scalar || isConst && n == 1:
			case !slices.Contains(known, g) && !g.Given():
				r.along = append(r.along, g)
			case !slices.Contains(apart, g):
				r.begins = append(r.begins, g)
			}
		}
	}
	if i := slices.IndexFunc(p.repeated, func(o repetition) bool { return o.s == s }); i >= 0 {
		p.repeated[i] = r
	} else {
		p.repeated = append(p.repeated, r)
	}
}

// reportRepeated says that an atomic counts blocks.
func (p *gridFlow) reportRepeated(r repetition) {
	if len(r.along) == 0 {
		return
	}
	value, names := r.s.Value, typed.AxisNames(r.along)
	e := p.Errorf(lang.ErrPartial, value.Span(), "`%s` takes this once for every block along %s, and how many blocks there are the planner chooses", r.s.Op, names)
	var first []string
	for _, g := range r.along {
		e.LabelAt(g.At, "%s is an axis of the grid", g.Name)
		first = append(first, g.Name+".start == 0")
	}
	once := "to do it once, write it in `if " + strings.Join(first, " and ") + " { ... }`"
	if r.s.Op != lang.OpAtomicAdd || r.partial {
		e.Help("%s", once)
		return
	}
	e.Help("to add for every element along %s, give `%s`; %s", names, forEach(value, r.s.Param.DType, r.along), once)
}

// forEach writes the sum of a value over all elements of axes that it has not.
func forEach(value typed.Expr, d typed.DType, axes []*typed.Axis) string {
	over := typed.AxisNames(axes)
	ones := "sum(ones(" + d.String() + ", " + over + "), over " + over + ")"
	if len(axes) > 1 {
		ones = "sum(ones(" + d.String() + ", " + over + "), over (" + over + "))"
	}
	if d.Param != nil || d.Of.Accumulator() != d.Of {
		ones += " as " + d.String()
	}
	text := value.Span().Text()
	switch {
	case text == "1":
		return ones
	case strings.ContainsAny(text, " \n"):
		text = "(" + text + ")"
	}
	if strings.HasSuffix(ones, d.String()) {
		ones = "(" + ones + ")"
	}
	return text + " * " + ones
}

// gridAxes are those of the axes that are of the grid.
func gridAxes(axes []*typed.Axis) []*typed.Axis {
	var out []*typed.Axis
	for _, a := range axes {
		if a.Kind == typed.GridAxis {
			out = append(out, a)
		}
	}
	return out
}
