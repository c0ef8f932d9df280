package fuzz

import (
	"slices"

	"tilec/jit"
	"tilec/jit/ir"
)

// This file runs the blocks of a launch in the reference.

// run runs every block.
func (m *machine) run() error {
	return m.guarded(func() {
		g := m.grid()
		for k := range g.blocks {
			m.enter(g, k)
		}
		m.settle()
	})
}

// guarded gives the fault that stops what it runs.
func (m *machine) guarded(do func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = r.error
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

func (m *machine) settle() {
	for _, a := range m.tensors {
		a.settle()
	}
}

// grid is how a launch is cut into blocks.
type grid struct {
	axes []*ir.Axis
	// sizes are those of the dimensions, steps how much of them a block handles, counts how many blocks that makes.
	sizes, steps, counts []int64
	blocks               int64
	// parts are those of an axis that goes through ranges in memory, whose blocks stand where their range does along the axis that has one for each
	// position; nil without.
	parts []part
}

// part is what one block has of a range, the position along the other axis that the range is of, and the whole range.
type part struct {
	at       int64
	span, of span
}

func (m *machine) grid() *grid {
	g := &grid{axes: m.fn.Grid()}
	for _, a := range g.axes {
		n, err := m.sizes(a.Dim)
		if err != nil {
			panic(fault{err})
		}
		step := m.step(a)
		m.walked[a] = span{0, n}
		g.sizes, g.steps, g.counts = append(g.sizes, n), append(g.steps, step), append(g.counts, (n+step-1)/step)
	}
	for i, a := range g.axes {
		if a.Ranges != nil {
			g.parts = m.parts(a, g.sizes[i], g.steps[i])
			g.counts[i], g.counts[slices.Index(g.axes, a.Ranges.Of)] = int64(len(g.parts)), 1
		}
	}
	g.blocks = jit.Elements(g.counts)
	return g
}

// parts cuts the ranges of an axis, of a dimension of so many positions, into steps: a range has nothing before the end of those before it.
func (m *machine) parts(a *ir.Axis, size, step int64) (parts []part) {
	r := a.Ranges
	number, err := m.sizes(r.Of.Dim)
	if err != nil {
		panic(fault{err})
	}
	for _, t := range r.Outside {
		m.tensors[t].held = true // zeros where no range is
	}
	read := func(e *ir.Element, at, none int64) int64 {
		if e == nil {
			return none
		}
		return m.tensors[e.Tensor].before(at + e.Plus).Int
	}
	behind := int64(0)
	for at := range number {
		lo, hi := max(read(r.Lo, at, 0), behind), min(read(r.Hi, at, size), size)
		for of := (span{lo, hi}); lo < hi; lo += step {
			parts = append(parts, part{at, span{lo, min(lo+step, hi)}, of})
		}
		behind = max(behind, hi)
	}
	return parts
}

// enter runs block k, the last axis fastest.
func (m *machine) enter(g *grid, k int64) {
	for i := len(g.axes) - 1; i >= 0; i-- {
		a, n := g.axes[i], k%g.counts[i]
		k /= g.counts[i]
		if a.Ranges != nil {
			at := g.parts[n]
			m.at[a], m.at[a.Ranges.Of], m.walked[a] = at.span, span{at.at, at.at + 1}, at.of
			continue
		}
		if g.parts != nil && m.fn.HasRange(a) {
			continue // its ranges' axis says where it stands
		}
		lo := n * g.steps[i]
		m.at[a] = span{lo, min(lo+g.steps[i], g.sizes[i])}
	}
	m.block(m.fn.Body)
}
