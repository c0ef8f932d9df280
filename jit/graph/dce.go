package graph

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

var dce = Pass{
	Name: "dce",
	Doc:  "drops launches whose results nothing reads, and which say nothing",
	run:  (*rewriter).dropUnread,
	Source: `kernel half(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * 0.5
}

graph g(x: f32[N]) -> y: f32[N] {
    let (a, b) = (half(x), half(half(x)))
    y = a
}
`,
	Before: `graph g, 3 launches
  %0:f32[100] = half(x x:f32[100])
  %1:f32[100] = half(x x:f32[100])
  %2:f32[100] = half(x %1:f32[100])
  result %0:f32[100]
`,
	After: `graph g, 1 launch
  %0:f32[100] = half(x x:f32[100])
  result %0:f32[100]
`,
}

func (r *rewriter) dropUnread() {
	for i := range slices.Backward(r.Calls) {
		c := &r.Calls[i]
		needed := false
		c.each(func(_ int, v *View, mode lang.ParamMode) {
			needed = needed || mode != lang.In && (!v.Slot.Temp || r.results[v.Slot] || len(r.reads[v.Slot]) > 0)
		})
		if needed || r.says(c.Spec.Kernel) {
			continue
		}
		c.each(func(_ int, v *View, _ lang.ParamMode) {
			if n := slices.Index(r.reads[v.Slot], i); n >= 0 {
				r.reads[v.Slot] = slices.Delete(r.reads[v.Slot], n, n+1)
			}
		})
		r.tell("dce", "%s is not computed: nothing reads it", c.Spec.Name())
		c.Spec = nil
	}
}

// says reports a kernel that prints or asserts.
func (r *rewriter) says(k *typed.Kernel) bool {
	s, ok := r.talks[k]
	if !ok {
		s = says(k)
		r.talks[k] = s
	}
	return s
}

func says(k *typed.Kernel) bool {
	_, prints := typed.Find(k, func(*typed.Print) bool { return true })
	_, asserts := typed.Find(k, func(*typed.Assert) bool { return true })
	return prints || asserts || len(k.Assumes) > 0
}
