package cpu

import (
	"slices"
	"unsafe"

	"tilec/jit/ir"
)

// This file has grids that go through ranges which lie in memory (ir.Ranges): a launch reads them first, and makes a list of the blocks.

// rangesGrid says which axes of the grid go through ranges in memory: axis, of which each position of the other has one, and where they lie.
type rangesGrid struct {
	axis, of int
	lo, hi   *rangeEnd
	// outside are the tensors, by their numbers, that are zero where no range is.
	outside []int
}

// rangeEnd is where an end of the ranges lies: in a tensor, by its number, so much behind the range's own.
type rangeEnd struct{ tensor, plus int }

// rangeTile is the part of a range that a block has, and the number of the range.
type rangeTile struct {
	of   int
	part axisState
}

// rangesGrid notes the ranges of an axis of the grid.
func (c *compiler) rangesGrid(axis int, r *ir.Ranges) *rangesGrid {
	end := func(e *ir.Element) *rangeEnd {
		if e == nil {
			return nil
		}
		return &rangeEnd{c.tensorNumber(e.Tensor), int(e.Plus)}
	}
	g := &rangesGrid{axis: axis, of: slices.Index(c.f.Grid(), r.Of), lo: end(r.Lo), hi: end(r.Hi)}
	for _, t := range r.Outside {
		g.outside = append(g.outside, c.tensorNumber(t))
	}
	return g
}

// tilesOfRanges cuts the ranges of a launch into the parts of blocks. A range begins at the earliest where those before it end.
func (p *Program) tilesOfRanges(l *launch) []rangeTile {
	g := p.grid[p.ranges.axis]
	size, behind, tiles := l.dims[g.dim], 0, l.tiles[:0]
	if size == 0 {
		return tiles
	}
	for n := range l.dims[p.grid[p.ranges.of].dim] {
		from, to := behind, size
		if e := p.ranges.lo; e != nil {
			from = max(e.of(l, n), behind)
		}
		if e := p.ranges.hi; e != nil {
			to = max(min(e.of(l, n), size), behind)
		}
		p.zeroOutside(l, behind, min(from, to))
		behind = to
		for ; from < to; from += g.extent {
			tiles = append(tiles, rangeTile{n, axisState{from, min(g.extent, to-from)}})
		}
	}
	p.zeroOutside(l, behind, size)
	return tiles
}

// zeroOutside puts zeros where no range is.
func (p *Program) zeroOutside(l *launch, from, to int) {
	for _, n := range p.ranges.outside {
		t := &l.tensors[n]
		row := t.strides[0] * p.tensors[n].dtype.Size()
		if from < to && row > 0 {
			clear(unsafe.Slice((*byte)(unsafe.Add(t.base, from*row)), (to-from)*row))
		}
	}
}

// of is the end of range number n.
func (e *rangeEnd) of(l *launch, n int) int {
	t := &l.tensors[e.tensor]
	return int(*(*int32)(unsafe.Add(t.base, (n+e.plus)*t.strides[0]*4)))
}
