package run

import (
	"fmt"

	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file decides which tensors a program takes: those that lie in memory of its device, of which no element lies
// outside that memory, and of which those that are written share no element with others.

// accept checks the arguments of a run: they are as the program was bound to, but for where they lie.
func (p *Program) accept(tensors []*tensor.Tensor, scalars []lang.Literal) error {
	if len(tensors) != len(p.bound.Inputs) || len(scalars) != len(p.bound.ScalarTypes) {
		return misuse.New("Program.Run", fmt.Sprintf("%s is bound to %d tensors and %d scalars, and run with %d and %d", p.bound.Name, len(p.bound.Inputs), len(p.bound.ScalarTypes), len(tensors), len(scalars)), misuse.ErrMismatch)
	}
	for i, s := range scalars {
		if s.DType != p.bound.ScalarTypes[i] {
			return misuse.New("Program.Run", fmt.Sprintf("scalar %d of %s is %s, and %s is given", i, p.bound.Name, p.bound.ScalarTypes[i], s.DType), misuse.ErrMismatch)
		}
	}
	moved := false
	for i, t := range tensors {
		in := &p.bound.Inputs[i]
		if !in.Like(t) {
			return p.bound.Refuse(in, fmt.Sprintf("was bound to %s, and %s is given", tensor.Describe(&in.Tensor), tensor.Describe(t)), misuse.ErrMismatch)
		}
		if reason, kind := t.Place(p.device, in.End); kind != nil {
			return p.bound.Refuse(in, reason, kind)
		}
		if t.Memory.Promised() {
			return p.bound.Refuse(in, "has no memory yet, only a shape to bind to: give its memory with the run", misuse.ErrUnset)
		}
		if t.Memory == in.Memory && t.Offset == in.Offset {
			continue
		}
		if d := t.Divisor(0); d < in.Align {
			return p.bound.Refuse(in, fmt.Sprintf("was bound to a place at a multiple of %d bytes, and is given at one of %d: bind again", in.Align, d), misuse.ErrMismatch)
		}
		in.Memory, in.Offset = t.Memory, t.Offset
		moved = true
	}
	if !moved && p.accepted {
		return nil
	}
	err := p.apart()
	p.accepted = err == nil
	return err
}

// apart checks that what the program writes shares no element with another argument or with itself.
func (p *Program) apart() error {
	lies := make([]tensor.Footprint, len(p.bound.Inputs))
	for i := range p.bound.Inputs {
		in := &p.bound.Inputs[i]
		lies[i] = tensor.FootprintOf(&in.Tensor, in.End)
		if p.arena.Temps != nil && in.Memory.Shares(p.arena.Temps) {
			return p.bound.Refuse(in, "lies in the memory of the program's own results, which a run overwrites: copy it", misuse.ErrOverlap)
		}
		for j := range p.bound.Made {
			if in.Inout && in.Memory.Shares(p.bound.Made[j].Memory) {
				return p.bound.Refuse(in, "is changed, and lies in memory of the program that must stay as it is: copy it", misuse.ErrOverlap)
			}
		}
	}
	for i := range p.bound.Inputs {
		in := &p.bound.Inputs[i]
		if !in.Inout {
			continue
		}
		if lies[i].OverlapsItself() {
			return p.bound.Refuse(in, fmt.Sprintf("is changed, and several of its elements lie in one place: its shape is %s and its strides are %s", tensor.FormatShape(in.Shape), tensor.FormatShape(in.Strides)), misuse.ErrOverlap)
		}
		for j := range p.bound.Inputs {
			if other := &p.bound.Inputs[j]; (j < i || j > i && !other.Inout) && lies[i].Overlaps(lies[j]) {
				return p.bound.Refuse(in, fmt.Sprintf("is changed, and shares elements with %s: copy one of them", other.Name), misuse.ErrOverlap)
			}
		}
	}
	return nil
}
