package run

import (
	"context"
	"fmt"
	"tilec/jit/backend"
	"tilec/jit/log"
	"tilec/jit/tensor"
)

// This file fills memory before a launch. An element of an output that nothing
// stores is 0: where the checker has no proof that the stores reach every element
// (typed.Param.Fill), and where elements share bytes, the output is filled with zeros first, in the order of the
// launches. No other memory is ever filled: what Alloc gives, and what a graph has
// used before, holds anything. Tests poison that, so that what relies on it shows.

// prepared is what makes the memory that launch number n writes ready for it, in order.
func (p *Program) prepared(n int) []backend.Task {
	var tasks []backend.Task
	s := &p.steps[n]
	if p.device.Poisons() {
		for i, t := range p.bound.Temps {
			if t.First == n {
				at := p.temp(i)
				tasks = append(tasks, backend.Task{Memory: at.memory, Offset: at.offset, Size: at.size, Undefined: true})
			}
		}
		if s.kept > 0 {
			tasks = append(tasks, backend.Task{Memory: p.arena.Scratch, Size: s.kept, Undefined: true})
		}
	}
	for _, i := range s.Fills {
		v := &s.Tensors[i]
		at := p.temp(v.Slot.Index)
		tasks = append(tasks, backend.Task{
			Memory: at.memory, Offset: at.offset + v.DType.Bytes(v.Offset), Size: v.DType.Bytes(tensor.Elements(v.Shape)),
		})
	}
	return tasks
}

// ready makes the memory that launch number n writes ready for it.
func (p *Program) ready(n int) error {
	s := &p.steps[n]
	for _, t := range p.prepared(n) {
		if err := t.Do(context.Background(), p.device); err != nil {
			return fmt.Errorf("%s: filling an output with zeros: %w", s.Spec.Kernel.Name, err)
		}
	}
	for _, i := range s.Fills {
		v := &s.Tensors[i]
		p.compiler.Logs.Line(log.Launch, "%s: fill %s with zeros, %d bytes", s.Spec.Name(), s.Spec.Params()[i].Name, v.DType.Bytes(tensor.Elements(v.Shape)))
	}
	return nil
}

// Fills names the outputs that a run fills before a launch, as "up.y", in order.
func (p *Program) Fills() []string {
	var names []string
	if p == nil {
		return nil
	}
	for _, s := range p.steps {
		for _, i := range s.Fills {
			o := s.Spec.Operands()[i]
			names = append(names, o.Of.Kernel.Name+"."+o.Name)
		}
	}
	return names
}
