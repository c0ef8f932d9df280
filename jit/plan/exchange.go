package plan

import "tilec/jit/ir"

// This file counts what the warps of a block tell one another, each time with a barrier before and behind.

// rowsOfWarp is how many rows of a product a warp has: those of one instruction of the matrix unit.
const rowsOfWarp = 16

// exchanges is how often the warps of a block put together, one time after the other, what they have of a reduction: where the
// reduction's result has too few elements for each warp to have rows of its own, and where warps have parts of the axis for such a one.
func (c at) exchanges() float64 {
	own := int64(c.warps)
	if c.contracts {
		own *= rowsOfWarp
	}
	few := func(s step) bool { return c.count(c.tile(s.op.Result()), false) < own }
	var divided []*ir.Axis
	for _, s := range c.ops {
		if isReduction(s.op) && few(s) {
			divided = append(divided, s.op.Over...)
		}
	}
	n := 0.0
	for _, s := range c.ops {
		if !isReduction(s.op) || !few(s) && len(ir.Without(s.op.Over, divided)) == len(s.op.Over) {
			continue
		}
		times := 1.0
		for _, loop := range s.loops {
			times *= c.trips(loop)
		}
		if !c.contracts {
			for _, i := range s.axes {
				if c.streamed(i) {
					times *= float64(ceilDiv(c.size[i], c.extent[i]*c.blocksAlong(i)))
				}
			}
		}
		n += times
	}
	return n
}
