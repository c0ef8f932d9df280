package cpu

import (
	"unsafe"
)

// The product of floats up to 32 bits. However it is computed, an element of the result has the same bits: the products of
// blockK steps are one chain of fused multiply-adds that begins at 0, and the chains are added to the element in order. So a
// row does not depend on how many others there are, nor a column on its neighbours, nor either on how the operands lie in
// memory or on the machine.
const (
	blockK = 256
	// fewRows is the number of rows up to which the second operand is read once, in the order of memory.
	fewRows   = 16
	blockRows = 96  // a multiple of the largest group of rows: blockRows × blockK floats fit in L2 with room
	blockCols = 512 // a multiple of the panels' widths
)

// panelCols is how many columns a panel of the second operand has side by side: as many as the innermost loop takes at once.
func panelCols() int {
	if wide {
		return 64
	}
	return 16
}

// multiply32 is the product of floats up to 32 bits, in f32.
func multiply32(fr *frame, m, n, k int, a, b, c matrix) {
	if m == 0 || n == 0 || k == 0 {
		return
	}
	if n == 1 || c.col != 1 && c.row == 1 {
		m, n, a, b, c = n, m, b.transpose(), a.transpose(), c.transpose()
	}
	if c.col != 1 && n > 1 {
		panic(bug("the result of a contraction is not contiguous"))
	}
	switch {
	case m > fewRows:
		manyRows(fr, m, n, k, a, b, c)
	case b.col == 1 || n == 1:
		rowsInOrder(fr, m, n, k, a, b, c)
	case vectors && m <= 6 && b.row == 1 && (b.load == nil && k%stepsAtOnce(m) == 0 || b.bf16 && k%(2*stepsAtOnce(m)) == 0):
		contiguousColumns(fr, m, n, k, a, b, c)
	default:
		columnsInOrder(fr, m, n, k, a, b, c)
	}
}

// together is how many of the rows that are left are multiplied together: there are loops for 6, 4, 2 and 1.
func together(rows int) int {
	switch {
	case rows >= 6:
		return 6
	case rows >= 4:
		return 4
	case rows >= 2:
		return 2
	}
	return 1
}

// manyRows is in the manner of Goto: panels of a and b are packed so that the innermost loop reads both in order, and blocks
// are sized for the caches.
func manyRows(fr *frame, m, n, k int, a, b, c matrix) {
	width := panelCols()
	for j := 0; j < n; j += blockCols {
		nj := min(blockCols, n-j)
		for p := 0; p < k; p += blockK {
			kp := min(blockK, k-p)
			bp := fr.temp(tempPackB, (nj+width)*kp*4)
			for l := 0; l < nj; l += width {
				pack(fr, unsafe.Add(bp, l*kp*4), width, min(width, nj-l), kp, b.at(p, j+l), b.col, b.row, b, 0)
			}
			for i := 0; i < m; i += blockRows {
				mi := min(blockRows, m-i)
				ap := packRows(fr, mi, kp, a, i, p)
				for l := 0; l < nj; l += width {
					multiplyPanel(mi, min(width, nj-l), kp, ap, unsafe.Add(bp, l*kp*4), width*4, c.at(i, j+l), c.row*4, kp, true)
				}
			}
		}
	}
}

// multiplyPanel adds to rows of c, stride bytes apart, the products of m packed rows, of k steps each, with the first steps of them of rows of b.
func multiplyPanel(m, n, steps int, a, b unsafe.Pointer, bstride int, c unsafe.Pointer, stride, k int, fresh bool) {
	for i := 0; i < m; {
		r := together(m - i)
		multiplyRows(r, n, steps, unsafe.Add(c, i*stride), stride, unsafe.Add(a, i*k*4), b, bstride, 0, fresh, false)
		i += r
	}
}

// rowsInOrder multiplies few rows with a matrix whose rows are contiguous: of some columns, rows are read in order, some at a time,
// while the next ones are on their way.
func rowsInOrder(fr *frame, m, n, k int, a, b, c matrix) {
	cols := 512
	if m > 4 { // fewer columns, whose sums then stay in the nearest cache
		cols = 128
	}
	depth := max(8, 4096/min(cols, n)) // so that some thousand elements are on their way
	bytes := b.row * b.size            // of a row
	near := b.load == nil && k*bytes <= nearBytes
	width := min(cols, n)
	sums := fr.temp(tempSums, m*width*4)
	for p := 0; p < k; p += blockK {
		kp := min(blockK, k-p)
		ap := packRows(fr, m, kp, a, 0, p)
		for j := 0; j < n; j += cols {
			w := min(cols, n-j)
			if near {
				multiplyPanel(m, w, kp, ap, b.at(p, j), bytes, c.at(0, j), c.row*4, kp, true)
				continue
			}
			asIs := b.load == nil || b.bf16 && multipliesBF16(w)
			clear(slice[float32](sums, m*w))
			for q := 0; q < kp; q += depth {
				d := min(depth, kp-q)
				rows, stride := b.at(p+q, j), bytes
				if !asIs {
					strip := fr.temp(tempPackB, d*w*4)
					for i := range d {
						b.load(unsafe.Add(strip, i*w*4), 1, unsafe.Add(rows, i*bytes), 1, w)
					}
					rows, stride = strip, w*4
				}
				for i := 0; i < m; {
					r := together(m - i)
					multiplyRows(r, w, d, unsafe.Add(sums, i*w*4), w*4, unsafe.Add(ap, (i*kp+q*r)*4), rows, stride, d*bytes, false, asIs && b.bf16)
					i += r
				}
			}
			for i := range m {
				add32(c.at(i, j), unsafe.Add(sums, i*w*4), w)
			}
		}
	}
}

// nearBytes is the size up to which a matrix may be in a core's own cache since it was used last.
const nearBytes = 256 << 10

// contiguousColumns multiplies very few rows with a matrix whose columns are contiguous: some columns are read side by side.
func contiguousColumns(fr *frame, m, n, k int, a, b, c matrix) {
	all := packAll(fr, m, k, a)
	var columns [16]unsafe.Pointer
	at := columnsAtOnce(m)
	for j := 0; j < n; j += at {
		w := min(at, n-j)
		for p := 0; p < k; p += blockK {
			kp := min(blockK, k-p)
			for i := range at {
				columns[i] = b.at(p, min(j+i, n-1)) // a column too many is the last again
			}
			ahead := kp // further along these columns, or the beginning of the next ones
			if p+kp == k {
				ahead = at*b.col - p
			}
			for i := 0; i < m; {
				r := together(m - i)
				multiplyColumns(m, r, w, kp, c.at(i, j), c.row*4, unsafe.Add(all, (m*p+i*kp)*4), &columns, ahead*b.size, b.bf16)
				i += r
			}
		}
	}
}

// columnsInOrder multiplies few rows with a matrix whose columns are contiguous, or with any: some columns at a time are made
// rows of a panel in the nearest cache.
func columnsInOrder(fr *frame, m, n, k int, a, b, c matrix) {
	const width = 32
	depth := 256 / b.size // a divisor of blockK: some neighbouring lines of each column
	sums := fr.temp(tempSums, m*width*4)
	panel := fr.temp(tempPackB, (depth+1)*width*4)
	all := packAll(fr, m, k, a)
	for j := 0; j < n; j += width {
		w := min(width, n-j)
		for p := 0; p < k; p += blockK {
			kp := min(blockK, k-p)
			ap := unsafe.Add(all, m*p*4)
			clear(slice[float32](sums, m*width))
			for q := 0; q < kp; q += depth {
				d := min(depth, kp-q)
				// The next panel: further along these columns, or the beginning of the next ones.
				ahead := d
				if p+q+d == k {
					ahead = width*b.col - (p + q)
				}
				pack(fr, panel, width, w, d, b.at(p+q, j), b.col, b.row, b, ahead*b.size)
				for i := 0; i < m; {
					r := together(m - i)
					multiplyRows(r, w, d, unsafe.Add(sums, i*width*4), width*4, unsafe.Add(ap, (i*kp+q*r)*4), panel, width*4, 0, false, false)
					i += r
				}
			}
			for i := range m {
				add32(c.at(i, j), unsafe.Add(sums, i*width*4), w)
			}
		}
	}
}

// packAll packs rows of a for all steps, blockK of them after another.
func packAll(fr *frame, m, k int, a matrix) unsafe.Pointer {
	all := fr.temp(tempPackA, (m*k+8)*4)
	for p := 0; p < k; p += blockK {
		packRowsTo(fr, unsafe.Add(all, m*p*4), m, min(blockK, k-p), a, 0, p)
	}
	return all
}

// packRows packs m rows of a, from row i on, k steps from p on: by groups, of which each has the elements of a step side by side.
func packRows(fr *frame, m, k int, a matrix, i, p int) unsafe.Pointer {
	if m == 1 && a.load == nil && (a.col == 1 || k == 1) {
		return a.at(i, p)
	}
	dst := fr.temp(tempPackA, (m*k+8)*4)
	packRowsTo(fr, dst, m, k, a, i, p)
	return dst
}

func packRowsTo(fr *frame, dst unsafe.Pointer, m, k int, a matrix, i, p int) {
	for l := 0; l < m; {
		r := together(m - l)
		pack(fr, unsafe.Add(dst, l*k*4), r, r, k, a.at(i+l, p), a.row, a.col, a, 0)
		l += r
	}
}

// pack copies count lanes of a matrix, k steps of each, so that the lanes of a step are side by side, steps width apart. lane
// and step are the strides, in elements, from lane to lane and from step to step. Lanes past count are undefined: they only
// reach results that are dropped. dst needs room for 8 floats more. Memory so many bytes ahead of each lane will be needed next.
func pack(fr *frame, dst unsafe.Pointer, width, count, k int, src unsafe.Pointer, lane, step int, m matrix, ahead int) {
	move := m.load
	if move == nil {
		move = copyRun[uint32]
	}
	switch {
	case count == 1 && width == 1:
		move(dst, 1, src, step, k)
	case lane == 1 && wide && width == 64 && count == 64 && m.load == nil:
		panelAVX512(k, dst, src, step*m.size)
	case lane == 1 && wide && width == 64 && count == 64 && m.bf16:
		panelBF16AVX512(k, dst, src, step*m.size)
	case lane == 1:
		for p := range k {
			move(unsafe.Add(dst, p*width*4), 1, unsafe.Add(src, p*step*m.size), 1, count)
		}
	case step == 1 && transposes(fr, dst, width, count, k, src, lane, m, ahead):
	default:
		for i := range count {
			move(unsafe.Add(dst, i*4), width, unsafe.Add(src, i*lane*m.size), step, k)
		}
	}
}

// transposes packs lanes that are contiguous by vector loops, where the machine has them.
func transposes(fr *frame, dst unsafe.Pointer, width, count, k int, src unsafe.Pointer, lane int, m matrix, ahead int) bool {
	if !vectors || k < lanes {
		return false
	}
	pairs, size := wide && count >= 16 && m.bf16 && k%32 == 0, m.size
	if m.load != nil && !pairs { // widen the lanes first
		whole := fr.temp(tempWide, count*k*4)
		for i := range count {
			m.load(unsafe.Add(whole, i*k*4), 1, unsafe.Add(src, i*lane*size), 1, k)
		}
		src, lane, size, m.load, ahead = whole, k, 4, nil, 0
	}
	// At once as many lanes, and of each as many elements, as a loop transposes.
	at, done := 8, k&^7
	switch {
	case pairs:
		at, done = 16, k&^31
	case wide && count >= 16:
		at, done = 16, k&^15
	}
	var rows [16]unsafe.Pointer
	for first := 0; first < count; first += at {
		for i := range at {
			rows[i] = unsafe.Add(src, min(first+i, count-1)*lane*size) // a lane too many is the last again
		}
		to := unsafe.Add(dst, first*4)
		switch {
		case pairs:
			transposeBF16AVX512(done, to, width*4, &rows, ahead)
		case at == 16:
			transposeAVX512(done, to, width*4, &rows, ahead)
		default: // a step writes 8 lanes: of a group of fewer, the next step overwrites those that are too many
			transposeAVX(done, to, width*4, (*[8]unsafe.Pointer)(rows[:]))
		}
	}
	if done < k {
		move := m.load
		if move == nil {
			move = copyRun[uint32]
		}
		for i := range count {
			move(unsafe.Add(dst, (done*width+i)*4), width, unsafe.Add(src, (i*lane+done)*size), 1, k-done)
		}
	}
	return true
}

// multiplyRowsGo adds to r rows of c, of n columns and cstride bytes apart, the products of the coefficients a, of each of k
// steps those of the r rows side by side, with k rows of b, bstride bytes apart. Each element is a chain of fused
// multiply-adds in the order of the steps: it begins with the element of c, or where it is fresh with 0, and is then added to
// it. This is what the vector loops compute.
func multiplyRowsGo(r, n, k int, c unsafe.Pointer, cstride int, a, b unsafe.Pointer, bstride int, fresh bool) {
	for i := range r {
		row := slice[float32](unsafe.Add(c, i*cstride), n)
		for j := 0; j < n; {
			w := min(4, n-j)
			var s [4]float32
			if !fresh {
				copy(s[:w], row[j:])
			}
			if w == 4 {
				s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
				for p := range k {
					x := *(*float32)(unsafe.Add(a, (p*r+i)*4))
					y := (*[4]float32)(unsafe.Add(b, p*bstride+j*4))
					s0, s1 = fma32(x, y[0], s0), fma32(x, y[1], s1)
					s2, s3 = fma32(x, y[2], s2), fma32(x, y[3], s3)
				}
				s = [4]float32{s0, s1, s2, s3}
			} else {
				for p := range k {
					x := *(*float32)(unsafe.Add(a, (p*r+i)*4))
					for l := range w {
						s[l] = fma32(x, *(*float32)(unsafe.Add(b, p*bstride+(j+l)*4)), s[l])
					}
				}
			}
			for l := range w {
				if fresh {
					s[l] = row[j+l] + s[l]
				}
				row[j+l] = s[l]
			}
			j += w
		}
	}
}
