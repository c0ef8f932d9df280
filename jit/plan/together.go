package plan

import (
	"tilec/jit/block"
	"tilec/jit/ir"
)

// This file is about contractions over several axes at once, as the gradient of a convolution sums over images,
// rows and columns. Each of the axes may be short: together they fill the depth of an instruction. Those that
// are streamed become loops one inside the other.

// depthPadding is by how much padding makes the depth of a contraction over several axes larger: the backend fills an instruction
// with the first axes, the last of them the fastest, and pads each.
func (c at) depthPadding(op *ir.Op) float64 {
	if len(op.Over) < 2 {
		return 1
	}
	if rows, _ := c.window(op); rows > 0 {
		return 1
	}
	left := int64(block.Depth(op.Args[0].Type.DType))
	padded, all := int64(1), int64(1)
	for n := len(op.Over) - 1; n >= 0; n-- {
		e := c.extent[c.place[op.Over[n]]]
		unit := left
		if n > 0 {
			unit = min(unit, nextPow2(e))
		}
		left /= unit
		padded, all = times(padded, roundUp(e, unit)), times(all, e)
	}
	return float64(padded) / float64(all)
}

// nested is by how many steps loops inside one another have more than such loops one after the other would, and how often the innermost
// of them begins anew, for the loops of contractions over several streamed axes. Where all steps are whole they become one loop, which
// begins once, and whose steps blocks share that share the outermost.
func (c at) nested() (steps, starts float64) {
	for _, s := range c.ops {
		if !isContraction(s.op) || len(s.op.Over) < 2 {
			continue
		}
		sum, product, inner, loops, whole := 0.0, 1.0, 1.0, 0, true
		for _, a := range s.op.Over {
			if i := c.place[a]; c.streamed(i) {
				inner = float64(ceilDiv(c.size[i], c.extent[i]*c.blocksAlong(i)))
				whole = whole && c.size[i]%c.extent[i] == 0 && (c.blocksAlong(i) == 1 || loops == 0)
				sum, product, loops = sum+inner, product*inner, loops+1
			}
		}
		if loops > 1 {
			steps += product - sum
			if !whole {
				starts += product / inner
			}
		}
	}
	return steps, starts
}
