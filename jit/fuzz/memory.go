package fuzz

import (
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

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
			r.f[i] = a.float(where)
		default:
			r.n[i] = a.whole(where)
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
	p, i := a.page(where)
	switch {
	case p.f != nil && doubt:
		p.f[i] = p.f[i].union(x.f[j])
	case p.f != nil:
		p.f[i] = x.f[j]
	case doubt && p.n[i] != x.n[j]:
		p.n[i] = whole{}
	default:
		p.n[i] = x.n[j]
	}
	if doubt && !a.held && !p.stored[i] {
		a.lost = true // whether it is written is not decided
	}
	p.stored[i] = true
}

func (m *machine) add(a *array, where int64, x *tile, j int) {
	p, i := a.page(where)
	p.stored[i] = true
	if m.doubt > 0 {
		a.lost = true
	}
	if p.f == nil {
		y := x.n[j]
		p.n[i] = whole{eval.Wrap(p.n[i].v+y.v, a.dtype), p.n[i].ok && y.ok}
		return
	}
	a.added = true
	if p.mass == nil {
		p.mass, p.adds = make([]float64, len(p.f)), make([]int, len(p.f))
	}
	if p.adds[i] == 0 {
		p.mass[i] = p.f[i].most()
	}
	p.adds[i]++
	p.mass[i] += x.f[j].most()
	p.f[i] = p.f[i].add(x.f[j])
}
