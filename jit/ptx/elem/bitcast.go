package elem

import (
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// Bitcast emits the bits of one element as a value of another type: one of them
// is a float type, the other an integer type of the same width.
func Bitcast(a *asm.Builder, from, to lang.DType, x asm.Reg) asm.Reg {
	if from.IsInt() {
		switch to.Bits() {
		case 64:
			return a.Op(asm.F64, "mov.b64", x)
		case 32:
			return a.Op(asm.F32, "mov.b32", x)
		}
		return Unpack(a, to, x, 1)[0]
	}
	nan := a.Op(asm.Pred, "setp.nan"+Suffix(from), x, x)
	if from == lang.F64 {
		return a.Op(asm.B64, "selp.b64", asm.Int(from.NaNBits()), a.Op(asm.B64, "mov.b64", x), nan)
	}
	bits := x
	if from == lang.F32 {
		bits = a.Op(asm.B32, "mov.b32", x)
	} else {
		bits = Pack(a, from, []asm.Reg{x})
	}
	bits = a.Op(asm.B32, "selp.b32", asm.Int(from.NaNBits()), bits, nan)
	if to.Bits() < 32 {
		return Unpack(a, to, bits, 1)[0]
	}
	return bits
}
