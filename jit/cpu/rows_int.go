package cpu

import (
	"math/bits"
	"unsafe"

	"tilec/lang"
)

// Division is total: by zero it gives 0, its remainder is then the dividend,
// and the least number by -1 wraps (Go defines that one).

func divRow[T integer](d, a, b []T) {
	for i, v := range a {
		if w := b[i]; w != 0 {
			d[i] = v / w
		} else {
			d[i] = 0
		}
	}
}

func floorDivRow[T integer](d, a, b []T) {
	for i, v := range a {
		w := b[i]
		if w == 0 {
			d[i] = 0
			continue
		}
		q := v / w
		if v%w != 0 && (v < 0) != (w < 0) {
			q--
		}
		d[i] = q
	}
}

func modRow[T integer](d, a, b []T) {
	for i, v := range a {
		if w := b[i]; w != 0 {
			d[i] = v % w
		} else {
			d[i] = v
		}
	}
}

// shiftBy is a shift count; one that is negative is past every width.
func shiftBy[T integer](n T) uint64 {
	if n < 0 {
		return 64
	}
	return uint64(n)
}

func andRow[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func orRow[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xorRow[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func shlRow[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] << shiftBy(b[i])
	}
}

func shrRow[T integer](d, a, b []T) {
	a, b = a[:len(d)], b[:len(d)]
	for i := range d {
		d[i] = a[i] >> shiftBy(b[i])
	}
}

func intRows[T integer]() map[lang.Op]row {
	width := 8 * int(unsafe.Sizeof(T(0)))
	mask := uint64(1)<<(width-1)<<1 - 1
	return with(numberRows[T](), map[lang.Op]row{
		lang.OpDiv:      binary(divRow[T]),
		lang.OpFloorDiv: binary(floorDivRow[T]),
		lang.OpMod:      binary(modRow[T]),
		lang.OpAnd:      binary(andRow[T]),
		lang.OpOr:       binary(orRow[T]),
		lang.OpXor:      binary(xorRow[T]),
		lang.OpNot:      each(func(a T) T { return ^a }),
		lang.OpShl:      binary(shlRow[T]),
		lang.OpShr:      binary(shrRow[T]),
		lang.OpPopcount: each(func(a T) T { return T(bits.OnesCount64(uint64(a) & mask)) }),
		lang.OpClz:      each(func(a T) T { return T(bits.LeadingZeros64(uint64(a)&mask) - (64 - width)) }),
	})
}

func signedRows[T signed]() map[lang.Op]row {
	return with(intRows[T](), map[lang.Op]row{
		lang.OpAbs: each(func(a T) T {
			if a < 0 {
				return -a
			}
			return a
		}),
		lang.OpSign: each(func(a T) T {
			switch {
			case a > 0:
				return 1
			case a < 0:
				return -1
			}
			return 0
		}),
	})
}

func unsignedRows[T unsigned]() map[lang.Op]row {
	return with(intRows[T](), map[lang.Op]row{
		lang.OpAbs:  each(func(a T) T { return a }),
		lang.OpSign: each(func(a T) T { return min(a, 1) }),
	})
}
