package plan

import (
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// Work is what a launch has to do at least, however it is cut into blocks.
type Work struct {
	// FLOP counts each multiplication and addition of contractions, and each operation on floating-point elements; what several blocks
	// compute alike counts once, an exponential as one.
	FLOP int64
	// Bytes is what is read and written of tensors in global memory, each element once. What a tensor has beyond the elements that are
	// accessed does not count, where the axes tell which those are; ranges that are read from memory count as if
	// they made up their dimension together, and a loop with one end in memory as if it went through all of it.
	Bytes int64
	// Time is the seconds that the machine takes for the longest of both at its full rates: the roofline. Memory and Compute are what
	// it takes for each.
	Time, Memory, Compute float64
}

// WorkOf is the work of a launch of a kernel, as it was before it was cut for a plan. sizes gives the size of every dimension.
func WorkOf(f *ir.Func, t target.Machine, sizes func(*ir.Dim) int64, p *Plan) Work {
	c := at{newModel(f, t, sizes), candidate{extent: make([]int64, len(f.Axes)), warps: p.Warps, stages: p.Stages}, 0}
	for i, a := range f.Axes {
		switch {
		case a.Scalar:
			c.extent[i] = 1
		case a.Kind == ir.Whole:
			c.extent[i] = a.Len
		default:
			c.extent[i] = max(p.Extents[a.Name], 1)
		}
	}
	contracted, elementwise, bytes := 0.0, 0.0, 0.0
	contracting := 0.0 // seconds
	read, written := map[*ir.Tensor]float64{}, map[*ir.Tensor]float64{}
	for _, s := range c.ops {
		n := c.distinct(s)
		switch {
		case isContraction(s.op):
			rate, _ := contractRate(&t, s.op)
			contracted += float64(2 * n)
			contracting += float64(2 * n / rate)
		case s.op.Tensor == nil:
			elementwise += float64(n * floatOps(s.op))
		case !s.op.Tensor.Scratch:
			each := float64(s.op.Tensor.DType.Bits()) / 8
			row := s.op.Code.Row()
			if row.Effect != lang.Writes || row.Group == lang.GroupAtomic && !s.op.Overwrites() {
				read[s.op.Tensor] += float64(n * each)
			}
			if row.Effect == lang.Writes {
				written[s.op.Tensor] += float64(n * each)
			}
		}
	}
	for _, x := range f.Tensors {
		whole := float64(x.DType.Bits()) / 8
		for _, d := range x.Shape {
			whole *= float64(dimSize(d, sizes))
		}
		bytes += min(read[x], whole) + min(written[x], whole)
	}
	w := Work{FLOP: int64(math.Round(contracted + elementwise)), Bytes: int64(math.Round(bytes))}
	if t.IsGPU() {
		w.Memory, w.Compute = bytes/t.DRAM, max(contracting, elementwise/(float64(t.SMs)*t.Lanes*t.Clock))
		w.Time = max(w.Memory, w.Compute)
	}
	return w
}

// distinct is how many elements of an operation differ: a block counts what it computes along the grid axes that tiles of it have, and
// along those that give it one position alone.
func (c at) distinct(s step) float64 {
	n := 1.0
	for i, a := range c.f.Axes {
		has := slices.Contains(s.axes, i)
		if slices.ContainsFunc(s.axes, func(j int) bool { r := c.f.Axes[j].Ranges; return r != nil && r.Of == a }) {
			continue // each position along ranges is of one
		}
		if has && a.Kind != ir.Loop || a.Scalar && a.Kind == ir.Grid && !slices.Contains(s.once, i) {
			n *= float64(c.size[i])
		}
	}
	for _, loop := range s.loops {
		n *= c.steps(loop, s.axes, false)
	}
	return n
}

// floatOps is how many operations on floating-point numbers an element of an operation takes.
func floatOps(op *ir.Op) float64 {
	if op.Combines() {
		n := 0.0
		for _, inner := range op.Fn.Ops {
			n += floatOps(inner)
		}
		return n
	}
	row := op.Code.Row()
	computes := row.Group == lang.GroupMath || row.Group == lang.GroupReduce
	switch {
	case !computes || len(op.Args) == 0 || !op.Args[0].Type.DType.IsFloat():
		return 0
	case op.Code == lang.OpFma:
		return 2
	}
	return 1
}
