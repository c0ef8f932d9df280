package typecheck

import "tilec/lang"

// This file finds results that would depend on the plan. A block has a part of
// each grid axis, as large as the planner makes it, so what is reduced over one
// is that of a part. It may go to an atomic, which puts the parts together, and
// nowhere else.

// oneBlock reports a grid axis that one block has as a whole for sure. An extent with a name may be pinned by a launch.
func (b *bodyChecker) oneBlock(a *Axis) bool {
	n, known := a.Dim.Const()
	if a.Kind != GridAxis || !known || a.Tile != "" || len(a.Choices) == 0 {
		return false
	}
	for _, c := range a.Choices {
		if c < n {
			return false
		}
	}
	return true
}

// partial is a value that depends on how the planner cuts a grid axis.
type partial struct {
	at   lang.Span
	name string // of the operation
	axis *Axis
}

// partials follows such values through a body.
type partials struct {
	*bodyChecker
	of       map[*Local]*partial
	under    *partial // the condition that decides whether the statement runs
	reported map[*partial]bool
	// first is by place: an expression is looked at again in each round of a loop.
	first map[lang.Span]*partial
}

// findPartials reports the stores of values that depend on the plan.
func (b *bodyChecker) findPartials(body *Body) {
	p := &partials{bodyChecker: b, of: map[*Local]*partial{}, reported: map[*partial]bool{}, first: map[lang.Span]*partial{}}
	p.body(body)
}

func firstOf(ps ...*partial) *partial {
	for _, p := range ps {
		if p != nil {
			return p
		}
	}
	return nil
}

// body gives, for each result, the partial value that it depends on, or nil.
func (p *partials) body(body *Body) []*partial {
	if body == nil {
		return nil
	}
	for _, s := range body.Stmts {
		switch s := s.(type) {
		case *Let:
			of := p.expr(s.Value)
			for i, l := range s.Locals {
				if l != nil && i < len(of) {
					p.of[l] = firstOf(of[i], p.of[l])
				}
			}
		case *Store:
			d := firstOf(append(p.exprs(s.Indices), p.one(s.Value), p.under)...)
			if d != nil && s.Op == lang.OpStore {
				p.report(d, s)
			}
			if s.Old != nil {
				p.of[s.Old] = firstOf(d, p.of[s.Old])
			}
		case *Do:
			p.expr(s.X)
		}
	}
	var out []*partial
	for _, x := range body.Results {
		out = append(out, p.expr(x)...)
	}
	return out
}

func (p *partials) report(d *partial, s *Store) {
	if p.reported[d] {
		return
	}
	p.reported[d] = true
	p.errorf(lang.ErrPartial, d.at, "%s over %s is of the part of %s that a block has, whose extent the planner chooses", d.name, d.axis.Name, d.axis.Dim).
		label(d.axis.At, "%s is an axis of the grid", d.axis.Name).
		label(s.At, "stored here").
		help("declare `axis j in %s` and reduce over j for the whole dimension, or add the parts up with `atomic_add(%s, ...)`", d.axis.Dim, s.Param.Name+"[...]")
}

func (p *partials) exprs(xs []Expr) []*partial {
	var out []*partial
	for _, x := range xs {
		out = append(out, p.one(x))
	}
	return out
}

// one is the partial value that any of an expression's values depends on.
func (p *partials) one(x Expr) *partial {
	if x == nil {
		return nil
	}
	return firstOf(p.expr(x)...)
}

// all gives every value of an expression the same.
func all(x Expr, d *partial) []*partial {
	out := make([]*partial, len(x.Types()))
	for i := range out {
		out[i] = d
	}
	return out
}

// reducing is the partial value that a reduction over axes is.
func (p *partials) reducing(at lang.Span, op lang.Op, over []*Axis) *partial {
	for _, a := range over {
		if a.Kind != GridAxis || p.oneBlock(a) {
			continue
		}
		if p.first[at] == nil {
			p.first[at] = &partial{at, op.Row().Spelling, a}
		}
		return p.first[at]
	}
	return nil
}

func (p *partials) expr(x Expr) []*partial {
	switch x := x.(type) {
	case *LocalRef:
		return all(x, p.of[x.Local])
	case *Apply:
		return all(x, firstOf(append(p.exprs(x.Args), p.reducing(x.At, x.Op, x.Over))...))
	case *Combine:
		return all(x, firstOf(append(append(p.exprs(x.Args), p.exprs(x.Identity)...), p.reducing(x.At, x.Op, x.Over))...))
	case *Load:
		d := firstOf(append(p.exprs(x.Indices), p.one(x.Else))...)
		return all(x, d)
	case *Take:
		return all(x, firstOf(append(p.exprs(x.Positions), p.one(x.X), p.one(x.Else))...))
	case *Order:
		return all(x, firstOf(p.exprs(x.Args)...))
	case *For:
		return p.loop(x)
	case *If:
		cond := p.one(x.Cond)
		outer := p.under
		p.under = firstOf(p.under, cond)
		then, other := p.body(x.Then), p.body(x.Else)
		p.under = outer
		for i := range then {
			then[i] = firstOf(then[i], cond)
			if i < len(other) {
				then[i] = firstOf(then[i], other[i])
			}
		}
		return then
	case *Tuple:
		var out []*partial
		for _, e := range x.Elems {
			out = append(out, p.expr(e)...)
		}
		return out
	case *Inline:
		return p.body(x.Body)
	}
	return all(x, nil)
}

// loop follows carried values until they depend on no more.
func (p *partials) loop(x *For) []*partial {
	bounds := firstOf(p.one(x.Lo), p.one(x.Hi))
	outer := p.under
	p.under = firstOf(p.under, bounds)
	var start []*partial
	for _, e := range x.Init {
		start = append(start, p.expr(e)...)
	}
	for i, d := range start {
		p.of[x.Carried[i]] = firstOf(p.of[x.Carried[i]], d, bounds)
	}
	if x.Index != nil {
		p.of[x.Index] = bounds
	}
	for changed := true; changed; {
		changed = false
		for i, d := range p.body(x.Body) {
			if d != nil && p.of[x.Carried[i]] == nil {
				p.of[x.Carried[i]] = d
				changed = true
			}
		}
	}
	p.under = outer
	out := make([]*partial, len(x.Carried))
	for i, c := range x.Carried {
		out[i] = p.of[c]
	}
	return out
}
