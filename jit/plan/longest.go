package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/lang"
)

// This file plans the order of blocks that have different numbers of steps.

// longestFirst is of how many blocks of the other axes the longest begin first: as many as have room in half the L2 for what their
// loops read. 1 where all blocks run at once, or are as long.
func (c at) longestFirst(e *estimate) int64 {
	a := block.Lengthening(c.f)
	if a == nil || e.blocks <= int64(c.target.SMs)*max(e.perSM, 1) {
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
	most, _ := lang.FindSetting("longest", lang.AtLaunch)
	return min(max(c.target.L2Size/2/read, 2), most.Most)
}
