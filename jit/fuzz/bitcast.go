package fuzz

import (
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// sameWidth is another type as wide as e; false where there is none.
func (g *generator) sameWidth(e elem) (elem, bool) {
	var as []elem
	for _, d := range lang.DTypes() {
		if d != lang.Bool && d != e.d && d.Bits() == e.d.Bits() {
			as = append(as, concrete(d))
		}
	}
	if e.d == lang.Bool || e.name != e.d.String() || len(as) == 0 {
		return elem{}, false
	}
	return pick(g.r, as...), true
}

// bitcast is exact where its operand is; which zero it is, an interval does not say.
func (m *machine) bitcast(op *ir.Op) *tile {
	x := m.value(op.Args[0])
	r := m.make(x.typed(op.Result().Type.DType))
	for i := range max(len(r.f), len(r.n)) {
		switch {
		case r.f != nil && x.n[i].ok:
			r.f[i] = point(eval.Bitcast(ir.Const{Int: x.n[i].v}, x.dtype, r.dtype).Float)
		case r.f != nil:
			r.f[i] = unknown
		case x.f[i] == notANum:
			r.n[i] = whole{eval.Wrap(int64(x.dtype.NaNBits()), r.dtype), true}
		case x.f[i].nan == never && x.f[i].lo == x.f[i].hi && x.f[i].lo != 0:
			r.n[i] = whole{eval.Bitcast(ir.Const{Float: x.f[i].lo}, x.dtype, r.dtype).Int, true}
		}
	}
	return r
}
