package plan

import "tilec/jit/ir"

// This file counts the blocks of launches.

// blocks is how many blocks the launch has.
func (c at) blocks() int64 {
	n := c.forOne()
	if !c.target.IsGPU() {
		n = 1
	}
	for i, a := range c.f.Axes {
		if a.Kind == ir.Grid {
			n = times(n, c.along(i))
		}
	}
	return n
}

// along is how many blocks there are along an axis of the grid. Of ranges in memory each ends with a block of which half exists, on average.
func (c at) along(i int) int64 {
	a := c.f.Axes[i]
	if c.f.HasRange(a) {
		return 1
	}
	n := max(ceilDiv(c.size[i], c.extent[i]), 1)
	if a.Ranges == nil {
		return n
	}
	ranges := c.size[c.place[a.Ranges.Of]]
	if c.size[i] < times(ranges, c.extent[i]) { // most of them have one
		return max(min(ranges, c.size[i]), n)
	}
	return n + ranges/2
}

// lastResort is the time, in seconds, of a plan that may have more blocks than a
// launch can have: it is chosen where every other has too.
const lastResort = 3600

// fewestBlocks bounds from below how many blocks launches of this plan have: by the sizes that are known, and by those
// too that are only guides, each of which is less than twice the size that it stands for.
func (c at) fewestBlocks() (known, guided int64) {
	known = max(c.split, 1)
	guided = known
	for i, a := range c.f.Axes {
		if a.Kind != ir.Grid || c.f.HasRange(a) {
			continue
		}
		if a.Dim.Known() {
			n := c.along(i)
			known, guided = times(known, n), times(guided, n)
		} else {
			guided = times(guided, max(ceilDiv(c.size[i]/2, c.extent[i]), 1))
		}
	}
	return known, guided
}
