package jit

import (
	"fmt"
	"tilec/jit/log"
	"tilec/jit/spec"
	"tilec/jit/tensor"
)

// This file fills memory before a launch. An element of an output that nothing
// stores is 0: where the checker has no proof that the stores reach every element
// (typed.Param.Fill), the output is filled with zeros first, in the order of the
// launches. No other memory is ever filled: what Alloc gives, and what a graph has
// used before, holds anything. Tests poison that, so that what relies on it shows.

// ready makes the memory that launch number n writes ready for it.
func (p *Program) ready(n int) error {
	s, d := &p.steps[n], p.compiler.Device
	if d.Poisons() {
		for _, t := range p.temps {
			if t.first == n {
				if err := d.Undefine(p.arena.temps, t.offset, t.size); err != nil {
					return err
				}
			}
		}
		if s.kept > 0 {
			if err := d.Undefine(p.arena.scratch, 0, s.kept); err != nil {
				return err
			}
		}
	}
	for _, i := range s.fills {
		v := &s.tensors[i]
		bytes := v.dtype.Bytes(tensor.Elements(v.shape))
		if err := d.Fill(p.arena.temps, p.temps[v.slot.index].offset+v.dtype.Bytes(v.offset), bytes, 0); err != nil {
			return fmt.Errorf("%s: filling an output with zeros: %w", s.spec.Kernel.Name, err)
		}
		p.compiler.Logs.Line(log.Launch, "%s: fill %s with zeros, %d bytes", s.spec.Kernel.Name, spec.Params(s.spec.Kernel)[i].Name, bytes)
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
		for _, i := range s.fills {
			k := s.spec.Kernel
			names = append(names, k.Name+"."+spec.Params(k)[i].Name)
		}
	}
	return names
}
