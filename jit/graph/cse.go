package graph

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

var cse = Pass{
	Name: "cse",
	Doc:  "computes once what several launches compute of the same",
	run:  (*rewriter).shareEqual,
	Source: `kernel half(x: f32[N]) -> y: f32[N]
    grid i in N by B
{
    y[i] = x[i] * 0.5
}

kernel sums(x: f32[N], z: f32[N]) -> y: f32[N]
    grid i in N by B
{
    axis j in N
    y[i] = sum(x[j], over j) + z[i]
}

graph g(x: f32[N]) -> y: f32[N] {
    y = sums(half(half(x)), half(x))
}
`,
	Before: `graph g, 4 launches
  %0:f32[100] = half(x x:f32[100])
  %1:f32[100] = half(x %0:f32[100])
  %2:f32[100] = half(x x:f32[100])
  %3:f32[100] = sums(x %1:f32[100], z %2:f32[100])
  result %3:f32[100]
`,
	After: `graph g, 3 launches
  %0:f32[100] = half(x x:f32[100])
  %1:f32[100] = half(x %0:f32[100])
  %3:f32[100] = sums(x %1:f32[100], z %0:f32[100])
  result %3:f32[100]
`,
}

// shareEqual goes through the launches in order, so that those that read what was equal are equal then.
func (r *rewriter) shareEqual() {
	type about struct { // what costs little to compare
		kernel *typed.Kernel
		slot   Slot
		offset int64
	}
	near := map[about][]int{}
	for i := range r.Calls {
		c := &r.Calls[i]
		at := about{kernel: c.Spec.Kernel}
		if len(c.Tensors) > 0 {
			at.slot, at.offset = c.Tensors[0].Slot, c.Tensors[0].Offset
		}
		if !slices.ContainsFunc(near[at], func(first int) bool { return r.sameAs(first, i) }) {
			near[at] = append(near[at], i)
		}
	}
}

// sameAs makes one launch of two that compute the same.
func (r *rewriter) sameAs(first, n int) bool {
	a, ok := r.equalKey(first)
	b, too := r.equalKey(n)
	if !ok || !too || a != b || !r.unchanged(first, n) {
		return false
	}
	r.share(first, n)
	return true
}

// equal is what two launches have in common that compute the same.
type equal struct {
	*class
	operands string
}

// equalKey names what a launch computes; false for one that does more than to store temporaries of its own.
func (r *rewriter) equalKey(n int) (equal, bool) {
	c := &r.Calls[n]
	if r.says(c.Spec.Kernel) {
		return equal{}, false
	}
	var operands strings.Builder
	fits := true
	c.each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.In {
			fmt.Fprint(&operands, *v, " ")
			return
		}
		fits = fits && mode == lang.Out && v.Slot.Temp && len(r.writes[v.Slot]) == 1
	})
	for i := range c.Scalars {
		operands.WriteString(c.Scalars[i].String() + " ")
	}
	if !fits {
		return equal{}, false
	}
	of := r.classOf(c.Spec)
	return equal{of, operands.String()}, of.err == nil && !of.random
}

// unchanged reports that what launch number first read is the same when number n reads it.
func (r *rewriter) unchanged(first, n int) bool {
	same := true
	r.Calls[n].each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.In && slices.ContainsFunc(r.writes[v.Slot], func(k int) bool { return k >= first && k < n }) {
			same = false
		}
	})
	return same
}

// share lets all that read what launch number n stores read what number first stored.
func (r *rewriter) share(first, n int) {
	var stored []Slot
	r.Calls[first].each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.Out {
			stored = append(stored, v.Slot)
		}
	})
	r.Calls[n].each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.Out {
			r.rename(v.Slot, stored[0])
			stored = stored[1:]
		}
	})
	r.tell("cse", "%s is computed once in place of twice", r.Calls[n].Spec.Name())
	r.Calls[n].Spec = nil
}

// rename lets all that read one memory read another.
func (r *rewriter) rename(from, to Slot) {
	for _, k := range r.reads[from] {
		for i := range r.Calls[k].Tensors {
			if v := &r.Calls[k].Tensors[i]; v.Slot == from {
				v.Slot = to
			}
		}
	}
	for i := range r.Outputs {
		if r.Outputs[i].Slot == from {
			r.Outputs[i].Slot = to
		}
	}
	r.reads[to] = append(r.reads[to], r.reads[from]...)
	slices.Sort(r.reads[to])
	r.results[to] = r.results[to] || r.results[from]
	delete(r.reads, from)
	delete(r.writes, from)
	delete(r.results, from)
}
