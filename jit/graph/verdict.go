package graph

import (
	"fmt"
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
)

// This file remembers what was decided of two launches: the same two come once a layer.

// verdicts are what was decided so far.
type verdicts struct {
	// classes are those of specialisations, and alike the class of all with one code and the same sizes.
	classes map[*spec.Spec]*class
	alike   map[sized]*class
	known   map[pair]verdict
}

// sized is a specialisation with its sizes, of which its key has some rounded.
type sized struct {
	spec.Key
	sizes string
}

// class is what specialisations of one class have in common.
type class struct {
	// err is why there is no tile IR.
	err error
	// f is the tile IR of a kernel by itself, which nobody changes.
	f *ir.Func
	// elementwise: nothing is reduced and there are no loops. together: threads reduce together, and so wait for each other. heavy: it is too much to be
	// done twice. reduces: threads reduce something together that is no `dot`. multiplies: it adds up products that are more than what is loaded. random: it has
	// atomics, whose order is not defined.
	elementwise, together, heavy, reduces, multiplies, random bool
	// windows: it loads at sums of positions, as what pools an image does.
	windows bool
	// cut: it reduces so much to one number that it is cut in two launches.
	cut bool
	// exactness is what the rule of exactness finds, once it was asked for.
	exactness *build.Exactness
}

// pair is what is to be fused: the classes of both launches, and how.
type pair struct {
	into, other *class
	how         string
}

// verdict is why two launches stay two, or the class of the one that they become.
type verdict struct {
	err   error
	class *class
}

func newVerdicts() verdicts {
	return verdicts{classes: map[*spec.Spec]*class{}, alike: map[sized]*class{}, known: map[pair]verdict{}}
}

// classOf is the class of a specialisation.
func (r *rewriter) classOf(s *spec.Spec) *class {
	v := &r.verdicts
	if c := v.classes[s]; c != nil {
		return c
	}
	key := sized{Key: s.Key()}
	for _, d := range s.Kernel.Dims {
		key.sizes += fmt.Sprint(s.Dims[d], " ")
	}
	c := v.alike[key]
	if c == nil {
		c = r.newClass(s)
		v.alike[key] = c
	}
	v.classes[s] = c
	return c
}

func (r *rewriter) newClass(s *spec.Spec) *class {
	f, _, err := build.Kernel(s, r.target.Name)
	if err != nil {
		return &class{err: err}
	}
	c := &class{f: f, elementwise: true, cut: cutReduction(s, f, r.target)}
	f.Walk(func(op *ir.Op) bool {
		if len(op.Blocks) > 0 || len(op.Over) > 0 || op.Fn != nil {
			c.elementwise = false
		}
		c.together = c.together || reducedTogether(op)
		reduces, ordered := op.Code.Row().Group == lang.GroupReduce, op.Code == lang.OpSort || op.Code == lang.OpTopK
		c.multiplies = c.multiplies || reduces && multiplied(op.Args[0])
		c.heavy = c.heavy || len(op.Blocks) > 0 || op.Fn != nil || op.Code.Row().Group == lang.GroupContract || ordered
		c.reduces = c.reduces || reduces && reducedTogether(op) || ordered
		c.windows = c.windows || op.Code == lang.OpLoad && slices.ContainsFunc(op.Indices(), func(at *ir.Value) bool { return len(at.Type.Axes) > 1 })
		c.random = c.random || op.Code.IsAtomic()
		return true
	})
	return c
}

// multiplied reports what a product's formula adds up: nothing that it is computed from is loaded with all of its axes, so that more is computed than there is to be read.
func multiplied(v *ir.Value) bool {
	loaded, seen := false, map[*ir.Value]bool{}
	var visit func(w *ir.Value)
	visit = func(w *ir.Value) {
		if loaded || seen[w] || w.Def == nil || len(ir.Without(v.Type.Axes, w.Type.Axes)) > 0 {
			return
		}
		seen[w], loaded = true, w.Def.Code == lang.OpLoad
		for _, arg := range w.Def.Args {
			visit(arg)
		}
	}
	visit(v)
	return !loaded && len(v.Type.Axes) > 0
}

// readsOnce reports a launch that loads each element of a tensor once: in one place, in no loop, by the one block that has its position, and not as the factor of a
// product. What is computed in the place of that load is computed once.
func (r *rewriter) readsOnce(s *spec.Spec, place int) bool {
	f, _, err := build.Kernel(s, r.target.Name)
	if err != nil {
		return false
	}
	of, loads, once := tensorOf(f, s, place), 0, true
	walkLoops(f.Body, nil, func(op *ir.Op, loops []*ir.Axis) {
		if op.Tensor != of {
			return
		}
		loads++
		if _, product := factorOf(f, op); product {
			once = false
		}
		axes := op.AccessAxes()
		for _, a := range f.Grid() {
			once = once && slices.Contains(axes, a)
		}
		once = once && op.Code == lang.OpLoad && len(loops) == 0 && len(axes) == len(of.Shape) && len(axes) == len(f.Grid())
	})
	return loads == 1 && once
}

// judge says why a launch of several kernels cannot be, or does not pay; s is that of before with the fusion f more.
func (r *rewriter) judge(s, before *spec.Spec, f *spec.Fusion) error {
	into, other := r.classOf(before), r.classOf(f.Spec)
	switch {
	case into.err != nil:
		return into.err
	case other.err != nil:
		return other.err
	case into.cut || other.cut:
		return errCut
	case f.Role == spec.Sink && !other.elementwise:
		return errExchange
	case f.Role == spec.Source && other.heavy && f.Parts == nil && (!r.target.IsGPU() || other.reduces || f.Groups != nil):
		return errHeavy
	case f.Role == spec.Source && f.Groups != nil && other.windows && !other.elementwise && !other.multiplies && !into.elementwise && r.target.IsGPU():
		return errWindows
	}
	key := pair{into, other, fmt.Sprint(f.Role, f.Into, f.From, f.How())}
	v, ok := r.verdicts.known[key]
	if !ok {
		if f.Role == spec.Source && other.heavy && f.Parts == nil && !r.readsOnce(before, f.Into) {
			v.err = errHeavy
		} else {
			_, _, v.err = build.Kernel(s, r.target.Name)
		}
		if v.err == nil && f.Role == spec.Source {
			v.err = r.pays(before, f)
		}
		judged := other.heavy || other.multiplies || other.reduces && !into.heavy && !into.multiplies || other.windows && !other.elementwise
		if v.err == nil && f.Role == spec.Source && f.Parts == nil && r.target.IsGPU() && judged && r.slower(s, before, f.Spec) {
			v.err = errSlower
		}
		v.class = &class{elementwise: into.elementwise && other.elementwise, together: into.together || other.together, heavy: into.heavy || other.heavy, reduces: into.reduces || other.reduces, multiplies: into.multiplies || other.multiplies, windows: into.windows || other.windows}
		r.verdicts.known[key] = v
	}
	r.verdicts.classes[s] = v.class
	return v.err
}
