package plan

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about loads of a tensor at places beside each other, as x[h - 1, v] and x[h, v + 1] of a stencil: most of what a block loads by one of them
// is in the L1, since another has brought it.

// stencil is loads of one tensor along the same axes: how many, and how far from each other they begin along each dimension.
type stencil struct {
	loads int
	axes  []int // by dimension, -1 for none
	lo    []int64
	hi    []int64
}

// findStencils notes the loads that lie beside others, and how many loads take elements at computed places.
func (m *model) findStencils() {
	m.stencils, m.neighbours = map[*ir.Op]*stencil{}, map[*ir.Op]int{}
	if m.contracts || !m.target.IsGPU() {
		return
	}
	m.findNeighbours()
	groups := map[string]*stencil{}
	for _, s := range m.ops {
		axes, at, ok := m.standsAt(s.op)
		if !ok {
			continue
		}
		key := fmt.Sprint(s.op.Tensor.Name, axes)
		g := groups[key]
		if g == nil {
			g = &stencil{axes: axes, lo: slices.Clone(at), hi: slices.Clone(at)}
			groups[key] = g
		}
		g.loads++
		for d, n := range at {
			g.lo[d], g.hi[d] = min(g.lo[d], n), max(g.hi[d], n)
		}
		m.stencils[s.op] = g
	}
	for op, g := range m.stencils {
		if g.loads < 2 {
			delete(m.stencils, op)
		}
	}
}

// findNeighbours counts, of each load whose places are computed of positions, those of its tensor along the same axes, as the four of an
// interpolation are.
func (m *model) findNeighbours() {
	alike := map[string][]*ir.Op{}
	for _, s := range m.ops {
		if s.op.Code != lang.OpLoad || gathered(s.op) || !slices.ContainsFunc(block.AccessOf(s.op), func(d block.DimAccess) bool { return d.Gather }) {
			continue
		}
		key := s.op.Tensor.Name
		for _, v := range s.op.Indices() {
			key += fmt.Sprint(m.places(v.Type.Axes))
		}
		alike[key] = append(alike[key], s.op)
	}
	for _, loads := range alike {
		for _, op := range loads {
			m.neighbours[op] = len(loads)
		}
	}
}

// standsAt gives, by dimension, the axis along which a load goes and the number that is added to its positions; ok is false for loads at other places.
func (m *model) standsAt(op *ir.Op) (axes []int, at []int64, ok bool) {
	if op.Code != lang.OpLoad {
		return nil, nil, false
	}
	for _, v := range op.Indices() {
		if len(v.Type.Axes) > 1 || !sum(v) {
			return nil, nil, false
		}
		axis := -1
		if len(v.Type.Axes) == 1 {
			axis = m.place[v.Type.Axes[0]]
		}
		axes, at = append(axes, axis), append(at, added(v))
	}
	return axes, at, true
}

// added is the number that a sum has beside positions.
func added(v *ir.Value) int64 {
	switch def := v.Def; def.Code {
	case lang.OpAdd:
		return added(def.Args[0]) + added(def.Args[1])
	case lang.OpSub:
		return added(def.Args[0]) - added(def.Args[1])
	case lang.OpCast:
		return added(def.Args[0])
	case lang.OpConst:
		return def.Const.Int
	}
	return 0
}

// fresh is which part of what a load brings no load beside it has brought.
func (c at) fresh(op *ir.Op) float64 {
	g := c.stencils[op]
	if g == nil {
		return 1 / float64(max(c.neighbours[op], 1))
	}
	part := 1 / float64(g.loads)
	for d, i := range g.axes {
		if i >= 0 {
			part *= 1 + float64(g.hi[d]-g.lo[d])/float64(max(c.extent[i], 1))
		}
	}
	return min(part, 1)
}
