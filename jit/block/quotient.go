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
		if n := p.sameDivisor(op); n >= fewestQuotients || op.Coarse && n > 1 {
			p.Quotients[op] = n
		}
		return true
	})
}

// sameDivisor is how many elements of a thread have the same divisor.
func (p *Program) sameDivisor(division *ir.Op) (most int) {
	l, divisor := p.Homes[division.Result()], division.Args[1].Type.Axes
	same := map[int]int{}
	for r := range l.Regs() {
		at := l.Project(r, divisor)
		same[at]++
		most = max(most, same[at])
	}
	return most
}
