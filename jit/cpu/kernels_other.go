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

func micro6x16(k int, a, b, c unsafe.Pointer, stride int)                  { panic("no vectors") }
func inner4AVX(n int, x, rows unsafe.Pointer, stride int, out *[4]float32) { panic("no vectors") }
func axpy4AVX(n int, y unsafe.Pointer, a *[4]float32, r unsafe.Pointer, stride int) {
	panic("no vectors")
}
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
