package number

import "math/bits"

// Read gives a value of the type from the low bits of a register.
func (t Type) Read(v uint64) int64 {
	if t.Kind == KindSigned {
		return SignExtend(v, t.Bits)
	}
	return int64(v & t.Mask())
}

// Element is one of the values packed in a type.
func (t Type) Element() Type {
	t.Bits /= t.Lanes
	t.Lanes = 1
	return t
}

// PerHalf applies f to both halves of 32-bit registers.
func PerHalf(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return f(a&0xffff, b&0xffff)&0xffff | f(a>>16&0xffff, b>>16&0xffff)&0xffff<<16
	}
}

// Saturate32 clamps to the range of s32.
func Saturate32(v int64) uint64 { return uint64(min(max(v, -1<<31), 1<<31-1)) }

// Product gives the low and high halves of a*b in a type's width.
func (t Type) Product(a, b uint64) (lo, hi uint64) {
	if t.Bits == 64 {
		hi, lo = bits.Mul64(a, b)
		if t.Kind == KindSigned { // as unsigned, a negative factor counts 2^64 too much
			if int64(a) < 0 {
				hi -= b
			}
			if int64(b) < 0 {
				hi -= a
			}
		}
		return lo, hi
	}
	p := uint64(t.Read(a) * t.Read(b))
	return p, p >> t.Bits
}

// Divide gives the quotient, rounded toward zero, or the remainder with the sign
// of the dividend. Division by zero gives all ones: the ISA leaves it open.
func (t Type) Divide(remainder bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		x, y := t.Read(a), t.Read(b)
		switch {
		case y == 0 && remainder:
			return uint64(x)
		case y == 0:
			return ^uint64(0)
		case t.Kind == KindUnsigned && remainder:
			return uint64(x) % uint64(y)
		case t.Kind == KindUnsigned:
			return uint64(x) / uint64(y)
		case remainder:
			return uint64(x % y)
		}
		return uint64(x / y)
	}
}

// Less orders two integers of the type.
func (t Type) Less(a, b uint64) bool {
	if t.Kind == KindSigned {
		return t.Read(a) < t.Read(b)
	}
	return a&t.Mask() < b&t.Mask()
}

// Distance is the magnitude of a-b.
func (t Type) Distance(a, b uint64) uint64 {
	x, y := t.Read(a), t.Read(b)
	if t.Kind == KindSigned && x < y || t.Kind == KindUnsigned && uint64(x) < uint64(y) {
		x, y = y, x
	}
	return uint64(x - y)
}

// Product24 is the product of the low 24 bits of a and b: its low 32 bits, or with high those from bit 16 on.
func (t Type) Product24(a, b uint64, high bool) uint64 {
	t.Bits = 24
	p := uint64(t.Read(a) * t.Read(b))
	if high {
		p = uint64(int64(p) >> 16)
	}
	return p
}

// DotBytes is the dot product of the four bytes of a and of b, each read as its kind says.
func DotBytes(a4, b4 Kind, a, b uint64) uint64 {
	x, y := Type{Kind: a4, Bits: 8}, Type{Kind: b4, Bits: 8}
	var sum int64
	for i := 0; i < 32; i += 8 {
		sum += x.Read(a>>i) * y.Read(b>>i)
	}
	return uint64(sum)
}

// DotHalves is the dot product of the two 16-bit values of a and the two low bytes of b.
func DotHalves(a2, b2 Kind, a, b uint64) uint64 {
	x, y := Type{Kind: a2, Bits: 16}, Type{Kind: b2, Bits: 8}
	return uint64(x.Read(a)*y.Read(b) + x.Read(a>>16)*y.Read(b>>8))
}

// AlignUp is the least multiple of align that is not below n.
func AlignUp(n, align int) int { return (n + align - 1) / align * align }
