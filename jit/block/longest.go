package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds grids whose blocks have different numbers of steps, as those of causal attention: a loop ends where the block
// does, so the blocks at the end of the axis have the longest loops. What begins last ends last, so these begin first.

// LongestFirst is an order of a grid's blocks in which the blocks with the longest loops begin first.
type LongestFirst struct {
	// Axis is the axis of the grid along which loops get longer: its last blocks begin first.
	Axis *ir.Axis
	// Together is how many blocks of the other axes, neighbours in their order, go along the axis at a time: as many as have room
	// in the L2 for what their loops read.
	Together int64
}

// longestFirst decides the order.
func (p *Program) longestFirst() *LongestFirst {
	n := p.Forms["longest"]
	if n <= 1 || p.ClusterSize() > max(p.Split, 1) {
		return nil
	}
	if a := Lengthening(p.Func); a != nil {
		return &LongestFirst{a, n}
	}
	return nil
}

// Lengthening is the axis of the grid along which a loop of the kernel's body gets longer from block to block: it ends where the
// block does, and begins at the same place for all. Nil where there is none, or the grid has no other axis.
func Lengthening(f *ir.Func) *ir.Axis {
	grid := f.Grid()
	if len(grid) < 2 {
		return nil
	}
	for _, a := range grid {
		for _, op := range f.Body.Ops {
			if op.Code == lang.OpFor && grows(op.Args[1], a) && !dependsOnPlace(op.Args[0], a) {
				return a
			}
		}
	}
	return nil
}

// grows reports a bound that is the larger the further along an axis the block is.
func grows(v *ir.Value, a *ir.Axis) bool {
	if v.Def == nil {
		return false
	}
	args := v.Def.Args
	switch v.Def.Code {
	case lang.OpStart, lang.OpEnd:
		return v.Def.Axis == a && a.Ranges == nil // along ranges, loops get longer in each
	case lang.OpAdd, lang.OpMin, lang.OpMax:
		x, y := args[0], args[1]
		return grows(x, a) && (!dependsOnPlace(y, a) || v.Def.Code == lang.OpAdd && upTo(y, x)) || grows(y, a) && !dependsOnPlace(x, a)
	case lang.OpSub:
		return inSpan(args[1], args[0]) && grows(args[0], a)
	}
	return false
}

// upTo reports min(end - x, n), which is how far it is from x to the end of a span: x and that much are min(end, x + n).
func upTo(v, x *ir.Value) bool {
	if v.Def == nil || v.Def.Code != lang.OpMin {
		return false
	}
	left := v.Def.Args[0].Def
	_, known := v.Def.Args[1].IsConst()
	return known && left != nil && left.Code == lang.OpSub && left.Args[1] == x
}

// inSpan reports x mod n, which is how far x, that is not negative, is from where its span begins.
func inSpan(v, x *ir.Value) bool {
	if v.Def == nil || len(v.Def.Args) != 2 || v.Def.Args[0] != x {
		return false
	}
	n, ok := v.Def.Args[1].IsConst()
	switch v.Def.Code {
	case lang.OpMod:
		return ok && n.Int > 0
	case lang.OpAnd:
		return ok && n.Int > 0 && n.Int&(n.Int+1) == 0
	}
	return false
}

// dependsOnPlace reports a value that changes along an axis of the grid.
func dependsOnPlace(v *ir.Value, a *ir.Axis) bool {
	if v.Def == nil {
		return false
	}
	return v.Def.Mentions(a) || slices.ContainsFunc(v.Def.Args, func(x *ir.Value) bool { return dependsOnPlace(x, a) })
}
