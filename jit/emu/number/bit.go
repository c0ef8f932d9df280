package number

import "math/bits"

// Lookup3 applies the truth table of lop3: bit abc of it is the result for these bits.
func Lookup3(a, b, c uint64, table int64) uint64 {
	var r uint64
	for i := range 8 {
		if table>>i&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if i&4 == 0 {
			x = ^x
		}
		if i&2 == 0 {
			y = ^y
		}
		if i&1 == 0 {
			z = ^z
		}
		r |= x & y & z
	}
	return r
}

// permuteTables are the special modes of prmt: for c&3, the source byte of each result byte from the lowest on.
var permuteTables = map[string][4][4]uint64{
	"f4e":  {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},
	"b4e":  {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},
	"rc8":  {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},
	"ecl":  {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},
	"ecr":  {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},
	"rc16": {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},
}

// PermuteBytes is prmt of the eight bytes v, in a mode of permuteTables or, with none, by the selectors c.
func PermuteBytes(mode string, v, c uint64) uint64 {
	var r uint64
	for i := range 4 {
		sel := c >> (4 * i) & 15
		if mode != "" {
			sel = permuteTables[mode][c&3][i]
		}
		x := v >> (8 * (sel & 7)) & 0xff
		if sel&8 != 0 { // replicate the sign
			x = uint64(int8(x)>>7) & 0xff
		}
		r |= x << (8 * i)
	}
	return r
}

// FunnelShift is shf: the high half of v shifted left, or the low half of it shifted
// right, by an amount that is clamped to 32 or taken modulo 32.
func FunnelShift(v, amount uint64, left, clamp bool) uint64 {
	n := amount & 31
	if clamp {
		n = min(amount, 32)
	}
	if left {
		return v << n >> 32
	}
	return v >> n
}

// HighestBit is bfind: where the highest bit that is not a sign stands, or with
// shiftAmount how far it is from the top; all ones when there is none.
func (t Type) HighestBit(a uint64, shiftAmount bool) uint64 {
	v := t.Read(a)
	if t.Kind == KindSigned && v < 0 {
		v = ^v
	}
	at := bits.Len64(uint64(v)) - 1
	if at >= 0 && shiftAmount {
		at = t.Bits - 1 - at
	}
	return uint64(at)
}

// NthSet is fns: where the set bit of mask stands that is the offset-th from base on, upwards or,
// below zero, downwards; 2^32-1 when there is none.
func NthSet(mask, base, offset uint64) uint64 {
	n, step := int(int32(offset)), 1
	if n == 0 {
		if mask>>(base&31)&1 == 1 {
			return base
		}
		return 0xffffffff
	}
	if n < 0 {
		n, step = -n, -1
	}
	for at := int(base); at >= 0 && at < 32; at += step {
		if mask>>at&1 == 1 {
			if n--; n == 0 {
				return uint64(at)
			}
		}
	}
	return 0xffffffff
}

// Field is bfe: the bits of a from position on, extended by the sign where the type has one.
func (t Type) Field(a, position, length uint64) uint64 {
	pos, n := int(position&0xff), int(length&0xff)
	if n == 0 {
		return 0
	}
	v := a & t.Mask() >> min(pos, 64)
	if t.Kind == KindUnsigned {
		return v & Mask(n)
	}
	sign := a >> min(pos+n-1, t.Bits-1) & 1
	have := max(0, min(n, t.Bits-pos)) // bits that are in a
	v &= Mask(have)
	if sign == 1 {
		v |= ^uint64(0) << have
	}
	return v
}

// WithField is bfi: into, with the low bits of v as its bits from position on.
func (t Type) WithField(into, v, position, length uint64) uint64 {
	pos := position & 0xff
	mask := Mask(int(length&0xff)) << pos & t.Mask()
	return into&^mask | v<<pos&mask
}

// Extend is szext: the low n bits of a 32-bit value, extended by zeros or the sign;
// n is clamped to 32 or taken modulo 32.
func (k Kind) Extend(a, n uint64, clamp bool) uint64 {
	if clamp && n >= 32 {
		return a
	}
	if n &= 31; n == 0 {
		return 0
	}
	return uint64(Type{Kind: k, Bits: int(n)}.Read(a))
}

// Ones is bmsk: n ones from position on, both clamped to 32 or taken modulo 32.
func Ones(position, n uint64, clamp bool) uint64 {
	if clamp && position >= 32 {
		return 0
	}
	length := n & 31
	if clamp && n >= 32 {
		length = 32
	}
	return Mask(int(length)) << (position & 31)
}
