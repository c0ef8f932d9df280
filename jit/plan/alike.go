package plan

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file counts elements that are one and the same, as the scale for each 32 positions is that lies at `index(k) / 32`: a thread of a GPU loads and computes it once.

// mostAlike stands for how many neighbours along an axis have one element where nothing tells them apart.
const mostAlike = 1 << 20

// alikeInThread is how many such neighbours a thread has: of the fragments of a product, and of what it loads at once.
const alikeInThread = 8

// alike is so many neighbours along an axis, given by its place, that have one element.
type alike struct {
	place int
	n     int64
}

// alike gives the axes of a value along which neighbours have one element; none where all are different.
func (m *model) alike(v *ir.Value) (all []alike) {
	if !m.target.IsGPU() {
		return nil
	}
	for _, a := range v.Type.Axes {
		if n := m.alikeAlong(v, a); n > 1 && n < mostAlike {
			all = append(all, alike{m.place[a], n})
		}
	}
	return all
}

// elementsAlike is how many elements that a block has are one and the same: no more along an axis than it has positions there.
func (c at) elementsAlike(of []alike) int64 {
	n := int64(1)
	for _, a := range of {
		n *= max(min(a.n, c.extent[a.place]), 1)
	}
	return n
}

// alikeAlong is how many neighbours along an axis are, mostAlike where all of them may be.
func (m *model) alikeAlong(v *ir.Value, a *ir.Axis) int64 {
	if !v.Type.Has(a) {
		return mostAlike
	}
	key := along{v, a}
	n, ok := m.alikes[key]
	if !ok {
		n = m.countAlike(v, a)
		m.alikes[key] = n
	}
	return n
}

// along is a value and an axis of it.
type along struct {
	v *ir.Value
	a *ir.Axis
}

func (m *model) countAlike(v *ir.Value, a *ir.Axis) int64 {
	op := v.Def
	if op == nil {
		return 1
	}
	if x, n := block.QuotientOf(op); x == a {
		return max(n, 1)
	}
	args := op.Args
	switch {
	case op.Code == lang.OpLoad:
		args = op.Indices()
	case op.Code == lang.OpRandomBits || op.Code != lang.OpFull && !op.Code.Row().Elementwise:
		return 1
	}
	n := int64(mostAlike)
	for _, x := range args {
		n = min(n, m.alikeAlong(x, a))
	}
	return n
}
