package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
)

// quotients emits a division of which several elements have the same divisor.
func (k *kernel) quotients(op *ir.Op, l layout.Layout, args [][]asm.Reg) []asm.Reg {
	dividend, divisor := op.Args[0].Type.Axes, op.Args[1].Type.Axes
	regs := make([]asm.Reg, l.Regs())
	places := map[asm.Reg][]int{}
	var divisors []asm.Reg
	for r := range regs {
		b := args[1][l.Project(r, divisor)]
		if places[b] == nil {
			divisors = append(divisors, b)
		}
		places[b] = append(places[b], r)
	}
	for _, b := range divisors {
		xs := make([]asm.Reg, len(places[b]))
		for i, r := range places[b] {
			xs[i] = args[0][l.Project(r, dividend)]
		}
		quotients := elem.CoarseQuotients
		if !op.Coarse {
			quotients = func(a *asm.Builder, xs []asm.Reg, b asm.Reg) []asm.Reg {
				return elem.Quotients(a, op.Result().Type.DType, xs, b)
			}
		}
		for i, q := range quotients(k.a, xs, b) {
			regs[places[b][i]] = q
		}
	}
	return regs
}
