package cpu

import "unsafe"

// vectorMatrix adds the product of a vector and a k × n matrix to c: the form
// of a token's step through a model, bound by reading the matrix once.
func vectorMatrix(fr *frame, n, k int, a, b, c matrix) {
	x := a.p
	if a.col != 1 && k > 1 || a.load != nil {
		x = fr.temp(tempPackA, k*4)
		load := a.load
		if load == nil {
			load = copyRun[uint32]
		}
		load(x, 1, a.p, a.col, k)
	}
	xs := slice[float32](x, k)
	if n == 1 && k > 1 || b.col != 1 && n > 1 {
		columns(fr, xs, n, b, c)
		return
	}
	if c.col != 1 && n > 1 {
		panic(bug("the result of a contraction is not contiguous"))
	}
	// Rows of b, each scaled by its element of the vector.
	y := slice[float32](c.p, n)
	if b.load == nil {
		axpyRows(y, xs, b.p, b.row)
		return
	}
	rows := fr.temp(tempPackB, 4*n*4)
	for p := 0; p < k; p += 4 {
		w := min(4, k-p)
		for i := range w {
			b.load(unsafe.Add(rows, i*n*4), 1, b.at(p+i, 0), 1, n)
		}
		axpyRows(y, xs[p:p+w], rows, n)
	}
}

// axpyRows adds to y the rows, stride elements apart, each times its element of x.
func axpyRows(y, x []float32, rows unsafe.Pointer, stride int) {
	for len(x) >= 4 {
		axpy4(y, (*[4]float32)(x), rows, stride)
		if x = x[4:]; len(x) > 0 {
			rows = unsafe.Add(rows, 4*stride*4)
		}
	}
	for i, a := range x {
		axpyGo(y, a, slice[float32](unsafe.Add(rows, i*stride*4), len(y)))
	}
}

// columns adds to c the inner product of x with each column of b: four at a
// time, in place where b's columns are contiguous.
func columns(fr *frame, x []float32, n int, b, c matrix) {
	k := len(x)
	stride, inPlace := b.col, (b.row == 1 || k == 1) && b.load == nil
	var scratch unsafe.Pointer
	load := b.load
	if !inPlace {
		stride, scratch = k, fr.temp(tempPackB, 4*k*4)
		if load == nil {
			load = copyRun[uint32]
		}
	}
	var sums [4]float32
	for j := 0; j < n; j += 4 {
		rows := b.at(0, j)
		w := min(4, n-j)
		if !inPlace {
			for i := range w {
				load(unsafe.Add(scratch, i*k*4), 1, b.at(0, j+i), b.row, k)
			}
			rows = scratch
		}
		if w == 4 {
			inner4(x, rows, stride, &sums)
		} else {
			for i := range w { // one row four times: its neighbours may not exist
				var one [4]float32
				inner4(x, unsafe.Add(rows, i*stride*4), 0, &one)
				sums[i] = one[0]
			}
		}
		for i := range w {
			*(*float32)(c.at(0, j+i)) += sums[i]
		}
	}
}

// innerGo is the inner product of a multiple of 8 elements, as the vector loop
// computes it: 16 chains of fused multiply-adds, the last 8 elements going to the
// first 8 of them, and then a tree of sums.
func innerGo(x, y []float32) float32 {
	var s [16]float32
	y = y[:len(x)]
	for i := 0; i < len(x); i += 8 {
		chains := s[:8]
		if i&8 != 0 {
			chains = s[8:]
		}
		u, v := (*[8]float32)(x[i:]), (*[8]float32)(y[i:])
		for j := range chains {
			chains[j] = fma32(u[j], v[j], chains[j])
		}
	}
	for j := range 8 {
		s[j] += s[8+j]
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// axpyGo adds a times x to y, each product rounded.
func axpyGo(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += float32(a * x[i])
	}
}

// axpy4Go adds to y four rows, stride elements apart, each times its element of a: four fused
// multiply-adds in the order of the rows, as in the vector loop.
func axpy4Go(y []float32, a *[4]float32, rows unsafe.Pointer, stride int) {
	n := len(y)
	r0, r1 := slice[float32](rows, n), slice[float32](unsafe.Add(rows, stride*4), n)
	r2, r3 := slice[float32](unsafe.Add(rows, 2*stride*4), n), slice[float32](unsafe.Add(rows, 3*stride*4), n)
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	for i := range y {
		y[i] = fma32(a3, r3[i], fma32(a2, r2[i], fma32(a1, r1[i], fma32(a0, r0[i], y[i]))))
	}
}
