package fuzz

import (
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
}

func (m *machine) grid() *grid {
	g := &grid{axes: m.fn.Grid()}
	if m.fn.HasRanges() {
		panic(fault{&Problem{Kind: TooLarge, Text: "ranges that lie in memory decide the grid"}})
	}
	for _, a := range g.axes {
		n, err := m.sizes(a.Dim)
		if err != nil {
			panic(fault{err})
		}
		step := m.step(a)
		m.walked[a] = span{0, n}
		g.sizes, g.steps, g.counts = append(g.sizes, n), append(g.steps, step), append(g.counts, (n+step-1)/step)
	}
	g.blocks = jit.Elements(g.counts)
	return g
}

// enter runs block k, the last axis fastest.
func (m *machine) enter(g *grid, k int64) {
	for i := len(g.axes) - 1; i >= 0; i-- {
		lo := k % g.counts[i] * g.steps[i]
		m.at[g.axes[i]] = span{lo, min(lo+g.steps[i], g.sizes[i])}
		k /= g.counts[i]
	}
	m.block(m.fn.Body)
}
