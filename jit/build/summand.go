package build

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has the language's rule for a product that feeds a sum: it is
// computed in the type of the sum. The rule is here and nowhere else, so that
// every backend, and every pass behind, sees the wide products.

// summand is what a sum, a mean, a product or their scans combine. Where it is a
// product, or a chain of products as in sum(x * a * y, over k), every factor is
// converted to the accumulator first: products of narrow floats are not rounded
// to the narrow type, and those of narrow integers do not wrap in it. A `let` or
// a function between the product and the sum changes nothing; a conversion that
// the program writes is a factor like any other value, and rounds as it says.
// Nor does a condition that picks products, as in sum(where(c, x * y, 0), over k).
func (b *builder) summand(v *ir.Value) *ir.Value {
	d := v.Type.DType
	if d.Accumulator() == d {
		return v
	}
	w := widener{b, d.Accumulator(), map[*ir.Value]*ir.Value{}}
	if op := v.Def; op != nil && op.Code == lang.OpWhere && isZero(op.Args[2]) {
		if x := w.product(op.Args[1]); x != op.Args[1] {
			return b.Op(lang.OpWhere, op.Args[0], x, b.Const(w.to, ir.Const{}))
		}
	}
	return w.product(v)
}

// widener computes products in another type than they were written in.
type widener struct {
	*builder
	to   lang.DType
	done map[*ir.Value]*ir.Value // a chain may have one value as a factor many times
}

// product is v in the wide type, where it is a product; otherwise it is v.
func (w *widener) product(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Code != lang.OpMul {
		return v
	}
	if w.done[v] == nil {
		x, y := v.Def.Args[0], v.Def.Args[1]
		w.done[v] = w.Op(lang.OpMul, w.Cast(w.product(x), w.to), w.Cast(w.product(y), w.to))
	}
	return w.done[v]
}
