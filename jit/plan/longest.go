package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/lang"
)

// This file plans the order of blocks that have different numbers of steps.

// longestFirst is of how many blocks of the other axes the longest begin first: a power of two, at most of as many as have room in half the L2 for what their
// loops read. 1 where blocks are as long, or so few that there is room for twice as many at once (an H200: 8x12x256 positions of 64 channels, whose 384 blocks run all at once,
// 11.4 us by groups of 256, 11.9 without). Powers of two as that was faster, and why was not found: on an H100, causal attention of 128 channels,
// 4x32x1024 positions by groups of 1 to 32 heads that are powers of two took 96 to 97 us, by 24, 40, 43 and 49 heads 102 to 106; 4x16x4096 by 4, 8 and 16 heads 521
// to 525 us, by 6, 11 and 12 heads 538 to 541; 8x12x1024 of 64 channels by 32, 64 and 99 heads 47.5, 48.1 and 48.3.
func (c at) longestFirst(e *estimate) int64 {
	a := block.Lengthening(c.f)
	if a == nil || 2*e.blocks <= int64(c.target.SMs)*max(e.perSM, 1) {
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
	together := int64(2)
	for 2*together*read <= c.target.L2Size/2 {
		together *= 2
	}
	most, _ := lang.FindSetting("longest", lang.AtLaunch)
	return min(together, most.Most)
}
