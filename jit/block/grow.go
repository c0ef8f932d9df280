package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds what a block may read of a tensor that grows (ir.Grows) before the launches before have ended: of a cache, the keys of all positions
// but the new ones, which are there when the program begins.

// GrownFrom is the scalar, known at the block's start, at which the launches before begin to write what a load reads; nil where there is none, or where the
// load's vectors could lie on both sides.
func (p *Program) GrownFrom(load *ir.Op) *ir.Value {
	g := load.Tensor.Grows
	if g == nil || !p.AsFound(load) {
		return nil
	}
	dims := p.Access(load)
	if dims[g.Dim].Gather || dims[g.By].Gather || g.Dim == len(dims)-1 || Contiguous(dims) == nil || dims[g.Dim].Affine.coef(Contiguous(dims)) != 0 {
		return nil
	}
	for _, op := range p.Func.Body.Ops {
		if op.Code == lang.OpLoad && op.Tensor.Starts && op.Result().Type.IsScalar() && p.known(op.Result()) && op.Else() == nil {
			if at := p.Access(op)[0]; !at.Gather && at.Affine.equal(dims[g.By].Affine) {
				return op.Result()
			}
		}
	}
	return nil
}

// EndsAtGrowth reports a loop that ends where a tensor that grows is written from: all that its copies bring was there when the program began.
func (p *Program) EndsAtGrowth(x *Pipeline, load *ir.Op) bool {
	start, end := p.GrownFrom(load), x.Op.Args[1]
	if op := end.Def; op != nil && op.Code == lang.OpMin {
		return start != nil && slices.Contains(op.Args, start)
	}
	return start != nil && start == end
}

// equal reports the same sum, term by term.
func (f affine) equal(g affine) bool {
	return f.Offset == g.Offset && slices.Equal(f.Terms, g.Terms) && slices.Equal(f.Scalars, g.Scalars)
}
