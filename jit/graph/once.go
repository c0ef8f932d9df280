package graph

import (
	"slices"

	"tilec/jit/compile"
	"tilec/jit/tensor"
	"tilec/lang"
)

var once = Pass{
	Name: "once",
	Doc:  "computes when the graph is bound what depends on nothing that a run brings: on no argument",
	run:  (*rewriter).computeOnce,
	Source: `graph g(x: f32[N]) -> y: f32[N] {
    let table = cos(arange(f32, [N]) * 0.5)
    y = x * table
}
`,
	Before: `graph g, 2 launches
  %0:f32[100] = elementwise_2(x made0:f32[100])
  %1:f32[100] = elementwise_3(x_1 x:f32[100], table %0:f32[100])
  result %1:f32[100]
`,
	After: `graph g, 1 launch
  once %0:f32[100] = elementwise_2(x made0:f32[100])
  once made1:f32[100] is %0:f32[100]
  %1:f32[100] = elementwise_3(x_1 x:f32[100], table made1:f32[100])
  result %1:f32[100]
`,
}

// mostOnce is how many bytes are kept at most of what is computed once: it lies in memory of its own for as long as the program does.
const mostOnce = 64 << 20

// Once is what is computed when a graph is bound: a graph without arguments, and which tensors of Made its results are.
type Once struct {
	*Bound
	Into []int
}

// computeOnce moves launches that depend on nothing that a run brings to a graph of their own.
func (r *rewriter) computeOnce() {
	if !r.keeps {
		return
	}
	known, out := map[Slot]bool{}, map[int]bool{}
	var moved []int
	for i := range r.Calls {
		if !r.dependsOn(i, known) {
			continue
		}
		moved, out[i] = append(moved, i), true
		r.Calls[i].each(func(_ int, v *View, mode lang.ParamMode) { known[v.Slot] = true })
	}
	var results []View
	bytes := int64(0)
	for _, i := range moved {
		r.Calls[i].each(func(_ int, v *View, mode lang.ParamMode) {
			outside := slices.ContainsFunc(r.reads[v.Slot], func(k int) bool { return !out[k] })
			if mode == lang.Out && outside {
				results = append(results, *v)
				bytes += v.DType.Bytes(tensor.Elements(v.Shape))
			}
		})
	}
	if len(results) == 0 || bytes > mostOnce {
		return
	}
	o := &Once{Bound: &Bound{Name: r.Name, Made: slices.Clip(r.Made), borrows: true, Temps: slices.Clone(r.Temps), Outputs: results}}
	for _, v := range results {
		memory, err := r.env.Device.Alloc(max(1, v.DType.Bytes(tensor.Elements(v.Shape))))
		if err != nil {
			for _, n := range o.Into {
				r.env.Device.Free(r.Made[n].Memory)
			}
			r.Made = r.Made[:len(o.Made)]
			return // there is no room to keep it: each run computes it
		}
		o.Into = append(o.Into, len(r.Made))
		r.Made = append(r.Made, tensor.Tensor{DType: v.DType, Shape: v.Shape, Memory: memory})
	}
	for _, i := range moved {
		r.tell("once", "%s is computed when the graph is bound", r.Calls[i].Spec.Name())
		o.Calls = append(o.Calls, r.Calls[i])
		r.Calls[i] = Call{}
	}
	for n, v := range results {
		r.become(v.Slot, Slot{Made: true, Index: o.Into[n]})
	}
	r.Once = o
}

// dependsOn reports a launch that reads nothing but what is known when the graph is bound, and stores temporaries of its own.
func (r *rewriter) dependsOn(n int, known map[Slot]bool) bool {
	c := &r.Calls[n]
	if r.says(c.Spec.Kernel) || len(c.Fills) > 0 || slices.ContainsFunc(c.Scalars, func(s Scalar) bool { return !s.Known() }) {
		return false
	}
	fits := true
	c.each(func(_ int, v *View, mode lang.ParamMode) {
		switch mode {
		case lang.In:
			fits = fits && (v.Slot.Made || known[v.Slot])
		case lang.Out:
			fits = fits && v.Slot.Temp && len(r.writes[v.Slot]) == 1 && !r.results[v.Slot]
		default:
			fits = false
		}
	})
	return fits
}

// become lets all that read a temporary read another memory.
func (r *rewriter) become(from, to Slot) {
	for _, k := range r.reads[from] {
		c := &r.Calls[k]
		if c.Spec == nil {
			continue // it is computed once too
		}
		c.Tensors = slices.Clone(c.Tensors)
		for i := range c.Tensors {
			if c.Tensors[i].Slot == from {
				c.Tensors[i].Slot = to
			}
		}
	}
}

// finish makes the graph of what is computed once ready to run.
func (o *Once) finish(env *compile.Compiler, opts Options) error {
	opts.Dump = nil
	if err := o.rewrite(env, opts, false); err != nil {
		return err
	}
	o.depend(env.Device.Target().Name)
	return nil
}
