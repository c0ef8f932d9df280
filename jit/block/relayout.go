package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds operands of products that should lie in memory in another order of their dimensions. A product reads rows along its depth, or along
// its rows where those are one axis. An operand of several axes, as images and the weights of a convolution are, has neither where its
// channels, which are the depth, do not lie innermost: neighbours in memory then are columns of an image, which the window moves by one element, so
// that no copy of whole lines fits.

// Relayout is a tensor that a launch is to lay out anew before the product: in the order of these of its dimensions, the last innermost.
type Relayout struct {
	Tensor *ir.Tensor
	Order  []int
	// Product is the contraction that gains by it.
	Product *ir.Op
}

// leastDepth is from how many positions on an axis is the depth of a product.
const leastDepth = 16

// Relayouts finds what should lie in another order in a kernel after its passes, before there is a plan.
func Relayouts(f *ir.Func) []Relayout {
	var found []Relayout
	f.Walk(func(op *ir.Op) bool {
		if op.Code.Row().Group != lang.GroupContract || len(op.Over) < 2 {
			return true
		}
		depth := depthOf(op)
		if depth == nil {
			return true
		}
		for _, v := range op.Args[:2] {
			t := v.Def.Tensor
			if slices.ContainsFunc(found, func(r Relayout) bool { return r.Tensor == t }) || Contiguous(AccessOf(v.Def)) == depth || !t.ReadOnly() || t.Strides != nil || t.Held().Packed() {
				continue
			}
			order := []int{}
			for d := range t.Shape {
				order = append(order, d)
			}
			at := alongAlone(v.Def, depth)
			order = append(slices.Delete(order, at, at+1), at)
			found = append(found, Relayout{Tensor: t, Order: order, Product: op})
		}
		return true
	})
	return found
}

// depthOf is the longest of the axes of a product over several that each operand, both of them loads, has a dimension of its own for, in which 16 bytes
// are neighbours wherever they begin; nil where there is none.
func depthOf(op *ir.Op) *ir.Axis {
	var longest *ir.Axis
	for _, a := range op.Over {
		fits := a.Kind == ir.Whole && a.Len >= leastDepth && (longest == nil || a.Len > longest.Len)
		for _, v := range op.Args[:2] {
			if !fits {
				break
			}
			fits = v.Def != nil && v.Def.Tensor != nil && len(v.Def.Tensor.Shape) > 2
			if fits {
				d := alongAlone(v.Def, a)
				fits = d >= 0 && v.Def.Tensor.Shape[d].Known() && v.Def.Tensor.Shape[d].Value*int64(v.Def.Tensor.DType.Size())%16 == 0
			}
		}
		if fits {
			longest = a
		}
	}
	return longest
}

// alongAlone is the dimension of an access that follows an axis, and nothing else, where no other dimension does; -1 where there is none.
func alongAlone(op *ir.Op, a *ir.Axis) int {
	at := -1
	for i, d := range AccessOf(op) {
		switch f := d.Affine; {
		case d.Gather && d.Index.Type.Has(a), f.coef(a) != 0 && at >= 0:
			return -1
		case f.coef(a) == 0:
		case f.coef(a) == 1 && len(f.Terms) == 1 && len(f.Scalars) == 0 && f.Offset == 0 && !d.Checked:
			at = i
		default:
			return -1
		}
	}
	return at
}
