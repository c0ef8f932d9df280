package fuzz

import (
	"tilec/jit"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has the tensors in the reference's memory. They may be as large as a device's: what nothing changes stays
// the bytes that it was.

// pageSize is how many elements of a tensor become intervals or integers of the reference together, once one of them changes.
const pageSize = 1 << 10

// array is a tensor in the reference's memory.
type array struct {
	dtype lang.DType
	shape []int64
	size  int64
	// data is the elements before the run, row-major; nil for zeros.
	data []byte
	// held: elements that nothing stores count as results, as those of an inout and of a filled output do.
	held bool
	// pages are the parts of the tensor in which something changed; the others are nil.
	pages []*page
	// lost: something was stored nobody knows where.
	lost bool
	// added: atomics added floats, in an order that nobody knows.
	added bool
}

// page is a part of an array; floats are in f, integers and bools in n.
type page struct {
	f      []interval
	n      []whole
	stored []bool
	// mass and adds are, for each element, the sum of the magnitudes added to it by atomics, and their number.
	mass []float64
	adds []int
	// touched: an atomic has changed the element.
	touched []bool
}

func newArray(d lang.DType, shape []int64, data []byte) *array {
	n := jit.Elements(shape)
	return &array{dtype: d, shape: shape, size: n, data: data, pages: make([]*page, (n+pageSize-1)/pageSize)}
}

// before is an element before the run.
func (a *array) before(where int64) ir.Const {
	if a.data == nil {
		return ir.Const{}
	}
	return decode(a.dtype, a.data, int(where))
}

// page gives the part of the array that holds an element, and its place there.
func (a *array) page(where int64) (*page, int) {
	p := a.pages[where/pageSize]
	if p == nil {
		first := where / pageSize * pageSize
		n := min(pageSize, a.size-first)
		p = &page{stored: make([]bool, n)}
		if a.dtype.IsFloat() {
			p.f = make([]interval, n)
		} else {
			p.n = make([]whole, n)
		}
		for i := range n {
			if e := a.before(first + i); p.f != nil {
				p.f[i] = point(e.Float)
			} else {
				p.n[i] = whole{e.Int, true}
			}
		}
		a.pages[where/pageSize] = p
	}
	return p, int(where % pageSize)
}

// float is an element of an array of floats.
func (a *array) float(where int64) interval {
	if p := a.pages[where/pageSize]; p != nil {
		return p.f[where%pageSize]
	}
	return point(a.before(where).Float)
}

// whole is an element of an array of integers or bools.
func (a *array) whole(where int64) whole {
	if p := a.pages[where/pageSize]; p != nil {
		return p.n[where%pageSize]
	}
	return whole{a.before(where).Int, true}
}

// stored reports an element that the run stored.
func (a *array) stored(where int64) bool {
	p := a.pages[where/pageSize]
	return p != nil && p.stored[where%pageSize]
}

// written reports an element that counts as a result.
func (a *array) written(where int64) bool { return a.held || a.stored(where) }

// unknown reports an element of which nothing can be said.
func (a *array) unknown(where int64) bool {
	switch {
	case a.lost:
		return true
	case a.dtype.IsFloat():
		return a.float(where).isUnknown()
	}
	return !a.whole(where).ok
}

// touch notes that an atomic changes an element, and reports whether one has before.
func (a *array) touch(where int64) (again bool) {
	p, i := a.page(where)
	if p.touched == nil {
		p.touched = make([]bool, len(p.stored))
	}
	again, p.touched[i] = p.touched[i], true
	return again
}

// settle adds to elements that atomics changed what the order of additions may do.
func (a *array) settle() {
	for _, p := range a.pages {
		if p == nil {
			continue
		}
		for i, n := range p.adds {
			if n == 0 {
				continue
			}
			e := growth(float64(n), rounding(a.dtype))*p.mass[i] + growth(float64(n), 0x1p-52)*p.mass[i]
			if !(p.mass[i]+e <= a.dtype.Largest()) {
				p.f[i] = unknown
				continue
			}
			if a.dtype == lang.F32 {
				e += float64(n+1) * 0x1p-126 // GPUs' atomics on f32 take subnormal numbers for 0
			}
			p.f[i] = p.f[i].grow(e + rounding(a.dtype)*p.f[i].most())
		}
	}
}

// agrees reports whether two references allow a common result.
func (a *array) agrees(b *array) bool {
	if a.lost || b.lost {
		return true
	}
	for i := range a.size {
		switch {
		case a.written(i) != b.written(i):
			return false
		case !a.written(i):
		case a.dtype.IsFloat():
			x, y := a.float(i), b.float(i)
			if !(x.lo <= y.hi && y.lo <= x.hi) && (x.nan == never || y.nan == never) {
				return false
			}
		default:
			x, y := a.whole(i), b.whole(i)
			if x.ok && y.ok && x != y {
				return false
			}
		}
	}
	return true
}
