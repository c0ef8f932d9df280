package graph

import (
	"maps"
	"slices"

	"tilec/jit/build"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file makes two launches of one where that is faster: see pass.Halves. It is done behind all passes of a graph, as relayout is.

const (
	// cutNever and cutAlways are what the setting `cut` asks for.
	cutNever, cutAlways = 1, 2
)

// cut makes two launches of those that gain by it.
func (b *Bound) cut(env *compile.Compiler, opts *Options) error {
	t := env.Device.Target()
	if !t.IsGPU() {
		return nil
	}
	changed := false
	var calls []Call
	known := map[spec.Key]bool{} // those that stay whole
	for _, c := range b.Calls {
		key := c.Spec.Key()
		if known[key] {
			calls = append(calls, c)
			continue
		}
		halves, err := b.halvesOf(c, env, opts.Guard)
		if err != nil {
			return err
		}
		if halves == nil {
			known[key], halves = true, []Call{c}
		} else {
			changed = true
		}
		calls = append(calls, halves...)
	}
	if !changed {
		return nil
	}
	b.Calls = calls
	b.live()
	if opts.Dump != nil {
		opts.Dump("cut", b.Listing())
	}
	return nil
}

// reduced reports a kernel that may reduce a product, or all that it reads.
func reduced(f *ir.Func) bool {
	sums := 0
	f.Walk(func(op *ir.Op) bool {
		if len(op.Over) > 0 {
			sums++
		}
		return true
	})
	return sums > 0
}

// cutReduction reports a kernel that is cut for the few numbers that it reduces all to, or for a long row that it scans; f is its tile IR.
func cutReduction(s *spec.Spec, f *ir.Func, t target.Machine) bool {
	if !t.IsGPU() || mayNotCut(s) {
		return false
	}
	f = ir.Clone(f)
	if pass.Run(f, pass.Options{}) != nil {
		return false
	}
	h := pass.Halve(f, t.SMs, nil)
	return h != nil && !h.OfProduct()
}

// cutAsked is what the setting `cut` asks for, 0 where nothing is said.
func cutAsked(s *spec.Spec) int64 {
	if n, ok := s.Pins["cut"]; ok {
		return n
	}
	return s.Kernel.Hints["cut"]
}

// mayNotCut reports a launch that stays whole whatever it does.
func mayNotCut(s *spec.Spec) bool {
	asked := cutAsked(s)
	_, shared := s.Pins["split"]
	return asked == cutNever || shared || s.Cut != nil || asked != cutAlways && (len(s.Pins) > 0 || s.Vary != nil || s.Debug || s.Deterministic)
}

// Halves are the two launches of a kernel that is cut, and the tensor between them.
type Halves struct {
	Front, Behind *spec.Spec
	// DType and Shape are those of the tensor between.
	DType lang.DType
	Shape []int64
	// Judged: it is cut where that is predicted to take less time. Rereads: the second launch reads again what the first has read.
	Judged, Rereads bool
}

// Cut finds how a launch is cut for a machine; nil where it stays one.
func Cut(s *spec.Spec, t target.Machine) (*Halves, error) {
	if !t.IsGPU() || mayNotCut(s) {
		return nil, nil
	}
	f, dims := builtOf(s, t, reduced)
	if f == nil || len(s.Fused) > 0 && len(dims.Views) > 0 { // whose places are those among the operands of the whole
		return nil, nil
	}
	h := pass.Halve(f, t.SMs, func(d *ir.Dim) int64 {
		if d.Known() {
			return d.Value
		}
		n, err := dims.Size(d, s)
		if err != nil {
			return 1
		}
		return s.Reckoned(n)
	})
	if h == nil {
		build.CollapseRows(f, dims)
		h = pass.HalveRows(f)
	}
	if h == nil {
		return nil, nil
	}
	made := &Halves{DType: h.Type(), Judged: h.OfProduct() && cutAsked(s) != cutAlways, Rereads: h.OfRows()}
	sizes := []size.Size{}
	for _, d := range h.Shape {
		n := d.Value
		if !d.Known() {
			if _, ranged := dims.Ranges[d.Name]; ranged { // a part of a dimension, which scalars may decide
				return nil, nil
			}
			var err error
			if n, err = dims.Size(d, s); err != nil {
				return nil, nil
			}
		}
		made.Shape, sizes = append(made.Shape, n), append(sizes, size.Const(n))
	}
	if slices.Contains(made.Shape, 0) {
		return nil, nil
	}
	k, inputs := s.Kernel, len(s.Kernel.Params)
	param := func(mode lang.ParamMode) *typed.Param {
		return &typed.Param{Name: pass.Between, Mode: mode, DType: typed.DType{Of: h.Type()}, IsTensor: true, Shape: sizes, At: k.Decl.Name.Span()}
	}
	layout := spec.Layout{Contiguous: true, Align: tensor.PowerDivisor(0)}
	half := func(behind bool) *spec.Spec {
		one, of := *k, *s
		of.Kernel, of.Cut = &one, &spec.Cut{Of: s, Behind: behind}
		of.Layouts = append(slices.Clone(s.Layouts[:inputs]), layout)
		of.Pins = maps.Clone(s.Pins) // extents are those of the whole kernel's axes
		maps.DeleteFunc(of.Pins, func(name string, _ int64) bool { return !slices.Contains(lang.PlanSettings(), name) })
		if !behind {
			one.Outputs = []*typed.Param{param(lang.Out)}
			return &of
		}
		one.Params = append(slices.Clone(k.Params), param(lang.In))
		of.Layouts = append(of.Layouts, s.Layouts[inputs:]...)
		return &of
	}
	made.Front, made.Behind = half(false), half(true)
	return made, nil
}

// halvesOf are the two launches that one becomes; nil where it stays one.
func (b *Bound) halvesOf(c Call, env *compile.Compiler, guard int64) ([]Call, error) {
	s := c.Spec
	h, err := Cut(s, env.Device.Target())
	if h == nil || err != nil || h.Judged && !pays(env, h.Instead(), s, h.Front, h.Behind) {
		return nil, err
	}
	bytes := (h.DType.Bytes(tensor.Elements(h.Shape)) + guard + tempAlign - 1) / tempAlign * tempAlign
	between := View{Slot: Slot{Temp: true, Index: len(b.Temps)}, DType: h.DType, Shape: h.Shape, Strides: tensor.Contiguous(h.Shape)}
	b.Temps = append(b.Temps, Temp{Size: bytes})
	var read, stored []View
	var fills []int // places among what is stored
	for i, o := range s.Operands() {
		if o.IsOutput() {
			if slices.Contains(c.Fills, i) {
				fills = append(fills, len(stored))
			}
			stored = append(stored, c.Tensors[i])
		} else {
			read = append(read, c.Tensors[i])
		}
	}
	read = append(read, between)
	front := Call{Spec: h.Front, Tensors: read, Scalars: c.Scalars, At: c.At}
	behind := Call{Spec: h.Behind, Tensors: slices.Concat(read, stored), Scalars: c.Scalars, At: c.At}
	for _, i := range fills {
		behind.Fills = append(behind.Fills, len(read)+i)
	}
	return []Call{front, behind}, nil
}

// Instead is what several launches do in place of one.
type Instead int

const (
	// Halved launches compute a half of it each.
	Halved Instead = iota
	// Rereading launches read again what the one may keep.
	Rereading
	// LaidAnew are copies of operands, and the launch that reads them.
	LaidAnew
)

// Instead is what the halves of a kernel do.
func (h *Halves) Instead() Instead {
	if h.Rereads {
		return Rereading
	}
	return Halved
}

// pays reports that several launches are predicted to take less time than the one that they stand for. Where one of them has no plan, the error
// is that of the whole, or there is none.
func pays(env *compile.Compiler, how Instead, whole *spec.Spec, parts ...*spec.Spec) bool {
	one, err := env.Predicted(whole)
	if err != nil {
		return false
	}
	time := 0.0
	for _, s := range parts {
		n, err := env.Predicted(s)
		if err != nil {
			return false
		}
		time += n.Seconds
	}
	return Pays(one, time, how)
}

// Pays reports that launches of so many seconds together are predicted to be faster than one.
func Pays(one *plan.Estimate, time float64, how Instead) bool {
	switch how {
	case Rereading:
		return time < one.AgainstReading()
	case LaidAnew:
		return time < one.AgainstCopies()
	}
	return time < one.Seconds
}
