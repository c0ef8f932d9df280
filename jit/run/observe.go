package run

import (
	"slices"

	"tilec/jit/graph"
	"tilec/jit/spec"
	"tilec/jit/tensor"
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
	Spec       *spec.Spec
	// Extents are those of the launch's plan, by the names of axes.
	Extents map[string]int64
	// Splits are over how many blocks of a cluster axes are divided, by name, where they are.
	Splits map[string]int64
	// Operands follow the kernel's parameters: inputs and inouts, then outputs.
	Operands []Operand
}

// Operand is what a launch is given for a parameter: a tensor or a scalar.
type Operand struct {
	Param  *typed.Param
	Tensor *tensor.Tensor
	Scalar *lang.Literal
	// Filled: the launch sets the output to 0 first. Fresh: no launch before has stored anything in it.
	Filled, Fresh bool
	// Shared: other launches of the formula store elements of the output too.
	Shared bool
}

// Observe calls an observer at every launch of the runs that follow; nil ends that. It sees a launch for each call of a kernel:
// runs that are observed make none of several.
func (p *Program) Observe(o Observer) {
	if p != nil {
		p.observer = o
	}
}

// observed is the program with a launch for each call, which runs in this one's place while an observer looks.
func (p *Program) observed() (*Program, error) {
	if p.apartly == nil {
		q, err := p.bindApart()
		if err != nil {
			return nil, err
		}
		p.apartly = q
	}
	p.apartly.observer = p.observer
	return p.apartly, nil
}

// watch is an observer during one run.
type watch struct {
	program *Program
	tensors []*tensor.Tensor
	scalars []lang.Literal
	// current is the launch that has begun; nil before the first.
	current *Observation
	// stores is, for each memory, of how many launches it is an output.
	stores map[graph.Slot]int
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
	o := &Observation{Number: n, Of: len(p.steps), Spec: s.Spec, Extents: map[string]int64{}, Splits: map[string]int64{}}
	for _, a := range s.compiled.Func.Axes {
		o.Extents[a.Name] = a.Extent
		if a.Split > 1 {
			o.Splits[a.Name] = a.Split
		}
	}
	scalar := 0
	for i, param := range spec.Params(s.Spec.Kernel) {
		x := Operand{Param: param}
		if !param.IsTensor {
			v := s.Scalars[scalar].Value(w.scalars)
			x.Scalar = &v
			scalar++
			o.Operands = append(o.Operands, x)
			continue
		}
		v := &s.Tensors[i]
		x.Tensor = p.tensor(v, w.tensors)
		x.Fresh = v.Slot.Temp && p.bound.Temps[v.Slot.Index].First == n
		x.Filled = slices.Contains(s.Fills, i)
		x.Shared = param.Mode == lang.Out && w.stores[v.Slot] > 1
		o.Operands = append(o.Operands, x)
	}
	return o
}

// countStores counts, for each memory, the launches of which it is an output.
func (p *Program) countStores() map[graph.Slot]int {
	n := map[graph.Slot]int{}
	for i := range p.steps {
		s := &p.steps[i]
		for j, param := range spec.Params(s.Spec.Kernel) {
			if param.IsTensor && param.Mode == lang.Out {
				n[s.Tensors[j].Slot]++
			}
		}
	}
	return n
}

// tensor is a view with the memory that it has in a run on tensors.
func (p *Program) tensor(v *graph.View, tensors []*tensor.Tensor) *tensor.Tensor {
	t := &tensor.Tensor{DType: v.DType, Shape: v.Shape, Offset: v.Offset}
	if !v.Contiguous() {
		t.Strides = v.Strides
	}
	switch {
	case v.Slot.Temp:
		at := p.temp(v.Slot.Index)
		t.Memory = at.memory
		t.Offset += v.DType.Elements(at.offset)
	case v.Slot.Made:
		t.Memory = p.bound.Made[v.Slot.Index].Memory
	default:
		t.Memory = tensors[v.Slot.Index].Memory
		t.Offset += tensors[v.Slot.Index].Offset
	}
	return t
}
