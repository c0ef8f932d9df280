package fuzz

import (
	"errors"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

var errTooMuch = errors.New("reference: the run computes more elements than the reference may")

// array is a tensor in the reference's memory.
type array struct {
	dtype   lang.DType
	shape   []int64
	data    []byte // of an input
	f       []interval
	n       []whole
	written []bool
	// lost: something was stored nobody knows where.
	lost bool
	// mass and adds are, for each element, the sum of the magnitudes added to it by atomics, and their number.
	mass []float64
	adds []int
	// touched: an atomic has changed the element.
	touched []bool
}

func newArray(d lang.DType, shape []int64) *array {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	a := &array{dtype: d, shape: shape, written: make([]bool, n)}
	if d.IsFloat() {
		a.f = make([]interval, n)
	} else {
		a.n = make([]whole, n)
	}
	return a
}

// read sets the elements to those of the data.
func (a *array) read(data []byte) {
	a.data = data
	for i := range max(len(a.f), len(a.n)) {
		if e := decode(a.dtype, data, i); a.f != nil {
			a.f[i] = point(e.Float)
		} else {
			a.n[i] = whole{e.Int, true}
		}
	}
}

// fill makes every element 0, as a launch does with an output of which elements may not be stored.
func (a *array) fill() {
	for i := range a.written {
		a.written[i] = true
		if a.f == nil {
			a.n[i] = whole{0, true}
		} else {
			a.f[i] = point(0)
		}
	}
}

// settle adds to elements that atomics changed what the order of additions may do.
func (a *array) settle() {
	for i, n := range a.adds {
		if n == 0 {
			continue
		}
		e := growth(float64(n), rounding(a.dtype))*a.mass[i] + growth(float64(n), 0x1p-52)*a.mass[i]
		if !(a.mass[i]+e <= largest(a.dtype)) {
			a.f[i] = unknown
			continue
		}
		if a.dtype == lang.F32 {
			e += float64(n+1) * 0x1p-126 // GPUs' atomics on f32 take subnormal numbers for 0
		}
		a.f[i] = a.f[i].grow(e + rounding(a.dtype)*a.f[i].most())
	}
}

func (m *machine) constant(op *ir.Op) *tile {
	r := m.make(op.Result().Type)
	if r.f != nil {
		r.f[0] = point(op.Const.Float)
	} else {
		r.n[0] = whole{op.Const.Int, true}
	}
	return r
}

func (m *machine) full(op *ir.Op) *tile {
	x, r := m.value(op.Args[0]), m.make(op.Result().Type)
	i := 0
	walk(r.sizes, [][]int{x.steps(r.axes)}, func(at []int) {
		r.copy(i, x, at[0])
		i++
	})
	return r
}

func (m *machine) index(op *ir.Op) *tile {
	r := m.make(op.Result().Type)
	lo := m.span(op.Axis).lo
	for i := range r.n {
		r.n[i] = whole{lo + int64(i), true}
	}
	return r
}

func (m *machine) bound(op *ir.Op) *tile {
	r, s := m.make(op.Result().Type), m.span(op.Axis)
	if op.Span > 0 {
		all := m.walked[op.Axis]
		s.lo -= (s.lo - all.lo) % op.Span
		s.hi = min(s.lo+op.Span, all.hi)
	}
	r.n[0] = whole{s.lo, true}
	if op.Code == lang.OpEnd {
		r.n[0].v = s.hi
	}
	return r
}

func (m *machine) size(op *ir.Op) *tile {
	n, err := m.sizes(op.Dim)
	if err != nil {
		m.fail(op, "%v", err)
	}
	r := m.make(op.Result().Type)
	r.n[0] = whole{n, true}
	return r
}

func (m *machine) rename(op *ir.Op) *tile {
	x, r := m.value(op.Args[0]), m.make(op.Result().Type)
	from := make([]*ir.Axis, len(r.axes))
	for i, a := range r.axes {
		if from[i] = a; a == op.Axis {
			from[i] = op.From
		}
	}
	i := 0
	walk(r.sizes, [][]int{x.steps(from)}, func(at []int) {
		r.copy(i, x, at[0])
		i++
	})
	return r
}

// place is where in an array the indices point. outside: beyond it; ok: it is known.
func (m *machine) place(op *ir.Op, a *array, indices []*tile, at []int) (where int64, outside, ok bool) {
	ok = true
	for d, x := range indices {
		i := x.n[at[d]]
		if !i.ok {
			ok = false
			continue
		}
		if i.v < 0 || i.v >= a.shape[d] {
			if !op.Checked[d] {
				m.fail(op, "index %d of %s is %d, outside %d, though the checker proved it inside", d, op.Tensor.Name, i.v, a.shape[d])
			}
			outside = true
		}
		where = where*a.shape[d] + i.v
	}
	return where, outside, ok || outside
}

func (m *machine) load(op *ir.Op) *tile {
	args := m.args(op)
	r := m.make(op.Result().Type)
	steps := make([][]int, len(args))
	for j, x := range args {
		steps[j] = x.steps(r.axes)
	}
	a := m.tensors[op.Tensor]
	rank, i := len(a.shape), 0
	walk(r.sizes, steps, func(at []int) {
		where, outside, ok := m.place(op, a, args[:rank], at)
		switch {
		case !ok || a.lost:
			if r.f != nil {
				r.f[i] = unknown
			}
		case outside:
			r.copy(i, args[rank], at[rank])
		case r.f != nil:
			r.f[i] = a.f[where]
		default:
			r.n[i] = a.n[where]
		}
		i++
	})
	return r
}

// store writes.
func (m *machine) store(op *ir.Op) *tile {
	args := m.args(op)
	a := m.tensors[op.Tensor]
	rank := len(a.shape)
	axes := op.AccessAxes()
	steps := make([][]int, len(args))
	for j, x := range args {
		steps[j] = x.steps(axes)
	}
	x := args[rank]
	walk(m.sizesOf(axes), steps, func(at []int) {
		where, outside, ok := m.place(op, a, args[:rank], at)
		switch {
		case !ok:
			a.lost = true
		case outside:
		default:
			a.set(where, x, at[rank], m.doubt > 0)
		}
	})
	return nil
}

func (a *array) set(where int64, x *tile, j int, doubt bool) {
	switch {
	case a.f != nil && doubt:
		a.f[where] = a.f[where].union(x.f[j])
	case a.f != nil:
		a.f[where] = x.f[j]
	case doubt && a.n[where] != x.n[j]:
		a.n[where] = whole{}
	default:
		a.n[where] = x.n[j]
	}
	if doubt && !a.written[where] {
		a.lost = true // whether it is written is not decided
	}
	a.written[where] = true
}

func (m *machine) add(a *array, where int64, x *tile, j int) {
	a.written[where] = true
	if m.doubt > 0 {
		a.lost = true
	}
	if a.f == nil {
		y := x.n[j]
		a.n[where] = whole{eval.Wrap(a.n[where].v+y.v, a.dtype), a.n[where].ok && y.ok}
		return
	}
	if a.mass == nil {
		a.mass, a.adds = make([]float64, len(a.f)), make([]int, len(a.f))
	}
	if a.adds[where] == 0 {
		a.mass[where] = a.f[where].most()
	}
	a.adds[where]++
	a.mass[where] += x.f[j].most()
	a.f[where] = a.f[where].add(x.f[j])
}
