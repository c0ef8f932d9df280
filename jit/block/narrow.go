package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file finds operands of 8 bits that wgmma takes only, or takes better, in another form. Floats whose sums are to be those of f32 are multiplied as f16,
// which wgmma does not make of what it reads: one of the operands is to lie as f16 before the product, which threads widen the other for (see pass `mix`). Other operands
// of 8 bits, integers and the floats of a kernel that permits approximations, wgmma reads from shared memory where they lie along the depth; one that
// lies across it goes through registers, and is to be turned.

// Narrow finds such operands in a kernel after its passes, before there is a plan.
func Narrow(f *ir.Func, t target.Machine) []Relayout {
	if !t.Has(target.Wgmma) {
		return nil
	}
	var found []Relayout
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || !loadsBytes(op) {
			return true
		}
		if x := op.Args[0].Type.DType; x.IsFloat() && !F8(f, op, t) {
			found = append(found, widened(f, op)...)
		} else if r := turned(op); r != nil && !slices.ContainsFunc(found, func(o Relayout) bool { return o.Tensor == r.Tensor }) {
			found = append(found, *r)
		}
		return true
	})
	return found
}

// loadsBytes reports a product of what is loaded of elements of 8 bits.
func loadsBytes(op *ir.Op) bool {
	for _, v := range op.Args[:2] {
		if d := v.Type.DType; d.Bits() != 8 || d == lang.Bool || v.Def == nil || v.Def.Code != lang.OpLoad || !v.Def.Tensor.ReadOnly() || v.Def.Tensor.Scratch {
			return false
		}
	}
	return true
}

// widened are both operands of a product of floats as f16, where boxes can bring them then and nothing but products reads them: one of the two is enough.
func widened(f *ir.Func, op *ir.Op) (both []Relayout) {
	for _, v := range op.Args[:2] {
		wide := *aligned(v.Def.Tensor)
		wide.DType = lang.F16
		anew := *v.Def
		anew.Tensor = &wide
		if dims := AccessOf(&anew); Contiguous(dims) == nil {
			return nil
		} else if _, fits := boxUnits(&wide, dims, true); !fits || !onlyMultiplied(f, v.Def.Tensor) {
			return nil
		}
		if !slices.ContainsFunc(both, func(r Relayout) bool { return r.Tensor == v.Def.Tensor }) {
			both = append(both, Relayout{Tensor: v.Def.Tensor, As: lang.F16, Product: op, Either: true})
		}
	}
	return both
}

// Retypable are the tensors whose elements may have another type in a kernel as it was built, before any pass: nothing but casts and products takes them, those
// each with another's elements. Anything else mixes them with what has their type.
func Retypable(f *ir.Func) []*ir.Tensor {
	loaded := func(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpLoad }
	mixed := map[*ir.Tensor]bool{}
	f.Walk(func(op *ir.Op) bool {
		for i, v := range op.Args {
			taken := op.Code == lang.OpCast || op.Code.Row().Group == lang.GroupContract && i < 2
			if loaded(v) && !taken && !(op.Code == lang.OpMul && loaded(op.Args[1-i])) {
				mixed[v.Def.Tensor] = true
			}
		}
		return true
	})
	return slices.DeleteFunc(slices.Clone(f.Tensors), func(t *ir.Tensor) bool { return mixed[t] })
}

// onlyMultiplied reports a tensor of floats of 8 bits whose elements are read for products alone, each with others that are read so.
func onlyMultiplied(f *ir.Func, t *ir.Tensor) bool {
	of := func(v *ir.Value) bool { return v.Def != nil && v.Def.Code == lang.OpLoad && v.Def.Tensor == t }
	only := true
	f.Walk(func(op *ir.Op) bool {
		for i, v := range op.Args {
			only = only && (!of(v) || op.Code.Row().Group == lang.GroupContract && i < 2)
		}
		return only
	})
	return only
}

// turned is the operand of a product that lies across the depth, with the depth innermost; nil where there is none, or rows would not begin at
// multiples of RowUnit bytes.
func turned(op *ir.Op) *Relayout {
	if roles, ok := WgmmaRoles(op); !ok || !roles.Across || len(op.Over) != 1 {
		return nil
	} else {
		v := op.Args[1-roles.Columns]
		t := v.Def.Tensor
		at := alongAlone(v.Def, op.Over[0])
		if at < 0 || t.Strides != nil || !t.Shape[at].Known() || t.Shape[at].Value%RowUnit != 0 {
			return nil
		}
		return &Relayout{Tensor: t, Order: lastOf(len(t.Shape), at), Product: op}
	}
}

// lastOf is the order of n dimensions in which one comes last.
func lastOf(n, last int) (order []int) {
	for d := range n {
		if d != last {
			order = append(order, d)
		}
	}
	return append(order, last)
}
