package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// randomAxis is the axis whose positions are the first coordinate of random
// bits, unchanged, where neither the other coordinates nor the key vary along it; nil where there is none.
func randomAxis(op *ir.Op) *ir.Axis {
	lo := op.Args[1]
	rest := []*ir.Value{op.Args[0], op.Args[2]}
	for lo.Def != nil {
		switch d := lo.Def; {
		case d.Code == lang.OpOr:
			lo, rest = d.Args[0], append(rest, d.Args[1])
			continue
		case d.Code == lang.OpAnd || d.Code == lang.OpCast && d.Args[0].Type.DType.IsInt():
			lo = d.Args[0]
			continue
		case d.Code == lang.OpIndex:
			for _, v := range rest {
				if v.Type.Has(d.Axis) {
					return nil
				}
			}
			return d.Axis
		}
		break
	}
	return nil
}

// randomBits emits random bits for a result in the layout l. Where a thread has
// neighbours along the first coordinate, the even one first, they share a call of Philox.
func (k *kernel) randomBits(op *ir.Op, l layout.Layout, args [][]asm.Reg) []asm.Reg {
	argument := func(i, r int) asm.Reg { return args[i][l.Project(r, op.Args[i].Type.Axes)] }
	out := make([]asm.Reg, l.Regs())
	axis := randomAxis(op)
	paired := axis != nil && k.StartMultiple(axis)%2 == 0
	for _, ds := range [][]layout.Digit{l.Lane, l.Warp} {
		for _, d := range ds {
			paired = paired && (d.Axis != axis || d.Stride%2 == 0)
		}
	}
	for r := range out {
		if out[r].Valid() {
			continue
		}
		next, ok := 0, false
		if paired && l.RegCoord(r, axis)%2 == 0 {
			next, ok = l.RegAt(r, 1, axis)
		}
		if !ok {
			out[r] = k.apply(op, []asm.Reg{argument(0, r), argument(1, r), argument(2, r)})
			continue
		}
		out[r], out[next] = elem.RandomPair(k.a, argument(0, r), argument(1, r), argument(2, r))
	}
	return out
}
