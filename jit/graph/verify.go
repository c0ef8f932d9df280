package graph

import (
	"fmt"
	"slices"

	"tilec/jit/tensor"
	"tilec/lang"
)

// verify checks every rule of a bound graph: each launch has the operands that its kernels declare, of their types and shapes,
// where the specialisation says that they lie and inside the memory that they are of; what a launch reads of a temporary an
// earlier one has stored; and no launch reads what it stores.
func (b *Bound) verify() error {
	stored := make([]bool, len(b.Temps))
	for i := range b.Calls {
		if err := b.verifyCall(&b.Calls[i], stored); err != nil {
			return fmt.Errorf("launch %d, %s: %w", i, b.Calls[i].Spec.Name(), err)
		}
	}
	for i := range b.Outputs {
		if err := b.verifyView(&b.Outputs[i]); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
		if s := b.Outputs[i].Slot; s.Temp && !stored[s.Index] {
			return fmt.Errorf("result %d: %s is not stored", i, b.view(&b.Outputs[i]))
		}
	}
	return nil
}

// verifyCall checks a launch; stored are the temporaries that launches have stored so far.
func (b *Bound) verifyCall(c *Call, stored []bool) error {
	operands := c.Spec.Operands()
	if len(operands) != len(c.Tensors) {
		return fmt.Errorf("%d operands, and tensors for %d", len(operands), len(c.Tensors))
	}
	scalars := 0
	for i, o := range operands {
		if !o.IsTensor {
			scalars++
			continue
		}
		v := &c.Tensors[i]
		if err := b.verifyView(v); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		if d := o.Held(); d != v.DType {
			return fmt.Errorf("%s is of %s, and %s is given", o.Name, d, b.view(v))
		}
		elements := int64(1)
		for k, size := range o.Shape {
			if n, err := size.Eval(o.Of.Value); o.Flat && err == nil {
				elements *= n
				continue
			}
			if n, err := size.Eval(o.Of.Value); err != nil || k >= len(v.Shape) || n != v.Shape[k] || len(o.Shape) != len(v.Shape) {
				return fmt.Errorf("%s has the shape %s, and %s is given", o.Name, formatSizes(o.Shape), b.view(v))
			}
		}
		if o.Flat && (elements != tensor.Elements(v.Shape) || !v.Contiguous()) {
			return fmt.Errorf("%s has %d elements in order, and %s is given", o.Name, elements, b.view(v))
		}
		if l := b.layout(v); o.Layout.Contiguous && !l.Contiguous || o.Layout.Inner == 1 && !l.Contiguous && l.Inner != 1 || l.Align%max(o.Layout.Align, 1) != 0 {
			return fmt.Errorf("%s is compiled for another place than that of %s", o.Name, b.view(v))
		}
		if o.Mode == lang.In && v.Slot.Temp && !stored[v.Slot.Index] {
			return fmt.Errorf("%s: %s is read before it is stored", o.Name, b.view(v))
		}
	}
	if scalars != len(c.Scalars) {
		return fmt.Errorf("%d scalars, and %d are given", scalars, len(c.Scalars))
	}
	for i, o := range operands {
		if !o.IsTensor || o.Mode != lang.Out {
			continue
		}
		for k, p := range operands {
			if p.IsTensor && p.Mode == lang.In && c.Tensors[k].Slot == c.Tensors[i].Slot {
				return fmt.Errorf("%s and %s are of one memory, and one is stored", o.Name, p.Name)
			}
		}
		if s := c.Tensors[i].Slot; s.Temp {
			stored[s.Index] = true
		}
	}
	for _, i := range c.Fills {
		if i < 0 || i >= len(operands) || !operands[i].IsTensor || operands[i].Mode != lang.Out {
			return fmt.Errorf("operand %d is filled, and is no output", i)
		}
	}
	return nil
}

// verifyView checks that a tensor lies within its memory.
func (b *Bound) verifyView(v *View) error {
	counts := []int{len(b.Inputs), len(b.Temps), len(b.Made)}
	kind := 0
	if v.Slot.Temp {
		kind = 1
	} else if v.Slot.Made {
		kind = 2
	}
	if v.Slot.Index < 0 || v.Slot.Index >= counts[kind] {
		return fmt.Errorf("there is no memory number %d", v.Slot.Index)
	}
	if len(v.Strides) != len(v.Shape) {
		return fmt.Errorf("%d sizes, and %d strides", len(v.Shape), len(v.Strides))
	}
	if tensor.Elements(v.Shape) == 0 {
		return nil
	}
	lo, hi := v.Offset, v.Offset
	for k, n := range v.Shape {
		if s := (n - 1) * v.Strides[k]; s < 0 {
			lo += s
		} else {
			hi += s
		}
	}
	var have int64
	switch kind {
	case 0:
		if in := &b.Inputs[v.Slot.Index]; slices.ContainsFunc(in.Strides, func(s int64) bool { return s < 0 }) {
			return nil // it may begin anywhere within its memory
		}
		have = b.Inputs[v.Slot.Index].End
	case 1:
		have = b.Temps[v.Slot.Index].Size
	case 2:
		have = b.Made[v.Slot.Index].Bytes()
	}
	if lo < 0 || v.DType.Bytes(hi+1) > have {
		return fmt.Errorf("%s leaves its memory of %d bytes", b.view(v), have)
	}
	return nil
}
