package emu

import "math/bits"

// read gives a value of the type from the low bits of a register.
func (t dtype) read(v uint64) int64 {
	if t.kind == kindSigned {
		return signExtend(v, t.bits)
	}
	return int64(v & t.mask())
}

// element is one of the values packed in a type.
func (t dtype) element() dtype {
	t.bits /= t.lanes
	t.lanes = 1
	return t
}

// packed2 applies f to both halves of 32-bit registers.
func packed2(f func(a, b uint64) uint64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return f(a&0xffff, b&0xffff)&0xffff | f(a>>16&0xffff, b>>16&0xffff)&0xffff<<16
	}
}

func saturate32(v int64) uint64 { return uint64(min(max(v, -1<<31), 1<<31-1)) }

// product gives the low and high halves of a*b in a type's width.
func (t dtype) product(a, b uint64) (lo, hi uint64) {
	if t.bits == 64 {
		hi, lo = bits.Mul64(a, b)
		if t.kind == kindSigned { // as unsigned, a negative factor counts 2^64 too much
			if int64(a) < 0 {
				hi -= b
			}
			if int64(b) < 0 {
				hi -= a
			}
		}
		return lo, hi
	}
	p := uint64(t.read(a) * t.read(b))
	return p, p >> t.bits
}

// divide gives the quotient, rounded toward zero, or the remainder with the sign
// of the dividend. Division by zero gives all ones: the ISA leaves it open.
func (t dtype) divide(remainder bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		x, y := t.read(a), t.read(b)
		switch {
		case y == 0 && remainder:
			return uint64(x)
		case y == 0:
			return ^uint64(0)
		case t.kind == kindUnsigned && remainder:
			return uint64(x) % uint64(y)
		case t.kind == kindUnsigned:
			return uint64(x) / uint64(y)
		case remainder:
			return uint64(x % y)
		}
		return uint64(x / y)
	}
}

// less orders two integers of the type.
func (t dtype) less(a, b uint64) bool {
	if t.kind == kindSigned {
		return t.read(a) < t.read(b)
	}
	return a&t.mask() < b&t.mask()
}

// distance is the magnitude of a-b.
func (t dtype) distance(a, b uint64) uint64 {
	x, y := t.read(a), t.read(b)
	if t.kind == kindSigned && x < y || t.kind == kindUnsigned && uint64(x) < uint64(y) {
		x, y = y, x
	}
	return uint64(x - y)
}

// product24 is the product of the low 24 bits of a and b: its low 32 bits, or with high those from bit 16 on.
func (t dtype) product24(a, b uint64, high bool) uint64 {
	t.bits = 24
	p := uint64(t.read(a) * t.read(b))
	if high {
		p = uint64(int64(p) >> 16)
	}
	return p
}

// dotBytes is the dot product of the four bytes of a and of b, each read as its kind says.
func dotBytes(a4, b4 kind, a, b uint64) uint64 {
	x, y := dtype{kind: a4, bits: 8}, dtype{kind: b4, bits: 8}
	var sum int64
	for i := 0; i < 32; i += 8 {
		sum += x.read(a>>i) * y.read(b>>i)
	}
	return uint64(sum)
}

// dotHalves is the dot product of the two 16-bit values of a and the two low bytes of b.
func dotHalves(a2, b2 kind, a, b uint64) uint64 {
	x, y := dtype{kind: a2, bits: 16}, dtype{kind: b2, bits: 8}
	return uint64(x.read(a)*y.read(b) + x.read(a>>16)*y.read(b>>8))
}

// alignUp is the least multiple of align that is not below n.
func alignUp(n, align int) int { return (n + align - 1) / align * align }
