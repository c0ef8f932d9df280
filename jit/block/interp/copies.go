package interp

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file copies what threads copy themselves.

// copies starts the copies of a step to its stage, of a loop whose threads copy; none where there is no such step.
func (w *warp) copies(r *ring, at, hi int64, seq int) {
	var group []func()
	if at < hi {
		x := w.elsewhere(r.Op, at, hi)
		for i := range r.Copies {
			c := &r.Copies[i]
			s := r.slots[i][seq%r.Stages]
			s.begin(w, at, seq)
			group = append(group, x.copyThreads(c.Load, c.Tile, c.Layout, c.Vector, s.room, s.at, "the copies of "+s.name), func() { s.landed[w] = w.epoch })
		}
	}
	w.groups = append(w.groups, group)
}

// elsewhere is what a warp knows in another step of a loop: nothing that the loop's body has computed.
func (w *warp) elsewhere(op *ir.Op, at, hi int64) *warp {
	x := *w
	x.anew = true
	x.values = map[*ir.Value][]held{}
	inside := map[*ir.Value]bool{}
	op.Blocks[0].Walk(func(op *ir.Op) bool {
		for _, v := range op.Results {
			inside[v] = true
		}
		return true
	})
	for v, hs := range w.values {
		if !inside[v] && !slices.Contains(op.Blocks[0].Params, v) {
			x.values[v] = hs
		}
	}
	x.axes = map[*ir.Axis]position{}
	for a, st := range w.axes {
		x.axes[a] = st
	}
	x.enter(op.Axis, at, min(at+op.Axis.Extent, hi))
	x.values[op.Blocks[0].Params[0]] = []held{{layout: layout.Uniform(w.p().Warps), cells: []cell{{ir.Const{Int: at}, true}}}}
	return &x
}

// provideGathered has threads hold, before the loop, the indices of their own part of what is copied from where they say.
func (w *warp) provideGathered(r *ring) {
	for _, c := range r.Copies {
		for _, d := range w.p().CopiedAccess(c.Load) {
			if d.Gather && !r.Inside(d.Index) {
				w.get(d.Index, c.Layout.Slice(d.Index.Type.Axes))
			}
		}
	}
}

// copyThreads marks the elements of a load that the warp's threads copy as being on their way, and gives what brings them. What does
// not exist comes as 0.
func (w *warp) copyThreads(load *ir.Op, t *block.Tile, l layout.Layout, vector int, to *room, base int, what string) func() {
	coords, _ := w.block.l.spreadOf(l, t.Axes).of(w)
	axes := load.Result().Type.Axes
	exists := w.masked(l, t.Axes)
	idx := w.indices(load, l, axes)
	data := w.block.tensor(load.Tensor)
	type element struct {
		offset, part int
		c            ir.Const
	}
	var all []element
	n := l.Regs() * layout.Lanes
	at, places := make([]int64, len(data.shape)), w.places(n)
	for i := range n {
		inside := true
		for j := range t.Axes {
			inside = inside && int(coords[j][i]) < t.Extents[j]
		}
		if !inside {
			continue
		}
		coord := func(a *ir.Axis) int { return int(coords[slices.Index(t.Axes, a)][i]) }
		row, column := t.Place(coord)
		e := element{offset: base + t.Offset(row, column), part: t.Part(coord)}
		if exists[i] {
			for d := range at {
				at[d] = idx[d][i].Int
			}
			places[i] = w.locate(load, data, at)
			if place := places[i]; place >= 0 {
				e.c = data.get(place)
			}
		}
		to.take(e.offset, t.DType.Size(), what)
		all = append(all, e)
	}
	w.together(load, l, places, vector)
	return func() {
		for _, e := range all {
			to.putIn(t, e.offset, e.part, e.c)
		}
	}
}

// wipe puts 0 where what lies beyond the end of the loop has come.
func (w *warp) wipe(r *ring) {
	st := w.axis(r.Op.Axis)
	left := st.end - st.start
	if left >= r.Op.Axis.Extent || !slices.ContainsFunc(r.Copies, func(c block.Copy) bool { return c.Box.Wiped }) {
		return
	}
	_, stage := w.stage(r, 0)
	w.meet("wipe", nil)
	for i, c := range r.Copies {
		if !c.Box.Wiped || w.n > 0 {
			continue
		}
		s, t := r.slots[i][stage], c.Tile
		walkTile(t, func(coord func(*ir.Axis) int) {
			if int64(coord(r.Op.Axis)) >= left {
				row, column := t.Place(coord)
				s.room.putIn(t, s.at+t.Offset(row, column), t.Part(coord), ir.Const{})
			}
		})
	}
	w.meet("wiped", nil)
}

// walkTile goes over all elements of a tile.
func walkTile(t *block.Tile, visit func(coord func(*ir.Axis) int)) {
	counts := make([]int, len(t.Axes))
	coord := func(a *ir.Axis) int {
		if i := slices.Index(t.Axes, a); i >= 0 {
			return counts[i]
		}
		return 0
	}
	for {
		visit(coord)
		i := 0
		for i < len(counts) {
			counts[i]++
			if counts[i] < t.Extents[i] {
				break
			}
			counts[i] = 0
			i++
		}
		if i == len(counts) {
			return
		}
	}
}
