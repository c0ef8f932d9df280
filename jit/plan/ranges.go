package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file reckons with loops over ranges whose bounds are read from memory, as `for r in R[first[v] .. first[v + 1]]`: segments, the
// rows of sparse matrices, the sequences of a batch. How long each range is, only a launch knows. But in the kernels that people write
// such ranges lie side by side and make up the dimension together, so that on average a range has the length of the dimension divided
// by how many ranges there are: by the positions of the grid axes that the bounds depend on.

// span is a range that is read from memory: how many positions it has on average, and how many loads of a step over some of them wait
// for one another.
type span struct{ length, loads float64 }

// findRanges notes the loops over ranges that are read from memory, and how long a range is on average.
func (m *model) findRanges() {
	m.ranged = map[*ir.Op]span{}
	for _, loop := range m.loops {
		if loop.Axis == nil {
			continue
		}
		lo, hi := originOf(loop.Args[0]), originOf(loop.Args[1])
		// Ranges with one end at a fixed place overlap; so do those of rows that each have positions of their own. Those that a block
		// goes through side by side are counted from where each begins.
		if !hi.loaded || !lo.loaded && !longest(loop.Args[1]) || m.ownPositions(loop, append(lo.axes, hi.axes...)) {
			continue
		}
		ranges := int64(1)
		for i, a := range m.f.Axes {
			if slices.Contains(lo.axes, a) || slices.Contains(hi.axes, a) {
				ranges = times(ranges, max(m.size[i], 1))
			}
		}
		m.ranged[loop] = span{max(float64(m.size[m.place[loop.Axis]])/float64(ranges), 1), loadsInTurn(loop.Blocks[0])}
	}
}

// longest reports the length of the longest of a block's ranges, which the pass ranges gives as the end of a loop.
func longest(v *ir.Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpReduceMax && v.Def.Over[0].Kind == ir.Grid
}

// origin is what a value is computed from: the grid axes whose positions it depends on, and whether something of it is loaded.
type origin struct {
	axes   []*ir.Axis
	loaded bool
}

func originOf(v *ir.Value) origin {
	var o origin
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if v.Def == nil || seen[v] {
			return
		}
		seen[v] = true
		switch op := v.Def; op.Code {
		case lang.OpLoad:
			o.loaded = true
		case lang.OpStart, lang.OpEnd, lang.OpIndex:
			a := op.Axis
			if r := a.Ranges; r != nil && op.Code != lang.OpIndex { // bounds of what a block has of a range
				a, o.loaded = r.Of, true
			}
			if a.Kind == ir.Grid && !slices.Contains(o.axes, a) {
				o.axes = append(o.axes, a)
			}
		}
		for _, a := range v.Def.Args {
			visit(a)
		}
	}
	visit(v)
	return o
}

// ownPositions reports that an access in the loop takes a position along the loop's axis beside one of the axes, as K[b, j] does in a
// loop over the j of a sequence b.
func (m *model) ownPositions(loop *ir.Op, axes []*ir.Axis) bool {
	own := false
	loop.Blocks[0].Walk(func(op *ir.Op) bool {
		if op.Tensor == nil {
			return true
		}
		along, beside := false, false
		for _, v := range op.Indices() {
			if v.Type.Has(loop.Axis) {
				along = true
				continue
			}
			beside = beside || slices.ContainsFunc(originOf(v).axes, func(a *ir.Axis) bool { return slices.Contains(axes, a) })
		}
		own = own || along && beside
		return true
	})
	return own
}

// length is how many positions a loop over an axis goes through, on average over the blocks where the range is read from memory.
func (m *model) length(loop *ir.Op) float64 {
	if r := m.ranged[loop]; r.length > 0 {
		return r.length
	}
	n := m.size[m.place[loop.Axis]]
	if most, known := loop.MostPositions(); known {
		n = min(n, most)
	}
	return float64(n)
}

// loadsInTurn is how many loads of a block wait for one another: two, where the second's place is what the first brought.
func loadsInTurn(b *ir.Block) float64 {
	most, before := 1, map[*ir.Value]int{}
	b.Walk(func(op *ir.Op) bool {
		n := 0
		for _, a := range op.Args {
			n = max(n, before[a])
		}
		if op.Code == lang.OpLoad {
			n++
		}
		for _, r := range op.Results {
			before[r] = n
		}
		most = max(most, n)
		return true
	})
	return float64(most)
}
