package interp

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file executes operations of which each warp here looks at whole tiles: how their elements come together is left to who writes
// code.

// dense is all elements of a value, of those that exist: from where it is held, or computed again by each warp for itself.
func (w *warp) dense(v *ir.Value) []cell {
	if v.Type.IsScalar() {
		return w.get(v, layout.Uniform(w.p().Warps))
	}
	var cells []cell
	if copies := w.values[v]; len(copies) > 0 && !w.p().Cheap(v) {
		exists := w.masked(copies[0].layout, v.Type.Axes)
		mine := slices.Clone(copies[0].cells)
		for i := range mine {
			mine[i].ok = mine[i].ok && exists[i]
		}
		return w.collect("gather "+block.ValueName(v), v, held{layout: copies[0].layout, cells: mine})
	}
	axes := slices.Clone(v.Type.Axes)
	slices.Reverse(axes)
	l := layout.Blocked(axes, block.Extents(axes), 1, 1)
	cells = slices.Clone(w.get(v, l))
	_, index := w.block.l.spreadOf(l, v.Type.Axes).of(w)
	exists := w.masked(l, v.Type.Axes)
	out := make([]cell, block.Volume(v.Type.Axes))
	for i, e := range index {
		if e >= 0 && exists[i] {
			out[e] = cells[i]
		}
	}
	return out
}

// strides is how far apart the elements of a tile are along its axes.
func strides(axes []*ir.Axis) map[*ir.Axis]int {
	s, n := map[*ir.Axis]int{}, 1
	for i := len(axes) - 1; i >= 0; i-- {
		s[axes[i]] = n
		n *= int(axes[i].Extent)
	}
	return s
}

// walk goes over all positions along axes, and gives the number of the element that tiles over axes of theirs have there.
func walk(axes []*ir.Axis, visit func(at func(of []*ir.Axis) int)) {
	if slices.ContainsFunc(axes, func(a *ir.Axis) bool { return a.Extent <= 0 }) {
		return
	}
	counts := make([]int, len(axes))
	where := map[*ir.Axis]int{}
	at := func(of []*ir.Axis) int {
		n := 0
		for _, a := range of {
			n = n*int(a.Extent) + where[a]
		}
		return n
	}
	for {
		for i, a := range axes {
			where[a] = counts[i]
		}
		visit(at)
		i := len(axes) - 1
		for i >= 0 {
			counts[i]++
			if counts[i] < int(axes[i].Extent) {
				break
			}
			counts[i] = 0
			i--
		}
		if i < 0 {
			return
		}
	}
}

// take gives elements at positions that are computed.
func (w *warp) take(op *ir.Op) {
	x, v := op.Args[0], op.Result()
	dense := w.dense(x)
	home := w.p().Homes[v]
	coords, index := w.block.l.spreadOf(home, v.Type.Axes).of(w)
	n := len(index)
	if v.Type.IsScalar() {
		n = 1
	}
	positions := make([][]cell, len(op.Axes))
	for i, at := range op.Taken() {
		positions[i] = w.broadcast(w.get(at, home.Slice(at.Type.Axes)), at, v, home)
	}
	out := make([]cell, n)
	for i := range out {
		e, ok := 0, v.Type.IsScalar() || index[i] >= 0
		for _, a := range x.Type.Axes {
			c := int64(0)
			if j := slices.Index(op.Axes, a); j >= 0 {
				ok = ok && positions[j][i].ok
				c = positions[j][i].Int - a.Lo
			} else {
				c = int64(coords[slices.Index(v.Type.Axes, a)][i])
			}
			ok = ok && c >= 0 && c < a.Extent
			e = e*int(a.Extent) + int(c)
		}
		if ok {
			out[i] = dense[e]
		}
	}
	w.hold(v, home, out)
}

// argExtreme finds where the greatest or the least element along an axis is.
func (w *warp) argExtreme(op *ir.Op) {
	v, over := op.Args[0], op.Over[0]
	d, better := v.Type.DType, lang.OpGt
	if op.Code == lang.OpArgMin {
		better = lang.OpLt
	}
	dense := w.dense(v)
	keep := ir.Without(v.Type.Axes, op.Over)
	best := make([]cell, block.Volume(keep))
	where := slices.Repeat([]cell{{ir.Const{Int: -1}, true}}, len(best)) // of nothing, a position that is none
	nan := func(c ir.Const) bool { return d.IsFloat() && c.Float != c.Float }
	walk(append(slices.Clone(keep), over), func(at func([]*ir.Axis) int) {
		x, to := dense[at(v.Type.Axes)], at(keep)
		if !x.ok {
			return
		}
		if b := best[to]; !b.ok || nan(x.Const) && !nan(b.Const) || !nan(b.Const) && eval.Apply(better, d, x.Const, b.Const).Int != 0 {
			best[to], where[to] = x, cell{ir.Const{Int: w.axis(over).start + int64(at([]*ir.Axis{over}))}, true}
		}
	})
	w.spreadResult(op.Result(), keep, where)
}

// spreadResult holds at home what is known of all elements of a tile over axes.
func (w *warp) spreadResult(v *ir.Value, axes []*ir.Axis, dense []cell) {
	if v.Type.IsScalar() {
		w.hold(v, w.p().Homes[v], dense[:1])
		return
	}
	_, index := w.block.l.spreadOf(w.p().Homes[v], axes).of(w)
	out := make([]cell, len(index))
	for i, e := range index {
		if e >= 0 {
			out[i] = dense[e]
		}
	}
	w.hold(v, w.p().Homes[v], out)
}

// function is the function of a reduce, a scan or a join, of scalars.
func function(fn *ir.Block, args []cell) []cell {
	known := map[*ir.Value]cell{}
	for i, p := range fn.Params {
		known[p] = args[i]
	}
	for _, op := range fn.Ops {
		v := op.Result()
		if op.Code == lang.OpConst {
			known[v] = cell{op.Const, true}
			continue
		}
		xs := make([]ir.Const, len(op.Args))
		for i, a := range op.Args {
			xs[i] = known[a].Const
		}
		d := op.Args[0].Type.DType
		if op.Code == lang.OpWhere {
			d = op.Args[1].Type.DType
		}
		known[v] = cell{apply(op, d, xs), true}
	}
	out := make([]cell, len(fn.Yield))
	for i, y := range fn.Yield {
		out[i] = known[y]
	}
	return out
}

// combined goes along the axis of a reduce or a scan, in its direction, and gives what has been combined up to each position.
func (w *warp) combined(op *ir.Op, visit func(at func([]*ir.Axis) int, so []cell)) {
	over := op.Over[0]
	var tiles [][]cell
	for _, v := range op.Operands() {
		tiles = append(tiles, w.dense(v))
	}
	var using, identity []cell
	for _, v := range op.Captured() {
		using = append(using, cell{w.scalar(v), true})
	}
	for _, v := range op.Identity() {
		identity = append(identity, cell{w.scalar(v), true})
	}
	keep := ir.Without(op.Combined(), op.Over)
	so := make([][]cell, block.Volume(keep))
	st := w.axis(over)
	n := min(st.end-st.start, over.Extent)
	walk(append([]*ir.Axis{over}, keep...), func(at func([]*ir.Axis) int) {
		where := at
		if op.Reverse {
			where = func(of []*ir.Axis) int {
				i := slices.Index(of, over)
				if i < 0 {
					return at(of)
				}
				step := 1
				for _, a := range of[i+1:] {
					step *= int(a.Extent)
				}
				return at(of) + (int(over.Extent)-1-2*at([]*ir.Axis{over}))*step
			}
		}
		if int64(where([]*ir.Axis{over})) >= n {
			return
		}
		xs := make([]cell, len(tiles))
		for i, v := range op.Operands() {
			e := 0
			if !v.Type.IsScalar() {
				e = where(v.Type.Axes)
			}
			if xs[i] = tiles[i][e]; !xs[i].ok {
				return
			}
		}
		k := at(keep)
		if so[k] == nil {
			so[k] = xs
		} else {
			so[k] = function(op.Fn, slices.Concat(so[k], xs, using))
		}
		visit(where, so[k])
	})
	if op.Code == lang.OpReduce {
		walk(keep, func(at func([]*ir.Axis) int) {
			if so[at(keep)] == nil {
				visit(at, identity)
			}
		})
	}
}

// reduceBy combines the elements along an axis by a function.
func (w *warp) reduceBy(op *ir.Op) {
	keep := op.Results[0].Type.Axes
	dense := make([][]cell, len(op.Results))
	for i := range dense {
		dense[i] = make([]cell, block.Volume(keep))
	}
	w.combined(op, func(at func([]*ir.Axis) int, so []cell) {
		for i, c := range so {
			dense[i][at(keep)] = c
		}
	})
	for i, v := range op.Results {
		w.spreadResult(v, keep, dense[i])
	}
}

// scan combines the elements along an axis up to each position.
func (w *warp) scan(op *ir.Op) {
	axes := op.Results[0].Type.Axes
	dense := make([][]cell, len(op.Results))
	for i := range dense {
		dense[i] = make([]cell, block.Volume(axes))
	}
	w.combined(op, func(at func([]*ir.Axis) int, so []cell) {
		for i, c := range so {
			dense[i][at(axes)] = c
		}
	})
	for i, v := range op.Results {
		w.spreadResult(v, axes, dense[i])
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sort gives the positions of the elements along an axis in order; equal ones stay in theirs.
func (w *warp) sort(op *ir.Op) {
	x, v, over := op.Args[0], op.Result(), op.Over[0]
	d, tile := x.Type.DType, w.dense(x)
	keep := ir.Without(v.Type.Axes, op.Over)
	dense := make([]cell, block.Volume(v.Type.Axes))
	st := strides(x.Type.Axes)[over]
	to := strides(v.Type.Axes)[over]
	less := func(a, b ir.Const) int {
		an, bn := d.IsFloat() && a.Float != a.Float, d.IsFloat() && b.Float != b.Float
		switch {
		case an || bn: // what is not a number comes behind all that is
			return truth(an) - truth(bn)
		case eval.Apply(lang.OpLt, d, a, b).Int != 0:
			return -1
		case eval.Apply(lang.OpLt, d, b, a).Int != 0:
			return 1
		}
		return 0
	}
	walk(keep, func(at func([]*ir.Axis) int) {
		from, put := 0, 0
		for _, a := range keep {
			i := at([]*ir.Axis{a})
			from += i * strides(x.Type.Axes)[a]
			put += i * strides(v.Type.Axes)[a]
		}
		var places []int
		for i := range int(over.Extent) {
			if tile[from+i*st].ok {
				places = append(places, i)
			}
		}
		slices.SortStableFunc(places, func(i, j int) int {
			c := less(tile[from+i*st].Const, tile[from+j*st].Const)
			if op.Descending {
				return -c
			}
			return c
		})
		for i, place := range places {
			dense[put+i*to] = cell{ir.Const{Int: int64(place) + w.axis(over).start}, true}
		}
	})
	w.spreadResult(v, v.Type.Axes, dense)
}
