package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// listed is a tensor written out, `[[1, 2], [3, 4]]`, before its context gives it an element type.
type listed struct {
	elems []operand // constants, row-major
	shape []int64
}

func (l *listed) sizes() []size.Size {
	out := make([]size.Size, len(l.shape))
	for i, n := range l.shape {
		out[i] = size.Const(n)
	}
	return out
}

// settled is the element type that a list has where nothing asks for another.
func (l *listed) settled() typed.DType {
	d := typed.Concrete(lang.I32)
	for _, e := range l.elems {
		switch e.mode {
		case untypedFloat:
			return typed.Concrete(lang.F32)
		case typedValue:
			d = e.graph.GType().DType
		}
	}
	return d
}
