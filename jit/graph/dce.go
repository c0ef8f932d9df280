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
	for i, live := range r.living() {
		if !live {
			r.tell("dce", "%s is not computed: nothing reads it", r.Calls[i].Spec.Name())
			r.Calls[i].Spec = nil
		}
	}
}

// living says which launches the graph's results, or what it says, depend on.
func (r *rewriter) living() []bool {
	live := make([]bool, len(r.Calls))
	for i := range slices.Backward(r.Calls) {
		c := &r.Calls[i]
		live[i] = r.says(c.Spec.Kernel)
		c.each(func(_ int, v *View, mode lang.ParamMode) {
			read := slices.ContainsFunc(r.reads[v.Slot], func(n int) bool { return n <= i || live[n] })
			live[i] = live[i] || mode != lang.In && (read || !v.Slot.Temp || r.results[v.Slot])
		})
	}
	return live
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
