package cpu

import (
	"math"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// maxRank bounds the axes of a tile, so that odometers need no allocation.
const maxRank = ir.MaxRank

// mover copies n elements between runs with strides in elements.
type mover func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int)

// box is a strided region of two arrays, walked together.
type box struct {
	rank     int
	n        [boxRank]int
	dst, src [boxRank]int // strides in elements
}

// boxRank bounds the axes of a box: those of a tile, and of positions that have one element.
const boxRank = maxRank + mostQuotients

func (b *box) add(n, dst, src int) {
	b.n[b.rank], b.dst[b.rank], b.src[b.rank] = n, dst, src
	b.rank++
}

// collapse drops axes of one element and merges axes that both sides walk as one.
func (b *box) collapse() {
	out := 0
	for i := range b.rank {
		if b.n[i] == 1 {
			continue
		}
		if out > 0 && b.dst[out-1] == b.dst[i]*b.n[i] && b.src[out-1] == b.src[i]*b.n[i] {
			b.n[out-1] *= b.n[i]
			b.dst[out-1], b.src[out-1] = b.dst[i], b.src[i]
			continue
		}
		b.n[out], b.dst[out], b.src[out] = b.n[i], b.dst[i], b.src[i]
		out++
	}
	if out == 0 {
		b.n[0], b.dst[0], b.src[0] = 1, 1, 1
		out = 1
	}
	b.rank = out
}

// empty reports a box without elements.
func (b *box) empty() bool {
	for i := range b.rank {
		if b.n[i] <= 0 {
			return true
		}
	}
	return false
}

// move copies the box with m; the sizes are bytes of one element on each side.
// Here and everywhere, a pointer is formed only where there is an element: the
// garbage collector refuses to see one past the end of its object.
func (b *box) move(m mover, dst unsafe.Pointer, dstSize int, src unsafe.Pointer, srcSize int) {
	if b.empty() {
		return
	}
	b.collapse()
	last := b.rank - 1
	if last == 0 {
		m(dst, b.dst[0], src, b.src[0], b.n[0])
		return
	}
	if last == 1 {
		for i := range b.n[0] {
			m(unsafe.Add(dst, i*b.dst[0]*dstSize), b.dst[1], unsafe.Add(src, i*b.src[0]*srcSize), b.src[1], b.n[1])
		}
		return
	}
	var at [boxRank]int
	do, so := 0, 0
	for {
		m(unsafe.Add(dst, do*dstSize), b.dst[last], unsafe.Add(src, so*srcSize), b.src[last], b.n[last])
		i := last - 1
		for ; i >= 0; i-- {
			at[i]++
			do += b.dst[i]
			so += b.src[i]
			if at[i] < b.n[i] {
				break
			}
			do -= b.n[i] * b.dst[i]
			so -= b.n[i] * b.src[i]
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// copyRun moves elements of one Go type unchanged.
func copyRun[T any](dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
	switch {
	case ds == 1 && ss == 1:
		copy(slice[T](dst, n), slice[T](src, n))
	case ds == 1 && ss == 0:
		d, v := slice[T](dst, n), *(*T)(src)
		if vectors && unsafe.Sizeof(v) == 4 && n >= lanes {
			whole := n &^ (lanes - 1)
			fillAVX(whole, dst, *(*uint32)(src))
			d = d[whole:]
		}
		for i := range d {
			d[i] = v
		}
	default:
		var z T
		dstep, sstep := ds*int(unsafe.Sizeof(z)), ss*int(unsafe.Sizeof(z))
		for do, so := 0, 0; n > 0; n-- {
			*(*T)(unsafe.Add(dst, do)) = *(*T)(unsafe.Add(src, so))
			do, so = do+dstep, so+sstep
		}
	}
}

// convertRun moves elements through a conversion.
func convertRun[S, D any](f func(S) D) mover {
	return func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
		var s S
		var d D
		dstep, sstep := ds*int(unsafe.Sizeof(d)), ss*int(unsafe.Sizeof(s))
		if ss == 0 {
			v := f(*(*S)(src))
			for i := range n {
				*(*D)(unsafe.Add(dst, i*dstep)) = v
			}
			return
		}
		for i := range n {
			*(*D)(unsafe.Add(dst, i*dstep)) = f(*(*S)(unsafe.Add(src, i*sstep)))
		}
	}
}

func copier(size int) mover {
	switch size {
	case 1:
		return copyRun[uint8]
	case 2:
		return copyRun[uint16]
	case 4:
		return copyRun[uint32]
	}
	return copyRun[uint64]
}

// loader moves elements of a tensor into a tile's buffer.
func loader(d lang.DType) mover {
	switch d {
	case lang.Bool:
		return convertRun(func(b uint8) uint8 {
			if b != 0 {
				return 1
			}
			return 0
		})
	case lang.F16:
		return widener(halfValue, widenF16AVX)
	case lang.BF16:
		return widener(lang.BF16Value, widenBF16AVX)
	}
	if narrowFloat(d) {
		return tableRun(d)
	}
	return copier(d.Size())
}

// storer moves elements of a tile's buffer, which are rounded already, into a tensor.
func storer(d lang.DType) mover {
	switch d {
	case lang.F16:
		return narrower(halfBits, narrowF16AVX)
	case lang.BF16:
		return narrower(lang.BF16Bits, narrowBF16AVX)
	}
	if narrowFloat(d) {
		return convertRun(func(x float32) uint8 { return uint8(d.FloatBits(float64(x))) })
	}
	return copier(d.Size())
}

// widener converts elements of 16 bits to float32, contiguous ones by a vector loop.
func widener(value func(uint16) float32, vector func(n int, d, a unsafe.Pointer)) mover {
	each := convertRun(value)
	return func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
		if whole := n &^ (lanes - 1); vectors && ds == 1 && ss == 1 && whole > 0 {
			vector(whole, dst, src)
			if n -= whole; n == 0 {
				return
			}
			dst, src = unsafe.Add(dst, whole*4), unsafe.Add(src, whole*2)
		}
		each(dst, ds, src, ss, n)
	}
}

// narrower converts float32 to elements of 16 bits likewise.
func narrower(bits func(float32) uint16, vector func(n int, d, a unsafe.Pointer)) mover {
	each := convertRun(bits)
	return func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
		if whole := n &^ (lanes - 1); vectors && ds == 1 && ss == 1 && whole > 0 {
			vector(whole, dst, src)
			if n -= whole; n == 0 {
				return
			}
			dst, src = unsafe.Add(dst, whole*2), unsafe.Add(src, whole*4)
		}
		each(dst, ds, src, ss, n)
	}
}

// halfValue widens a half: its exponent moves by a multiplication, which
// normalises subnormals as well.
func halfValue(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	if h&0x7c00 == 0x7c00 {
		return math.Float32frombits(sign | 0x7f800000 | uint32(h&0x3ff)<<13)
	}
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | sign)
}

// halfBits gives the bits of a value that a half represents exactly.
func halfBits(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	if b&0x7f800000 == 0x7f800000 {
		h := sign | 0x7c00 | uint16(b>>13)&0x3ff
		if b&0x7fffff != 0 {
			h |= 0x200
		}
		return h
	}
	return sign | uint16(math.Float32bits(math.Float32frombits(b&0x7fffffff)*0x1p-112)>>13)
}

// tableRun converts one-byte elements through a table of their values.
func tableRun(d lang.DType) mover {
	var table [256]float32
	for i := range table {
		table[i] = float32(d.FloatValue(uint64(i)))
	}
	return func(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss int, n int) {
		for i := range n {
			*(*float32)(unsafe.Add(dst, i*ds*4)) = table[*(*uint8)(unsafe.Add(src, i*ss))]
		}
	}
}
