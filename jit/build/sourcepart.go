package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file computes, once, what part would store and f reads in parts of as many elements: the queries, keys and values of a head, which
// are columns of one product.

// inParts is a source that f reads in parts.
type inParts struct {
	*joining
	// first is the load in whose place the source is computed, and of what that reads.
	first *ir.Op
	of    read
	// The parts lie beside each other along this dimension of what part stores: where the first begins, how far the beginnings are from each other, and
	// how many there are.
	along              int
	begin, step, count int64
	// value is what is computed, and axis that of the parts; axis is nil where there is one part.
	value *ir.Value
	axis  *ir.Axis
}

// sourceOfParts puts what part computes in the place of the first of the loads, along an axis more, of which each load takes its own.
func (j *joining) sourceOfParts(store *ir.Op, axes []*ir.Axis) {
	loads := make([]*ir.Op, len(j.reads))
	for n, r := range j.reads {
		its, stores := accesses(j.f, r.tensor)
		if len(stores) > 0 || len(its) != 1 || !slices.Contains(j.f.Body.Ops, its[0]) || slices.Contains(its[0].Checked, true) {
			unfit("%s does not read %s once, among its statements", j.f.Name, r.tensor.Name)
		}
		loads[n] = its[0]
	}
	order := make([]int, len(loads))
	for n := range order {
		order[n] = n
	}
	place := func(n int) int { return slices.Index(j.f.Body.Ops, loads[n]) }
	slices.SortStableFunc(order, func(n, m int) int { return place(n) - place(m) })
	p := &inParts{joining: j, first: loads[order[0]], of: j.reads[order[0]]}
	p.among()
	taken := make([]taking, len(loads))
	for n, load := range loads {
		taken[n] = p.takingFor(load)
	}
	j.declare(j.shapes())
	for _, n := range order {
		j.insert(loads[n], func() *ir.Value {
			if p.value == nil {
				p.compute(store, axes)
			}
			t := taken[n]
			if p.axis != nil {
				which := (j.reads[n].parts[p.along].Begin - p.begin) / p.step
				t.axes, t.positions = append(t.axes, p.axis), append(t.positions, j.Int(which))
			}
			return j.covering(j.Take(p.value, t.axes, t.positions), loads[n].Result().Type.Axes)
		})
	}
}

// among finds along which dimension the parts lie beside each other.
func (p *inParts) among() {
	parts := p.of.parts
	at := -1
	for _, r := range p.reads {
		for k, o := range r.parts {
			if !slices.Equal(o.Dims, parts[k].Dims) || o.Begin != parts[k].Begin && at >= 0 && at != k {
				unfit("%s reads parts of %s that are not alike", p.f.Name, p.from.Name)
			}
			if o.Begin != parts[k].Begin {
				at = k
			}
		}
	}
	p.along, p.step = max(at, 0), 1
	var begins []int64
	for _, r := range p.reads {
		begins = append(begins, r.parts[p.along].Begin)
	}
	slices.Sort(begins)
	begins = slices.Compact(begins)
	if p.begin, p.count = begins[0], int64(len(begins)); p.count > 1 {
		p.step = begins[1] - begins[0]
	}
	for n, at := range begins {
		if at != p.begin+int64(n)*p.step {
			unfit("%s reads parts of %s that do not follow each other", p.f.Name, p.from.Name)
		}
	}
}

// taking is which axes of a value a load has at which positions of its own.
type taking struct {
	axes      []*ir.Axis
	positions []*ir.Value
}

// takingFor compares the positions of a load with those of the first: they are the same, or go through whole axes of as many elements.
func (p *inParts) takingFor(load *ir.Op) (t taking) {
	for d, v := range load.Indices() {
		u := p.first.Indices()[d]
		a, b := along(u), along(v)
		switch {
		case v == u, a != nil && a == b:
		case a != nil && b != nil && a.Kind == ir.Whole && b.Kind == ir.Whole && a.Lo == 0 && b.Lo == 0 && a.Len == b.Len:
			t.axes, t.positions = append(t.axes, a), append(t.positions, v)
		default:
			unfit("%s reads %s and %s at other positions", p.f.Name, p.first.Tensor.Name, load.Tensor.Name)
		}
	}
	return t
}

// compute builds the source, in the place of the first load.
func (p *inParts) compute(store *ir.Op, axes []*ir.Axis) {
	positions, plain := p.positions()
	if p.count > 1 {
		p.axis = p.f.AddAxis(ir.Axis{Name: "part", Kind: ir.Whole, Len: p.count, Extent: p.count})
		part := p.Emit(&ir.Op{Code: lang.OpIndex, Axis: p.axis, At: p.At})[0]
		positions[p.along] = p.Op(lang.OpAdd, p.Op(lang.OpMul, part, p.Int(p.step)), positions[p.along])
		plain[p.along] = false
	}
	p.value = p.computed(store, axes, positions, plain)
}

// positions are those at which part stores what the first load would read if it read the first of the parts, and which of them are the load's.
func (p *inParts) positions() (positions []*ir.Value, plain []bool) {
	read := p.first.Indices()
	for k, o := range p.of.parts {
		at := p.Int(0)
		for n, d := range o.Dims {
			if n == 0 {
				at = read[d]
				continue
			}
			at = p.Op(lang.OpAdd, p.Op(lang.OpMul, at, p.size(p.of.tensor.Shape[d])), read[d])
		}
		begin := o.Begin
		if k == p.along {
			begin = p.begin
		}
		if begin > 0 {
			at = p.Op(lang.OpAdd, at, p.Int(begin))
		}
		if at.Type.DType != lang.I32 {
			unfit("%s has more elements than i32 counts", p.from.Name)
		}
		positions, plain = append(positions, at), append(plain, o.All && len(o.Dims) == 1)
	}
	return positions, plain
}
