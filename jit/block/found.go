package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds loads of what a launch found: of tensors that are only read, and of those that are written behind the loads alone, as a cache whose
// earlier positions a step of decoding reads before it puts the new one there.

// AsFound reports a load that gives what its tensor held when the launch began, wherever its uses have it done: they are contractions before the first
// write, where there is one. Other blocks write nothing that this one reads.
func (p *Program) AsFound(load *ir.Op) bool {
	if load.Tensor.ReadOnly() {
		return true
	}
	written := p.writtenFrom(load.Tensor)
	return p.statement(load) < written && !slices.ContainsFunc(p.Uses[load.Result()], func(u Use) bool {
		return u.Op.Code.Row().Group != lang.GroupContract || p.statement(u.Op) >= written
	})
}

// writtenFrom is the number of the first statement of the kernel that writes a tensor, and how many statements there are where none does.
func (p *Program) writtenFrom(t *ir.Tensor) int {
	return p.firstStatement(func(op *ir.Op) bool { return op.Tensor == t && op.Code != lang.OpLoad })
}

// statement is the number of the statement that an operation is, or is in.
func (p *Program) statement(op *ir.Op) int {
	return p.firstStatement(func(o *ir.Op) bool { return o == op })
}

// firstStatement is the number of the first statement that is, or has within, an operation of a kind; how many there are where none does.
func (p *Program) firstStatement(is func(*ir.Op) bool) int {
	n := slices.IndexFunc(p.Func.Body.Ops, func(op *ir.Op) bool {
		found := false
		within := &ir.Block{Ops: []*ir.Op{op}}
		within.Walk(func(o *ir.Op) bool {
			found = found || is(o)
			return !found
		})
		return found
	})
	if n < 0 {
		return len(p.Func.Body.Ops)
	}
	return n
}
