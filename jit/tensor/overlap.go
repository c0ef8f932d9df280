package tensor

import (
	"slices"
	"sort"
)

// Inputs are immutable, and no two blocks may write one element: so a tensor that is written shares no element with any
// other argument, nor with itself. Tensors may lie between each other, as the columns of one matrix do: what counts is
// the elements, not the range from the first to the last.

// Footprint is where the elements of a tensor lie.
type Footprint struct {
	// address of element 0 and size of an element, in bits.
	address uint64
	size    int64
	// end is the bits from element 0 to behind the last element; 0 where there is none.
	end int64
	// shape and strides are of the dimensions with more than one element; strides in bits, none negative.
	shape, strides []int64
}

// FootprintOf is where the elements of a tensor that was checked, of which the end is given in bytes, lie.
func FootprintOf(t *Tensor, end int64) Footprint {
	size := int64(t.DType.Bits())
	l := Footprint{address: 8 * (t.Memory.Address() + uint64(t.DType.Bytes(t.Offset))), size: size, end: 8 * end}
	strides := t.Strides
	if strides == nil {
		strides = Contiguous(t.Shape)
	}
	for i, n := range t.Shape {
		if n > 1 {
			l.shape, l.strides = append(l.shape, n), append(l.strides, size*strides[i])
		}
	}
	return l
}

// Overlaps reports whether two tensors share a bit. Where that takes too long to find out, they do.
func (a Footprint) Overlaps(b Footprint) bool {
	if a.end == 0 || b.end == 0 || a.address >= b.address+uint64(b.end) || b.address >= a.address+uint64(a.end) {
		return false
	}
	var s search
	s.add(a, 1)
	s.add(b, -1)
	// Elements at a+x and b+y share a bit when a+x - (b+y) is between the sizes.
	apart := int64(b.address - a.address)
	return s.has(apart-a.size, apart+b.size)
}

// OverlapsItself reports a tensor of which two elements share a bit.
func (a Footprint) OverlapsItself() bool {
	if a.end == 0 {
		return false
	}
	for i, n := range a.shape {
		// Two places that differ in dimension i, and in none before.
		s := search{terms: []term{{a.strides[i], 1, n - 1}}}
		for j := i + 1; j < len(a.shape); j++ {
			s.terms = append(s.terms, term{a.strides[j], 1 - a.shape[j], a.shape[j] - 1})
		}
		if s.has(-a.size, a.size) {
			return true
		}
	}
	return false
}

// search looks for whole numbers, each in its range, of which the sum of multiples is in a range.
type search struct {
	terms []term
	// least and most are the sums of the terms from one on.
	least, most []int64
	low, high   int64
	work        int
}

// term is a stride times a number from least to most.
type term struct{ stride, least, most int64 }

// maxSearch bounds the numbers that one search tries. Layouts whose dimensions nest need a few for each dimension.
const maxSearch = 1 << 12

// add adds the places of a tensor, or takes them away. Equal strides are one term, of the difference.
func (s *search) add(a Footprint, sign int64) {
	for i, n := range a.shape {
		least, most := min(0, sign*(n-1)), max(0, sign*(n-1))
		at := slices.IndexFunc(s.terms, func(t term) bool { return t.stride == a.strides[i] })
		if at < 0 {
			s.terms = append(s.terms, term{a.strides[i], least, most})
			continue
		}
		s.terms[at].least += least
		s.terms[at].most += most
	}
}

// has reports a sum between two numbers, neither of them included.
func (s *search) has(low, high int64) bool {
	sort.Slice(s.terms, func(i, j int) bool { return s.terms[i].stride > s.terms[j].stride })
	s.low, s.high, s.work = low+1, high-1, 0
	n := len(s.terms)
	s.least, s.most = make([]int64, n+1), make([]int64, n+1)
	for i := n - 1; i >= 0; i-- {
		t := s.terms[i]
		s.least[i], s.most[i] = s.least[i+1]+t.stride*t.least, s.most[i+1]+t.stride*t.most
	}
	return s.from(0, 0)
}

// from reports a sum in the range that begins with what the first terms give.
func (s *search) from(i int, sum int64) bool {
	if sum+s.most[i] < s.low || sum+s.least[i] > s.high {
		return false
	}
	if i == len(s.terms) {
		return true
	}
	t := s.terms[i]
	if t.stride == 0 {
		return s.from(i+1, sum)
	}
	// Only numbers that the other terms can make up for.
	first := max(t.least, ceilDiv(s.low-sum-s.most[i+1], t.stride))
	last := min(t.most, floorDiv(s.high-sum-s.least[i+1], t.stride))
	for n := first; n <= last; n++ {
		if s.work++; s.work > maxSearch || s.from(i+1, sum+n*t.stride) {
			return true
		}
	}
	return false
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
