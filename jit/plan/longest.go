package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/lang"
)

// This file plans the order of blocks that have different numbers of steps.

// longestFirst is of how many blocks of the other axes, at most, the longest begin first: as many as have room in half the L2 for what their loops read. Where that is room
// for all, there are two groups if the blocks of each are more than run at once: the second's keys come as the first ends (an H100, attention of 8x12x1024 positions, 64
// channels: 48.4 us by one group, 47.3 by two). 1 where all blocks run at once, or are as long.
func (c at) longestFirst(e *estimate) int64 {
	a := block.Lengthening(c.f)
	atOnce := int64(c.target.SMs) * max(e.perSM, 1)
	if a == nil || e.blocks <= atOnce {
		return 1
	}
	read := int64(1) // by the blocks that differ along the axis alone, in bytes
	for _, s := range c.ops {
		if s.op.Code != lang.OpLoad || len(s.loops) == 0 || slices.Contains(s.axes, c.place[a]) {
			continue
		}
		bytes := int64(s.op.Tensor.DType.Size())
		for _, i := range s.axes {
			bytes = times(bytes, c.size[i])
		}
		read += bytes
	}
	others := e.blocks / ceilDiv(c.size[c.place[a]], c.extent[c.place[a]])
	together := c.target.L2Size / 2 / read
	if e.blocks >= 3*atOnce {
		together = min(together, ceilDiv(others, 2))
	}
	most, _ := lang.FindSetting("longest", lang.AtLaunch)
	return min(max(together, 2), most.Most)
}
