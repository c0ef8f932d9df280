package cpu

import (
	"unsafe"

	machine "golang.org/x/sys/cpu"

	"tilec/lang"
)

// vectors reports that the machine has the vector loops: AVX2 with
// FMA and the conversions of halves.
var vectors = hasVectors

var hasVectors = machine.X86.HasAVX2 && machine.X86.HasFMA && machine.X86.HasF16C

func setVectors(on bool) { vectors = on && hasVectors }

// The loops below are in kernels_amd64.s. Those over n elements that say so
// take a multiple of lanes; the others take any number.

// transposeAVX writes n groups of 8, step bytes apart: of each row its next
// element. n is a multiple of 8.
//
//go:noescape
func transposeAVX(n int, d unsafe.Pointer, step int, rows *[8]unsafe.Pointer)

// Elementwise loops: any n.

//go:noescape
func addAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func subAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func mulAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func divAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func maximumAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func minimumAVX(n int, d, a, b unsafe.Pointer)

//go:noescape
func fmaAVX(n int, d, a, b, c unsafe.Pointer)

// Functions: n a multiple of lanes.

//go:noescape
func expAVX(n int, d, a unsafe.Pointer)

//go:noescape
func exp2AVX(n int, d, a unsafe.Pointer)

//go:noescape
func tanhAVX(n int, d, a unsafe.Pointer)

//go:noescape
func sigmoidAVX(n int, d, a unsafe.Pointer)

// sumAVX adds a multiple of 16 elements in float64.
//
//go:noescape
func sumAVX(n int, x unsafe.Pointer) float64

// maxAVX is the largest of a multiple of 16 elements, NaN when any is; n > 0.
//
//go:noescape
func maxAVX(n int, x unsafe.Pointer) float32

// Conversions between float32 and the formats of 16 bits: n a multiple of
// lanes. Those to the narrow format take values that it represents.

//go:noescape
func widenBF16AVX(n int, d, a unsafe.Pointer)

//go:noescape
func widenF16AVX(n int, d, a unsafe.Pointer)

//go:noescape
func narrowBF16AVX(n int, d, a unsafe.Pointer)

//go:noescape
func narrowF16AVX(n int, d, a unsafe.Pointer)

// roundF16AVX and roundBF16AVX round in place.
//
//go:noescape
func roundF16AVX(n int, d unsafe.Pointer)

//go:noescape
func roundBF16AVX(n int, d unsafe.Pointer)

// fillAVX writes a multiple of lanes copies.
//
//go:noescape
func fillAVX(n int, d unsafe.Pointer, v uint32)

func vectorBinary(f func(n int, d, a, b unsafe.Pointer)) row {
	return func(d, a, b, _ unsafe.Pointer, n int) { f(n, d, a, b) }
}

// vectorRows are the float32 rows that have a vector loop; nil without vectors.
func vectorRows() map[lang.Op]row {
	if !vectors {
		return nil
	}
	return map[lang.Op]row{
		lang.OpAdd:     vectorBinary(addAVX),
		lang.OpSub:     vectorBinary(subAVX),
		lang.OpMul:     vectorBinary(mulAVX),
		lang.OpDiv:     vectorBinary(divAVX),
		lang.OpMax:     vectorBinary(maximumAVX),
		lang.OpMin:     vectorBinary(minimumAVX),
		lang.OpFma:     func(d, a, b, c unsafe.Pointer, n int) { fmaAVX(n, d, a, b, c) },
		lang.OpExp:     vectorUnary(expAVX),
		lang.OpExp2:    vectorUnary(exp2AVX),
		lang.OpTanh:    vectorUnary(tanhAVX),
		lang.OpSigmoid: vectorUnary(sigmoidAVX),
	}
}
