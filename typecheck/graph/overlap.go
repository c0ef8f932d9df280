package graph

import (
	"tilec/typecheck/typed"
)

// This file tells whether two expressions of a graph may name elements of one
// tensor: a call may not write what it is also given as another argument.

// apart reports that no position is in both.
func (g *graphChecker) apart(a, b typed.Positions) bool {
	return a.Known && b.Known && (g.sure.AtMost(a.To, b.From) || g.sure.AtMost(b.To, a.From))
}

// region is where the value of an expression lies: in a parameter or a local,
// and there step by step. Behind a view it says no more than what is viewed.
type region struct {
	root   any
	steps  []regionStep
	viewed bool
}

// regionStep is a field of a struct (or -1), or positions along each dimension.
type regionStep struct {
	field int
	along []typed.Positions
	left  []int // the dimensions that the value still has
}

// overlap reports that two expressions may name elements of one tensor.
func (g *graphChecker) overlap(x, y typed.GExpr) bool {
	p, q := g.region(x), g.region(y)
	if p.root == nil || p.root != q.root {
		return false
	}
	for i := 0; i < len(p.steps) && i < len(q.steps); i++ {
		a, b := p.steps[i], q.steps[i]
		if a.field != b.field {
			return false
		}
		for d := range a.along {
			if g.apart(a.along[d], b.along[d]) {
				return false
			}
		}
	}
	return true
}

// region finds where a value lies; its root is nil for one of its own.
func (g *graphChecker) region(x typed.GExpr) region {
	switch x := x.(type) {
	case *typed.GParamRef:
		return region{root: x.Param}
	case *typed.GLocalRef:
		if x.Type.Kind == typed.GScalar {
			return region{}
		}
		if of := g.aliasOf[x.Local]; of != nil && !g.state[x.Local] {
			return g.region(of)
		}
		return region{root: x.Local}
	case *typed.GFieldOf:
		r := g.region(x.X)
		r.steps = append(r.steps, regionStep{field: x.Index})
		return r
	case *typed.GElem:
		return g.region(x.X).cut(typed.GSliceItem{Index: x.Index, Where: x.Where})
	case *typed.GRange:
		return g.region(x.X).cut(typed.GSliceItem{Where: x.Where})
	case *typed.GSlice:
		return g.region(x.X).cut(x.Items...)
	case *typed.GView:
		r := g.region(x.X)
		r.viewed = true
		return r
	case *typed.GCall, *typed.GInvoke, *typed.GMake, *typed.GIf, *typed.GFor, *typed.GTupleOf, // values, which no call writes
		*typed.GConst, *typed.GSizeOf, *typed.GConstRef, *typed.GApply:
		return region{}
	}
	panic(typed.Unknown(x))
}

// cut is a part of a region: positions along each of the dimensions that it has.
func (r region) cut(items ...typed.GSliceItem) region {
	if r.root == nil || r.viewed {
		return r
	}
	if n := len(r.steps); n == 0 || r.steps[n-1].along == nil {
		step := regionStep{field: -1}
		for d := range items {
			step.along, step.left = append(step.along, typed.Positions{Known: true}), append(step.left, d)
		}
		r.steps = append(r.steps, step)
	}
	last := &r.steps[len(r.steps)-1]
	var left []int
	for i, item := range items {
		d := last.left[i]
		last.along[d] = last.along[d].Of(item.Where)
		if item.Index == nil {
			left = append(left, d)
		}
	}
	last.left = left
	return r
}
