package interp

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file loads and stores elements of tensors.

// tensor is the memory of a tensor of a launch.
type tensor struct {
	*ir.Tensor
	data           []byte
	shape, strides []int64
}

// place is the number of an element in the memory, false outside the tensor.
func (t *tensor) place(at []int64) (int64, bool) {
	n := int64(0)
	for i, x := range at {
		if x < 0 || x >= t.shape[i] {
			return 0, false
		}
		n += x * t.strides[i]
	}
	return n, true
}

func (t *tensor) get(n int64) ir.Const {
	return constOf(t.DType, t.Held().RawBitsAt(t.data, n))
}

func (t *tensor) put(n int64, c ir.Const) { t.Held().PutRawBitsAt(t.data, n, bitsOf(t.DType, c)) }

// position is where an axis stands: its first position, and one past the last that exists.
type position struct{ start, end int64 }

// axis is where an axis stands for a warp.
func (w *warp) axis(a *ir.Axis) position {
	if st, ok := w.axes[a]; ok {
		return st
	}
	if a.Kind != ir.Whole {
		failf("axis %s is used outside its loop", a.Name)
	}
	return position{a.Lo, a.Lo + a.Len}
}

// enter says where an axis stands. Whether its range may be partial is decided, for nothing else puts masks there.
func (w *warp) enter(a *ir.Axis, start, end int64) {
	if end < start+a.Extent && !w.p().Ragged(a) {
		failf("axis %s has positions %d to %d in a block or step of %d, and no masks", a.Name, start, end-1, a.Extent)
	}
	w.axes[a] = position{start, end}
}

// masked is, by cell, whether the element exists along axes.
func (w *warp) masked(l layout.Layout, axes []*ir.Axis) []bool {
	coords, index := w.block.l.spreadOf(l, axes).of(w)
	out := make([]bool, len(index))
	for i := range out {
		out[i] = index[i] >= 0
	}
	for j, a := range axes {
		st := w.axis(a)
		left := min(st.end-st.start, a.Extent)
		for i := range out {
			out[i] = out[i] && int64(coords[j][i]) < left && int64(coords[j][i]) >= -st.start // a loop by words begins before its row
		}
	}
	return out
}

// indices are the index operands of an access, for the elements of a layout over axes.
func (w *warp) indices(op *ir.Op, l layout.Layout, axes []*ir.Axis) [][]cell {
	out := make([][]cell, len(op.Indices()))
	whole := &ir.Value{Type: ir.Type{DType: lang.I64, Axes: axes}}
	for i, v := range op.Indices() {
		out[i] = w.broadcast(w.get(v, l.Slice(v.Type.Axes)), v, whole, l)
	}
	return out
}

// each goes over the elements of an access that exist, with the number of the cell and of the element in the tensor's memory, -1 where
// it lies outside a tensor that the access checks.
func (w *warp) each(op *ir.Op, l layout.Layout, axes []*ir.Axis, visit func(i int, n int64)) {
	t := w.block.tensor(op.Tensor)
	at := make([]int64, len(t.shape))
	if len(axes) == 0 {
		for d, v := range op.Indices() {
			at[d] = w.scalar(v).Int
		}
		visit(0, w.locate(op, t, at))
		return
	}
	exists, idx := w.masked(l, axes), w.indices(op, l, axes)
	for i, ok := range exists {
		if !ok {
			continue
		}
		for d := range at {
			c := idx[d][i]
			if !c.ok {
				failf("index %d of %s of %s is of an element that does not exist", d, op.Code, t.Name)
			}
			at[d] = c.Int
		}
		visit(i, w.locate(op, t, at))
	}
}

// locate is the number of an element, -1 outside of a dimension that is checked.
func (w *warp) locate(op *ir.Op, t *tensor, at []int64) int64 {
	lead := int64(0)
	if last := len(at) - 1; t.Split > 1 { // indices count from where the axis begins, or before it by the lead of a row by words
		lead = w.lead()
		at[last] += lead - int64(w.block.rank)*t.shape[last]
	}
	n, inside := t.place(at)
	n -= lead
	if inside {
		return n
	}
	for i, x := range at {
		if (x < 0 || x >= t.shape[i]) && op.Checked[i] {
			return -1
		}
	}
	failf("%s of element %v of %s, of shape %v, without a check", op.Code, at, t.Name, t.shape)
	return -1
}

// load gives a load's elements in a layout. Those that do not exist are 0, and not ok.
func (w *warp) load(op *ir.Op, l layout.Layout) []cell {
	v := op.Result()
	if c := w.block.copied[op]; c != nil {
		op = c // from the row that was copied
	}
	t := w.block.tensor(op.Tensor)
	n := 1
	if !v.Type.IsScalar() {
		n = l.Regs() * layout.Lanes
	}
	out := make([]cell, n)
	var other []cell
	if e := op.Else(); e != nil {
		other = w.broadcast(w.get(e, l.Slice(e.Type.Axes)), e, v, l)
	}
	beside := w.beside[op]
	var coords [][]int32
	if beside != nil {
		coords, _ = w.block.l.spreadOf(l, v.Type.Axes).of(w)
	}
	places := w.places(n)
	w.each(op, l, v.Type.Axes, func(i int, at int64) {
		places[i] = at
		switch {
		case at >= 0 && op.Tensor.Shared:
			out[i] = cell{w.block.keptAt(w, op.Tensor, at), true}
		case at >= 0 && beside != nil:
			out[i] = cell{beside.element(v, coords, i), true}
		case at >= 0:
			out[i] = cell{t.get(at), true}
		case other != nil:
			out[i] = other[i]
		default:
			out[i] = cell{ok: true}
		}
	})
	if beside == nil {
		w.together(op, l, places, w.vector(op))
	}
	return out
}

// nowhere is the place of an element that does not exist.
const nowhere = -2

// places are the places of cells in a tensor's memory, of none that exists yet.
func (w *warp) places(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = nowhere
	}
	return out
}

// vector is how many neighbours an access moves at once at most.
func (w *warp) vector(op *ir.Op) int {
	dims := w.p().Access(op)
	c := block.Contiguous(dims)
	if at, here := w.axes[c]; here && at.end-at.start == c.Extent {
		return w.p().WholeVector(op.Tensor, dims, c)
	}
	return w.p().Vector(op.Tensor, dims, c)
}

// together checks the accesses that move several neighbours at once: these exist together or not at all, follow one another in memory, and
// begin at a multiple of what is moved.
func (w *warp) together(op *ir.Op, l layout.Layout, places []int64, vector int) {
	c := block.Contiguous(w.p().Access(op))
	if c == nil || len(places) == 1 {
		return
	}
	groups, n := l.Groups(c, l.Aligned(c, vector))
	if n == 1 {
		return
	}
	if w.p().LoopsByWords(c) {
		w.wholeWords(op, groups, places)
		return
	}
	bytes := op.Tensor.Held().Bytes(int64(n))
	for _, g := range groups {
		for lane := range layout.Lanes {
			first := places[g[0]*layout.Lanes+lane]
			for i, r := range g {
				at := places[r*layout.Lanes+lane]
				if whole := (at < 0) == (first < 0); !whole || at >= 0 && at != first+int64(i) {
					failf("%s of %s moves %d neighbours at once, of which element %d is at %d and the first at %d", op.Code, op.Tensor.Name, n, i, at, first)
				}
			}
			if align := op.Tensor.Align; first >= 0 && (first%int64(n) != 0 || align%bytes != 0) {
				failf("%s of %s moves %d bytes at once at element %d, where the tensor begins at a multiple of %d bytes", op.Code, op.Tensor.Name, bytes, first, align)
			}
		}
	}
}

// store stores a value from a layout, once for each element, of which all threads that hold it have the same.
func (w *warp) store(op *ir.Op) {
	if w.block.left[op] {
		return // a row that is copied as a whole
	}
	if s := w.p().Stores[op]; s != nil {
		w.storeBoxes(op, s)
		return
	}
	v := op.Stored()
	l, axes := w.p().StoreLayout(op), op.AccessAxes()
	cells := w.valueStored(op, l.Slice(v.Type.Axes))
	whole := &ir.Value{Type: ir.Type{DType: v.Type.DType, Axes: axes}}
	cells = w.broadcast(cells, v, whole, l)
	if op.Collides() {
		w.scatter(op, l, axes, cells)
		return
	}
	w.order(op.Tensor)
	t := w.block.tensor(op.Tensor)
	places := w.places(len(cells))
	w.each(op, l, axes, func(i int, n int64) {
		places[i] = n
		if n < 0 {
			return
		}
		if !cells[i].ok {
			failf("%s stores an element that no thread has", block.ValueName(v))
		}
		if op.Tensor.Shared {
			w.block.keep(w, op.Tensor, n, cells[i].Const)
			return
		}
		t.put(n, cells[i].Const)
	})
	w.together(op, l, places, w.vector(op))
	w.order(op.Tensor)
}

// scatter stores elements of which several may have one place: the last of them in the order of the positions counts.
func (w *warp) scatter(op *ir.Op, l layout.Layout, axes []*ir.Axis, cells []cell) {
	axes = w.p().Func.InOrder(axes)
	_, index := w.block.l.spreadOf(l, axes).of(w)
	found := map[int32][2]any{}
	w.each(op, l, op.AccessAxes(), func(i int, n int64) {
		if n >= 0 {
			found[index[i]] = [2]any{n, cells[i].Const}
		}
	})
	t := w.block.tensor(op.Tensor)
	for _, x := range w.meet("scatter to "+op.Tensor.Name, found) {
		for e, put := range x.(map[int32][2]any) {
			found[e] = put
		}
	}
	if w.n == 0 {
		for e := range int32(block.Volume(axes)) {
			if put, ok := found[e]; ok {
				t.put(put[0].(int64), put[1].(ir.Const))
			}
		}
	}
	w.meet("scattered to "+op.Tensor.Name, nil)
}

// order has the team's warps meet where a tensor is changed and accessed otherwise too.
func (w *warp) order(t *ir.Tensor) {
	if w.p().Contended(t) && !t.ReadOnly() {
		w.meet("an access of "+t.Name, nil)
	}
}

// valueStored is what a store takes, computed then where the program says so.
func (w *warp) valueStored(op *ir.Op, l layout.Layout) []cell {
	return w.late(op, op.Stored(), l)
}

// late computes what is computed as it is stored.
func (w *warp) late(store *ir.Op, v *ir.Value, l layout.Layout) []cell {
	op := v.Def
	if op == nil || w.p().Late[op] != store {
		return w.get(v, l)
	}
	if op.Code == lang.OpLoad {
		return w.load(op, l)
	}
	for _, x := range op.Args {
		if x.Def != nil && w.p().Late[x.Def] == store {
			w.values[x] = []held{{layout: l.Slice(x.Type.Axes), cells: w.late(store, x, l.Slice(x.Type.Axes))}}
		}
	}
	return w.elementwise(op, l)
}
