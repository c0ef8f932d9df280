package run

import (
	"context"
	"fmt"
	"slices"

	"tilec/jit/backend"
	"tilec/jit/graph"
	"tilec/jit/misuse"
	"tilec/jit/tensor"
	"tilec/lang"
)

// This file puts the results of a run into memory that the caller owns.

// location is where a temporary lies in a run; no memory for the program's own.
type location struct {
	memory *backend.Memory
	// offset and size are in bytes.
	offset, size int64
}

// temp is where temporary number i lies: memory, and the bytes from its beginning on.
func (p *Program) temp(i int) location {
	if i < len(p.placed) && p.placed[i].memory != nil {
		return p.placed[i]
	}
	return location{p.arena.Temps, p.bound.Temps[i].Offset, p.bound.Temps[i].Size}
}

// RunInto is RunContext with the results in memory of the caller: a tensor for each output, in order, contiguous, of its type and shape,
// that shares no element with an argument or another result. On a GPU it begins at a multiple of 16 bytes. What cannot be is an *ArgError.
// Results that lie among others, as a view of an argument does, are copied there by the host when all is done.
func (p *Program) RunInto(ctx context.Context, args []tensor.Value, into []*tensor.Tensor) error {
	if err := p.usable("Program.RunInto"); err != nil {
		return err
	}
	p.intoMu.Lock()
	defer p.intoMu.Unlock()
	if err := p.placeResults(args, into); err != nil {
		return err
	}
	defer func() {
		p.mu.Lock()
		p.placed = nil
		p.mu.Unlock()
	}()
	results, err := p.RunContext(ctx, args)
	if err != nil {
		return err
	}
	for i := range into {
		if results[i].Tensor.Memory == into[i].Memory {
			continue
		}
		data := make([]byte, into[i].Bytes())
		if err := tensor.ReadTensor(p.device, results[i].Tensor, data); err != nil {
			return err
		}
		if err := p.device.Write(into[i].Memory, into[i].DType.Bytes(into[i].Offset), data); err != nil {
			return err
		}
	}
	return nil
}

// placeResults checks the memory for results, and decides which temporaries lie there.
func (p *Program) placeResults(args []tensor.Value, into []*tensor.Tensor) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return misuse.New("Program.RunInto", p.bound.Name+" is closed", misuse.ErrClosed)
	}
	if len(into) != len(p.bound.Outputs) {
		return misuse.New("Program.RunInto", fmt.Sprintf("%s has %d outputs, and memory for %d is given", p.bound.Name, len(p.bound.Outputs), len(into)), misuse.ErrMismatch)
	}
	var tensors []*tensor.Tensor
	var scalars []lang.Literal
	for _, a := range args {
		tensors, scalars = a.Leaves(tensors, scalars)
	}
	ends := make([]int64, 0, len(tensors)+len(into))
	for _, t := range tensors {
		end, reason, kind := t.Misuse(p.device)
		if kind != nil {
			return p.bound.Refuse(&graph.Input{Name: "an argument"}, reason, kind)
		}
		ends = append(ends, end)
	}
	refuse := func(i int, reason string, kind error) error {
		return p.bound.Refuse(&graph.Input{Name: fmt.Sprintf("output %d", i)}, reason, kind)
	}
	for i, t := range into {
		v := &p.bound.Outputs[i]
		end, reason, kind := t.Misuse(p.device)
		switch {
		case kind != nil:
			return refuse(i, reason, kind)
		case t.DType != v.DType || !slices.Equal(t.Shape, v.Shape) || !slices.Equal(t.GivenStrides(), tensor.Contiguous(t.Shape)):
			return refuse(i, fmt.Sprintf("is %s%s without gaps, and memory for %s is given", v.DType, tensor.FormatShape(v.Shape), tensor.Describe(t)), misuse.ErrMismatch)
		case t.Divisor(0) < tensor.PowerDivisor(0):
			return refuse(i, fmt.Sprintf("lies at a multiple of %d bytes, required %d", t.Divisor(0), tensor.PowerDivisor(0)), misuse.ErrMismatch)
		}
		ends = append(ends, end)
	}
	all := append(tensors, into...)
	if p.lastInto.of(all) {
		p.placed = p.lastInto.placed
		return nil
	}
	lies := make([]tensor.Footprint, len(all))
	for i, t := range all {
		lies[i] = tensor.FootprintOf(t, ends[i])
		if i < len(tensors) {
			continue
		}
		for _, other := range lies[:i] {
			if lies[i].Overlaps(other) {
				return refuse(i-len(tensors), "shares elements with an argument or another output: give memory of its own", misuse.ErrOverlap)
			}
		}
	}
	placed := make([]location, len(p.bound.Temps))
	for i, t := range into {
		if p.ownResult(i) {
			placed[p.bound.Outputs[i].Slot.Index] = location{t.Memory, t.DType.Bytes(t.Offset), t.Bytes()}
		}
	}
	p.lastInto = placement{placed: placed}
	for _, t := range all {
		p.lastInto.at = append(p.lastInto.at, location{t.Memory, t.Offset, 0})
	}
	p.placed = placed
	return nil
}

// placement is what RunInto found of arguments and results that lie apart: a run with all of them in the same places need not look again, since
// their shapes are those that the program is bound to.
type placement struct {
	// at is where they begin, arguments first; placed is nil before the first run.
	at, placed []location
}

// of reports that tensors lie as the placement's did.
func (l *placement) of(tensors []*tensor.Tensor) bool {
	return l.placed != nil && slices.EqualFunc(l.at, tensors, func(at location, t *tensor.Tensor) bool {
		return at == location{t.Memory, t.Offset, 0}
	})
}

// ownResult reports an output that is all of a temporary: no launch uses more of that, and no other output a part.
func (p *Program) ownResult(i int) bool {
	v := &p.bound.Outputs[i]
	n := tensor.Elements(v.Shape)
	if !v.Slot.Temp || v.Offset != 0 || !v.Contiguous() || n == 0 {
		return false
	}
	for j := range p.bound.Outputs {
		if o := &p.bound.Outputs[j]; j != i && o.Slot == v.Slot {
			return false
		}
	}
	for _, s := range p.steps {
		for j := range s.Tensors {
			if o := &s.Tensors[j]; o.DType.IsValid() && o.Slot == v.Slot && o.DType.Bytes(behind(o)) > v.DType.Bytes(n) {
				return false
			}
		}
	}
	return true
}

// behind is the number of the element behind the last one of a view, in its memory.
func behind(v *graph.View) int64 {
	last := v.Offset
	for i, n := range v.Shape {
		if n == 0 {
			return v.Offset
		}
		last += (n - 1) * v.Strides[i]
	}
	return last + 1
}
