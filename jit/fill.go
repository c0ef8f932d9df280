package jit

import "fmt"

// This file fills memory before a launch. An element of an output that nothing
// stores is 0: where the checker has no proof that the stores reach every element
// (typed.Param.Fill), the output is filled with zeros first, in the order of the
// launches. No other memory is ever filled: what Alloc gives, and what a graph has
// used before, holds anything. Tests poison that, so that what relies on it shows.

// poisonByte is NaN in every float type and -1 in every integer type.
const poisonByte = 0xff

// poisoning is the switch that devices have for tests.
type poisoning struct{ on bool }

// Poison turns the poisoning of memory on.
func (d *CPU) Poison() {
	if d != nil {
		d.on = true
	}
}

// Poison turns the poisoning of memory on.
func (d *GPU) Poison() {
	if d != nil {
		d.on = true
	}
}

// Poison turns the poisoning of memory on.
func (d *Emulator) Poison() {
	if d != nil {
		d.on = true
	}
}

func (p *poisoning) poisons() bool { return p.on }

// ready makes the memory that launch number n writes ready for it.
func (p *Program) ready(n int) error {
	s, d := &p.steps[n], p.compiler.Device
	if d.poisons() {
		for _, t := range p.temps {
			if t.first == n {
				if err := d.poison(p.arena.temps, t.offset, t.size); err != nil {
					return err
				}
			}
		}
		if s.kept > 0 {
			if err := d.poison(p.arena.scratch, 0, s.kept); err != nil {
				return err
			}
		}
	}
	for _, i := range s.fills {
		v := &s.tensors[i]
		bytes := v.dtype.Bytes(Elements(v.shape))
		if err := d.Fill(p.arena.temps, p.temps[v.slot.index].offset+v.dtype.Bytes(v.offset), bytes, 0); err != nil {
			return fmt.Errorf("%s: filling an output with zeros: %w", s.spec.Kernel.Name, err)
		}
		p.compiler.Logs.Line(StageLaunch, "%s: fill %s with zeros, %d bytes", s.spec.Kernel.Name, params(s.spec.Kernel)[i].Name, bytes)
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
			names = append(names, k.Name+"."+params(k)[i].Name)
		}
	}
	return names
}

// Fills says which outputs a launch fills before this kernel, a line each; nil for none.
func (l *Lowered) Fills() []string {
	var lines []string
	if l == nil {
		return nil
	}
	for _, name := range l.fills {
		lines = append(lines, fmt.Sprintf("fills %s with zeros first: nothing proves that every element is stored", name))
	}
	return lines
}

// fills are the outputs that a launch of the kernel fills first. Of the parts of a formula, the first that stores an output does.
func (s *Spec) fills() []string {
	var names []string
	for _, p := range s.Kernel.Outputs {
		if p.Fill && !s.filled[p.Name] {
			names = append(names, p.Name)
		}
	}
	return names
}
