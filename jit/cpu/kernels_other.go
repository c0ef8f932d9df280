//go:build !amd64

package cpu

import (
	"unsafe"

	"tilec/lang"
)

// vectors reports that the machine has the vector loops.
const vectors = false

func setVectors(bool) {}

func vectorRows() map[lang.Op]row { return nil }

// wide reports that the machine has the loops with AVX-512 as well.
const wide = false

func setWide(bool) {}

func multiplyRowsVectors(r, n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride, ahead int, fresh, bf16 bool) {
	panic("no vectors")
}
func transposeAVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int) {
	panic("no vectors")
}
func transposeBF16AVX512(n int, d unsafe.Pointer, step int, rows *[16]unsafe.Pointer, ahead int) {
	panic("no vectors")
}
func addAVX(n int, d, a, b unsafe.Pointer)                                    { panic("no vectors") }
func sumAVX(n int, x unsafe.Pointer) float64                                  { panic("no vectors") }
func maxAVX(n int, x unsafe.Pointer) float32                                  { panic("no vectors") }
func fillAVX(n int, d unsafe.Pointer, v uint32)                               { panic("no vectors") }
func transposeAVX(n int, d unsafe.Pointer, step int, rows *[8]unsafe.Pointer) { panic("no vectors") }
func widenBF16AVX(n int, d, a unsafe.Pointer)                                 { panic("no vectors") }
func widenF16AVX(n int, d, a unsafe.Pointer)                                  { panic("no vectors") }
func narrowBF16AVX(n int, d, a unsafe.Pointer)                                { panic("no vectors") }
func narrowF16AVX(n int, d, a unsafe.Pointer)                                 { panic("no vectors") }
func roundF16AVX(n int, d unsafe.Pointer)                                     { panic("no vectors") }
func roundBF16AVX(n int, d unsafe.Pointer)                                    { panic("no vectors") }
func panelAVX512(k int, d, src unsafe.Pointer, stride int)                    { panic("no vectors") }
func panelBF16AVX512(k int, d, src unsafe.Pointer, stride int)                { panic("no vectors") }
func multiplyColumns(m, r, n, k int, c unsafe.Pointer, cstride int, a unsafe.Pointer, columns *[16]unsafe.Pointer, ahead int, bf16 bool) {
	panic("no vectors")
}
func columnsAtOnce(rows int) int { panic("no vectors") }
func stepsAtOnce(rows int) int   { panic("no vectors") }
