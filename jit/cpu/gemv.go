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
		// Columns of b in turn.
		row := unsafe.Pointer(nil)
		if b.row != 1 && k > 1 || b.load != nil {
			row = fr.temp(tempPackB, k*4)
		}
		load := b.load
		if load == nil {
			load = copyRun[uint32]
		}
		for j := range n {
			s := b.at(0, j)
			if row != nil {
				load(row, 1, s, b.row, k)
				s = row
			}
			*(*float32)(c.at(0, j)) += inner(xs, slice[float32](s, k))
		}
		return
	}
	if c.col != 1 && n > 1 {
		panic(bug("the result of a contraction is not contiguous"))
	}
	// Rows of b, each scaled by its element of the vector.
	y := slice[float32](c.p, n)
	if b.load == nil {
		p := 0
		for ; p+4 <= k; p += 4 {
			axpy4(y, (*[4]float32)(unsafe.Pointer(&xs[p])), b.at(p, 0), b.row)
		}
		for ; p < k; p++ {
			axpy(y, xs[p], slice[float32](b.at(p, 0), n))
		}
		return
	}
	row := fr.temp(tempPackB, n*4)
	for p := range k {
		b.load(row, 1, b.at(p, 0), 1, n)
		axpy(y, xs[p], slice[float32](row, n))
	}
}

// innerGo is the inner product, in eight chains.
func innerGo(x, y []float32) float32 {
	y = y[:len(x)]
	var s [8]float32
	i := 0
	for ; i+8 <= len(x); i += 8 {
		u, v := (*[8]float32)(x[i:]), (*[8]float32)(y[i:])
		s[0] += u[0] * v[0]
		s[1] += u[1] * v[1]
		s[2] += u[2] * v[2]
		s[3] += u[3] * v[3]
		s[4] += u[4] * v[4]
		s[5] += u[5] * v[5]
		s[6] += u[6] * v[6]
		s[7] += u[7] * v[7]
	}
	for ; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// axpyGo adds a times x to y.
func axpyGo(y []float32, a float32, x []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += a * x[i]
	}
}

// axpy4Go adds to y four rows, stride elements apart, each times its element of a.
func axpy4Go(y []float32, a *[4]float32, rows unsafe.Pointer, stride int) {
	n := len(y)
	r0, r1 := slice[float32](rows, n), slice[float32](unsafe.Add(rows, stride*4), n)
	r2, r3 := slice[float32](unsafe.Add(rows, 2*stride*4), n), slice[float32](unsafe.Add(rows, 3*stride*4), n)
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	for i := range y {
		y[i] += (a0*r0[i] + a1*r1[i]) + (a2*r2[i] + a3*r3[i])
	}
}
