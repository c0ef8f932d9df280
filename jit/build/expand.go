package build

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// expand makes several axes of a grid axis, and several dimensions of the dimension that the axis walks, as a sink that reads a part of
// the stored tensor sees them: the columns of a product that are queries, keys and values of heads, and its rows that are positions of
// sequences. What the sink stores then lies along axes of its own, and whole blocks are in the part or not. It is what Collapse does the
// other way round. The elements of a tensor stay where they are, so only tensors without strides can be seen so.
func (j *joining) expand(axes, of []*ir.Axis, how []spec.Expanded) {
	for k, e := range how {
		if !e.Several() {
			if d := axes[k].Dim; d != nil && !d.Known() {
				d.Divisor = max(d.Divisor, e.Multiple)
			}
			continue
		}
		a, first := axes[k], ""
		if !dividable(a) {
			unfit("axis %s of %s cannot be several", a.Name, j.f.Name)
		}
		var dims []*ir.Dim
		var scalar []bool
		if e.Outer > 0 {
			first = a.Name + ".part"
			dims, scalar = append(dims, j.newDim(a.Dim.Name+".parts", e.Outer)), append(scalar, true)
		}
		for _, d := range e.Dims {
			dims, scalar = append(dims, j.dims[j.from.Shape[d]]), append(scalar, of[d].Scalar && j.loadsAlong(of[d]))
		}
		j.sizes(a.Dim, dims, e.Multiple)
		many := make([]*ir.Axis, len(dims))
		for n, d := range dims {
			name := first
			if n > 0 || first == "" {
				name = a.Name + "." + of[e.Dims[n-len(dims)+len(e.Dims)]].Name
			}
			many[n] = &ir.Axis{Name: j.unique(name, j.hasAxis), Kind: ir.Grid, Dim: d, Scalar: scalar[n], At: a.At}
			if scalar[n] {
				many[n].Extent = 1
			}
		}
		limitTiles(many)
		j.separate(a, many)
	}
}

// separateRead makes several axes of those along which f reads what part stores in another shape, those of what part stores: a product's are then axes of the launch, and
// what it multiplies lies along them. The shape is the same behind that.
func (j *joining) separateRead(loads []*ir.Op, stored []*ir.Axis) {
	dims := j.several[j.into]
	if dims == nil {
		return
	}
	var groups []spec.Group
	at := 0 // among the dimensions as they become
	i, k := 0, 0
	for _, g := range j.groups {
		if len(dims[i]) == 0 {
			groups = append(groups, g)
			i, k, at = i+g.Read, k+g.Stored, at+g.Read
			continue
		}
		a := along(loads[0].Indices()[at])
		if !dividable(a) {
			unfit("an axis along which %s reads %s cannot be several", j.f.Name, j.into.Name)
		}
		var many []*ir.Axis
		var sizes []*ir.Dim
		for _, d := range dims[i] {
			dim := j.dims[j.from.Shape[d]]
			many = append(many, &ir.Axis{Name: j.unique(a.Name+"."+stored[d].Name, j.hasAxis), Kind: ir.Grid, Dim: dim, At: a.At})
			sizes = append(sizes, dim)
			groups = append(groups, spec.Group{Read: 1, Stored: 1})
		}
		j.sizes(a.Dim, sizes, 1)
		j.separate(a, many)
		i, k, at = i+1, k+g.Stored, at+g.Stored
	}
	j.groups = groups
}

// AlongOne gives the dimension that each tensor of a kernel has along the axis of the grid along which it reads one of them at a dimension; false where that
// cannot be made several axes.
func AlongOne(f *ir.Func, read *ir.Tensor, at int) (dims map[*ir.Tensor]int, ok bool) {
	loads, _ := accesses(f, read)
	if len(loads) == 0 {
		return nil, false
	}
	a := along(loads[0].Indices()[at])
	if !dividable(a) {
		return nil, false
	}
	all, why := alongAxis(f, a)
	if n, found := all[read]; why != "" || !found || n != at {
		return nil, false
	}
	for t, n := range all {
		if n < 0 {
			delete(all, t)
		}
	}
	return all, true
}

// dividable reports an axis that may be several: blocks have any positions of all of it.
func dividable(a *ir.Axis) bool {
	return a != nil && a.Kind == ir.Grid && !a.Scalar && len(a.Choices) == 0 && a.Ranges == nil && !a.Dim.Wide
}

// hasAxis reports the name of an axis of f.
func (j *joining) hasAxis(name string) bool {
	return slices.ContainsFunc(j.f.Axes, func(b *ir.Axis) bool { return b.Name == name })
}

// limitTiles lets blocks have so many whole runs of the last of some axes as divide all that there are, where their sizes are known.
func limitTiles(axes []*ir.Axis) {
	run := int64(1)
	for n, a := range slices.Backward(axes) {
		if !a.Dim.Known() || a.Dim.Value > mostColumns {
			return
		}
		for i := int64(1); !a.Scalar && i <= a.Dim.Value && i*run <= mostColumns; i++ {
			if a.Dim.Value%i == 0 && (n < len(axes)-1 || i == a.Dim.Value) {
				a.Choices = append(a.Choices, i)
			}
		}
		run *= a.Dim.Value
	}
}

// mostColumns is how many columns of a product a block has at most.
const mostColumns = 256

// newDim declares a dimension of f of a size.
func (j *joining) newDim(name string, size int64) *ir.Dim {
	d := &ir.Dim{Value: size, Divisor: 1, Name: j.unique(name, func(s string) bool {
		return slices.ContainsFunc(j.f.Dims, func(d *ir.Dim) bool { return d.Name == s })
	})}
	j.f.Dims = append(j.f.Dims, d)
	return d
}

// sizes notes what is known of the sizes of dimensions that one becomes: of the only one that is not known where all together are, and
// what divides the last.
func (j *joining) sizes(whole *ir.Dim, dims []*ir.Dim, multiple int64) {
	if last := dims[len(dims)-1]; !last.Known() {
		last.Divisor = max(last.Divisor, multiple)
	}
	unknown := slices.DeleteFunc(slices.Clone(dims), (*ir.Dim).Known)
	if !whole.Known() || len(unknown) != 1 {
		return
	}
	rest := whole.Value
	for _, d := range dims {
		if d.Known() {
			rest /= max(d.Value, 1)
		}
	}
	unknown[0].Value = rest
}

// loadsAlong reports an axis of part along whose positions something is read beside what f stores.
func (j *joining) loadsAlong(a *ir.Axis) bool {
	for _, op := range j.part.Body.Ops {
		if op.Code == lang.OpLoad && op.Tensor != j.from && slices.ContainsFunc(op.Indices(), func(v *ir.Value) bool { return along(v) == a }) {
			return true
		}
	}
	return false
}

// alongAxis gives the dimension that each tensor of a kernel has along an axis of the grid, -1 where it has none; or why several axes cannot stand for that one.
func alongAxis(f *ir.Func, a *ir.Axis) (places map[*ir.Tensor]int, why string) {
	is := func(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpIndex && v.Def.Axis == a }
	places = map[*ir.Tensor]int{}
	f.Walk(func(op *ir.Op) bool {
		if op.Code != lang.OpIndex && (op.Axis == a || op.From == a) || slices.Contains(op.Over, a) {
			why = fmt.Sprintf("%s does with axis %s what cannot be done with several", f.Name, a.Name)
		}
		at := -1
		for i, v := range op.Args {
			if !is(v) {
				continue
			}
			if t := op.Tensor; t == nil || i >= len(t.Shape) || at >= 0 || op.Checked[i] || t.Shape[i] != a.Dim || t.Strides != nil || t.Scratch {
				why = fmt.Sprintf("%s computes with positions along %s", f.Name, a.Name)
			}
			at = i
		}
		if t := op.Tensor; t != nil {
			if old, seen := places[t]; seen && old != at {
				why = fmt.Sprintf("%s reads %s in two ways", f.Name, t.Name)
			}
			places[t] = at
		}
		return true
	})
	return places, why
}

// separate puts many axes in the place of one.
func (j *joining) separate(a *ir.Axis, many []*ir.Axis) {
	f := j.f
	places, why := alongAxis(f, a)
	if why != "" {
		unfit("%s", why)
	}
	tiles := slices.DeleteFunc(slices.Clone(many), func(b *ir.Axis) bool { return b.Scalar })
	axesOf := func(axes []*ir.Axis) []*ir.Axis {
		if n := slices.Index(axes, a); n >= 0 {
			return slices.Concat(axes[:n], tiles, axes[n+1:])
		}
		return axes
	}
	dims := make([]*ir.Dim, len(many))
	positions := make([]*ir.Value, len(many))
	j.Block = &ir.Block{}
	for n, b := range many {
		code := lang.OpIndex
		if b.Scalar {
			code = lang.OpStart
		}
		dims[n], positions[n] = b.Dim, j.Emit(&ir.Op{Code: code, Axis: b, At: a.At})[0]
	}
	begin := j.Block.Ops
	for t, n := range places {
		if n >= 0 {
			t.Shape = slices.Concat(t.Shape[:n:n], dims, t.Shape[n+1:])
		}
	}
	f.Axes = slices.Concat(f.Axes[:slices.Index(f.Axes, a)], many, f.Axes[slices.Index(f.Axes, a)+1:])
	var block func(b *ir.Block)
	block = func(b *ir.Block) {
		for _, v := range b.Params {
			v.Type.Axes = axesOf(v.Type.Axes)
		}
		b.Ops = slices.DeleteFunc(b.Ops, func(op *ir.Op) bool { return op.Code == lang.OpIndex && op.Axis == a })
		for _, op := range b.Ops {
			op.Axes = axesOf(op.Axes)
			if n, seen := places[op.Tensor]; op.Tensor != nil && seen && n >= 0 {
				op.Args = slices.Concat(op.Args[:n:n], positions, op.Args[n+1:])
				op.Checked = slices.Concat(op.Checked[:n:n], make([]bool, len(many)), op.Checked[n+1:])
			}
			for _, v := range op.Results {
				v.Type.Axes = axesOf(v.Type.Axes)
			}
			for _, inner := range op.Blocks {
				block(inner)
			}
		}
	}
	block(f.Body)
	f.Body.Ops = append(begin, f.Body.Ops...)
}
