package block

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about blocks that share the steps of a loop. Most often they are launched for that: they hold the same outside of the loop, and the first of
// them stores. But where blocks would do the same in the loop anyway, because it does not depend on where they are along the grid's last axis, they share it
// among themselves, and each goes on by itself behind it: as those of an attention that is projected, each to outputs of its own.

// along finds the axis of the grid along which the blocks of a cluster are neighbours; nil where they are launched for the loops that they share.
func (p *Program) along() *ir.Axis {
	grid := p.Func.Grid()
	if p.Split <= 1 || len(grid) == 0 || p.Grouped || p.LongestFirst != nil || p.Func.HasRanges() || p.Func.ScratchBytes() > 0 {
		return nil
	}
	last, ok := grid[len(grid)-1], true
	if last.Dim == nil || !last.Dim.Known() || last.Dim.Value <= 0 || (last.Dim.Value+last.Extent-1)/last.Extent%int64(p.Split) != 0 {
		return nil
	}
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1 {
			ok = ok && p.Func.Regardless(op, last)
		}
		return ok
	})
	if !ok {
		return nil
	}
	return last
}

// ForOne is how many blocks are launched for one of the grid.
func (p *Program) ForOne() int {
	if p.Along != nil {
		return 1
	}
	return max(p.Split, 1)
}

// Alike reports that the blocks of a cluster hold the same outside of the loops that they share.
func (p *Program) Alike() bool { return p.ForOne() > 1 }
