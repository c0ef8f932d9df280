package run

import (
	"fmt"
	"tilec/jit/log"
	"tilec/jit/spec"
	"tilec/jit/tensor"
)

// This file fills memory before a launch. An element of an output that nothing
// stores is 0: where the checker has no proof that the stores reach every element
// (typed.Param.Fill), and where elements share bytes, the output is filled with zeros first, in the order of the
// launches. No other memory is ever filled: what Alloc gives, and what a graph has
// used before, holds anything. Tests poison that, so that what relies on it shows.

// ready makes the memory that launch number n writes ready for it.
func (p *Program) ready(n int) error {
	s, d := &p.steps[n], p.compiler.Device
	if d.Poisons() {
		for _, t := range p.bound.Temps {
			if t.First == n {
				if err := d.Undefine(p.arena.Temps, t.Offset, t.Size); err != nil {
					return err
				}
			}
		}
		if s.kept > 0 {
			if err := d.Undefine(p.arena.Scratch, 0, s.kept); err != nil {
				return err
			}
		}
	}
	for _, i := range s.Fills {
		v := &s.Tensors[i]
		bytes := v.DType.Bytes(tensor.Elements(v.Shape))
		if err := d.Fill(p.arena.Temps, p.bound.Temps[v.Slot.Index].Offset+v.DType.Bytes(v.Offset), bytes, 0); err != nil {
			return fmt.Errorf("%s: filling an output with zeros: %w", s.Spec.Kernel.Name, err)
		}
		p.compiler.Logs.Line(log.Launch, "%s: fill %s with zeros, %d bytes", s.Spec.Kernel.Name, spec.Params(s.Spec.Kernel)[i].Name, bytes)
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
			k := s.Spec.Kernel
			names = append(names, k.Name+"."+spec.Params(k)[i].Name)
		}
	}
	return names
}
