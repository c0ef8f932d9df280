package block

import (
	"slices"

	"tilec/jit/target"
	"tilec/lang"
)

// This file finds operands of products outside of loops that threads copy to shared memory as they are, by cp.async, once the launches before have ended.
// By way of registers a thread has its part of the operand in them at a time, beside what it holds of the weights; and a block of many registers
// finds no room on a multiprocessor as long as one of the launch before runs there, so that its weights come late.

// mostByRegisters is how many bytes an operand has at most that goes by way of registers: they are a few of each thread's, and the operand is there sooner (a step of
// GPT-2 of 124M with one text, whose largest such operand has 6 KB, took 132 us on an H100 with copies and 128 without).
const mostByRegisters = 8 << 10

// copyOperands decides which loads are copied so.
func (p *Program) copyOperands() {
	if !p.Dependent() || !p.Target.Has(target.CpAsync) || p.Tiles != nil {
		return
	}
	for _, op := range p.Func.Body.Ops {
		if op.Code != lang.OpLoad || op.Tensor.Scratch || !op.Tensor.ReadOnly() || op.Tensor.DType.Packed() || op.Hint.Given() || !ZeroElse(op) ||
			!p.OnDemand(op) || p.begunEarlier(op) || slices.ContainsFunc(p.Brought, func(b *Beside) bool { return b.Load == op }) {
			continue
		}
		tile, dims := p.onlyOperand(op.Result()), p.Access(op)
		c := Contiguous(dims)
		if tile == nil || tile.Contiguous() != c || tile.Bytes() <= mostByRegisters {
			continue
		}
		vector := min(p.Vector(op.Tensor, dims, c), tile.Vector())
		if vector*tile.DType.Size() < leastCopy {
			continue
		}
		p.Copied = append(p.Copied, &Beside{op, tile, p.CopyLayout(tile, vector), vector})
	}
}
