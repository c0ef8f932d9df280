package cpu

import (
	"unsafe"

	machine "golang.org/x/sys/cpu"
)

// wide reports that the machine has the loops with AVX-512 as well.
var wide = hasAVX512

var hasAVX512 = hasVectors && machine.X86.HasAVX512F && machine.X86.HasAVX512BW && machine.X86.HasAVX512DQ

func setWide(on bool) { wide = on && hasAVX512 }

// multiplyRowsVectors is multiplyRowsGo. Where b is of bf16 and there is no AVX-512, n must be a multiple of lanes.
func multiplyRowsVectors(r, n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh, bf16 bool) {
	switch {
	case wide && bf16 && r == 1:
		rows1BF16AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && bf16 && r == 2:
		rows2BF16AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && bf16 && r == 4:
		rows4BF16AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && bf16 && r == 6:
		rows6BF16AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && r == 1:
		rows1AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && r == 2:
		rows2AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && r == 4:
		rows4AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case wide && r == 6:
		rows6AVX512(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case bf16 && r == 1:
		rows1BF16AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case bf16 && r == 2:
		rows2BF16AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case bf16 && r == 4:
		rows4BF16AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case bf16 && r == 6:
		rows6BF16AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case r == 1:
		rows1AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case r == 2:
		rows2AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case r == 4:
		rows4AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	case r == 6:
		rows6AVX2(n, k, c, cstride, a, b, bstride, ahead, fresh)
	}
}

// columnsAtOnce is how many columns multiplyColumns takes for so many rows, and stepsAtOnce how many steps of f32. For one row
// it uses AVX2 always: of two halves, one is transposed while the other waits for its sums.
func columnsAtOnce(rows int) int {
	if rows == 1 || wide {
		return 2 * lanes
	}
	return lanes
}

func stepsAtOnce(rows int) int {
	if rows > 1 && wide {
		return 2 * lanes
	}
	return lanes
}

// multiplyColumns adds to r of m rows of c, 1, 2, 4 or 6, of up to columnsAtOnce(m) columns and cstride bytes apart, the products
// of the coefficients a, of each of k steps those of the r rows side by side, with as many columns of b, each contiguous from
// where columns points. Memory so many bytes ahead of what is read will be needed next. k is a multiple of stepsAtOnce(m), of
// bf16 of twice that. Each sum begins at 0.
func multiplyColumns(m, r, n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int, bf16 bool) {
	switch {
	case bf16 && m == 1:
		dotsTwiceBF16AVX2(n, k, c, a, columns, ahead)
	case m == 1:
		dotsTwiceAVX2(n, k, c, a, columns, ahead)
	case wide && bf16 && r == 1:
		dots1BF16AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && bf16 && r == 2:
		dots2BF16AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && bf16 && r == 4:
		dots4BF16AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && bf16 && r == 6:
		dots6BF16AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && r == 1:
		dots1AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && r == 2:
		dots2AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && r == 4:
		dots4AVX512(n, k, c, cstride, a, columns, ahead)
	case wide && r == 6:
		dots6AVX512(n, k, c, cstride, a, columns, ahead)
	case bf16 && r == 1:
		dots1BF16AVX2(n, k, c, cstride, a, columns, ahead)
	case bf16 && r == 2:
		dots2BF16AVX2(n, k, c, cstride, a, columns, ahead)
	case bf16 && r == 4:
		dots4BF16AVX2(n, k, c, cstride, a, columns, ahead)
	case bf16 && r == 6:
		dots6BF16AVX2(n, k, c, cstride, a, columns, ahead)
	case r == 1:
		dots1AVX2(n, k, c, cstride, a, columns, ahead)
	case r == 2:
		dots2AVX2(n, k, c, cstride, a, columns, ahead)
	case r == 4:
		dots4AVX2(n, k, c, cstride, a, columns, ahead)
	default:
		dots6AVX2(n, k, c, cstride, a, columns, ahead)
	}
}

// The loops below are in product_amd64.s and columns_amd64.s. Those of rows are multiplyRowsGo for so many rows, of b in f32 or bf16.

//go:noescape
func rows1AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows2AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows4AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows6AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows1BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows2BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows4BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows6BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows1AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows2AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows4AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows6AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows1BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows2BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows4BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

//go:noescape
func rows6BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh bool)

// panelAVX512 copies 64 columns of k rows, stride bytes apart, and panelBF16AVX512 widens them.
//
//go:noescape
func panelAVX512(k int, d, src unsafe.Pointer, stride int)

//go:noescape
func panelBF16AVX512(k int, d, src unsafe.Pointer, stride int)

// transposeAVX512 writes n groups of 16, step bytes apart: of each row its next element. n is a multiple of 16.
//
//go:noescape
func transposeAVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int)

// transposeBF16AVX512 does that to rows of bf16, which it widens. n is a multiple of 32.
//
//go:noescape
func transposeBF16AVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots1AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots2AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots4AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots6AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots1BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots2BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots4BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots6BF16AVX512(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots1AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots2AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots4AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots6AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots1BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots2BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots4BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dots6BF16AVX2(n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dotsTwiceAVX2(n, k int, c, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)

//go:noescape
func dotsTwiceBF16AVX2(n, k int, c, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int)
