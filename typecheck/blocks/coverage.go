package blocks

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file proves that the stores of a kernel reach every element of an output.
// An element that nothing stores is 0 (principle 5), so where there is no proof,
// launches fill the output first (Param.Fill); where there is one, nothing is paid.
//
// The proof goes through the body from the inside out. A store to `y[i, k + 1]` is
// one element, at a place that depends on where i and k are. At the end of the loop
// over k it is a run of elements for every i, and behind the grid a region of the
// tensor (reach.go). Of an `if` only what both branches store counts, for
// the same position of what is around it: one block may go here and another there.

// coverage follows the stores to one output through a body.
type coverage struct {
	*Facts
	of *typed.Param
	// known is what every launch makes sure of in which the output has elements: other dimensions may be 0.
	known *size.Prover
	at    map[*typed.Store]Access
	stmts []typed.Stmt // those of the body that are about the output
	// early: the body uses elements as they were, by an atomic or by reading what earlier parts of a formula stored.
	early bool
	// gaps are the reasons why stores do not count, in the order of the text.
	gaps []gap
}

// gap is a store of which not every element is sure, and why.
type gap struct {
	at  lang.Span
	why string
	// meant: the program says itself that elements may be left out, as a scatter does.
	meant bool
}

// Filled finds the outputs that launches fill, in the bodies that are launched one after the other, and says so of each.
func Filled(k *typed.Kernel, bodies []*Facts) {
	mentions := make([]mention, len(bodies))
	for i, b := range bodies {
		mentions[i] = b.mentioned()
	}
	for _, p := range k.Outputs {
		var stored []reach
		var gaps []gap
		early := false
		for i, b := range bodies {
			if len(mentions[i].stmts[p.Name]) == 0 {
				continue
			}
			v := b.coverageOf(p, mentions[i])
			added := v.launch()
			early = early || v.early && !v.complete(stored)
			stored = v.merged(append(stored, added...))
			gaps = append(gaps, v.gaps...)
		}
		last := bodies[len(bodies)-1].coverageOf(p, mention{})
		if !early && last.complete(stored) {
			p.Outside = bodies[0].zeroedOutside(p)
		} else {
			p.Fill = true
			warnFilled(last.log, p, early, gaps, stored)
		}
	}
}

// mention is what a body says of tensors: the statements outside all blocks that store or read each, by its name, and
// the accesses of its stores.
type mention struct {
	stmts map[string][]typed.Stmt
	at    map[*typed.Store]Access
}

// mentioned goes through a body once, so that the proof of one output need not go through what is about others.
func (b *Facts) mentioned() mention {
	m := mention{map[string][]typed.Stmt{}, map[*typed.Store]Access{}}
	for _, w := range b.Writes {
		m.at[w.Store] = w
	}
	note := func(s typed.Stmt, p *typed.Param) {
		if of := m.stmts[p.Name]; len(of) == 0 || of[len(of)-1] != s {
			m.stmts[p.Name] = append(of, s)
		}
	}
	for _, s := range b.Kernel.Body.Stmts {
		typed.Walk(s, func(n typed.Node) bool {
			switch n := n.(type) {
			case *typed.Store:
				note(s, n.Param)
			case *typed.Load:
				note(s, n.Param)
			}
			return true
		})
	}
	return m
}

// coverageOf begins the proof of one output.
func (b *Facts) coverageOf(p *typed.Param, m mention) *coverage {
	v := &coverage{Facts: b, of: p, known: b.Prover.Always(), at: m.at, stmts: m.stmts[p.Name]}
	for _, n := range p.Shape {
		v.known.Assume(n.Sub(size.Const(1)))
	}
	return v
}

// launch is what all blocks together store.
func (v *coverage) launch() []reach {
	stored := v.in(&typed.Body{Stmts: v.stmts})
	ranged := v.zeroedOutside(v.of)
	for _, a := range v.Kernel.Axes {
		switch {
		case ranged != nil && a == ranged.Of: // each position along the ranges is of one
		case ranged != nil && a == ranged:
			stored = v.through(stored, v.Positions[a], ThroughAll(a.Dim), a.At)
		case a.Kind == typed.GridAxis:
			stored = v.along(stored, v.Positions[a], a.At)
		}
	}
	return v.merged(stored)
}

// zeroedOutside is the axis over ranges in memory by whose positions every store to an output says where it goes along the first dimension:
// at positions of no range, the kernel can store zeros itself. Nil where there is none.
func (b *Facts) zeroedOutside(p *typed.Param) *typed.Axis {
	i := slices.IndexFunc(b.Kernel.Axes, func(a *typed.Axis) bool { return a.Of != nil })
	if i < 0 {
		return nil
	}
	a := b.Kernel.Axes[i]
	for _, w := range b.Writes {
		if w.Param.Name == p.Name && (w.Atomic || w.Positions[0] == nil || !w.Positions[0].Equal(size.Of(b.Positions[a]))) {
			return nil
		}
	}
	return a
}

// in is what a node stores, each time that it is gone through.
func (v *coverage) in(n typed.Node) []reach {
	switch n := n.(type) {
	case *typed.Store:
		stored := v.inChildren(n, nil)
		if n.Param.Name == v.of.Name {
			stored = append(stored, v.store(n)...)
		}
		return stored
	case *typed.For:
		symbol := v.Positions[n.Axis]
		if n.Axis == nil {
			symbol = v.IndexOf[n.Index]
		}
		return v.inChildren(n, func(body *typed.Body) []reach { return v.along(v.in(body), symbol, n.At) })
	case *typed.If:
		var then, other []reach
		cond := v.inChildren(n, func(branch *typed.Body) []reach {
			if branch == n.Then {
				then = v.merged(v.in(branch))
			} else {
				other = v.merged(v.in(branch))
			}
			return nil
		})
		both := v.both(then, other)
		if len(both) < max(len(then), len(other)) {
			v.gap(n.At, false, "what one branch stores, the other does not")
		}
		return append(cond, both...)
	case *typed.Inline:
		return v.in(n.Body)
	case *typed.Load:
		v.load(n)
	}
	return v.inChildren(n, func(body *typed.Body) []reach {
		v.in(body)
		return nil // it may never run
	})
}

// inChildren is what is stored by all that is directly in a node, by a body as the function says.
func (v *coverage) inChildren(n typed.Node, inBody func(*typed.Body) []reach) (stored []reach) {
	typed.Children(n, func(c typed.Node) {
		if body, ok := c.(*typed.Body); ok {
			stored = append(stored, inBody(body)...)
		} else {
			stored = append(stored, v.in(c)...)
		}
	})
	return stored
}

// store is what one store writes.
func (v *coverage) store(s *typed.Store) []reach {
	if s.Op != lang.OpStore {
		v.early = true
		v.gap(s.At, true, "it works on what is there")
		return nil
	}
	w := v.at[s]
	r := make(reach, len(w.Positions))
	for d, p := range w.Positions {
		if p == nil {
			v.gap(s.At, true, "where it goes is only known when the kernel runs")
			return nil
		}
		r[d] = span{first: *p, width: size.Const(1)}
	}
	stored := []reach{r}
	for _, a := range v.Kernel.Axes {
		if a.Kind == typed.WholeAxis && r.mentions(v.Positions[a]) {
			stored = v.along(stored, v.Positions[a], s.At)
		}
	}
	return stored
}

// load notes that the output is read.
func (v *coverage) load(x *typed.Load) {
	of := x.Param
	if of.Of != nil {
		of = of.Of
	}
	if of.Name == v.of.Name {
		v.early = true
		v.gap(x.At, false, "it is read here")
	}
}

// along is what is stored when a position has gone through all that it walks.
func (v *coverage) along(stored []reach, symbol *size.Symbol, at lang.Span) []reach {
	return v.through(stored, symbol, v.Through[symbol], at)
}

func (v *coverage) through(stored []reach, symbol *size.Symbol, walk Walk, at lang.Span) []reach {
	if len(stored) == 0 {
		return nil
	}
	from, to, ok := walk.ends(v.known)
	if !ok {
		v.gap(at, false, "how far "+symbol.Name+" goes is only known when the kernel runs")
		return nil
	}
	var left []reach
	for _, r := range stored {
		if all, ok := v.swept(r, symbol, from, to); ok {
			left = append(left, all)
		} else if !r.mentions(symbol) {
			v.gap(at, false, "the range of "+symbol.Name+" may be empty")
		} else {
			v.gap(at, false, "not every position along "+symbol.Name+" is one of "+v.of.Name)
		}
	}
	return left
}

// gap notes why a store does not count.
func (v *coverage) gap(at lang.Span, meant bool, why string) {
	g := gap{at, why, meant}
	if !slices.Contains(v.gaps, g) {
		v.gaps = append(v.gaps, g)
	}
}
