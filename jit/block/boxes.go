package block

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file decides which loads and stores the tensor memory accelerator (TMA) does: one
// instruction moves a box of a tensor to shared memory, where it lies in rows of
// up to 128 bytes with the swizzle of Tile. What it needs to know of the
// tensor is in a tensor map, a parameter of the kernel that the launch makes.

// mostBox is how far a box can reach along a dimension, mostRank how many dimensions a map has.
const (
	mostBox  = 256
	mostRank = 5
)

// Box is a load or a store that the TMA can do: the boxes of its map fill a tile, panel by panel.
type Box struct {
	Map  *TensorMap
	Dims []DimAccess // of the tensor
	// Wiped: in the last step of the loop, elements beyond its end have come that have to be 0.
	Wiped bool
}

// Unit is how many positions along a dimension of the tensor have one of the elements that a box counts: of types of less than a byte these are bytes.
func (b *Box) Unit(dim int) int {
	n := int(max(b.Dims[dim].Span, 1))
	if d := b.Map.Tensor.DType; d.Packed() && dim == b.Map.Order[0] {
		n *= 8 / d.Bits()
	}
	return n
}

// MayBeginOutside reports boxes that may begin before the first position of their tensor, as only those do whose index may be anywhere.
func (b *Box) MayBeginOutside() bool {
	return slices.ContainsFunc(b.Dims, func(d DimAccess) bool { return d.Checked })
}

// boxFor finds how the TMA would fill a tile with a load's elements, in a loop: what
// does not exist has to come out as 0 where a product would count it.
func (p *Program) boxFor(load *ir.Op, t *Tile, loop *ir.Op) (*Box, bool) {
	dims, wiped := p.CopiedAccess(load), false
	for i, d := range dims {
		for _, term := range d.Affine.Terms {
			if (d.Span > 1 || t.Spans != nil) && p.Ragged(term.Axis) { // a part of an element may be beyond the end
				return nil, false
			}
			if !p.endsInZeros(term.Axis, load, i, loop) {
				if term.Axis != loop.Axis {
					return nil, false
				}
				wiped = true
			}
		}
	}
	b, ok := p.newBox(load.Tensor, dims, t, loop, loop != nil)
	if ok {
		b.Wiped = wiped
	}
	return b, ok
}

// newBox fits boxes to a tile, element by element of an access's index. Where that may be beyond the tensor, the TMA gives 0 and stores nothing.
func (p *Program) newBox(tensor *ir.Tensor, dims []DimAccess, t *Tile, loop *ir.Op, beyond bool) (*Box, bool) {
	along, ok := boxUnits(tensor, t.untapped(dims), beyond)
	if !ok || tensor.Held().Packed() && t.Spans == nil || !t.boxed() || t.BytesOf(int(min(p.startOf(dims[len(dims)-1]), 1<<20)))%chunkBytes != 0 {
		return nil, false
	}
	b := &Box{Map: &TensorMap{Tensor: tensor, Swizzle: t.Width()}, Dims: dims}
	for _, d := range dims {
		for _, s := range d.Affine.Scalars {
			if !p.soon(s.Value) && (loop == nil || !ofStep(s.Value, loop)) {
				return nil, false
			}
		}
		for _, term := range d.Affine.Terms {
			if !slices.Contains(t.Axes, term.Axis) && !slices.Contains(t.Taps, term.Axis) {
				return nil, false
			}
		}
	}
	for j, a := range t.Axes {
		i, ok := along[a]
		n, held := t.Extents[j]/t.Span(j), int(a.Extent)
		if tap := t.Tap(j); tap != nil {
			held += int(tap.Extent) - 1
			if !ok || dims[i].Affine.coef(tap) != 1 {
				return nil, false
			}
		}
		if !ok && n == 1 && a.Kind == ir.Whole && a.Len == 1 { // no index follows an axis of one position
			continue
		}
		if j == 0 {
			n = min(n, b.Map.Swizzle/t.DType.Size())
		}
		if !ok || t.Extents[j] != held || n > mostBox || (j == 0) != (i == len(dims)-1) {
			return nil, false
		}
		b.Map.Order = append(b.Map.Order, i)
		b.Map.Box = append(b.Map.Box, n)
	}
	for i := range dims {
		if !slices.Contains(b.Map.Order, i) {
			b.Map.Order = append(b.Map.Order, i)
			b.Map.Box = append(b.Map.Box, 1)
		}
	}
	return b, true
}

// startOf is a number known to divide where an access begins along a dimension, in elements: a box begins at a multiple of 16 bytes.
func (p *Program) startOf(d DimAccess) int64 {
	n := multipleOf(d.Affine.Offset)
	for _, s := range d.Affine.Scalars {
		n = gcd(n, multipleOf(s.Coef)*min(p.multiple(s.Value), 1<<20))
	}
	for _, s := range d.Affine.Terms {
		n = gcd(n, multipleOf(s.Coef)*p.StartMultiple(s.Axis))
	}
	return n
}

// boxUnits reads of which dimension each axis of an access walks neighbours; false where boxes cannot follow the access through
// its tensor, whatever the tile is: one whose place or strides are no multiples of 16 bytes, or whose index is not so simple.
func boxUnits(tensor *ir.Tensor, dims []DimAccess, beyond bool) (along map[*ir.Axis]int, ok bool) {
	if len(dims) > mostRank || tensor.Align%16 != 0 {
		return nil, false
	}
	bits := int64(tensor.Held().Bits())
	along = map[*ir.Axis]int{}
	for i, d := range dims {
		if tensor.Shape[i].Wide { // coordinates have 32 bits
			return nil, false
		}
		if d.Gather || d.Checked && !beyond || len(d.Affine.Terms) > 1 {
			return nil, false
		}
		if i < len(dims)-1 {
			unit := d.Stride
			if unit < 0 {
				unit = d.multiple
			}
			if unit*bits%(8*chunkBytes) != 0 {
				return nil, false
			}
		}
		for _, term := range d.Affine.Terms {
			if _, twice := along[term.Axis]; twice || term.Coef != 1 {
				return nil, false
			}
			along[term.Axis] = i
		}
	}
	return along, true
}

// endsInZeros reports that the positions of a box beyond the end of an axis's range
// are beyond the tensor, where the TMA gives 0, or that no product counts them: those of rows and
// columns give rows and columns that do not exist.
func (p *Program) endsInZeros(a *ir.Axis, load *ir.Op, dim int, loop *ir.Op) bool {
	counted := false
	for _, u := range p.Uses[load.Result()] {
		c := p.Products[u.Op]
		counted = counted || c != nil && slices.Contains(c.K, a)
	}
	if !counted || !p.Ragged(a) {
		return true
	}
	if a != loop.Axis {
		return false
	}
	// The range ends where the dimension does, or at a whole step.
	hi, d := loop.Args[1].Def, load.Tensor.Shape[dim]
	f := p.Access(load)[dim].Affine
	if hi == nil || f.Offset != 0 || len(f.Scalars) > 0 || p.multiple(loop.Args[0])%a.Extent != 0 {
		return false
	}
	if hi.Code == lang.OpConst { // of a dimension that is known, or of a whole axis that is streamed
		return d.Known() && hi.Const.Int == d.Value
	}
	if d != a.Dim {
		return false
	}
	switch hi.Code {
	case lang.OpSize:
		return hi.Dim == d
	case lang.OpEnd:
		return hi.Axis.Kind == ir.Grid && hi.Axis.Ranges == nil && hi.Axis.Dim == d && hi.Axis.Extent%a.Extent == 0
	}
	return false
}

// early reports a scalar that is known before the kernel's body runs: a function
// of the launch's parameters and of where the block stands.
func (p *Program) early(v *ir.Value) bool { return p.computable(v, false) }

// soon reports a scalar that whoever copies can have without the kernel's body: an early one, or a function of what such positions
// of tensors hold that the kernel only reads, as where the sequence of a block begins in a cache.
func (p *Program) soon(v *ir.Value) bool { return p.computable(v, true) }

// computable reports a scalar that is a function of the launch's parameters, of where the block stands and, with loads, of what it reads.
func (p *Program) computable(v *ir.Value, loads bool) bool {
	op := v.Def
	switch {
	case op == nil:
		return slices.Contains(p.Func.Scalars, v)
	case loads && op.Code == lang.OpLoad && v.Type.IsScalar():
		if !op.Tensor.ReadOnly() || op.Else() != nil || slices.Contains(op.Checked, true) {
			return false
		}
	case op.Code == lang.OpConst, op.Code == lang.OpSize:
		return true
	case op.Code == lang.OpStart, op.Code == lang.OpEnd:
		return op.Axis.Kind != ir.Loop
	case !op.Code.Row().Elementwise || !v.Type.IsScalar():
		return false
	}
	for _, x := range op.Args {
		if !p.computable(x, loads) {
			return false
		}
	}
	return true
}

// nameMap gives a box's tensor map a name, and so a parameter of the kernel.
func (p *Program) nameMap(b *Box) {
	b.Map.Name = mapName(len(p.Maps))
	p.Maps = append(p.Maps, b.Map)
}

// mapName is the name of a tensor map by its number.
func mapName(n int) string { return fmt.Sprintf("map_%d", n) }

// BoxStore is a store whose tile goes to shared memory first, and from there in whole lines: by the TMA, or by threads where it cannot (Lines).
type BoxStore struct {
	Tile *Tile
	Box  *Box
	// Lines is the layout in which threads bring elements from there, a warp neighbours, where rows of the tensor begin at no multiples of
	// 16 bytes, as the TMA would need; Box is nil then.
	Lines *layout.Layout
	// Matrices is the rows that lanes name where instructions of four matrices bring the elements to the tile (storedMatrices);
	// nil where threads store neighbours.
	Matrices *layout.Layout
	// Turned: each of these is stored with its rows as columns.
	Turned bool
	// Parts is in how many parts the tile goes through shared memory, each of as many panels: 1 where it does as a whole.
	Parts int
	// Within is an axis over ranges in memory, behind which the tensor goes on with other ranges: a tile of which only a part exists, its
	// threads store as they hold it. Nil where the tensor ends with what exists.
	Within *ir.Axis
}

// storeByBoxes decides which stores of the kernel's body go through shared memory: those that the TMA can do, where the kernel loads by it, and those that threads do in lines, of
// blocks that stay, which have no other way to arrange so large a tile, and of images whose rows tear sectors.
func (p *Program) storeByBoxes() {
	for _, op := range p.StoresOf(p.Func.Body) {
		var s *BoxStore
		if p.Producing {
			s = p.boxStore(op)
		}
		if s == nil && (p.Producing && p.Persist > 0 || p.tearsSectors(op)) {
			s = p.lineStore(op)
		}
		if s != nil {
			p.Stores[op] = s
		}
	}
}

// StoresOf are the stores among the operations of a block, and of branches that do nothing else.
func (p *Program) StoresOf(b *ir.Block) (stores []*ir.Op) {
	for _, op := range b.Ops {
		switch {
		case op.Code == lang.OpStore && !op.Collides():
			stores = append(stores, op)
		case p.onlyStores(op):
			stores = append(stores, p.StoresOf(op.Blocks[0])...)
		}
	}
	return stores
}

// onlyStores reports a branch that blocks take as a whole, to store what is there before it.
func (p *Program) onlyStores(op *ir.Op) bool {
	if op.Code != lang.OpIf || len(op.Results) > 0 || len(op.Blocks[1].Ops) > 0 || !p.soon(op.Args[0]) {
		return false
	}
	return !slices.ContainsFunc(op.Blocks[0].Ops, func(op *ir.Op) bool {
		place := len(op.Results) == 1 && op.Result().Type.DType.IsInt() && (op.Code == lang.OpLoad && op.Result().Type.IsScalar() || op.Code.Row().Elementwise || op.Code.Row().Group == lang.GroupCreate)
		return !place && (op.Code != lang.OpStore || op.Collides())
	})
}

// OfOneTile are the stores by boxes that take the same tile of shared memory as one, in order, with it: they store one value, and the tile lies alike
// for all. Such blocks arrange it once.
func (p *Program) OfOneTile(op *ir.Op) (all []*ir.Op) {
	s := p.Stores[op]
	if s == nil || s.Box == nil {
		return nil
	}
	for _, o := range p.StoresOf(p.Func.Body) {
		if x := p.Stores[o]; x != nil && x.Box != nil && o.Stored() == op.Stored() && slices.Equal(x.Tile.Axes, s.Tile.Axes) && x.Tile.Swizzle == s.Tile.Swizzle && x.Tile.Panels == s.Tile.Panels {
			all = append(all, o)
		}
	}
	return all
}

// fillsSectors reports a tile that its threads store as fast themselves: of a product whose rows they name so that they fill
// sectors along an axis. (What such threads wrote of f32 to shared memory, rows of 128 bytes, would share banks. Rows may lie as far apart as they like: an H200 stored
// 1024 x 50304 and 8192 x 50304 in 0.87 and 0.97 of the time that boxes took, by 256 x 128 at once. Rows whose distance only a launch tells were not timed, and go by boxes.)
func (p *Program) fillsSectors(op *ir.Op, along *ir.Axis) bool {
	v, dims := op.Stored(), p.Access(op)
	if p.Vector(op.Tensor, dims, along) < p.Homes[v].Run(along, false) {
		return false // what a thread has of a sector takes it several accesses
	}
	if slices.ContainsFunc(dims, func(d DimAccess) bool { return d.Stride < 0 && len(d.Affine.Terms) > 0 }) {
		return false
	}
	for _, c := range p.Products {
		if c.RowsInRegisters && c.MMA.InRegister == 0 && p.Homes[v].Equal(c.Result) {
			return p.Homes[v].Run(along, true)*v.Type.DType.Size() >= int(p.Target.SectorBytes)
		}
	}
	return false
}

// throughShared reports a store of a tile that can go through shared memory on its way, and the axis of its rows.
func (p *Program) throughShared(op *ir.Op) (c *ir.Axis, ok bool) {
	v := op.Stored()
	c = Contiguous(p.Access(op))
	return c, !op.Hint.Given() && c != nil && !p.comesBack(op.Tensor) && v.Type.Has(c) && len(v.Type.Axes) == len(op.AccessAxes()) && !p.Cheap(v)
}

// boxStore fits boxes to a store; nil where that cannot be.
func (p *Program) boxStore(op *ir.Op) *BoxStore {
	v, dims := op.Stored(), p.Access(op)
	c, ok := p.throughShared(op)
	if !ok || p.fillsSectors(op, c) {
		return nil
	}
	var within *ir.Axis
	for i, d := range dims {
		for _, term := range d.Affine.Terms {
			if term.Axis.Ranges != nil {
				within = term.Axis
				continue
			}
			// What does not exist has to lie outside the tensor.
			if p.Ragged(term.Axis) && (op.Tensor.Shape[i] != term.Axis.Dim || d.Affine.Offset != 0 || len(d.Affine.Scalars) > 0) {
				return nil
			}
		}
	}
	axes := []*ir.Axis{c}
	for i := len(dims) - 2; i >= 0; i-- {
		for _, term := range dims[i].Affine.Terms {
			axes = append(axes, term.Axis)
		}
	}
	oddLast(axes[1:])
	t := NewTile(op.Tensor.DType, axes, Extents(axes), true)
	t.panel()
	b, ok := p.newBox(op.Tensor, dims, t, nil, true)
	if !ok {
		return nil
	}
	p.nameMap(b)
	t.Async = true
	s := &BoxStore{Tile: t, Box: b, Parts: 1, Within: within}
	if rows, turned, ok := storedMatrices(p.Homes[v], t); ok {
		s.Matrices, s.Turned = &rows, turned
	}
	return s
}
