package cpu

import (
	"unsafe"

	"tilec/jit/ir"
)

// transfer copies values to the buffers of others, all at once: a source that
// is also a destination is set aside first.
type transfer struct {
	dst, src int
	same     bool // one buffer: nothing to do
	aside    bool // the source is overwritten before it is read
	axes     []int
	size     int
	copy     func(fr *frame, dst, src unsafe.Pointer)
}

func (c *compiler) transfers(to, from []*ir.Value) func(*frame) {
	var ts []transfer
	written := map[int]bool{}
	for i, d := range to {
		v := from[i]
		t := transfer{dst: c.off(d), src: c.off(v), axes: c.axisNumbers(d.Type.Axes), size: kindOfDType[d.Type.DType].size(), copy: c.spread(d.Type, v.Type)}
		inOrder := sameOrder(d.Type.Axes, v.Type.Axes)
		t.same = t.dst == t.src && inOrder
		t.aside = written[t.src] || t.dst == t.src && !inOrder
		if !t.same {
			written[t.dst] = true
			ts = append(ts, t)
		}
	}
	return func(fr *frame) {
		used := 0
		for _, t := range ts {
			if t.aside {
				used += fr.count(t.axes)*t.size + cacheLine
			}
		}
		if used == 0 {
			for _, t := range ts {
				t.copy(fr, fr.at(t.dst), fr.at(t.src))
			}
			return
		}
		aside := fr.temp(tempTile, used)
		next := aside
		for _, t := range ts {
			if t.aside {
				n := fr.count(t.axes) * t.size
				copy(slice[byte](next, n), slice[byte](fr.at(t.src), n))
				next = unsafe.Add(next, (n+cacheLine-1)&^(cacheLine-1))
			}
		}
		next = aside
		for _, t := range ts {
			src := fr.at(t.src)
			if t.aside {
				src = next
				next = unsafe.Add(next, (fr.count(t.axes)*t.size+cacheLine-1)&^(cacheLine-1))
			}
			t.copy(fr, fr.at(t.dst), src)
		}
	}
}

// loop compiles a `for`. Carried values keep one buffer; what the body yields
// is copied there unless it was computed in place.
func (c *compiler) loop(op *ir.Op) func(*frame) {
	block := op.Blocks[0]
	carried := block.Params[1:]
	enter := c.transfers(carried, op.Args[2:])
	next := c.transfers(carried, block.Yield)
	body := c.block(block)
	lo, hi := c.scalarRef(op.Args[0]), c.scalarRef(op.Args[1])
	position := c.scalarRef(block.Params[0])
	axis, extent, reverse := -1, 1, op.Reverse
	if op.Axis != nil {
		axis, extent = c.axisNumber(op.Axis), int(op.Axis.Extent)
	}
	return func(fr *frame) {
		begin, end := fr.scalar(lo), fr.scalar(hi)
		enter(fr)
		first, by := begin, extent
		if reverse {
			first, by = begin+(end-begin-1)/extent*extent, -extent
		}
		for pos := first; pos < end && pos >= begin; pos += by {
			fr.goOn()
			if axis >= 0 {
				fr.axes[axis] = axisState{pos, min(extent, end-pos)}
			}
			fr.setScalar(position, pos)
			body.run(fr)
			next(fr)
		}
	}
}

// branch compiles an `if`.
func (c *compiler) branch(op *ir.Op) func(*frame) {
	cond := c.off(op.Args[0])
	var body [2]steps
	var give [2]func(*frame)
	for i, b := range op.Blocks {
		body[i] = c.block(b)
		give[i] = c.transfers(op.Results, b.Yield)
	}
	return func(fr *frame) {
		i := 1
		if *(*uint8)(fr.at(cond)) != 0 {
			i = 0
		}
		body[i].run(fr)
		give[i](fr)
	}
}
