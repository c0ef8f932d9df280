package interp

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file changes elements by atomics: each once, by the one thread of those that hold it that is the first.

// updates are the operations by which atomics change an element.
var updates = map[lang.Op]lang.Op{
	lang.OpAtomicAdd: lang.OpAdd, lang.OpAtomicMax: lang.OpMax, lang.OpAtomicMin: lang.OpMin, lang.OpAtomicAnd: lang.OpAnd, lang.OpAtomicOr: lang.OpOr, lang.OpAtomicXor: lang.OpXor,
}

// owns reports the first of the threads that hold the same elements.
func (w *warp) owns(l layout.Layout, lane int) bool {
	first := func(ds []layout.Digit, n int) bool {
		for _, d := range ds {
			if d.Axis == nil && n%d.Size != 0 {
				return false
			}
			n /= d.Size
		}
		return true
	}
	return first(l.Lane, lane) && first(l.Warp, w.n)
}

// atomic executes an atomic.
func (w *warp) atomic(op *ir.Op) {
	p, t := w.p(), op.Tensor
	l, axes := p.AtomicLayout(op), op.AccessAxes()
	whole := &ir.Value{Type: ir.Type{DType: t.DType, Axes: axes}}
	var values [][]cell
	for _, v := range op.Args[len(t.Shape):] {
		values = append(values, w.broadcast(w.get(v, l.Slice(v.Type.Axes)), v, whole, l))
	}
	w.order(t)
	n := 1
	if len(axes) > 0 {
		n = l.Regs() * layout.Lanes
	}
	old := make([]cell, n)
	data, private := w.block.tensor(t), w.block.private(t)
	w.each(op, l, axes, func(i int, at int64) {
		if !w.owns(l, i%layout.Lanes) {
			return
		}
		old[i] = cell{ok: true}
		if at < 0 {
			return
		}
		for _, x := range values {
			if !x[i].ok {
				failf("%s changes an element of %s by one that no thread has", op.Code, t.Name)
			}
		}
		if private != nil {
			private.update(i%layout.Lanes, at, values[0][i].Const)
			return
		}
		have := data.get(at)
		old[i].Const = have
		switch {
		case op.Code == lang.OpAtomicXchg:
			data.put(at, values[0][i].Const)
		case op.Code != lang.OpAtomicCas:
			data.put(at, eval.Apply(updates[op.Code], t.DType, have, values[0][i].Const))
		case bitsOf(t.DType, have) == bitsOf(t.DType, values[0][i].Const):
			data.put(at, values[1][i].Const)
		}
	})
	w.order(t)
	if !op.Old {
		return
	}
	v := op.Result()
	if v.Type.IsScalar() {
		all := w.meet("have the old element of "+t.Name, old[0])
		w.hold(v, l, []cell{all[0].(cell)})
		w.meet("had the old element of "+t.Name, nil)
		return
	}
	w.hold(v, l, w.convert(v, held{layout: l, cells: old}, l))
}

// privateTensor is a tensor that a block changes in shared memory first.
type privateTensor struct {
	*block.Private
	elements []ir.Const
}

// private is the block's own of a tensor; nil where it has none.
func (b *blockState) private(t *ir.Tensor) *privateTensor {
	x := b.l.p.PrivateOf(t)
	if x == nil {
		return nil
	}
	if b.privates[t] == nil {
		b.privates[t] = &privateTensor{x, slices.Repeat([]ir.Const{identityOf(x.Op, t.DType)}, x.Slots())}
	}
	return b.privates[t]
}

// identityOf is what an atomic leaves all as it is by.
func identityOf(op lang.Op, d lang.DType) ir.Const {
	switch op {
	case lang.OpAtomicMax:
		return bound(-1)(d)
	case lang.OpAtomicMin:
		return bound(1)(d)
	case lang.OpAtomicAnd:
		return ir.Const{Int: eval.Wrap(-1, d)}
	}
	return ir.Const{}
}

func (x *privateTensor) update(lane int, at int64, by ir.Const) {
	to := &x.elements[int(at)+x.Elements*(lane%x.Copies)]
	*to = eval.Apply(updates[x.Op], x.Tensor.DType, *to, by)
}

// endPrivate puts to the tensors what the block has made of its own.
func (w *warp) endPrivate() {
	if len(w.p().Privates) == 0 {
		return
	}
	w.meet("have changed what is private", nil)
	for t, x := range w.block.privates {
		data := w.block.tensor(t)
		for n, by := range x.elements {
			if at := int64(n % x.Elements); w.n == 0 {
				data.put(at, eval.Apply(updates[x.Op], t.DType, data.get(at), by))
			}
		}
	}
}
