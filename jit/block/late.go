package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file decides what is computed as it is stored. Where the TMA stores, the elements go to shared memory a few at a time: what
// makes them of a product's sums is computed for those few, so that a thread never holds more than the sums and a handful of
// numbers beside. What such a store needs of a row of a tensor, a bias, is on its way before the loop, and in shared memory
// when that ends; of what it needs of a matrix, a residual, the L2 is asked then.

// Beside is a load of neighbours that results need, which begins before the loop of the product.
type Beside struct {
	Load *ir.Op
	// Tile is where the neighbours lie, Layout how threads copy them, and Vector how many at once.
	Tile   *Tile
	Layout layout.Layout
	Vector int
}

// mostBeside is how many bytes a load beside a product may bring.
const mostBeside = 2 << 10

// computeLate finds the operations of the kernel's body that nothing but one store by boxes takes, directly or through others of
// them.
func (p *Program) computeLate() {
	ops := p.Func.Body.Ops
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		if len(op.Results) != 1 || op.Result().Type.IsScalar() || p.Cheap(op.Result()) || p.Yields(op.Result()) > 0 {
			continue
		}
		load := op.Code == lang.OpLoad && op.Tensor.ReadOnly() && op.Else() == nil && !op.Hint.Given() && !p.begunEarlier(op)
		if !load && (!op.Code.Row().Elementwise || op.Code == lang.OpRandomBits || p.Quotients[op] > 0) {
			continue // quotients by one reciprocal are computed together
		}
		if store := p.onlyStore(op.Result()); store != nil {
			p.Late[op] = store
		}
	}
	if len(p.Pipelines) != 1 {
		return
	}
	looped := false
	for _, op := range ops {
		x := p.Pipelines[op]
		looped = looped || x != nil && x.Produced
		if looped && op.Code == lang.OpLoad && p.Late[op] != nil {
			p.loadBeside(op)
		}
	}
}

// onlyStore is the store by boxes that takes a value, directly or through operations that are computed as it stores, or the first of those that take one
// tile; nil where another operation takes the value too.
func (p *Program) onlyStore(v *ir.Value) (store *ir.Op) {
	for _, u := range p.Uses[v] {
		by := p.Late[u.Op]
		if p.Stores[u.Op] != nil && u.Op.Stored() == v {
			if by = u.Op; p.Stores[u.Op].Box != nil {
				by = p.OfOneTile(u.Op)[0]
			}
		}
		if by == nil || store != nil && store != by {
			return nil
		}
		store = by
	}
	return store
}

// begunEarlier reports a load that is decided to begin elsewhere.
func (p *Program) begunEarlier(op *ir.Op) bool {
	return slices.Contains(p.Ahead, op) || slices.Contains(p.Early, op) || slices.ContainsFunc(p.Constants, func(c *Constant) bool { return c.Load == op })
}

// loadBeside takes a load at places that are known before the loop: of neighbours along one axis, or of a tile.
func (p *Program) loadBeside(op *ir.Op) {
	v, dims := op.Result(), p.Access(op)
	c := Contiguous(dims)
	if len(v.Type.Axes) > 1 && c != nil && !op.Tensor.DType.Packed() && p.knownAtStart(dims) {
		p.Fetched = append(p.Fetched, op)
	}
	if len(v.Type.Axes) != 1 || c != v.Type.Axes[0] || slices.Contains(op.Checked, true) || op.Tensor.DType.Packed() || !p.knownAtStart(dims) {
		return
	}
	vector := p.Vector(op.Tensor, dims, c)
	size := op.Tensor.DType.Size()
	if vector*size < 4 || int(c.Extent)*size > mostBeside { // cp.async moves 4, 8 or 16 bytes
		return
	}
	t := NewTile(v.Type.DType, []*ir.Axis{c}, []int{int(c.Extent)}, false)
	p.Beside = append(p.Beside, &Beside{op, t, p.CopyLayout(t, vector), vector})
}
