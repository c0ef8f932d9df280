package jit

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file lets a caller look at the launches of a run, each with what it reads and what it leaves.

// Observer looks at the launches of a program. An error ends the run.
type Observer interface {
	// Before is called before a launch, and before its outputs are filled.
	Before(*Observation) error
	// After is called once the launch has been given to the device, whose Read waits for it.
	After(*Observation) error
}

// Observation is one launch of a run.
type Observation struct {
	// Number counts the launches of a run from 0 on; Of is how many there are.
	Number, Of int
	Spec       *Spec
	// Extents are those of the launch's plan, by the names of axes.
	Extents map[string]int64
	// Operands follow the kernel's parameters: inputs and inouts, then outputs.
	Operands []Operand
}

// Operand is what a launch is given for a parameter: a tensor or a scalar.
type Operand struct {
	Param  *typed.Param
	Tensor *Tensor
	Scalar *lang.Literal
	// Filled: the launch sets the output to 0 first. Fresh: no launch before has stored anything in it.
	Filled, Fresh bool
	// Shared: other launches of the formula store elements of the output too.
	Shared bool
}

// Observe calls an observer at every launch of the runs that follow; nil ends that.
func (p *Program) Observe(o Observer) {
	if p != nil {
		p.observer = o
	}
}

// watch is an observer during one run.
type watch struct {
	program *Program
	tensors []*Tensor
	scalars []lang.Literal
	// current is the launch that has begun; nil before the first.
	current *Observation
	// stores is, for each memory, of how many launches it is an output.
	stores map[slot]int
}

// begin ends the launch before, and begins launch number n; n behind the last begins none.
func (w *watch) begin(n int) error {
	p := w.program
	if p.observer == nil {
		return nil
	}
	if last := w.current; last != nil {
		w.current = nil
		if err := p.observer.After(last); err != nil {
			return err
		}
	}
	if n == len(p.steps) {
		return nil
	}
	if w.stores == nil {
		w.stores = p.countStores()
	}
	w.current = w.observation(n)
	return p.observer.Before(w.current)
}

func (w *watch) observation(n int) *Observation {
	p := w.program
	s := &p.steps[n]
	o := &Observation{Number: n, Of: len(p.steps), Spec: s.spec, Extents: map[string]int64{}}
	for _, a := range s.compiled.Func.Axes {
		o.Extents[a.Name] = a.Extent
	}
	scalar := 0
	for i, param := range params(s.spec.Kernel) {
		x := Operand{Param: param}
		if !param.IsTensor {
			v := s.scalars[scalar].value(w.scalars)
			x.Scalar = &v
			scalar++
			o.Operands = append(o.Operands, x)
			continue
		}
		v := &s.tensors[i]
		x.Tensor = p.tensor(v, w.tensors)
		x.Fresh = v.slot.temp && p.temps[v.slot.index].first == n
		x.Filled = slices.Contains(s.fills, i)
		x.Shared = param.Mode == lang.Out && w.stores[v.slot] > 1
		o.Operands = append(o.Operands, x)
	}
	return o
}

// countStores counts, for each memory, the launches of which it is an output.
func (p *Program) countStores() map[slot]int {
	n := map[slot]int{}
	for i := range p.steps {
		s := &p.steps[i]
		for j, param := range params(s.spec.Kernel) {
			if param.IsTensor && param.Mode == lang.Out {
				n[s.tensors[j].slot]++
			}
		}
	}
	return n
}

// tensor is a view with the memory that it has in a run on tensors.
func (p *Program) tensor(v *view, tensors []*Tensor) *Tensor {
	t := &Tensor{DType: v.dtype, Shape: v.shape, Offset: v.offset}
	if !v.contiguous() {
		t.Strides = v.strides
	}
	switch {
	case v.slot.temp:
		t.Memory = p.arena.temps
		t.Offset += v.dtype.Elements(p.temps[v.slot.index].offset)
	case v.slot.made:
		t.Memory = p.made[v.slot.index].Memory
	default:
		t.Memory = tensors[v.slot.index].Memory
		t.Offset += tensors[v.slot.index].Offset
	}
	return t
}
