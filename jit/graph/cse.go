package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilec/lang"
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
	near := map[uint64][]int{}
	for i := range r.Calls {
		at := r.Calls[i].hash()
		if !slices.ContainsFunc(near[at], func(first int) bool { return r.sameAs(first, i) }) {
			near[at] = append(near[at], i)
		}
	}
}

// hash is a number that launches have in common that compute the same, and hardly others.
func (c *Call) hash() uint64 {
	h := uint64(14695981039346656037)
	mix := func(n uint64) { h = (h ^ n) * 1099511628211 }
	c.each(func(_ int, v *View, mode lang.ParamMode) {
		if mode == lang.In {
			mix(uint64(v.Slot.Index)<<2 | uint64(len(v.Shape)))
			mix(uint64(v.Offset))
		}
	})
	for i := range c.Scalars {
		s := &c.Scalars[i]
		mix(uint64(s.literal.Int) ^ math.Float64bits(s.literal.Float))
		mix(uint64(s.input)<<1 | uint64(len(s.args)))
	}
	for _, name := range []byte(c.Spec.Kernel.Name) {
		mix(uint64(name))
	}
	return h
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
	both := append(r.reads[to], r.reads[from]...)
	if n := len(r.reads[to]); n > 0 && n < len(both) && both[n-1] > both[n] {
		slices.Sort(both)
	}
	r.reads[to] = both
	r.results[to] = r.results[to] || r.results[from]
	delete(r.reads, from)
	delete(r.writes, from)
	delete(r.results, from)
}
