package cpu

import "unsafe"

// This file chooses the innermost loops: vector code where the machine has it,
// and Go elsewhere. Both give the same bits: the Go loops add in the order of the
// vector code's lanes, and round once where that fuses.

// UseVectors sets whether the vector loops are used, where the machine has them,
// and reports whether they were: a switch for tests, which compare the two. It
// must not be called while a program is compiled or runs.
func UseVectors(on bool) (was bool) {
	was = vectors
	setVectors(on)
	rows[kF32] = with(float32Rows(), vectorRows())
	return was
}

// UseWide sets whether those with AVX-512 are used too, in the same way.
func UseWide(on bool) (was bool) {
	was = wide
	setWide(on)
	return was
}

// multiplyRows adds products of r rows, 1, 2, 4 or 6, to c: see multiplyRowsGo. b is of bf16 or f32; where it is of bf16, multipliesBF16 must hold.
func multiplyRows(r, n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh, bf16 bool) {
	if vectors {
		multiplyRowsVectors(r, n, k, c, cstride, a, b, bstride, ahead, fresh, bf16)
		return
	}
	multiplyRowsGo(r, n, k, c, cstride, a, b, bstride, fresh)
}

// multipliesBF16 reports that multiplyRows takes n columns of bf16 as they are.
func multipliesBF16(n int) bool { return wide || vectors && n%lanes == 0 }

// add32 adds n elements of s to those of c.
func add32(c, s unsafe.Pointer, n int) {
	if vectors {
		addAVX(n, c, c, s)
		return
	}
	d := slice[float32](c, n)
	addRow(d, d, slice[float32](s, n))
}

// sum16 adds a multiple of 16 elements in float64, in 16 chains and then a tree of sums.
func sum16(x []float32) float64 {
	if vectors {
		return sumAVX(len(x), ptrOf(x))
	}
	var s [16]float64
	for ; len(x) > 0; x = x[16:] {
		for j, v := range (*[16]float32)(x) {
			s[j] += float64(v)
		}
	}
	var t [4]float64
	for j := range t {
		t[j] = (s[j] + s[4+j]) + (s[8+j] + s[12+j])
	}
	return (t[0] + t[2]) + (t[1] + t[3])
}

func ptrOf[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// lanes is how many float32 a vector loop takes at once.
const lanes = 8

// vectorUnary makes a row from a vector loop over a multiple of lanes elements.
// The rest goes through the same loop, so that a result does not depend on its place.
func vectorUnary(f func(n int, d, a unsafe.Pointer)) row {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		whole := n &^ (lanes - 1)
		if whole > 0 {
			f(whole, d, a)
		}
		if rest := n - whole; rest > 0 {
			var x [lanes]float32
			copy(x[:], slice[float32](unsafe.Add(a, whole*4), rest))
			f(lanes, unsafe.Pointer(&x), unsafe.Pointer(&x))
			copy(slice[float32](unsafe.Add(d, whole*4), rest), x[:])
		}
	}
}
