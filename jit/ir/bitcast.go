package ir

import (
	"fmt"

	"tilec/lang"
)

// Bitcast emits the value of type d with the bits of x: one of them is a float
// type, the other an integer type of the same width.
func (b *Builder) Bitcast(x *Value, d lang.DType) *Value {
	if _, err := inferBitcast(x.Type, d); err != nil {
		panic(fmt.Sprintf("ir: bitcast: %v", err))
	}
	op := &Op{Code: lang.OpBitcast, Args: []*Value{x}, At: b.At}
	v := b.Func.NewValue(x.Type.With(d), op)
	op.Results = []*Value{v}
	b.Block.Ops = append(b.Block.Ops, op)
	return v
}

func inferBitcast(x Type, d lang.DType) ([]Type, error) {
	from := x.DType
	if !(from.IsFloat() && d.IsInt() || from.IsInt() && d.IsFloat()) || from.Bits() != d.Bits() {
		return nil, fmt.Errorf("from %s to %s, needs a float and an integer of one width", from, d)
	}
	return []Type{x.With(d)}, nil
}
