package ptx

import (
	"tilec/lang"
)

// bitcast emits the bits of one element as a value of another type: one of them
// is a float type, the other an integer type of the same width.
func (k *kernel) bitcast(from, to lang.DType, x reg) reg {
	a := k.a
	if from.IsInt() {
		switch to.Bits() {
		case 64:
			return a.op(f64, "mov.b64", x)
		case 32:
			return a.op(f32, "mov.b32", x)
		}
		return unpack(a, to, x, 1)[0]
	}
	nan := a.op(pred, "setp.nan"+suffix(from), x, x)
	if from == lang.F64 {
		return a.op(b64, "selp.b64", int64(from.NaNBits()), a.op(b64, "mov.b64", x), nan)
	}
	bits := x
	if from == lang.F32 {
		bits = a.op(b32, "mov.b32", x)
	} else {
		bits = k.pack(from, []reg{x})
	}
	bits = a.op(b32, "selp.b32", int64(from.NaNBits()), bits, nan)
	if to.Bits() < 32 {
		return unpack(a, to, bits, 1)[0]
	}
	return bits
}
