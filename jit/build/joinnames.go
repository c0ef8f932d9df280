package build

import (
	"fmt"
	"maps"
	"slices"

	"tilec/jit/ir"
)

// This file gives a kernel the dimensions, tensors and scalars of one that is fused into it, each under a name of its own.

// declare gives f the dimensions, tensors and scalars of part. Dimensions of the tensor that is no longer there are one.
func (j *joining) declare(same map[*ir.Dim]*ir.Dim) {
	for of, d := range same {
		if d.Wide != of.Wide {
			unfit("positions along %s are of two types", d.Name)
		}
		if !d.Known() && of.Known() {
			d.Value = of.Value
		}
		j.dims[of] = d
	}
	for _, d := range j.part.Dims {
		if j.dims[d] == nil {
			j.f.Dims = append(j.f.Dims, j.dim(d))
		}
	}
	for _, t := range j.part.Tensors {
		if j.known[t] != nil || j.same[t] != nil {
			continue
		}
		u := *t
		u.Name = j.unique(t.Name, func(name string) bool {
			return slices.ContainsFunc(j.f.Tensors, func(t *ir.Tensor) bool { return t.Name == name }) ||
				slices.ContainsFunc(j.part.Tensors, func(t *ir.Tensor) bool { return j.tensors[t] != nil && j.tensors[t].Name == name })
		})
		u.Shape, u.Strides = nil, nil
		for _, d := range t.Shape {
			u.Shape = append(u.Shape, j.dims[d])
		}
		for _, d := range t.Strides {
			if j.dims[d] == nil {
				j.dim(d)
			}
			u.Strides = append(u.Strides, j.dims[d])
		}
		j.tensors[t] = &u
	}
	maps.Copy(j.tensors, j.same)
	for _, s := range j.part.Scalars {
		v := j.f.NewValue(s.Type, nil)
		v.Name = s.Name
		j.values[s] = v
		j.f.Scalars = append(j.f.Scalars, v)
	}
}

// declareRest puts the tensors in order: those of the operands, then views, of which either kernel has so many.
func (j *joining) declareRest(views, partViews int) {
	own := slices.DeleteFunc(slices.Clone(j.f.Tensors), func(t *ir.Tensor) bool { return j.gone[t] })
	var added []*ir.Tensor
	for _, t := range j.part.Tensors {
		if u := j.tensors[t]; u != nil && j.same[t] == nil {
			added = append(added, u)
		}
	}
	cut, partCut := len(own)-views, len(added)-partViews
	j.f.Tensors = slices.Concat(own[:cut], added[:partCut], own[cut:], added[partCut:])
}

// dim is a dimension of f for one of part, under a name that no other has.
func (j *joining) dim(d *ir.Dim) *ir.Dim {
	e := *d
	e.Name = j.unique(d.Name, func(name string) bool {
		taken := func(o *ir.Dim) bool { return o.Name == name }
		for _, t := range j.f.Tensors {
			if slices.ContainsFunc(t.Strides, taken) {
				return true
			}
		}
		for _, o := range j.dims {
			if taken(o) {
				return true
			}
		}
		return slices.ContainsFunc(j.f.Dims, taken)
	})
	j.dims[d] = &e
	if !d.Known() {
		j.renamed[d.Name] = e.Name
	}
	return &e
}

// unique is a name of part that is not taken: its own, or with the kernel's name before it.
func (j *joining) unique(name string, taken func(string) bool) string {
	as := name
	for n := 1; taken(as); n++ {
		if as = j.name + "." + name; n > 1 {
			as = fmt.Sprintf("%s%d.%s", j.name, n, name)
		}
	}
	return as
}
