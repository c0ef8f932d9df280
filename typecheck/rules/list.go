package rules

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Listed is a tensor written out, `[[1, 2], [3, 4]]`, before its context gives it an element type.
type Listed struct {
	Elems []Operand // constants, row-major
	Shape []int64
}

// Sizes is the shape of the list.
func (l *Listed) Sizes() []size.Size {
	out := make([]size.Size, len(l.Shape))
	for i, n := range l.Shape {
		out[i] = size.Const(n)
	}
	return out
}

// Settled is the element type that a list has where nothing asks for another.
func (l *Listed) Settled() typed.DType {
	d := typed.Concrete(lang.I32)
	for _, e := range l.Elems {
		switch e.Mode {
		case UntypedFloat:
			return typed.Concrete(lang.F32)
		case TypedValue:
			d = e.Graph.GType().DType
		}
	}
	return d
}
