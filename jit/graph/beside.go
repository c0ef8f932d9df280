package graph

import (
	"tilec/jit/spec"
	"tilec/lang"
)

var beside = Pass{
	Name: "beside",
	Doc:  "makes one launch of two of one kernel that follow each other, have one grid, and need nothing of each other",
	run:  (*rewriter).allBeside,
	Source: `kernel put(x: f32[N], inout to: f32[N])
    grid i in N by B
{
    to[i] = x[i]
}

graph g(x: f32[N], inout a: f32[N], inout b: f32[N]) {
    put(x, a)
    put(x, b)
}
`,
	Before: `graph g, 2 launches
  put(x x:f32[100], inout to a:f32[100])
  put(x x:f32[100], inout to b:f32[100])
`,
	After: `graph g, 1 launch
  put | put(put.x x:f32[100], inout put.to a:f32[100], put.x x:f32[100], inout put.to b:f32[100])
`,
}

// mostBeside is how many launches become one at most: each has its own tensors among the arguments.
const mostBeside = 4

func (r *rewriter) allBeside() {
	for i := range len(r.Calls) - 1 {
		switch done, err := r.besides(&r.Calls[i], &r.Calls[i+1]); {
		case err != nil:
			r.refuse(i, i+1, err)
		case done:
			r.Calls[i].Spec, r.changed = nil, true
		}
	}
}

// besides makes the second launch one of both, or says why it cannot where they are of one kernel.
func (r *rewriter) besides(a, b *Call) (bool, error) {
	s, t := a.Spec, b.Spec
	if s.Kernel != t.Kernel || len(t.Fused) > 0 || len(s.Fused) >= mostBeside-1 || tiedToPlan(s) || tiedToPlan(t) {
		return false, nil
	}
	for _, f := range s.Fused {
		if f.Role != spec.Beside {
			return false, nil
		}
	}
	for _, d := range s.Kernel.Dims {
		if s.Dims[d] != t.Dims[d] {
			return false, nil
		}
	}
	if touches(a, b) || touches(b, a) {
		return false, nil
	}
	one, err := r.joined(a, b, spec.Fusion{Role: spec.Beside, Spec: t})
	if err != nil {
		return false, err
	}
	for i := range r.refused { // what stays apart of either stays apart of both
		for _, of := range []**spec.Spec{&r.refused[i].first, &r.refused[i].second} {
			if *of == s || *of == t {
				*of = one.Spec
			}
		}
	}
	*b = one
	return true, nil
}

// touches reports that a launch writes memory that another reads or writes.
func touches(a, b *Call) bool {
	found := false
	a.each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.In {
			return
		}
		b.each(func(_ int, w *View, _ lang.ParamMode) { found = found || v.Slot == w.Slot })
	})
	return found
}
