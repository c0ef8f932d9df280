package graph

import (
	"maps"
	"slices"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
)

var narrow = Pass{
	Name: "narrow",
	Doc:  "computes of a tensor only the positions that are read of it, where a kernel computes each from its own",
	run:  (*rewriter).narrowAll,
	Source: `import "std/nn"

graph g(x: f32[N, 8], g: f32[8], b: f32[8], w: f32[8, 4]) -> y: f32[2, 4] {
    let a = view(layernorm(x, g, b), [2, N / 2, 8])
    y = linear(a[.., N / 2 - 1], w)
}
`,
	Before: `graph g, 2 launches
  %0:f32[100, 8] = layernorm(x x:f32[100, 8], g g:f32[8], b b:f32[8], eps 1e-05)
  %1:f32[2, 4] = linear(x %0:f32[2, 8] from 392 strides [400, 1], w w:f32[8, 4])
  result %1:f32[2, 4]
`,
	After: `graph g, 2 launches
  %2:f32[2, 8] = layernorm(x x:f32[2, 8] from 392 strides [400, 1], g g:f32[8], b b:f32[8], eps 1e-05)
  %1:f32[2, 4] = linear(x %2:f32[2, 8], w w:f32[8, 4])
  result %1:f32[2, 4]
`,
}

// fewPositions is of how many positions none is left out: a product of so many rows takes as long as one of a single row, since
// its other factor has to come from memory, and so do smaller launches.
const fewPositions = 16

// narrowAll goes through the launches from the last to the first, so that what reads less lets what it reads be less.
func (r *rewriter) narrowAll() {
	if r.Deterministic { // how many positions are read tells how many there are
		return
	}
	for i := range slices.Backward(r.Calls) {
		r.narrow(i)
	}
}

// narrow makes a launch compute only what is read of its result.
func (r *rewriter) narrow(n int) {
	c := &r.Calls[n]
	if len(c.Spec.Fused) > 0 || len(c.Fills) > 0 || tiedToPlan(c.Spec) || r.says(c.Spec.Kernel) {
		return
	}
	out := -1
	single := true
	c.each(func(i int, v *View, mode lang.ParamMode) {
		if mode == lang.In {
			return
		}
		single = single && out < 0 && mode == lang.Out && v.Slot.Temp && len(r.writes[v.Slot]) == 1 && v.Offset == 0 && v.Contiguous()
		out = i
	})
	if out < 0 || !single {
		return
	}
	shape := c.Tensors[out].Shape
	if !slices.ContainsFunc(shape, func(n int64) bool { return n > fewPositions }) {
		return
	}
	runs, ok := r.readOf(&c.Tensors[out])
	less := func(k int) bool { return runs[k].count < shape[k] && shape[k] > fewPositions }
	if !ok {
		return
	}
	some := false
	for k := range runs {
		some = some || less(k)
	}
	if !some {
		return
	}
	of := r.classOf(c.Spec)
	if of.err != nil {
		return
	}
	one := *c
	s := *c.Spec
	s.Dims, one.Spec = maps.Clone(s.Dims), &s
	one.Tensors = slices.Clone(c.Tensors)
	narrowed := make([]bool, len(runs))
	for k, g := range runs {
		narrowed[k] = less(k) && narrowDim(&one, of.f, out, k, g)
	}
	if !slices.Contains(narrowed, true) {
		return
	}
	old := c.Tensors[out]
	w := r.place(old.DType, one.Tensors[out].Shape)
	one.Tensors[out] = *w
	s.Layouts = slices.Clone(s.Layouts)
	for i, p := range spec.Params(s.Kernel) {
		if p.IsTensor {
			s.Layouts[i] = r.laid(s.Layouts[i], &one.Tensors[i])
		}
	}
	if spec.CheckConditions(&s) != nil {
		return
	}
	if _, _, err := build.Kernel(&s, r.target.Name); err != nil {
		return
	}
	*c = one
	r.tell("narrow", "%s computes %s of %s", s.Name(), tensor.FormatShape(w.Shape), tensor.FormatShape(old.Shape))
	r.readNarrowed(n, &old, w, narrowed)
}

// narrowDim lets a launch walk only some positions along dimension k of what it stores, with the same positions of what it reads
// for them; false where it cannot.
func narrowDim(c *Call, f *ir.Func, out, k int, g run) bool {
	s := c.Spec
	params := spec.Params(s.Kernel)
	sym := params[out].Shape[k].Symbol()
	if sym == nil || sym.Kind != size.DimSymbol || !eachByItself(f, tensorOf(f, s, out), k) {
		return false
	}
	for i, p := range params {
		for d, n := range p.Shape {
			v := &c.Tensors[i]
			inner := d == len(p.Shape)-1
			switch {
			case !slices.Contains(n.Symbols(), sym):
			case n.Symbol() != sym, inner && (g.step > 1 || v.DType.Bytes(g.start*v.Strides[d])%tempAlign != 0):
				return false // rows that do not begin at aligned addresses take longer to read
			}
		}
	}
	for i, p := range params {
		v := &c.Tensors[i]
		for d, n := range p.Shape {
			if n.Symbol() == sym {
				v.Shape, v.Strides = slices.Clone(v.Shape), slices.Clone(v.Strides)
				v.Offset += g.start * v.Strides[d]
				v.Strides[d] *= g.step
				v.Shape[d] = g.count
			}
		}
	}
	s.Dims[sym] = g.count
	return true
}

// eachByItself reports a kernel that makes what it stores at each position of a dimension of what tensors have at that position,
// and does not depend on which position it is.
func eachByItself(f *ir.Func, out *ir.Tensor, k int) bool {
	dim := out.Shape[k]
	var axis *ir.Axis
	for _, a := range f.Axes {
		if a.Dim != dim {
			continue
		}
		if axis != nil || a.Kind != ir.Grid || a.Split > 1 {
			return false
		}
		axis = a
	}
	if axis == nil || f.HasDebug() || f.HasRanges() {
		return false
	}
	positions := map[*ir.Value]bool{}
	fits := true
	f.Walk(func(op *ir.Op) bool {
		switch {
		case op.Axis == axis && (op.Code == lang.OpIndex || op.Code == lang.OpStart && axis.Scalar):
			positions[op.Result()] = true
			return true
		case op.Axis == axis, op.From == axis, op.Dim == dim, op.Code.IsAtomic():
			fits = false
		}
		for i, v := range op.Args {
			access := (op.Code == lang.OpLoad || op.Code == lang.OpStore) && i < len(op.Tensor.Shape)
			along := access && op.Tensor.Shape[i] == dim
			if along != positions[v] || along && op.Checked[i] {
				fits = false
			}
		}
		for _, b := range op.Blocks {
			if slices.ContainsFunc(b.Yield, func(v *ir.Value) bool { return positions[v] }) {
				fits = false
			}
		}
		return fits
	})
	return fits
}

// place makes a temporary of a shape.
func (r *rewriter) place(d lang.DType, shape []int64) *View {
	r.Temps = append(r.Temps, Temp{Size: (d.Bytes(tensor.Elements(shape)) + r.opts.Guard + tempAlign - 1) / tempAlign * tempAlign})
	return &View{Slot: Slot{Temp: true, Index: len(r.Temps) - 1}, DType: d, Shape: shape, Strides: tensor.Contiguous(shape)}
}
