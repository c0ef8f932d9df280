package eval

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// Bitcast gives the value of type to that has the bits of a value of type from,
// one of them a float type, the other an integer type of the same width.
func Bitcast(c ir.Const, from, to lang.DType) ir.Const {
	if from.IsFloat() {
		return ir.Const{Int: Wrap(int64(floatBits(c.Float, from)), to)}
	}
	return ir.Const{Float: to.FloatValue(uint64(c.Int))}
}

func floatBits(v float64, d lang.DType) uint64 {
	if v != v {
		return d.NaNBits()
	}
	return d.FloatBits(v)
}
