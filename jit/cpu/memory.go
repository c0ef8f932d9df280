package cpu

import (
	"unsafe"

	"tilec/jit/ir"
)

// load compiles a load into the buffer of its result.
func (c *compiler) load(op *ir.Op) func(*frame) {
	tile := op.Result().Type.Axes
	a := c.access(op, tile)
	dst, size, esize := c.off(op.Result()), kindOfDType[a.dtype].size(), a.dtype.Size()
	m, packed := loader(a.dtype), a.dtype.Packed()
	var fill func(*frame)
	if e := op.Else(); e != nil {
		fill = c.spreadTo(op.Result(), e)
	}
	return func(fr *frame) {
		var r region
		a.resolve(fr, &r)
		if fill != nil && (!r.whole || a.gathers) {
			fill(fr)
		}
		if !r.some {
			return
		}
		rank := len(a.axes)
		var step [maxRank]int // of the tile's buffer
		for i, s := rank-1, 1; i >= 0; i-- {
			step[i] = s
			s *= r.n[i]
		}
		if a.quotients != nil {
			a.eachPiece(&r, &step, func(b *box, to, offset int) {
				b.move(m, fr.at(dst+to*size), size, unsafe.Add(r.base, offset*esize), esize)
			})
			return
		}
		a.eachRun(fr, &r, func(offset int) {
			var b box
			to := 0
			for i := range a.outer {
				to += r.at[i] * step[i]
			}
			for i := a.outer; i < rank; i++ {
				b.add(r.hi[i]-r.lo[i], step[i], r.stride[i])
				to += r.lo[i] * step[i]
				offset += r.lo[i] * r.stride[i]
			}
			if packed {
				b.unpack(a.dtype, fr.at(dst+to*size), r.base, offset)
				return
			}
			b.move(m, fr.at(dst+to*size), size, unsafe.Add(r.base, offset*esize), esize)
		})
	}
}

// longRepeat is from how many positions on that have one element they are filled with it one after the other; of fewer, the first are moved, then the second.
const longRepeat = 16

// eachPiece calls move for every box of a tile with quotients that lies in the tensor: where it begins in the tile, whose strides are step, and, in elements, in the tensor. Along such an axis the
// first positions and the last ones that share an element with what is not there are boxes of their own.
func (a *access) eachPiece(r *region, step *[maxRank]int, move func(b *box, to, offset int)) {
	var along func(axis int, b box, to, offset int)
	along = func(axis int, b box, to, offset int) {
		if axis == len(a.axes) {
			move(&b, to, offset)
			return
		}
		lo, hi, s, stride := r.lo[axis], r.hi[axis], step[axis], r.stride[axis]
		by := a.quotients[axis]
		if by == 0 {
			b.add(hi-lo, s, stride)
			along(axis+1, b, to+lo*s, offset+lo*stride)
			return
		}
		part := r.part[axis]
		piece := func(from, n, each int) { // n elements for each positions each
			if n <= 0 || each <= 0 {
				return
			}
			b := b
			if each >= longRepeat {
				b.add(n, s*each, stride)
				b.add(each, s, 0)
			} else {
				b.add(each, s, 0)
				b.add(n, s*each, stride)
			}
			along(axis+1, b, to+from*s, offset+(part+from)/by*stride)
		}
		first := min((lo+part+by-1)/by*by-part, hi) // where an element's first position is
		whole := (hi - first) / by
		piece(lo, 1, first-lo)
		piece(first, whole, by)
		piece(first+whole*by, 1, hi-first-whole*by)
	}
	along(0, box{}, 0, r.offset)
}

// write compiles a store or an atomic: m moves elements of the value into the tensor.
func (c *compiler) write(op *ir.Op, m mover) func(*frame) {
	tile := op.AccessAxes()
	if op.Collides() {
		tile = c.f.InOrder(tile) // the last position wins
	}
	a := c.access(op, tile)
	v := op.Stored()
	src, size, esize, packed := c.off(v), kindOfDType[a.dtype].size(), a.dtype.Size(), a.dtype.Packed()
	// order gives, for the value's axes, their place among the tile's.
	order := make([]int, len(v.Type.Axes))
	for i, x := range v.Type.Axes {
		for j, y := range tile {
			if x == y {
				order[i] = j
			}
		}
	}
	return func(fr *frame) {
		var r region
		a.resolve(fr, &r)
		if !r.some {
			return
		}
		rank := len(a.axes)
		var step [maxRank]int // of the value's buffer; 0 along axes that it has not
		for i, s := len(order)-1, 1; i >= 0; i-- {
			step[order[i]] = s
			s *= r.n[order[i]]
		}
		a.eachRun(fr, &r, func(offset int) {
			var b box
			from := 0
			for i := range a.outer {
				from += r.at[i] * step[i]
			}
			for i := a.outer; i < rank; i++ {
				b.add(r.hi[i]-r.lo[i], r.stride[i], step[i])
				from += r.lo[i] * step[i]
				offset += r.lo[i] * r.stride[i]
			}
			if packed {
				b.pack(a.dtype, r.base, offset, fr.at(src+from*size))
				return
			}
			b.move(m, unsafe.Add(r.base, offset*esize), esize, fr.at(src+from*size), size)
		})
	}
}
