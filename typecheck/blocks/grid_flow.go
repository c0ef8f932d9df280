package blocks

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file finds results that would depend on the plan. A block has a tile of
// each grid axis, as large as the planner makes it, so what is reduced over one
// is that of a tile. It may go to an atomic, which puts the tiles together, and
// nowhere else.

// OneBlock reports a grid axis that one block has as a whole for sure. An extent with a name may be pinned by a launch.
func (b *Facts) OneBlock(a *typed.Axis) bool {
	n, known := a.Dim.Const()
	if a.Kind != typed.GridAxis || !known || a.Tile != "" || len(a.Choices) == 0 {
		return false
	}
	for _, c := range a.Choices {
		if c < n {
			return false
		}
	}
	return true
}

// partial is a reduction of a tile of a grid axis.
type partial struct {
	at   lang.Span
	name string // of the operation
	axis *typed.Axis
	by   joins // the atomics that put its results together
}

// gridFlow follows such values through a body.
type gridFlow struct {
	*flow[blockwise]
	under    blockwise // the condition that decides whether the statement runs
	reported map[*partial]bool
	// first is by place: an expression is looked at again in each round.
	first map[lang.Span]*partial
	// repeated are the atomics in the order in which they stand; the last round knows all that a value mentions.
	repeated []repetition
	*fixing
	// learnt: the round has found out something of what a loop carries, so that another one is needed. All loops go
	// round together: one that went round by itself, inside others that do, would take twice as long for each of them.
	learnt bool
}

// findPartials reports the stores of values that depend on the plan, and notes those that depend on extents that the
// source or the language gives.
func (b *Facts) findPartials(body *typed.Body, f *fixing) {
	p := &gridFlow{fixing: f, under: plain, reported: map[*partial]bool{}, first: map[lang.Span]*partial{}}
	p.flow = &flow[blockwise]{p, map[*typed.Local]blockwise{}}
	for p.learnt = true; p.learnt; {
		p.learnt = false
		p.body(body)
	}
	for _, r := range p.repeated {
		p.reportRepeated(r)
		for _, g := range r.begins {
			p.once(g, r.s)
		}
	}
}

func (p *gridFlow) stmtMeans(s typed.Stmt) bool {
	switch s := s.(type) {
	case *typed.Store:
		p.store(s)
	case *typed.Assert: // it holds for the whole where it holds for every tile
		for _, c := range append(p.exprs(s.Args), p.one(s.Cond)) {
			if c.of != nil && c.by&byAnd == 0 {
				p.says[c.of.axis] = true
			}
		}
	default:
		return false
	}
	return true
}

// store reports a store of what depends on the plan, and an atomic that does not put the tiles together.
func (p *gridFlow) store(s *typed.Store) {
	where := mixed(append(p.exprs(s.Indices), p.under)...)
	value := p.one(s.Value)
	if s.New != nil {
		value = mixed(value, p.one(s.New))
	}
	if s.Old != nil {
		p.of[s.Old] = mixed(where, value, p.one(s.Else))
	}
	p.noteRepeated(s, value, where)
	switch all := mixed(value, where); {
	case all.of == nil:
	case s.Op == lang.OpStore:
		p.reportStore(all.of, s)
	case where.of != nil:
		p.reportAtomic(where, s, "decides what %s changes")
	case value.by&joinOf[s.Op.Combines()] == 0:
		p.reportAtomic(value, s, "%s does not put the parts together")
	default:
		for _, x := range s.Indices {
			for _, a := range x.Types()[0].Axes {
				if slices.Contains(value.axes, a) {
					value.by = 0
					p.reportAtomic(value, s, "%s changes every element along "+a.Name+" by the part that it is in")
					return
				}
			}
		}
	}
}

// reportStore says that a tile is stored as if it were the whole.
func (p *gridFlow) reportStore(d *partial, s *typed.Store) {
	if d.axis.Given() {
		p.extents[d.axis] = true
		return
	}
	if p.reported[d] {
		return
	}
	p.reported[d] = true
	r := p.Errorf(lang.ErrPartial, d.at, "%s over %s is of the part of %s that a block has, whose extent the planner chooses", d.name, d.axis.Name, d.axis.Dim).
		LabelAt(d.axis.At, "%s is an axis of the grid", d.axis.Name).
		LabelAt(s.At, "stored here")
	if op, ok := d.by.with(); ok {
		r.Help("declare `axis j in %s` and reduce over j for the whole dimension, or put the parts together with `%s(%s, ...)`", d.axis.Dim, op, s.Param.Name+"[...]")
	} else {
		r.Help("declare `axis j in %s` and reduce over j for the whole dimension", d.axis.Dim)
	}
}

// reportAtomic says that an atomic gets tiles from which it does not make the whole.
func (p *gridFlow) reportAtomic(v blockwise, s *typed.Store, why string) {
	d := v.of
	if d.axis.Given() {
		p.extents[d.axis] = true
		return
	}
	if p.reported[d] {
		return
	}
	p.reported[d] = true
	r := p.Errorf(lang.ErrPartial, d.at, "%s over %s is of the part of %s that a block has, whose extent the planner chooses, and "+why, d.name, d.axis.Name, d.axis.Dim, s.Op).
		LabelAt(d.axis.At, "%s is an axis of the grid", d.axis.Name).
		LabelAt(s.At, "changed here")
	op, ok := v.by.with()
	switch {
	case ok:
		r.Help("put the parts together with `%s(%s, ...)`, or declare `axis j in %s` and reduce over j for the whole dimension", op, s.Param.Name+"[...]", d.axis.Dim)
	case d.by&joinOf[s.Op.Combines()] != 0:
		r.Help("give `%s` the %s itself and compute the rest of the whole afterwards, or declare `axis j in %s` and reduce over j for the whole dimension", s.Op, d.name, d.axis.Dim)
	default:
		r.Help("declare `axis j in %s` and reduce over j for the whole dimension", d.axis.Dim)
	}
}

// reduced is what a reduction over axes makes of its operands' tiles, where its results are put together as by says.
func (p *gridFlow) reduced(at lang.Span, op lang.Op, by joins, over []*typed.Axis, args ...blockwise) blockwise {
	left := by
	for _, a := range args {
		if a.of != nil {
			left &= a.by
		}
	}
	out := together(left, args...)
	if out.of == nil {
		left = by
	}
	for _, a := range over {
		if a.Kind != typed.GridAxis || p.OneBlock(a) {
			continue
		}
		if first := p.first[at]; first == nil || first.axis.Given() && !a.Given() {
			p.first[at] = &partial{at, op.Row().Spelling, a, by}
		}
		if out.of == nil || out.of.axis.Given() && !a.Given() {
			out.of = p.first[at]
			out.by = left
		}
		out.axes = append(slices.Clip(out.axes), a)
	}
	return out
}

func (p *gridFlow) dependent(_ lang.Span, on []blockwise) blockwise { return mixed(on...) }

func (p *gridFlow) ofType(of blockwise, t typed.Type) blockwise {
	of.mentions = unionOf(of.mentions, gridAxes(t.Axes))
	return of
}

func (p *gridFlow) exprMeans(x typed.Expr) ([]blockwise, bool) {
	switch x := x.(type) {
	case *typed.Const:
		return alike(x, zero), x.Int == 0 && x.Float == 0
	case *typed.Apply:
		return alike(x, p.apply(x)), true
	case *typed.Combine:
		args := append(p.exprs(x.Args), p.exprs(x.Identity)...)
		args = append(args, p.body(x.Fn)...) // the function may use numbers from outside
		return alike(x, p.reduced(x.At, x.Op, joinOf[onlyOp(x)], x.Over, args...)), true
	case *typed.Take:
		from := p.one(x.X)
		where := mixed(append(p.exprs(x.Positions), p.one(x.Else))...)
		if where.of != nil {
			from = mixed(from, where)
		}
		return alike(x, from.mentioning(where)), true
	case *typed.For:
		return p.loop(x), true
	case *typed.If:
		return p.choice(x), true
	default:
		return nil, false
	}
}

// choice is what an if gives; what stands in it runs as its condition says.
func (p *gridFlow) choice(x *typed.If) []blockwise {
	cond := p.one(x.Cond)
	outer := p.under
	p.under = mixed(p.under, cond)
	then, other := p.body(x.Then), p.body(x.Else)
	p.under = outer
	for i := range then {
		if i < len(other) {
			then[i] = either(then[i], other[i])
		}
		if cond.of != nil {
			then[i] = mixed(cond, then[i])
		}
		then[i] = then[i].mentioning(cond)
	}
	return then
}

func (p *gridFlow) apply(x *typed.Apply) blockwise {
	args := p.exprs(x.Args)
	if x.Axis != nil && x.Op != lang.OpRename { // a position along it
		return plain.mentioning(append(args, blockwise{mentions: gridAxes([]*typed.Axis{x.Axis})})...)
	}
	switch x.Op.Row().Group {
	case lang.GroupReduce:
		return p.reduced(x.At, x.Op, joinOf[x.Op], x.Over, args...)
	case lang.GroupContract:
		// A product of two tiles is not that of the wholes.
		product := p.reduced(x.At, x.Op, byAdd, x.Over, args[:2]...)
		if args[0].of != nil && args[1].of != nil {
			product = mixed(product)
		}
		if x.Op == lang.OpMma {
			return together(byAdd&product.by&args[2].by, product, args[2])
		}
		return product
	}
	return computed(x, args)
}

// loop follows carried values, once more in each round.
func (p *gridFlow) loop(x *typed.For) []blockwise {
	bounds := mixed(p.one(x.Lo), p.one(x.Hi))
	outer := p.under
	p.under = mixed(p.under, bounds)
	var start []blockwise
	for _, e := range x.Init {
		start = append(start, p.expr(e)...)
	}
	for i, d := range start {
		if bounds.of != nil {
			d = mixed(d, bounds)
		}
		p.carry(x.Carried[i], d.mentioning(bounds))
	}
	if x.Index != nil {
		p.of[x.Index] = bounds
	}
	for i, d := range p.body(x.Body) {
		if p.carry(x.Carried[i], d) {
			p.learnt = true
		}
	}
	p.under = outer
	out := make([]blockwise, len(x.Carried))
	for i, c := range x.Carried {
		out[i] = p.of[c]
	}
	return out
}

// carry adds what is known of a value that a loop carries, and reports whether that is new.
func (p *gridFlow) carry(l *typed.Local, d blockwise) bool {
	was, known := p.of[l]
	if !known {
		p.of[l] = d
		return true
	}
	now := either(was, d)
	if now.of == was.of && now.by == was.by && len(now.mentions) == len(was.mentions) {
		return false
	}
	p.of[l] = now
	return true
}
