package build

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file computes, once, what part would store and f reads in parts of as many elements: the queries, keys and values of a head, which
// are columns of one product.

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
	first := slices.MinFunc(loads, func(x, y *ir.Op) int { return slices.Index(j.f.Body.Ops, x) - slices.Index(j.f.Body.Ops, y) })
	along, begin, step, count := j.among()
	taken := make([]taking, len(loads))
	for n, load := range loads {
		taken[n] = j.takingFor(load, first)
	}
	j.declare(j.shapes())
	var value, zero *ir.Value
	var part *ir.Axis
	for _, load := range slices.Concat([]*ir.Op{first}, slices.DeleteFunc(slices.Clone(loads), func(op *ir.Op) bool { return op == first })) {
		n := slices.Index(loads, load)
		j.insert(load, func() *ir.Value {
			if value == nil {
				base := begin
				if count > 1 {
					part = j.f.AddAxis(ir.Axis{Name: j.unique("part", func(s string) bool { return j.f.Axis(s) != nil }), Kind: ir.Whole, Len: count, Extent: count})
					base = 0
				}
				positions, plain := j.storedOfPart(first, j.reads[slices.Index(loads, first)], along, base)
				if part != nil {
					at := j.Op(lang.OpMul, j.Emit(&ir.Op{Code: lang.OpIndex, Axis: part, At: j.At})[0], j.Int(step))
					positions[along] = j.Op(lang.OpAdd, j.Op(lang.OpAdd, at, j.Int(begin)), positions[along])
					plain[along] = false
				}
				value = j.computed(store, axes, positions, plain)
			}
			t := taken[n]
			if part != nil {
				zero = j.Int((j.reads[n].parts[along].Begin - begin) / step)
				t.axes, t.positions = append(t.axes, part), append(t.positions, zero)
			}
			return j.covering(j.Take(value, t.axes, t.positions), load.Result().Type.Axes)
		})
	}
}

// taking is which axes of a value a load has at which positions of its own.
type taking struct {
	axes      []*ir.Axis
	positions []*ir.Value
}

// takingFor compares the positions of a load with those of the first: they are the same, or go through whole axes of as many elements.
func (j *joining) takingFor(load, first *ir.Op) (t taking) {
	for d, v := range load.Indices() {
		a, b := along(first.Indices()[d]), along(v)
		switch {
		case v == first.Indices()[d], a != nil && a == b:
		case a != nil && b != nil && a.Kind == ir.Whole && b.Kind == ir.Whole && a.Lo == 0 && b.Lo == 0 && a.Len == b.Len:
			t.axes, t.positions = append(t.axes, a), append(t.positions, v)
		default:
			unfit("%s reads %s and %s at other positions", j.f.Name, first.Tensor.Name, load.Tensor.Name)
		}
	}
	return t
}

// among is along which dimension of what part stores the parts lie beside each other: where the first begins, how far the beginnings are
// from each other, and how many there are.
func (j *joining) among() (along int, begin, step, count int64) {
	parts := j.reads[0].parts
	var begins []int64
	along = -1
	for _, r := range j.reads {
		for k, p := range r.parts {
			if !slices.Equal(p.Dims, parts[k].Dims) || p.Begin != parts[k].Begin && along >= 0 && along != k {
				unfit("%s reads parts of %s that are not alike", j.f.Name, j.from.Name)
			}
			if p.Begin != parts[k].Begin {
				along = k
			}
		}
	}
	if along < 0 {
		return 0, parts[0].Begin, 1, 1
	}
	for _, r := range j.reads {
		begins = append(begins, r.parts[along].Begin)
	}
	slices.Sort(begins)
	begins = slices.Compact(begins)
	begin, step, count = begins[0], begins[1]-begins[0], int64(len(begins))
	for n, at := range begins {
		if at != begin+int64(n)*step {
			unfit("%s reads parts of %s that do not follow each other", j.f.Name, j.from.Name)
		}
	}
	return along, begin, step, count
}

// storedOfPart are the positions at which part stores what a load reads of a part, as of one that begins at base along a dimension, and which
// of them are those of the load.
func (j *joining) storedOfPart(load *ir.Op, r read, along int, base int64) (positions []*ir.Value, plain []bool) {
	for k, p := range r.parts {
		at := j.Int(0)
		for n, d := range p.Dims {
			if n == 0 {
				at = load.Indices()[d]
				continue
			}
			at = j.Op(lang.OpAdd, j.Op(lang.OpMul, at, j.size(r.tensor.Shape[d])), load.Indices()[d])
		}
		begin := p.Begin
		if k == along {
			begin = base
		}
		if begin > 0 {
			at = j.Op(lang.OpAdd, at, j.Int(begin))
		}
		if at.Type.DType != lang.I32 {
			unfit("%s has more elements than i32 counts", j.from.Name)
		}
		positions, plain = append(positions, at), append(plain, p.All && len(p.Dims) == 1)
	}
	return positions, plain
}
