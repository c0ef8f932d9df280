package cpu

import (
	"unsafe"
)

// The f32 product in the manner of Goto: panels of a and b are packed so that
// the innermost kernel reads both in order, and blocks are sized for the caches.
const (
	microRows = 6  // rows of c that the innermost kernel holds in registers
	microCols = 16 // columns
	blockK    = 256
	blockRows = 96  // a multiple of microRows: blockRows × blockK floats fit in L2 with room
	blockCols = 512 // a multiple of microCols
)

// multiply32 is the product of floats up to 32 bits, in f32.
func multiply32(fr *frame, m, n, k int, a, b, c matrix) {
	if m == 0 || n == 0 || k == 0 {
		return
	}
	if n == 1 || c.col != 1 && c.row == 1 {
		m, n, a, b, c = n, m, b.transpose(), a.transpose(), c.transpose()
	}
	if m == 1 {
		vectorMatrix(fr, n, k, a, b, c)
		return
	}
	for j := 0; j < n; j += blockCols {
		nj := min(blockCols, n-j)
		for p := 0; p < k; p += blockK {
			kp := min(blockK, k-p)
			bp := fr.temp(tempPackB, (nj+microCols)*kp*4)
			pack(fr, bp, microCols, nj, kp, b.at(p, j), b.col, b.row, b)
			for i := 0; i < m; i += blockRows {
				mi := min(blockRows, m-i)
				ap := fr.temp(tempPackA, (mi+microRows)*kp*4+8)
				pack(fr, ap, microRows, mi, kp, a.at(i, p), a.row, a.col, a)
				macro(mi, nj, kp, ap, bp, c.at(i, j), c.row)
			}
		}
	}
}

// pack copies a panel of a matrix as groups of width lanes, count in all, k steps of each
// group in order. lane and step are the strides, in elements, from lane to lane
// and from step to step. Lanes of the last group past the panel are undefined:
// they only reach results that are dropped. dst needs room for two lanes more.
func pack(fr *frame, dst unsafe.Pointer, width, count, k int, src unsafe.Pointer, lane, step int, m matrix) {
	move := m.load
	if move == nil {
		move = copyRun[uint32]
	}
	for l := 0; l < count; l += width {
		w := min(width, count-l)
		group := unsafe.Add(src, l*lane*m.size)
		d := unsafe.Add(dst, l*k*4)
		switch {
		case m.load == nil && lane == 1 && w == 16:
			for p := range k {
				*(*[16]float32)(unsafe.Add(d, p*16*4)) = *(*[16]float32)(unsafe.Add(group, p*step*4))
			}
		case lane == 1:
			for p := range k {
				move(unsafe.Add(d, p*width*4), 1, unsafe.Add(group, p*step*m.size), 1, w)
			}
		case vectors && step == 1 && k >= lanes:
			stride := lane
			if m.load != nil { // widen the lanes first
				wide := fr.temp(tempWide, w*k*4)
				for i := range w {
					m.load(unsafe.Add(wide, i*k*4), 1, unsafe.Add(group, i*lane*m.size), 1, k)
				}
				group, stride = wide, k
			}
			packTransposed(d, width, w, k, group, stride)
		default:
			for i := range w {
				move(unsafe.Add(d, i*4), width, unsafe.Add(group, i*lane*m.size), step, k)
			}
		}
	}
}

// packTransposed packs one group whose lanes are contiguous along k.
func packTransposed(d unsafe.Pointer, width, w, k int, src unsafe.Pointer, lane int) {
	whole := k &^ 7
	for first := 0; first < w; first += 8 {
		var rows [8]unsafe.Pointer
		for i := range rows {
			rows[i] = unsafe.Add(src, min(first+i, w-1)*lane*4) // a lane too many reads the last again
		}
		// A step writes 8 lanes: of a group of 6, the next step overwrites the two that are too many.
		transposeAVX(whole, unsafe.Add(d, first*4), width*4, &rows)
	}
	for p := whole; p < k; p++ {
		for i := range w {
			*(*float32)(unsafe.Add(d, (p*width+i)*4)) = *(*float32)(unsafe.Add(src, (i*lane+p)*4))
		}
	}
}

// macro multiplies packed panels into c, whose columns are contiguous and whose rows are stride apart.
func macro(m, n, k int, a, b, c unsafe.Pointer, stride int) {
	var edge [microRows * microCols]float32
	for j := 0; j < n; j += microCols {
		w := min(microCols, n-j)
		bp := unsafe.Add(b, j*k*4)
		for i := 0; i < m; i += microRows {
			h := min(microRows, m-i)
			ap := unsafe.Add(a, i*k*4)
			cp := unsafe.Add(c, (i*stride+j)*4)
			if h == microRows && w == microCols {
				micro(k, ap, bp, cp, stride)
				continue
			}
			clear(edge[:])
			micro(k, ap, bp, unsafe.Pointer(&edge), microCols)
			for y := range h {
				d := slice[float32](unsafe.Add(cp, y*stride*4), w)
				for x := range d {
					d[x] += edge[y*microCols+x]
				}
			}
		}
	}
}

// microGo adds a packed microRows × k panel times a packed k × microCols panel to c. As in the vector loop, each
// element has one chain of fused multiply-adds, to which the element of c is added last.
func microGo(k int, a, b, c unsafe.Pointer, stride int) {
	for i := 0; i < microRows; i += 2 {
		for j := 0; j < microCols; j += 4 {
			var s00, s01, s02, s03, s10, s11, s12, s13 float32
			ap, bp := unsafe.Add(a, i*4), unsafe.Add(b, j*4)
			for range k {
				x := (*[2]float32)(ap)
				y := (*[4]float32)(bp)
				s00 = fma32(x[0], y[0], s00)
				s01 = fma32(x[0], y[1], s01)
				s02 = fma32(x[0], y[2], s02)
				s03 = fma32(x[0], y[3], s03)
				s10 = fma32(x[1], y[0], s10)
				s11 = fma32(x[1], y[1], s11)
				s12 = fma32(x[1], y[2], s12)
				s13 = fma32(x[1], y[3], s13)
				ap, bp = unsafe.Add(ap, microRows*4), unsafe.Add(bp, microCols*4)
			}
			c0 := (*[4]float32)(unsafe.Add(c, (i*stride+j)*4))
			c1 := (*[4]float32)(unsafe.Add(c, ((i+1)*stride+j)*4))
			c0[0] += s00
			c0[1] += s01
			c0[2] += s02
			c0[3] += s03
			c1[0] += s10
			c1[1] += s11
			c1[2] += s12
			c1[3] += s13
		}
	}
}
