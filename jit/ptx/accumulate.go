package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file adds up what a thread has of a sum of f32 or f64: one instruction an element, of a product too, for it is multiplied and
// added in one. Elements that do not exist are left out by the instruction's predicate, and not made 0 before.

// chained is how many elements are added one after the other, before what so many gave is added up in a tree: the error of a sum
// grows with it, and other sums of the thread cover the time of an addition.
const chained = 8

// accumulates reports a reduction whose terms are added up so.
func accumulates(op *ir.Op, d lang.DType) bool {
	return (op.Code == lang.OpSum || op.Code == lang.OpMean) && (d == lang.F32 || d == lang.F64)
}

// productIn is the multiplication whose results nothing but a sum over them uses.
func (k *kernel) productIn(sum *ir.Op) *ir.Op {
	v := sum.Args[0]
	if v.Def == nil || v.Def.Code != lang.OpMul || !accumulates(sum, v.Type.DType) || len(k.Uses[v]) != 1 || k.Yields(v) > 0 || k.Cheap(v) {
		return nil
	}
	return v.Def
}

// addedUp reports a multiplication that is computed where its results are added up.
func (k *kernel) addedUp(op *ir.Op) bool {
	if op.Code != lang.OpMul || len(k.Uses[op.Result()]) != 1 {
		return false
	}
	u := k.Uses[op.Result()][0].Op
	return slices.Contains([]lang.Op{lang.OpSum, lang.OpMean}, u.Code) && k.productIn(u) == op
}

// term is an element of a sum, or its two factors, and the predicate that it exists.
type term struct {
	factors []asm.Reg
	exists  asm.Reg
}

// accumulate adds up what a thread has for each element of a sum's result, of type d.
func (k *kernel) accumulate(op *ir.Op, d lang.DType, l layout.Layout) [][]asm.Reg {
	v := op.Args[0]
	factors := []*ir.Value{v}
	if m := k.productIn(op); m != nil {
		factors = m.Args
	}
	regs := make([][]asm.Reg, len(factors))
	for i, f := range factors {
		regs[i] = k.get(f, l.Slice(f.Type.Axes))
	}
	keep := ir.Without(v.Type.Axes, op.Over)
	sums := make([][]term, l.Slice(keep).Regs())
	for r := range l.Regs() {
		t := term{exists: k.mask(l, op.Over, r)}
		for i, f := range factors {
			t.factors = append(t.factors, regs[i][l.Project(r, f.Type.Axes)])
		}
		i := l.Project(r, keep)
		sums[i] = append(sums[i], t)
	}
	held, known := make([][]asm.Reg, len(sums)), map[string]asm.Reg{} // of windows that overlap, sums along the other axes are the same
	for i, terms := range sums {
		key := fmt.Sprint(terms)
		if !known[key].Valid() {
			known[key] = k.addUp(d, terms)
		}
		held[i] = []asm.Reg{known[key]}
	}
	return held
}

// addUp adds up terms: chains of them, and what these give as a balanced tree.
func (k *kernel) addUp(d lang.DType, terms []term) asm.Reg {
	var xs []asm.Reg
	for chain := range slices.Chunk(terms, chained) {
		xs = append(xs, k.chain(d, chain))
	}
	return k.sum(d, xs)
}

// chain adds up terms one after the other.
func (k *kernel) chain(d lang.DType, terms []term) asm.Reg {
	class, suffix := elem.ClassOf(d), ".f32"
	if d == lang.F64 {
		suffix = ".f64"
	}
	// Instructions with a predicate leave the sum as it is where that does not hold, so the sum needs a register of its own for them.
	var sum asm.Reg
	own := false
	add := func(exists asm.Reg, name string, args ...asm.Operand) {
		if !exists.Valid() {
			sum, own = k.a.Op(class, name+suffix, args...), true
			return
		}
		k.a.If(exists).Set(sum, name+suffix, args...)
	}
	for i, t := range terms {
		if t.exists.Valid() && !own {
			var before asm.Operand = elem.Zero(k.a, d)
			if i > 0 {
				before = sum
			}
			sum, own = k.a.Op(class, "mov"+suffix, before), true
		}
		begins := i == 0 && !t.exists.Valid()
		switch product := len(t.factors) == 2; {
		case begins && product:
			add(t.exists, "mul.rn", t.factors[0], t.factors[1])
		case begins:
			sum = t.factors[0]
		case product:
			add(t.exists, "fma.rn", t.factors[0], t.factors[1], sum)
		default:
			add(t.exists, "add.rn", sum, t.factors[0])
		}
	}
	return sum
}
