package cpu

import (
	"math"
	"unsafe"

	"tilec/lang"
)

// cast finds the row that converts elements of type from to type to.
func cast(from, to lang.DType) row {
	ks, kd := kindOfDType[from], kindOfDType[to]
	if !narrowFloat(to) {
		return casts[ks][kd]
	}
	// One rounding only: what is wider than float32 is rounded to odd first.
	r := casts[ks][kd]
	if odd := oddCasts[ks]; odd != nil {
		r = odd
	}
	round := rounder(to)
	return func(d, a, b, c unsafe.Pointer, n int) {
		r(d, a, b, c, n)
		round(slice[float32](d, n))
	}
}

var casts = [numKinds][numKinds]row{
	kBool: castsOfInt[uint8](),
	kI8:   castsOfInt[int8](), kU8: castsOfInt[uint8](),
	kI16: castsOfInt[int16](), kU16: castsOfInt[uint16](),
	kI32: castsOfInt[int32](), kU32: castsOfInt[uint32](),
	kI64: castsOfInt[int64](), kU64: castsOfInt[uint64](),
	kF32: castsOfFloat[float32](), kF64: castsOfFloat[float64](),
}

// oddCasts convert to float32 by rounding to odd.
var oddCasts = [numKinds]row{
	kI32: oddRow[int32],
	kU32: oddRow[uint32],
	kI64: castRow(func(x int64) float32 {
		if x < 0 {
			return -oddUint(-uint64(x))
		}
		return oddUint(uint64(x))
	}),
	kU64: castRow(oddUint),
	kF64: castRow(lang.OddF32),
}

// oddRow is that of integers, most of which float32 has.
func oddRow[S int32 | uint32](d, a, _, _ unsafe.Pointer, n int) {
	const most = 1 << 24 // and all integers up to it
	out := slice[float32](d, n)
	for i, v := range slice[S](a, n) {
		if n := int64(v); -most <= n && n <= most {
			out[i] = float32(v)
		} else {
			out[i] = lang.OddF32(float64(v))
		}
	}
}

// oddUint rounds to odd: the bits that float64 cannot hold stay visible in its last one.
func oddUint(x uint64) float32 {
	if x>>53 == 0 {
		return lang.OddF32(float64(x))
	}
	top := x >> 11
	if x&0x7ff != 0 {
		top |= 1
	}
	return lang.OddF32(float64(top) * 0x1p11)
}

func castRow[S, D any](f func(S) D) row {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		out := slice[D](d, n)
		for i, v := range slice[S](a, n) {
			out[i] = f(v)
		}
	}
}

func castsOfInt[S integer]() [numKinds]row {
	return [numKinds]row{
		kBool: castRow(func(x S) uint8 { return flag(x != 0) }),
		kI8:   plainCast[S, int8], kU8: plainCast[S, uint8],
		kI16: plainCast[S, int16], kU16: plainCast[S, uint16],
		kI32: plainCast[S, int32], kU32: plainCast[S, uint32],
		kI64: plainCast[S, int64], kU64: plainCast[S, uint64],
		kF32: plainCast[S, float32], kF64: plainCast[S, float64],
	}
}

func castsOfFloat[S float]() [numKinds]row {
	return [numKinds]row{
		kBool: castRow(func(x S) uint8 { return flag(x != 0) }),
		kI8:   saturate[S, int8](math.MinInt8, 1<<7), kU8: saturate[S, uint8](0, 1<<8),
		kI16: saturate[S, int16](math.MinInt16, 1<<15), kU16: saturate[S, uint16](0, 1<<16),
		kI32: saturate[S, int32](math.MinInt32, 1<<31), kU32: saturate[S, uint32](0, 1<<32),
		kI64: saturate[S, int64](math.MinInt64, 1<<63), kU64: saturateU64[S](),
		kF32: plainCast[S, float32], kF64: plainCast[S, float64],
	}
}

// plainCast converts as Go does: integers wrap, numbers round to the nearest float.
func plainCast[S, D number](d, a, _, _ unsafe.Pointer, n int) {
	out := slice[D](d, n)
	for i, v := range slice[S](a, n) {
		out[i] = D(v)
	}
}

// saturate truncates to an integer type whose values are lo to over-1; NaN gives 0.
func saturate[S float, D integer](lo, over float64) row {
	least, most := D(int64(lo)), ^D(int64(lo)) // for unsigned types lo is 0 and ^0 the greatest
	return castRow(func(x S) D {
		switch v := float64(x); {
		case v != v:
			return 0
		case v <= lo:
			return least
		case v >= over:
			return most
		default:
			return D(int64(v))
		}
	})
}

func saturateU64[S float]() row {
	return castRow(func(x S) uint64 {
		switch v := float64(x); {
		case !(v > 0): // NaN too
			return 0
		case v >= 1<<64:
			return math.MaxUint64
		case v >= 1<<63:
			return uint64(int64(v-1<<63)) + 1<<63
		default:
			return uint64(int64(v))
		}
	})
}
