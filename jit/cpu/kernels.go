package cpu

import "unsafe"

func micro(k int, a, b, c unsafe.Pointer, stride int) { microGo(k, a, b, c, stride) }

func inner(x, y []float32) float32 { return innerGo(x, y) }

func axpy(y []float32, a float32, x []float32) { axpyGo(y, a, x) }

func axpy4(y []float32, a *[4]float32, rows unsafe.Pointer, stride int) {
	axpy4Go(y, a, rows, stride)
}
