package ir

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file is `join`. Blocks that share an axis (Axis.Split) each run a part of
// the steps of a loop over it, whole steps and in the order of the blocks; the
// last parts may have none. Behind the loop, a join makes of what each block
// carried out of it what one block would have carried out of all steps:
//
//	%7, %8 = join %5, %6 of j from %2 to %3 by (%9, %10, %11, %12) : (i32{i}, f32{i}) {
//	  ...
//	  yield %13, %14
//	}
//
// The arguments are n tiles over the same axes, the loop's two bounds, and, after
// the word `using`, scalars that the function takes from outside. The function is
// like that of a reduce: it has the n values of the earlier part, the n of the
// later one, and those from outside. Parts without steps are left out of it. So a
// loop of this kind may start from anything that its function leaves alone; only
// what the first block starts from counts when there are no steps at all.
// Every block gets the same, and a program in which nobody shares has no join.
//
// An exclusive join gives each block what those before it hold together (behind
// it, when reversed), from which a scan goes on, and whether there are any; what
// it gives where there are none is not to be used:
//
//	%7, %8, %9 = join %5, %6 of j from %2 to %3 exclusive by (...) : (i32{i}, f32{i}, bool) { ... }

// Joined are the tiles of a join.
func (op *Op) Joined() []*Value { return op.Args[:len(op.Fn.Yield)] }

// Bounds are the scalars between which the positions of a join's axis lie.
func (op *Op) Bounds() (lo, hi *Value) {
	n := len(op.Fn.Yield)
	return op.Args[n], op.Args[n+1]
}

// Using are the scalars that the function of a reduce, a scan or a join takes from outside, or the tiles that a contraction's does.
func (op *Op) Using() []*Value {
	switch row := op.Code.Row(); {
	case op.Code == lang.OpJoin:
		return op.Args[len(op.Fn.Yield)+2:]
	case row.Group == lang.GroupContract:
		return op.Args[len(row.Operands):]
	}
	return op.Captured()
}

func inferJoin(op *Op, types []Type) ([]Type, error) {
	if op.Fn == nil || len(op.Fn.Yield) == 0 {
		return nil, fmt.Errorf("has no function")
	}
	n := len(op.Fn.Yield)
	using := len(types) - n - 2
	if using < 0 || len(op.Fn.Params) != 2*n+using {
		return nil, fmt.Errorf("has %d arguments, its function %d parameters and %d results", len(types), len(op.Fn.Params), n)
	}
	if op.Axis == nil || op.Axis.Kind != Loop || op.Axis.Split < 2 {
		return nil, fmt.Errorf("is of no axis that is split")
	}
	for i, t := range types[:n] {
		if !t.With(types[0].DType).Same(types[0]) {
			return nil, fmt.Errorf("tile %d is %s, the first %s", i, t, types[0])
		}
		for _, x := range []*Value{op.Fn.Params[i], op.Fn.Params[n+i], op.Fn.Yield[i]} {
			if !x.Type.Same(Scalar(t.DType)) {
				return nil, fmt.Errorf("tile %d is %s, in its function %s", i, t, x.Type)
			}
		}
	}
	for i, t := range types[n:] {
		if want := Scalar(op.Axis.Counts()); i < 2 && !t.Same(want) {
			return nil, fmt.Errorf("bound %d is %s", i, t)
		}
		if i >= 2 && (!t.IsScalar() || !op.Fn.Params[2*n+i-2].Type.Same(t)) {
			return nil, fmt.Errorf("parameter %d is %s, its argument %s", 2*n+i-2, op.Fn.Params[2*n+i-2].Type, t)
		}
	}
	if op.Exclusive {
		return append(slices.Clone(types[:n]), Scalar(lang.Bool)), nil
	}
	return types[:n], nil
}

var joinConvention = convention{
	func(b *strings.Builder, op *Op) {
		if op.Fn == nil || op.Axis == nil || len(op.Args) < len(op.Fn.Yield)+2 {
			b.WriteString(" " + uses(op.Args))
			return // malformed: the verifier prints what it refuses
		}
		lo, hi := op.Bounds()
		fmt.Fprintf(b, " %s of %s from %s to %s", uses(op.Joined()), quoteBut(op.Axis.Name, "from"), use(lo), use(hi))
		if c := op.Using(); len(c) > 0 {
			b.WriteString(" using " + uses(c))
		}
		if op.Exclusive {
			b.WriteString(" exclusive")
		}
	},
	func(p *parser, op *Op) {
		op.Args = p.uses()
		op.Fn = &Block{Yield: make([]*Value, len(op.Args))} // what it will have to give
		p.word("of")
		op.Axis = p.axisUse()
		p.word("from")
		op.Args = append(op.Args, p.use())
		p.word("to")
		op.Args = append(op.Args, p.use())
		if p.acceptWord("using") {
			op.Args = append(op.Args, p.uses()...)
		}
		op.Exclusive = p.acceptWord("exclusive")
	},
}
