package block

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file lays tiles out for what combines them in the order of positions along an axis that is not the one of neighbours in memory, as a scan
// along columns does. Whichever rows of a column a thread has, its accesses are as wide; where these follow one another, it combines them by itself,
// and what lanes and warps combine is one total for each thread.

// inRuns gives each thread positions of a tile that follow one another along the axis along which a scan or a reduction by a function goes, where
// that is not the axis of neighbours in memory.
func (p *Program) inRuns(c *class, l layout.Layout, neighbours *ir.Axis) layout.Layout {
	for _, v := range c.values {
		if v.Def != nil && v.Def.Combines() {
			l = runsAlong(l, v.Def.Over[0], neighbours)
		}
		for _, u := range p.Uses[v] {
			if u.Op.Combines() {
				l = runsAlong(l, u.Op.Over[0], neighbours)
			}
		}
	}
	return l
}

// runsAlong numbers the positions along an axis anew: those of a thread first, then those of lanes, then those of warps.
func runsAlong(l layout.Layout, a, neighbours *ir.Axis) layout.Layout {
	n := 1
	for _, d := range l.Reg {
		if d.Axis == a {
			n *= d.Size
		}
	}
	if a == neighbours || n&(n-1) != 0 {
		return l
	}
	stride := 1
	numbered := func(ds []layout.Digit) []layout.Digit {
		out := make([]layout.Digit, len(ds))
		for i, d := range ds {
			if out[i] = d; d.Axis == a {
				out[i].Stride = stride
				stride *= d.Size
			}
		}
		return out
	}
	return layout.Layout{Reg: numbered(l.Reg), Lane: numbered(l.Lane), Warp: numbered(l.Warp)}
}
