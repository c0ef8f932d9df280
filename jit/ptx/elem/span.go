package elem

import (
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file knows between which numbers integers of up to 32 bits lie, as far as the operations that made them tell: a conversion of what is masked to four bits rounds nothing.

// spanOf is between which numbers a register of a type lies. What is known of it as an integer with a sign does not hold without one, where the same bits are another number.
func spanOf(a *asm.Builder, d lang.DType, x asm.Reg) (lo, hi int64) {
	if lo, hi, ok := a.SpanOf(x); ok && Fits(d, lo, hi) {
		return lo, hi
	}
	bits := d.Bits()
	if d.IsSigned() {
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
	return 0, 1<<bits - 1
}

// Span is between which numbers all of some registers of an integer type lie; without registers, those of the type.
func Span(a *asm.Builder, d lang.DType, xs ...asm.Reg) (lo, hi int64) {
	if len(xs) == 0 {
		return spanOf(a, d, asm.Reg{})
	}
	lo, hi = spanOf(a, d, xs[0])
	for _, x := range xs[1:] {
		from, to := spanOf(a, d, x)
		lo, hi = min(lo, from), max(hi, to)
	}
	return lo, hi
}

// noteSpan says between which numbers the result of an operation lies, where that is less than all of its type.
func noteSpan(a *asm.Builder, code lang.Op, d lang.DType, args []asm.Reg, result asm.Reg) {
	if !d.IsInt() || d.Bits() > 32 || result.Class != asm.B32 || len(args) != 2 {
		return
	}
	lo, hi := spanOf(a, d, args[0])
	from, to := spanOf(a, d, args[1])
	switch code {
	case lang.OpAnd:
		switch {
		case from >= 0 && lo >= 0:
			lo, hi = 0, min(hi, to)
		case from >= 0:
			lo, hi = 0, to
		case lo >= 0:
			lo = 0
		default:
			return
		}
	case lang.OpAdd:
		lo, hi = lo+from, hi+to
	case lang.OpSub:
		lo, hi = lo-to, hi-from
	case lang.OpMul:
		if lo < 0 || from < 0 {
			return
		}
		lo, hi = lo*from, hi*to
	case lang.OpShr:
		if from < 0 || from != to || to >= int64(d.Bits()) {
			return
		}
		lo, hi = lo>>from, hi>>to
	case lang.OpMin:
		lo, hi = min(lo, from), min(hi, to)
	case lang.OpMax:
		lo, hi = max(lo, from), max(hi, to)
	default:
		return
	}
	if Fits(d, lo, hi) {
		a.Within(result, lo, hi)
	}
}

// Fits reports a type that has all integers between two.
func Fits(d lang.DType, lo, hi int64) bool {
	if d.IsSigned() {
		return lo >= -1<<(d.Bits()-1) && hi < 1<<(d.Bits()-1)
	}
	return lo >= 0 && hi < 1<<d.Bits()
}

// ExactIn reports a float type that has all integers between two.
func ExactIn(d lang.DType, lo, hi int64) bool {
	most := int64(1) << d.Precision()
	return lo >= -most && hi <= most
}
