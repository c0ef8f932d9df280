package ir

// Ranges says, of a Grid axis, that its blocks go through ranges of the dimension that lie in memory: one for each position of another
// axis, as the rows of each expert do. A range is cut to the dimension and begins at the earliest where all those before it end, so no
// position is of two. Each block has positions of one range.
type Ranges struct {
	// Of is the Scalar Grid axis each of whose positions has a range. Blocks stand where the range of theirs does along it.
	Of *Axis
	// Lo and Hi are where a range begins and ends; nil for the beginning and the end of the dimension.
	Lo, Hi *Element
	// Outside are the outputs in which the kernel puts zeros at the positions along the first dimension that no range has.
	Outside []*Tensor
}

// Element is the element of a tensor of one dimension, of i32, at so much more than a position.
type Element struct {
	Tensor *Tensor
	Plus   int64
}

// Blocks is how many blocks a launch has along each of the grid's axes, given the sizes of dimensions. Of ranges in memory it is the
// most that there can be: each may end with a block of less than an extent. Along the axis each of whose positions has a range there is one.
func Blocks(grid []*Axis, size func(*Dim) int64) []int64 {
	blocks := make([]int64, len(grid))
	for i, a := range grid {
		blocks[i] = (size(a.Dim) + a.Extent - 1) / a.Extent
	}
	for i, a := range grid {
		if a.Ranges == nil {
			continue
		}
		for j, b := range grid {
			if b != a.Ranges.Of {
				continue
			}
			if blocks[i] > 0 {
				blocks[i] += max(blocks[j]-1, 0)
			}
			blocks[j] = 1 // also where there are no ranges: what is outside of them is everything
		}
	}
	return blocks
}

// HasRanges reports a grid of which an axis goes through ranges that lie in memory.
func (f *Func) HasRanges() bool {
	for _, a := range f.Axes {
		if a.Ranges != nil {
			return true
		}
	}
	return false
}

// HasRange reports an axis each of whose positions has a range along another one.
func (f *Func) HasRange(a *Axis) bool {
	for _, b := range f.Axes {
		if b.Ranges != nil && b.Ranges.Of == a {
			return true
		}
	}
	return false
}

// ranges are those of an axis under m.
func (m *Mapping) ranges(r *Ranges) *Ranges {
	if r == nil {
		return nil
	}
	c := &Ranges{Of: mapped(m.Axes, r.Of), Outside: each(r.Outside, m.Tensors)}
	for _, end := range []struct{ from, to **Element }{{&r.Lo, &c.Lo}, {&r.Hi, &c.Hi}} {
		if e := *end.from; e != nil {
			*end.to = &Element{mapped(m.Tensors, e.Tensor), e.Plus}
		}
	}
	return c
}
