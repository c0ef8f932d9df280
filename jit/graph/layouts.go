package graph

import (
	"slices"

	"tilec/jit/compile"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file lets launches store what later ones read laid out anew in the order in which those read it, so that no copy stands between them: layout assignment, as compilers of networks call
// it. Of a chain of convolutions of images with their channels first, the first image alone is laid out anew then. The copies are there already (relayout). One goes where all launches that
// share its tensor are predicted to take less time without it; those that store and read the tensor otherwise are among them, and so pooling between two convolutions may have
// what it reads in the other order too.

const (
	// mostMoved is how many tensors at most come to lie otherwise by one decision: what a copy reads, and what is computed of, launch by launch.
	mostMoved = 3
	// leastGain is which part of the launches' time must be saved: less is nothing that predictions tell.
	leastGain = 0.01
)

// lie is how a tensor lies where that is not as it is declared.
type lie struct {
	// order is that of the dimensions in memory; nil where it stays, and rows begin at whole lines.
	order []int
	// as is the type of the elements, where it is another.
	as lang.DType
	// view is the tensor as launches see it, in the order of declaration.
	view View
}

// seen is how a tensor lies that a launch sees so in the order of declaration, and maybe with several dimensions as one, or one as several; nil where it cannot see it.
func (l *lie) seen(v *View) *lie {
	if !v.Contiguous() || v.Offset != 0 || v.DType != l.view.DType {
		return nil
	}
	if slices.Equal(v.Shape, l.view.Shape) {
		return l
	}
	order, fits := regroup(l.view.Shape, l.order, v.Shape)
	if !fits {
		return nil
	}
	to := inOrder(*v, order)
	to.view.Slot = l.view.Slot
	return &to
}

// inOrder is a tensor without gaps whose dimensions lie in an order.
func inOrder(v View, order []int) lie {
	shape := make([]int64, len(order))
	for i, d := range order {
		shape[i] = v.Shape[d]
	}
	strides := tensor.Contiguous(shape)
	v.Strides = make([]int64, len(order))
	for i, d := range order {
		v.Strides[d] = strides[i]
	}
	return lie{order: order, view: v}
}

// regroup gives the order of the dimensions of a tensor that is seen in another shape, where each dimension is several neighbours of the first shape, or one of several that one of these is, and
// they lie behind each other in the order too.
func regroup(shape []int64, order []int, as []int64) (found []int, fits bool) {
	if order == nil || slices.Contains(shape, 0) || tensor.Elements(shape) != tensor.Elements(as) {
		return nil, false
	}
	type part struct{ of, as int } // positions of one dimension of both
	var parts []part
	i, k, n, m := -1, -1, int64(1), int64(1) // the dimensions that are gone through, and what is left of them
	for {
		for n == 1 && i < len(shape)-1 {
			i++
			n = shape[i]
		}
		for m == 1 && k < len(as)-1 {
			k++
			m = as[k]
		}
		if n == 1 && m == 1 {
			break
		}
		both := min(n, m)
		if n%both != 0 || m%both != 0 {
			return nil, false
		}
		parts, n, m = append(parts, part{i, k}), n/both, m/both
	}
	for d := range as {
		if as[d] == 1 { // anywhere
			found = append(found, d)
		}
	}
	last := -1
	for _, d := range order {
		for at, p := range parts {
			switch {
			case p.of != d:
				continue
			case slices.Contains(found, p.as):
				if last != at-1 || parts[last].as != p.as {
					return nil, false
				}
			case at > 0 && parts[at-1].as == p.as: // its first part lies elsewhere
				return nil, false
			default:
				found = append(found, p.as)
			}
			last = at
		}
	}
	return found, true
}

// moved is a temporary that is to lie otherwise.
type moved struct {
	slot Slot
	to   lie
}

// lay lets a launch have an operand where it lies now.
func (b *Bound) lay(c *Call, place int, param *typed.Param, path []int, to *lie) {
	c.Spec = withLayout(c.Spec, path, param, func(l *spec.Layout) {
		now := b.layout(&to.view)
		if to.order == nil {
			now.Rounded = l.Rounded
			*l = now
		}
		l.Order, l.Align, l.As = to.order, now.Align, to.as
	})
	c.Tensors, c.params, c.paramsOf = slices.Clone(c.Tensors), nil, nil
	c.Tensors[place] = to.view
}

// storeAsRead takes away the copies whose tensors other launches may store as the copies have them, and asks next what these launches share with others.
func (b *Bound) storeAsRead(env *compile.Compiler) {
	var asked []moved
	for _, c := range slices.Backward(b.Calls) {
		if c.copies != nil && !c.copies.as.IsValid() {
			asked = append(asked, moved{c.Tensors[0].Slot, *c.copies})
		}
	}
	for n := 0; n < len(asked); n++ {
		all, order := []moved{asked[n]}, asked[n].to.order
		for len(all) <= mostMoved {
			at, calls := b.with(all, env.Device.Target())
			if calls == nil {
				break
			}
			next := alike(calls, order)
			if b.gains(env, at, calls) {
				for i, k := range at {
					b.Calls[k] = calls[i]
				}
				b.Calls = slices.DeleteFunc(b.Calls, func(c Call) bool { return c.Spec == nil })
				asked = append(asked, next...)
				break
			}
			next = alike(calls[:1], order) // of the launch that stores the tensor
			if len(next) == 0 {
				break
			}
			all = append(all, next...)
		}
	}
}

// with gives the launches that store and read some temporaries, in their order, as they are where these lie otherwise, and their places; a copy that is not needed then has no
// specialisation. There are none where one of them cannot have a tensor so.
func (b *Bound) with(all []moved, t target.Machine) (at []int, calls []Call) {
	stored := make([]int, len(all))
	find := func(v *View) int { return slices.IndexFunc(all, func(m moved) bool { return m.slot == v.Slot }) }
	for k := range b.Calls {
		c := b.Calls[k]
		for i, o := range c.Spec.Operands() {
			if !o.IsTensor {
				continue
			}
			n := find(&b.Calls[k].Tensors[i])
			if n < 0 {
				continue
			}
			v := &b.Calls[k].Tensors[i]
			to := all[n].to.seen(v)
			if o.Mode == lang.Out {
				stored[n]++
			}
			if c.copies != nil && i == 0 && c.copies.view.Slot == all[n].to.view.Slot {
				c.Spec = nil
				break
			}
			l := o.Layout
			if to == nil || c.Spec.Cut != nil && !o.IsOutput() || o.Flat && len(v.Shape) == len(o.Shape) || slices.Contains(c.Fills, i) ||
				o.Mode == lang.InOut || !l.Contiguous || l.Order != nil || l.As.IsValid() || l.Grows != nil || l.Starts {
				return nil, nil
			}
			b.lay(&c, i, o.Param, o.Path, to)
		}
		if c.Spec != b.Calls[k].Spec {
			if c.Spec != nil && c.Spec.Cut != nil && !sameBetween(c.Spec, t) {
				return nil, nil
			}
			at, calls = append(at, k), append(calls, c)
		}
	}
	if slices.ContainsFunc(stored, func(n int) bool { return n != 1 }) || slices.ContainsFunc(b.Outputs, func(v View) bool { return find(&v) >= 0 }) {
		return nil, nil
	}
	return at, calls
}

// sameBetween reports the second half of a kernel that takes from the first what it has stored, wherever the tensors of the second lie: where a kernel is cut follows from how all of them do.
func sameBetween(s *spec.Spec, t target.Machine) bool {
	h, err := Cut(s.Whole(), t)
	if err != nil || h == nil || !s.Cut.Behind {
		return false
	}
	between := s.Kernel.Params[len(s.Kernel.Params)-1]
	return h.DType == between.DType.Of && slices.EqualFunc(h.Shape, between.Shape, func(n int64, d size.Size) bool {
		of, err := d.Eval(s.Value)
		return err == nil && of == n
	})
}

// alike are the temporaries that launches have as they are declared, and could have in an order.
func alike(calls []Call, order []int) (found []moved) {
	for i := range calls {
		if calls[i].Spec == nil || order == nil {
			continue
		}
		calls[i].each(func(_ int, v *View, _ lang.ParamMode) {
			if !v.Slot.Temp || len(v.Shape) != len(order) || !v.Contiguous() || slices.ContainsFunc(found, func(m moved) bool { return m.slot == v.Slot }) {
				return
			}
			found = append(found, moved{v.Slot, inOrder(*v, order)})
		})
	}
	return found
}

// gains reports launches that are predicted to take less time than those at their places.
func (b *Bound) gains(env *compile.Compiler, at []int, calls []Call) bool {
	t := env.Device.Target()
	before, now := 0.0, 0.0
	for i, k := range at {
		was, err := env.Predicted(b.Calls[k].Spec)
		if err != nil {
			return false
		}
		before += was.Seconds
		if calls[i].Spec == nil {
			before += t.LaunchInProgram() - t.Launch
			continue
		}
		is, err := env.Predicted(calls[i].Spec)
		if err != nil {
			return false
		}
		now += is.Seconds
	}
	return now < before*(1-leastGain)
}
