package cpu

import (
	"unsafe"

	machine "golang.org/x/sys/cpu"
)

// wide reports that the machine has the loops with AVX-512 as well.
var wide = hasAVX512

var hasAVX512 = hasVectors && machine.X86.HasAVX512F && machine.X86.HasAVX512BW && machine.X86.HasAVX512DQ

func setWide(on bool) { wide = on && hasAVX512 }

// multiplyRowsVectors is multiplyRowsGo, for a group of rows.
func multiplyRowsVectors(r, n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool) {
	switch {
	case wide && r == 1:
		rows1AVX512(n, k, c, cstride, a, b, bstride, fresh)
	case wide && r == 2:
		rows2AVX512(n, k, c, cstride, a, b, bstride, fresh)
	case wide && r == 4:
		rows4AVX512(n, k, c, cstride, a, b, bstride, fresh)
	case wide:
		rows6AVX512(n, k, c, cstride, a, b, bstride, fresh)
	case r == 1:
		rows1AVX2(n, k, c, cstride, a, b, bstride, fresh)
	case r == 2:
		rows2AVX2(n, k, c, cstride, a, b, bstride, fresh)
	case r == 4:
		rows4AVX2(n, k, c, cstride, a, b, bstride, fresh)
	default:
		rows6AVX2(n, k, c, cstride, a, b, bstride, fresh)
	}
}

// prefetch asks for rows of memory, stride bytes apart and of so many bytes, that begin ahead bytes behind p. They may lie
// outside of what there is.
func prefetch(p unsafe.Pointer, ahead, rows, stride, bytes int) {
	prefetchX86(p, ahead, rows, stride, bytes)
}

// The loops below are in product_amd64.s. Those of rows are multiplyRowsGo for so many rows.

//go:noescape
func rows1AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows2AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows4AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows6AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows1AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows2AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows4AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func rows6AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool)

//go:noescape
func prefetchX86(p unsafe.Pointer, ahead, rows, stride, bytes int)

// transposeAVX512 writes n groups of 16, step bytes apart: of each row its next element. n is a multiple of 16.
//
//go:noescape
func transposeAVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer)

// transposeBF16AVX512 does that to rows of bf16, which it widens. n is a multiple of 32.
//
//go:noescape
func transposeBF16AVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer)
