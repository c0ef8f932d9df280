package graph

import (
	"slices"

	"tilec/jit/build"
	"tilec/lang"
)

var round = Pass{
	Name: "round", keepsCalls: true,
	Doc: "notes which results of f32 are only read to be rounded to f16 or bf16, and so need no more digits than that type shows",
	run: (*rewriter).roundAll,
	Source: `kernel double(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * 2.0
}

graph g(x: f32[N]) -> y: bf16[N] {
    y = double(exp(x)) as bf16
}
`,
	Before: `graph g, 3 launches
  %0:f32[100] = elementwise_8(x x:f32[100])
  %1:f32[100] = double(x %0:f32[100])
  %2:bf16[100] = elementwise_8(x_1 %1:f32[100])
  result %2:bf16[100]
`,
	After: `graph g, 3 launches
  %0:f32[100] rounded to bf16 = elementwise_8(x x:f32[100])
  %1:f32[100] rounded to bf16 = double(x %0:f32[100])
  %2:bf16[100] = elementwise_8(x_1 %1:f32[100])
  result %2:bf16[100]
`,
}

// The rule of exactness (jit/build) is about values, and a value goes through several kernels. It is applied to launches as the source has them, but for those
// that nothing depends on, so that no pass behind changes a result.

// roundAll goes through the launches from the last to the first: to what a launch rounds what it reads depends on to what others round what it stores.
func (r *rewriter) roundAll() {
	live := r.living()
	for i := range slices.Backward(r.Calls) {
		r.round(i, live)
	}
}

// round notes of the results of a launch to which type those that read them round them.
func (r *rewriter) round(n int, live []bool) {
	c := &r.Calls[n]
	if len(c.Spec.Fused) > 0 {
		return
	}
	layouts, some := c.Spec.Layouts, false
	c.each(func(place int, v *View, mode lang.ParamMode) {
		if mode != lang.Out || v.DType != lang.F32 || !v.Slot.Temp || r.results[v.Slot] || len(r.writes[v.Slot]) != 1 {
			return
		}
		if d := r.roundedTo(v.Slot, live); d.IsValid() {
			layouts, some = slices.Clone(layouts), true
			layouts[place].Rounded = d
		}
	})
	if some {
		s := *c.Spec
		s.Layouts = layouts
		c.Spec, r.changed = &s, true
	}
}

// roundedTo is the type to which all live launches that read a tensor round it; Invalid where one does anything else with it, or there are none.
func (r *rewriter) roundedTo(s Slot, live []bool) lang.DType {
	to, read := lang.BF16, false
	for _, n := range r.reads[s] {
		if !live[n] {
			continue
		}
		read = true
		c := &r.Calls[n]
		of := r.classOf(c.Spec)
		if of.err != nil {
			return lang.Invalid
		}
		if of.exactness == nil {
			of.exactness = build.ExactnessOf(of.f, c.Spec.Operands())
		}
		c.each(func(place int, v *View, mode lang.ParamMode) {
			if v.Slot != s || !to.IsValid() {
				return
			}
			d := lang.Invalid
			if mode == lang.In && v.DType == lang.F32 {
				d = of.exactness.Rounded(tensorOf(of.f, c.Spec, place))
			}
			if d != lang.BF16 {
				to = d
			}
		})
	}
	if !read {
		return lang.Invalid
	}
	return to
}
