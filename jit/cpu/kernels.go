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

// micro adds a packed microRows × k panel times a packed k × microCols panel
// to c, whose rows are stride elements apart.
func micro(k int, a, b, c unsafe.Pointer, stride int) {
	if vectors {
		micro6x16(k, a, b, c, stride)
		return
	}
	microGo(k, a, b, c, stride)
}

// inner4 gives the inner products of x with four rows, stride elements apart.
func inner4(x []float32, rows unsafe.Pointer, stride int, out *[4]float32) {
	n := len(x)
	whole := n &^ 7
	if vectors {
		if inner4AVX(whole, ptrOf(x), rows, stride, out); whole == n {
			return
		}
	}
	for i := range out {
		row := slice[float32](unsafe.Add(rows, i*stride*4), n)
		if !vectors {
			out[i] = innerGo(x[:whole], row[:whole])
		}
		for p := whole; p < n; p++ {
			out[i] += float32(x[p] * row[p])
		}
	}
}

// axpy4 adds to y four rows, stride elements apart, each times its element of a.
func axpy4(y []float32, a *[4]float32, rows unsafe.Pointer, stride int) {
	if vectors {
		axpy4AVX(len(y), ptrOf(y), a, rows, stride)
		return
	}
	axpy4Go(y, a, rows, stride)
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
