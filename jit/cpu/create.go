package cpu

import (
	"math"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// constOp writes a literal; it runs once for each worker.
func (c *compiler) constOp(op *ir.Op) func(*frame) {
	d := op.Result().Type.DType
	off, bits := c.off(op.Result()), bitsOf(d, op.Const)
	write := copier(kindOfDType[d].size())
	return func(fr *frame) {
		v := bits // little endian: the low bytes come first
		write(fr.at(off), 1, unsafe.Pointer(&v), 1, 1)
	}
}

// bitsOf is a literal as a tile holds it.
func bitsOf(d lang.DType, c ir.Const) uint64 {
	switch kindOfDType[d] {
	case kF64:
		return math.Float64bits(c.Float)
	case kF32:
		f := float32(c.Float)
		if narrowFloat(d) {
			f = lang.OddF32(c.Float)
			if !d.HasInfinity() || !math.IsInf(c.Float, 0) { // the identity of a reduction is no result, which would be rounded
				f = d.Round(f)
			}
		}
		return uint64(math.Float32bits(f))
	case kBool:
		return uint64(flag(c.Int != 0))
	}
	return uint64(c.Int)
}

func (c *compiler) full(op *ir.Op) func(*frame) { return c.spreadTo(op.Result(), op.Args[0]) }

func (c *compiler) index(op *ir.Op) func(*frame) {
	off, a := c.off(op.Result()), c.axisNumber(op.Axis)
	if op.Axis.Counts() == lang.I64 {
		return func(fr *frame) {
			s := fr.axes[a]
			d := slice[int64](fr.at(off), s.n)
			for i := range d {
				d[i] = int64(s.start + i)
			}
		}
	}
	return func(fr *frame) {
		s := fr.axes[a]
		d := slice[int32](fr.at(off), s.n)
		for i := range d {
			d[i] = int32(s.start + i)
		}
	}
}

func (c *compiler) start(op *ir.Op) func(*frame) {
	to, a := c.scalarRef(op.Result()), c.axisNumber(op.Axis)
	return func(fr *frame) { fr.setScalar(to, fr.axes[a].start) }
}

func (c *compiler) end(op *ir.Op) func(*frame) {
	to, a := c.scalarRef(op.Result()), c.axisNumber(op.Axis)
	return func(fr *frame) { fr.setScalar(to, fr.axes[a].start+fr.axes[a].n) }
}

func (c *compiler) sizeOp(op *ir.Op) func(*frame) {
	to, d := c.scalarRef(op.Result()), c.dimNumber(op.Dim)
	return func(fr *frame) { fr.setScalar(to, fr.launch.dims[d]) }
}

// spreadTo copies v, broadcast by axis and in any order of axes, to the buffer of to.
func (c *compiler) spreadTo(to, v *ir.Value) func(*frame) {
	dst, src := c.off(to), c.off(v)
	spread := c.spread(to.Type, v.Type)
	return func(fr *frame) { spread(fr, fr.at(dst), fr.at(src)) }
}

// spread copies a tile of type from to one of type to, which has its axes and maybe more.
func (c *compiler) spread(to, from ir.Type) func(fr *frame, dst, src unsafe.Pointer) {
	axes := c.axisNumbers(to.Axes)
	size := kindOfDType[to.DType].size()
	m := copier(size)
	if sameOrder(to.Axes, from.Axes) {
		return func(fr *frame, dst, src unsafe.Pointer) { m(dst, 1, src, 1, fr.count(axes)) }
	}
	strides := c.stridesAlong(to.Axes, from.Axes)
	return func(fr *frame, dst, src unsafe.Pointer) {
		var b box
		step := strides(fr)
		stride := 1
		b.rank = len(axes)
		for i := len(axes) - 1; i >= 0; i-- {
			n := fr.axes[axes[i]].n
			b.n[i], b.dst[i], b.src[i] = n, stride, step[i]
			stride *= n
		}
		b.move(m, dst, size, src, size)
	}
}

// stridesAlong gives a function that computes, for each axis of along, the
// stride in a dense tile over axes; 0 where the tile does not have it.
func (c *compiler) stridesAlong(along, axes []*ir.Axis) func(fr *frame) [maxRank]int {
	place := make([]int, len(axes)) // of each of the tile's axes in along, -1 for none
	for i, a := range axes {
		place[i] = -1
		for j, b := range along {
			if a == b {
				place[i] = j
			}
		}
	}
	numbers := c.axisNumbers(axes)
	return func(fr *frame) (step [maxRank]int) {
		stride := 1
		for i := len(numbers) - 1; i >= 0; i-- {
			if place[i] >= 0 {
				step[place[i]] = stride
			}
			stride *= fr.axes[numbers[i]].n
		}
		return step
	}
}
