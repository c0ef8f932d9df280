package cpu

import (
	"fmt"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// position is an index of an access, taken apart: the positions of an axis (or
// none) plus scalars. An index that is no such sum is a tile of integers.
type position struct {
	// axis is the tile's axis along which the position grows by one; nil for a scalar.
	axis *ir.Axis
	// from is the axis whose first position counts; it differs from axis after a rename.
	from        *ir.Axis
	plus, minus []*ir.Value
	constant    int64
	// by is how many positions of the axis have one, of a quotient by a constant, as the weights of a word have; 0 where each has its own.
	by int64
	// tile is set for an index that is gathered; the rest is not used then.
	tile *ir.Value
}

// positionOf takes an index apart.
func positionOf(v *ir.Value) position {
	if p, ok := affine(v); ok {
		return p
	}
	return position{tile: v}
}

func affine(v *ir.Value) (position, bool) {
	if v.Type.IsScalar() {
		if v.Def != nil && v.Def.Code == lang.OpConst {
			return position{constant: v.Def.Const.Int}, true
		}
		return position{plus: []*ir.Value{v}}, true
	}
	if v.Def == nil || len(v.Type.Axes) != 1 {
		return position{}, false
	}
	op := v.Def
	switch op.Code {
	case lang.OpIndex:
		return position{axis: op.Axis, from: op.Axis}, true
	case lang.OpRename:
		p, ok := affine(op.Args[0])
		p.axis = op.Axis
		return p, ok
	case lang.OpCast:
		if d := op.Args[0].Type.DType; v.Type.DType == lang.I64 && d == lang.I32 {
			return affine(op.Args[0])
		}
	case lang.OpDiv, lang.OpFloorDiv, lang.OpShr:
		of, n := op.Args[0], divisor(op)
		if of.Def != nil && of.Def.Code == lang.OpIndex && n > 0 {
			return position{axis: of.Def.Axis, from: of.Def.Axis, by: n}, true
		}
	case lang.OpAdd, lang.OpSub:
		a, okA := affine(op.Args[0])
		b, okB := affine(op.Args[1])
		if a.by > 0 || b.by > 0 || !okA || !okB || a.axis != nil && b.axis != nil || op.Code == lang.OpSub && b.axis != nil {
			return position{}, false
		}
		if a.axis == nil {
			a.axis, a.from = b.axis, b.from
		}
		if op.Code == lang.OpSub {
			b.plus, b.minus, b.constant = b.minus, b.plus, -b.constant
		}
		a.plus = append(append([]*ir.Value(nil), a.plus...), b.plus...)
		a.minus = append(append([]*ir.Value(nil), a.minus...), b.minus...)
		a.constant += b.constant
		return a, true
	}
	return position{}, false
}

// divisor is by what constant an operation divides positions; 0 where it does not.
func divisor(op *ir.Op) int64 {
	n, ok := op.Args[1].IsConst()
	switch {
	case !ok || n.Int < 0:
		return 0
	case op.Code != lang.OpShr:
		return n.Int
	case n.Int < 31:
		return 1 << n.Int
	}
	return 0
}

// mostQuotients is how many axes of a load's tile may have quotients of their positions among its indices.
const mostQuotients = 2

// positionsOf takes the indices of an access apart. Only loads have quotients, whose axes no other index has, beside indices that are not gathered.
func positionsOf(op *ir.Op) []position {
	ps := make([]position, len(op.Indices()))
	quotients, alone := 0, op.Code == lang.OpLoad && !op.Tensor.Held().Packed()
	for i, v := range op.Indices() {
		ps[i] = positionOf(v)
		alone = alone && ps[i].tile == nil
		if ps[i].by > 0 {
			quotients++
		}
	}
	if quotients == 0 {
		return ps
	}
	for i, p := range ps {
		for j, other := range ps {
			alone = alone && (i == j || p.by == 0 || p.axis != other.axis)
		}
	}
	for i, v := range op.Indices() {
		if ps[i].by > 0 && (!alone || quotients > mostQuotients) {
			ps[i] = position{tile: v}
		}
	}
	return ps
}

// reads are the values whose buffers the position needs.
func (p *position) reads() []*ir.Value {
	if p.tile != nil {
		return []*ir.Value{p.tile}
	}
	return append(append([]*ir.Value(nil), p.plus...), p.minus...)
}

// accessDim is one index of an access, resolved.
type accessDim struct {
	axis        int // position among the tile's axes, -1 for a scalar or a gather
	from        int // number of the axis whose start counts, -1
	constant    int
	plus, minus []scalarRef
	by          int  // positions of the axis that have one
	wrap        bool // the sum is an i32
	checked     bool
	gather      *gatherIndex
}

type gatherIndex struct {
	off  int
	wide bool
	axes []int // positions among the tile's axes
}

// access is a load or a store, taken apart.
type access struct {
	name   string
	tensor int
	dtype  lang.DType
	axes   []int // numbers of the tile's axes
	dims   []accessDim
	// outer is how many leading axes of the tile take part in a gather; the
	// others are moved as boxes.
	outer   int
	gathers bool
	// quotients are the axes of the tile of which several positions have one element, and how many.
	quotients map[int]int
}

// access resolves a load or a store whose tile has the given axes.
func (c *compiler) access(op *ir.Op, tile []*ir.Axis) *access {
	a := &access{name: op.Tensor.Name, tensor: c.tensorNumber(op.Tensor), dtype: op.Tensor.Held(), axes: c.axisNumbers(tile)}
	at := func(x *ir.Axis) int {
		for i, y := range tile {
			if x == y {
				return i
			}
		}
		panic(bug(fmt.Sprintf("axis %s is not among the tile's", x.Name)))
	}
	for d, p := range positionsOf(op) {
		v := op.Indices()[d]
		dim := accessDim{axis: -1, from: -1, checked: op.Checked[d], constant: int(p.constant), wrap: v.Type.DType == lang.I32, by: int(max(p.by, 1))}
		if p.tile != nil {
			g := &gatherIndex{off: c.off(p.tile), wide: p.tile.Type.DType == lang.I64}
			for _, x := range p.tile.Type.Axes {
				i := at(x)
				g.axes = append(g.axes, i)
				a.outer = max(a.outer, i+1)
			}
			dim.gather, a.gathers = g, true
		} else {
			if p.axis != nil {
				dim.axis, dim.from = at(p.axis), c.axisNumber(p.from)
			}
			if dim.by > 1 {
				if a.quotients == nil {
					a.quotients = map[int]int{}
				}
				a.quotients[dim.axis] = dim.by
			}
			for _, s := range p.plus {
				dim.plus = append(dim.plus, c.scalarRef(s))
			}
			for _, s := range p.minus {
				dim.minus = append(dim.minus, c.scalarRef(s))
			}
		}
		a.dims = append(a.dims, dim)
	}
	return a
}

// region is where an access stands in its tensor for one block.
type region struct {
	base   unsafe.Pointer
	offset int          // of the tile's first element, in elements
	stride [maxRank]int // by the tile's axis
	n      [maxRank]int // extents of the tile
	lo, hi [maxRank]int // the part of the tile that is in the tensor
	first  [maxRank]int // by tensor dimension: position of the tile's first element
	part   [maxRank]int // by the tile's axis: which of those that have one element the first position is
	at     [maxRank]int // of a gather: where in the tile its outer axes stand
	some   bool         // whether any element is in the tensor
	whole  bool         // whether all are
	view   *tensorView
}

// resolve finds the region of the affine indices; gathered ones add nothing yet.
func (a *access) resolve(fr *frame, r *region) {
	view := fr.tensor(a.tensor)
	r.base, r.view, r.offset, r.some, r.whole = view.base, view, 0, true, true
	empty := false
	for i, x := range a.axes {
		n := fr.axes[x].n
		r.stride[i], r.n[i], r.lo[i], r.hi[i] = 0, n, 0, n
		empty = empty || n <= 0
	}
	if empty {
		r.some = false
		return
	}
	for d := range a.dims {
		dim := &a.dims[d]
		if dim.gather != nil {
			continue
		}
		pos := dim.constant
		if dim.from >= 0 {
			pos += fr.axes[dim.from].start
		}
		for _, s := range dim.plus {
			pos += fr.scalar(s)
		}
		for _, s := range dim.minus {
			pos -= fr.scalar(s)
		}
		if dim.wrap {
			pos = int(int32(pos))
		}
		start := pos
		pos /= dim.by
		r.first[d] = pos
		size, stride := view.shape[d], view.strides[d]
		r.offset += pos * stride
		if dim.axis < 0 {
			if pos < 0 || pos >= size {
				a.outside(dim, d, pos, pos+1, size)
				r.some, r.whole = false, false
			}
			continue
		}
		r.stride[dim.axis] += stride
		r.part[dim.axis] = start - pos*dim.by
		if end := (start + r.n[dim.axis] + dim.by - 1) / dim.by; pos < 0 || end > size {
			a.outside(dim, d, pos, end, size)
			r.lo[dim.axis] = max(r.lo[dim.axis], -pos)
			r.hi[dim.axis] = min(r.hi[dim.axis], size*dim.by-start)
			r.whole = false
			if r.lo[dim.axis] >= r.hi[dim.axis] {
				r.some = false
			}
		}
	}
}

// outside reports positions outside the tensor that the type checker has proven to be inside.
func (a *access) outside(dim *accessDim, d, lo, hi, size int) {
	if !dim.checked {
		panic(bug(fmt.Sprintf("dimension %d of %s has size %d, accessed at %d to %d", d, a.name, size, lo, hi-1)))
	}
}

// eachRun calls move for every box of the tile that lies in the tensor:
// offset, in elements, of the box in the tensor; r.at has the positions of the
// outer axes in the tile. Boxes are over the axes from a.outer on.
func (a *access) eachRun(fr *frame, r *region, move func(offset int)) {
	if a.outer == 0 && !a.gathers {
		move(r.offset)
		return
	}
	at := &r.at
	for i := range a.outer {
		at[i] = r.lo[i]
	}
	for {
		offset, inside := r.offset, true
		for i := range a.outer {
			offset += at[i] * r.stride[i]
		}
		for d := range a.dims {
			g := a.dims[d].gather
			if g == nil {
				continue
			}
			e := 0
			for _, x := range g.axes {
				e = e*r.n[x] + at[x]
			}
			pos := fr.integer(g.off, e, g.wide)
			if size := r.view.shape[d]; pos < 0 || pos >= size {
				a.outside(&a.dims[d], d, pos, pos+1, size)
				inside = false
				break
			}
			offset += pos * r.view.strides[d]
		}
		if inside {
			move(offset)
		}
		i := a.outer - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < r.hi[i] {
				break
			}
			at[i] = r.lo[i]
		}
		if i < 0 {
			return
		}
	}
}
