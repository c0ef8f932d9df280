package graph

import (
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// Scalar is a scalar of a graph: a number known when the graph is bound, a
// scalar argument, or an operation on scalars.
type Scalar struct {
	DType   lang.DType
	literal lang.Literal
	// input is 1 plus the number of the scalar argument; 0 for none.
	input int
	op    lang.Op
	args  []*Scalar
}

func knownScalar(l lang.Literal) *Scalar { return &Scalar{DType: l.DType, literal: l} }

// Known reports a number that no run changes.
func (s *Scalar) Known() bool { return s.input == 0 && s.op == lang.OpInvalid }

// Argument is which scalar argument of the program the scalar is, as it is given.
func (s *Scalar) Argument() (number int, ok bool) { return s.input - 1, s.input > 0 }

// fold computes an operation whose operands are all known.
func (s *Scalar) fold() *Scalar {
	for _, a := range s.args {
		if !a.Known() {
			return s
		}
	}
	return knownScalar(s.Value(nil))
}

// Value computes the scalar from the scalar arguments of a run.
func (s *Scalar) Value(args []lang.Literal) lang.Literal {
	switch {
	case s.input > 0:
		return args[s.input-1]
	case s.op == lang.OpInvalid:
		return s.literal
	}
	operands := make([]lang.Literal, len(s.args))
	for i, a := range s.args {
		operands[i] = a.Value(args)
	}
	return EvalScalar(s.op, s.DType, operands)
}

// EvalScalar computes an elementwise operation by the table that constant folding uses.
func EvalScalar(op lang.Op, d lang.DType, args []lang.Literal) lang.Literal {
	consts := make([]ir.Const, len(args))
	from := d
	for i, a := range args {
		consts[i] = ir.Const{Int: a.Int, Float: a.Float}
		from = a.DType
	}
	c := ir.Const{}
	if op == lang.OpCast {
		c = eval.Cast(consts[0], from, d)
	} else {
		// Operations are evaluated in their operands' type; of a comparison the result is bool.
		c = eval.Apply(op, from, consts...)
	}
	return lang.Literal{DType: d, Int: c.Int, Float: c.Float}
}

// ScalarBits is a scalar as launch parameters hold it: the bits of its type, in the low end.
func ScalarBits(l lang.Literal) uint64 {
	if l.DType.IsFloat() {
		return l.DType.FloatBits(eval.Round(l.Float, l.DType))
	}
	return uint64(l.Int) & (1<<l.DType.Bits() - 1)
}
