package block

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// fewestQuotients is how many elements must have the same divisor for one reciprocal to be less work than as many divisions.
const fewestQuotients = 3

// divide finds the divisions of which a thread has several elements with the same divisor, which lacks an axis.
func (p *Program) divide() {
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code != lang.OpDiv || p.Func.Approx {
			return true
		}
		v := op.Result()
		if d := v.Type.DType; !d.IsFloat() || d.Bits() > 32 || v.Type.IsScalar() {
			return true
		}
		l, divisor := p.Homes[v], op.Args[1].Type.Axes
		same := map[int]int{}
		most := 0
		for r := range l.Regs() {
			at := l.Project(r, divisor)
			same[at]++
			most = max(most, same[at])
		}
		if most >= fewestQuotients || op.Coarse && most > 1 {
			p.Quotients[op] = most
		}
		return true
	})
}
