package interp

import (
	"encoding/binary"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file is what warps hold in registers: values in layouts, and how a value comes from one layout to another.

// cell is an element in a register. An element that does not exist, or that nothing has put there, is not ok.
type cell struct {
	ir.Const
	ok bool
}

// held is a value in the registers of a warp: register r of lane n is cell r*Lanes+n. A scalar is one cell.
type held struct {
	layout layout.Layout
	cells  []cell
	// by is the product that makes the value, where it is one that is under way beside the warp.
	by *pending
}

// spread is which elements of a tile a layout puts where.
type spread struct {
	axes []*ir.Axis
	// coords are, by warp and by axis, the coordinates of the cells; index is the number of the element, -1 for padding beyond the
	// extents, with the last axis the fastest.
	coords [][][]int32
	index  [][]int32
}

// spreadOf is the spread of a layout over axes.
func (l *launch) spreadOf(of layout.Layout, axes []*ir.Axis) *spread {
	key := keyOf(keyOf(nil, of), layout.Layout{}, axes...)
	if s := l.spreads[string(key)]; s != nil {
		return s
	}
	s := &spread{axes: axes}
	regs, warps := of.Regs(), of.Warps()
	for w := range warps {
		coords, index := make([][]int32, len(axes)), make([]int32, regs*layout.Lanes)
		for i, a := range axes {
			coords[i] = make([]int32, regs*layout.Lanes)
			for n := range layout.Lanes {
				thread := of.ThreadCoord(n, w, a)
				for r := range regs {
					coords[i][r*layout.Lanes+n] = int32(thread + of.RegCoord(r, a))
				}
			}
		}
		for at := range index {
			for i, a := range axes {
				c := coords[i][at]
				if int64(c) >= a.Extent || index[at] < 0 {
					index[at] = -1
					continue
				}
				index[at] = index[at]*int32(a.Extent) + c
			}
		}
		s.coords, s.index = append(s.coords, coords), append(s.index, index)
	}
	l.spreads[string(key)] = s
	return s
}

// of is the part of a spread that a warp holds; a layout of one warp is that of any.
func (s *spread) of(w *warp) (coords [][]int32, index []int32) {
	n := w.n % len(s.index)
	return s.coords[n], s.index[n]
}

// hold says that a value is held so, and as nothing else.
func (w *warp) hold(v *ir.Value, l layout.Layout, cells []cell) {
	w.values[v] = []held{{layout: l, cells: cells}}
}

// scalar is the value of a scalar.
func (w *warp) scalar(v *ir.Value) ir.Const {
	c := w.get(v, layout.Uniform(w.p().Warps))[0]
	if !c.ok {
		failf("the scalar %s is of an element that does not exist", block.ValueName(v))
	}
	return c.Const
}

// get gives the cells of a value in a layout: those at hand, those computed again where the program says that this is cheap, or those
// brought through shared memory.
func (w *warp) get(v *ir.Value, want layout.Layout) []cell {
	p := w.p()
	copies := w.values[v]
	for _, h := range copies {
		if h.by != nil && !h.by.done {
			failf("%s is used while the product that makes it is under way", block.ValueName(v))
		}
		if v.Type.IsScalar() {
			return h.cells
		}
		from, ok := w.block.l.permutation(h.layout, want, v.Type.Axes)
		if !ok {
			continue
		}
		return permuted(h.cells, from)
	}
	if v.Def != nil && (len(copies) == 0 && w.anew || p.Cheap(v) || p.Again(v) || v.Def.Code == lang.OpConst || p.OnDemand(v.Def)) {
		return w.compute(v.Def, want)
	}
	if len(copies) == 0 {
		failf("%s is used before it is computed", block.ValueName(v))
	}
	cells := w.convert(v, copies[0], want)
	w.values[v] = append(w.values[v], held{layout: want, cells: cells})
	return cells
}

// permuted are cells by other registers of the same threads.
func permuted(cells []cell, from []int) []cell {
	out := make([]cell, len(from)*layout.Lanes)
	for r, f := range from {
		if f >= 0 {
			copy(out[r*layout.Lanes:(r+1)*layout.Lanes], cells[f*layout.Lanes:])
		}
	}
	return out
}

// keyOf adds what tells a layout, and axes, from others.
func keyOf(key []byte, l layout.Layout, axes ...*ir.Axis) []byte {
	axis := func(a *ir.Axis) {
		if a != nil {
			key = append(key, a.Name...)
		}
		key = append(key, 0)
	}
	for _, ds := range [][]layout.Digit{l.Reg, l.Lane, l.Warp} {
		for _, d := range ds {
			key = binary.AppendVarint(binary.AppendVarint(key, int64(d.Stride)), int64(d.Size))
			axis(d.Axis)
		}
		key = append(key, '|')
	}
	for _, a := range axes {
		axis(a)
	}
	return key
}

// permutation is layout.Permutation, remembered.
func (l *launch) permutation(from, want layout.Layout, axes []*ir.Axis) ([]int, bool) {
	key := keyOf(keyOf(nil, from), want, axes...)
	if p, ok := l.permutations[string(key)]; ok {
		return p, p != nil
	}
	p, ok := from.Permutation(want, axes)
	if ok && p == nil {
		p = []int{}
	}
	if !ok {
		p = nil
	}
	l.permutations[string(key)] = p
	return p, ok
}

// convert brings a value to another layout through shared memory: all warps of the team write what they hold, and read what they want.
// Threads that hold one element have to hold the same of it.
func (w *warp) convert(v *ir.Value, from held, want layout.Layout) []cell {
	dense := w.collect("bring "+block.ValueName(v), v, from)
	return w.pick(dense, v, want)
}

// collect is all elements of a value, from all warps of a team that hold it in a layout.
func (w *warp) collect(what string, v *ir.Value, from held) []cell {
	l, axes := w.block.l, v.Type.Axes
	s := l.spreadOf(from.layout, axes)
	n := block.Volume(axes)
	mark := w.arena.Top
	at, size := w.arena.Take(n * v.Type.DType.WholeBytes().Size())
	all := w.meet(what, from.cells)
	dense := make([]cell, n)
	if w.n == 0 { // once for the team
		w.room(what, at, size).take(0, size, "")
	}
	for other, x := range all {
		cells := x.([]cell)
		index := s.index[other%len(s.index)]
		for i, e := range index {
			if e < 0 || !cells[i].ok {
				continue
			}
			if d := dense[e]; d.ok && !same(d.Const, cells[i].Const) {
				failf("threads hold %v and %v as one element of %s", d.Const, cells[i].Const, block.ValueName(v))
			}
			dense[e] = cells[i]
		}
	}
	w.meet(what+": done", nil)
	w.arena.Top = mark
	return dense
}

// same reports equal bits, as far as the language tells them apart.
func same(a, b ir.Const) bool {
	return a.Int == b.Int && (a.Float == b.Float || a.Float != a.Float && b.Float != b.Float)
}

// pick is what a warp wants of all elements.
func (w *warp) pick(dense []cell, v *ir.Value, want layout.Layout) []cell {
	_, index := w.block.l.spreadOf(want, v.Type.Axes).of(w)
	out := make([]cell, len(index))
	for i, e := range index {
		if e >= 0 {
			out[i] = dense[e]
		}
	}
	return out
}

// compute gives the result of an operation in a layout, wherever it stands.
func (w *warp) compute(op *ir.Op, l layout.Layout) []cell {
	v := op.Result()
	switch op.Code {
	case lang.OpLoad:
		return w.load(op, l)
	case lang.OpConst:
		return w.fill(v, l, op.Const)
	case lang.OpStart, lang.OpEnd:
		st := w.axis(op.Axis)
		n := st.start
		if op.Code == lang.OpEnd {
			n = st.end
		}
		if op.Span > 0 {
			unsupported("a bound of a run of positions")
		}
		return w.fill(v, l, ir.Const{Int: n})
	case lang.OpSize:
		return w.fill(v, l, ir.Const{Int: w.block.l.size(op.Dim)})
	case lang.OpFull:
		x := op.Args[0]
		return w.broadcast(w.get(x, l.Slice(x.Type.Axes)), x, v, l)
	case lang.OpIndex:
		coords, index := w.block.l.spreadOf(l, []*ir.Axis{op.Axis}).of(w)
		out := make([]cell, len(index))
		for i := range index {
			out[i] = cell{ir.Const{Int: w.axis(op.Axis).start + int64(coords[0][i])}, true}
		}
		return out
	case lang.OpRename:
		return w.get(op.Args[0], l.Rename(op.Axis, op.From))
	}
	return w.elementwise(op, l)
}

// fill is a value of which all elements are the same.
func (w *warp) fill(v *ir.Value, l layout.Layout, c ir.Const) []cell {
	if v.Type.IsScalar() {
		return []cell{{c, true}}
	}
	out := make([]cell, l.Regs()*layout.Lanes)
	for i := range out {
		out[i] = cell{c, true}
	}
	return out
}

// broadcast is a value over more axes.
func (w *warp) broadcast(cells []cell, from, to *ir.Value, l layout.Layout) []cell {
	if from.Type.IsScalar() {
		if to.Type.IsScalar() {
			return cells
		}
		out := make([]cell, l.Regs()*layout.Lanes)
		for i := range out {
			out[i] = cells[0]
		}
		return out
	}
	out := make([]cell, l.Regs()*layout.Lanes)
	for r := range l.Regs() {
		f := l.Project(r, from.Type.Axes)
		copy(out[r*layout.Lanes:(r+1)*layout.Lanes], cells[f*layout.Lanes:(f+1)*layout.Lanes])
	}
	return out
}

// elementwise computes an elementwise operation for a result in a layout.
func (w *warp) elementwise(op *ir.Op, l layout.Layout) []cell {
	v := op.Result()
	if op.Code == lang.OpWhere && w.holds != nil && op.Args[0] == w.holds {
		w.checkHolds(op.Args[0], l)
		x := op.Args[1]
		return w.broadcast(w.get(x, l.Slice(x.Type.Axes)), x, v, l)
	}
	args := make([][]cell, len(op.Args))
	for i, x := range op.Args {
		args[i] = w.broadcast(w.get(x, l.Slice(x.Type.Axes)), x, v, l)
	}
	d, n := op.Args[0].Type.DType, 1
	if op.Code == lang.OpWhere {
		d = op.Args[1].Type.DType
	}
	if !v.Type.IsScalar() {
		n = l.Regs() * layout.Lanes
	}
	out, xs := make([]cell, n), make([]ir.Const, len(args))
	for i := range out {
		ok := true
		for j := range args {
			xs[j] = args[j][i].Const
			ok = ok && args[j][i].ok
		}
		if op.Code == lang.OpWhere && args[0][i].ok {
			ok = args[1][i].ok && xs[0].Int != 0 || args[2][i].ok && xs[0].Int == 0
		}
		if ok {
			out[i] = cell{apply(op, d, xs), true}
		}
	}
	return out
}

// apply is an elementwise operation on one element.
func apply(op *ir.Op, d lang.DType, xs []ir.Const) ir.Const {
	switch op.Code {
	case lang.OpCast:
		return eval.Cast(xs[0], d, op.Result().Type.DType)
	case lang.OpBitcast:
		return eval.Bitcast(xs[0], d, op.Result().Type.DType)
	}
	return eval.Apply(op.Code, d, xs...)
}

// checkHolds finds an element for which a condition does not hold, in a step in which it is said to hold for all.
func (w *warp) checkHolds(v *ir.Value, l layout.Layout) {
	holds := w.holds
	w.holds = nil
	defer func() { w.holds = holds }()
	_, index := w.block.l.spreadOf(l.Slice(v.Type.Axes), v.Type.Axes).of(w)
	for i, c := range w.get(v, l.Slice(v.Type.Axes)) {
		if c.ok && c.Int == 0 && index[i] >= 0 {
			failf("%s does not hold in a step in which it is to hold for all elements", block.ValueName(v))
		}
	}
}

// room is a temporary room of a team.
func (w *warp) room(what string, at, size int) *room {
	return w.block.memory.roomFor([3]any{what, w.team.n, w.epoch}, what, at, size)
}
