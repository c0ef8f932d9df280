package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file says which loads the tensor memory accelerator (TMA) can copy: one
// instruction moves a box of a tensor to shared memory, where it lies in rows of
// up to 128 bytes with the swizzle of sharedTile. What it needs to know of the
// tensor is in a tensor map, a parameter of the kernel that the launch makes.

// mostBox is how far a box can reach along a dimension, mostRank how many dimensions a map has.
const (
	mostBox  = 256
	mostRank = 5
)

// box is a load that the TMA can do: the boxes of its map fill a tile, panel by panel.
type box struct {
	tensorMap *TensorMap
	dims      []dimAccess // of the tensor
	// wiped: in the last step of the loop, elements beyond its end have come that have to be 0.
	wiped bool
}

// boxFor finds how the TMA would fill a tile with a load's elements, in a loop: what
// does not exist has to come out as 0 where a product would count it.
func (k *kernel) boxFor(load *ir.Op, t *sharedTile, loop *ir.Op) (*box, bool) {
	dims, wiped := k.access(load), false
	for i, d := range dims {
		for _, term := range d.affine.terms {
			if !k.endsInZeros(term.axis, load, i, loop) {
				if term.axis != loop.Axis {
					return nil, false
				}
				wiped = true
			}
		}
	}
	b, ok := k.newBox(load.Tensor, dims, t)
	if ok {
		b.wiped = wiped
	}
	return b, ok
}

// newBox fits boxes to a tile, element by element of an access's index.
func (k *kernel) newBox(tensor *ir.Tensor, dims []dimAccess, t *sharedTile) (*box, bool) {
	size := int64(t.d.Size())
	if len(dims) > mostRank || tensor.Align%16 != 0 || tensor.Held().Packed() || !t.boxed() {
		return nil, false
	}
	b := &box{tensorMap: &TensorMap{Tensor: tensor, Swizzle: min(t.rowBytes(), panelBytes)}, dims: dims}
	along := map[*ir.Axis]int{}
	for i, d := range dims {
		if tensor.Shape[i].Wide { // coordinates have 32 bits
			return nil, false
		}
		if d.gather || d.checked || len(d.affine.terms) > 1 {
			return nil, false
		}
		if i < len(dims)-1 {
			unit := d.stride
			if unit < 0 {
				unit = d.multiple
			}
			if unit*size%16 != 0 {
				return nil, false
			}
		}
		for _, s := range d.affine.scalars {
			if !k.early(s.value) {
				return nil, false
			}
		}
		for _, term := range d.affine.terms {
			if _, twice := along[term.axis]; twice || term.coef != 1 || !slices.Contains(t.axes, term.axis) {
				return nil, false
			}
			along[term.axis] = i
		}
	}
	for j, a := range t.axes {
		i, ok := along[a]
		n := t.ext[j]
		if j == 0 {
			n = min(n, b.tensorMap.Swizzle/int(size))
		}
		if !ok || t.ext[j] != int(a.Extent) || n > mostBox || (j == 0) != (i == len(dims)-1) {
			return nil, false
		}
		b.tensorMap.Order = append(b.tensorMap.Order, i)
		b.tensorMap.Box = append(b.tensorMap.Box, n)
	}
	for i := range dims {
		if !slices.Contains(b.tensorMap.Order, i) {
			b.tensorMap.Order = append(b.tensorMap.Order, i)
			b.tensorMap.Box = append(b.tensorMap.Box, 1)
		}
	}
	return b, true
}

// boxed reports a tile that lies in shared memory as boxes do.
func (t *sharedTile) boxed() bool {
	if len(t.axes) < 2 || t.bytes()/t.rowBytes()%8 != 0 {
		return false // the pattern of a swizzle is eight rows, and begins anew with each panel
	}
	switch row := t.rowBytes(); row {
	case 32, 64, 128:
		return t.swizzle == row/16
	default:
		return t.panels > 0 && row%panelBytes == 0 && t.swizzle == 8
	}
}

// panel cuts rows longer than 128 bytes in panels, as boxes and wgmma want them.
func (t *sharedTile) panel() {
	if t.rowBytes() > panelBytes {
		t.panels, t.swizzle = t.bytes()/t.rowBytes(), 8
	}
}

// endsInZeros reports that the positions of a box beyond the end of an axis's range
// are beyond the tensor, where the TMA gives 0, or that no product counts them: those of rows and
// columns give rows and columns that do not exist.
func (k *kernel) endsInZeros(a *ir.Axis, load *ir.Op, dim int, loop *ir.Op) bool {
	counted := false
	for _, u := range k.uses[load.Result()] {
		counted = counted || slices.Contains(k.products[u.op].k, a)
	}
	if !counted || !k.ragged(a) {
		return true
	}
	if a != loop.Axis {
		return false
	}
	// The range ends where the dimension does, or at a whole step.
	hi, d := loop.Args[1].Def, load.Tensor.Shape[dim]
	f := k.access(load)[dim].affine
	if hi == nil || d != a.Dim || f.offset != 0 || len(f.scalars) > 0 || k.multiple(loop.Args[0])%a.Extent != 0 {
		return false
	}
	switch hi.Code {
	case lang.OpSize:
		return hi.Dim == d
	case lang.OpEnd:
		return hi.Axis.Kind == ir.Grid && hi.Axis.Dim == d && hi.Axis.Extent%a.Extent == 0
	}
	return false
}

// early reports a scalar that is known before the kernel's body runs: a function
// of the launch's parameters and of where the block stands.
func (k *kernel) early(v *ir.Value) bool {
	op := v.Def
	switch {
	case op == nil:
		return len(k.root.values[v]) > 0
	case op.Code == lang.OpConst, op.Code == lang.OpSize:
		return true
	case op.Code == lang.OpStart, op.Code == lang.OpEnd:
		return op.Axis.Kind != ir.Loop
	case !op.Code.Row().Elementwise || !v.Type.IsScalar():
		return false
	}
	for _, x := range op.Args {
		if !k.early(x) {
			return false
		}
	}
	return true
}

// provide computes an early scalar, and what it depends on, where the code being emitted does not have them.
func (k *kernel) provide(v *ir.Value) {
	if len(k.copies(v)) > 0 {
		return
	}
	for _, x := range v.Def.Args {
		k.provide(x)
	}
	k.hold(v, uniform(k.warps), k.recompute(v.Def, uniform(k.warps)))
}

// copyBoxes emits the copies of a load to a tile in shared memory; bar is the address of the mbarrier that counts the bytes.
func (k *kernel) copyBoxes(b *box, t *sharedTile, bar asm.Reg) {
	k.eachBox(b, t, func(tile asm.Reg, from asm.Box) {
		k.a.Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(from.At)), asm.At(tile), from, asm.At(bar))
	})
}

// eachBox gives the address of each panel of a tile and its box of the tensor.
func (k *kernel) eachBox(b *box, t *sharedTile, emit func(tile asm.Reg, box asm.Box)) {
	m := b.tensorMap
	at := make([]asm.Number, len(m.Order))
	for n, i := range m.Order {
		at[n] = k.boxPosition(b.dims[i])
	}
	from := k.a.Once("map "+m.Name, func() asm.Reg {
		r := k.a.Op(asm.B64, "mov.b64", asm.Symbol(m.Name))
		r = k.a.Op(asm.B64, "cvta.param.u64", r)
		k.a.Do("prefetch.tensormap", asm.At(r))
		return r
	})
	width := m.Swizzle
	for panel := range t.rowBytes() / width {
		coords := make(asm.Vector, len(at))
		for n, x := range at {
			if n == 0 {
				x = k.a.Add(x, asm.Int(panel*width/t.d.Size()))
			}
			coords[n] = k.a.Register(x)
		}
		emit(k.a.Register(k.a.Add(t.base, asm.Int(panel*t.panels*panelBytes))), asm.Box{Map: from, At: coords})
	}
}

// storeBoxes stores a tile by the TMA, where the kernel loads by it: the tile goes to
// shared memory first, and from there in whole lines. False where that cannot be.
func (k *kernel) storeBoxes(op *ir.Op) bool {
	v, dims := op.Stored(), k.access(op)
	c := contiguous(dims)
	if !k.producing || op.Hint.Given() || k.a.Level() > 1 || c == nil || k.contended(op.Tensor) || !v.Type.Has(c) || len(v.Type.Axes) != len(op.AccessAxes()) || k.cheap(v) {
		return false
	}
	for i, d := range dims {
		for _, term := range d.affine.terms {
			// What does not exist has to lie outside the tensor.
			if k.ragged(term.axis) && (op.Tensor.Shape[i] != term.axis.Dim || d.affine.offset != 0 || len(d.affine.scalars) > 0) {
				return false
			}
		}
	}
	axes, ext := []*ir.Axis{c}, []int{int(c.Extent)}
	for i := len(dims) - 2; i >= 0; i-- {
		for _, term := range dims[i].affine.terms {
			axes, ext = append(axes, term.axis), append(ext, int(term.axis.Extent))
		}
	}
	t := newShared(op.Tensor.DType, axes, ext, true)
	t.panel()
	b, ok := k.newBox(op.Tensor, dims, t)
	if !ok {
		return false
	}
	b.tensorMap.Name = mapName(len(k.maps))
	k.maps = append(k.maps, b.tensorMap)
	k.orderWrite(op.Tensor)
	t.async = true
	t.buffer = k.allocate(t.bytes(), "storing "+valueName(v))
	t.base = k.a.Register(k.a.Add(k.sharedBase(), asm.Int(t.at)))
	k.write(t, v, k.home[v], k.unrounded(v, k.home[v]), nil)
	k.reading(t.buffer)
	first := k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	k.eachBox(b, t, func(tile asm.Reg, to asm.Box) {
		k.a.If(first).Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group", len(to.At)), to, asm.At(tile))
	})
	k.a.If(first).Do("cp.async.bulk.commit_group")
	k.a.If(first).Do("cp.async.bulk.wait_group.read", asm.Int(0))
	k.release(t.buffer)
	return true
}

// boxPosition is where a box begins along one dimension of its tensor, 32 bits.
func (k *kernel) boxPosition(d dimAccess) asm.Number {
	var sum asm.Number = asm.Int(d.affine.offset)
	for _, t := range d.affine.terms {
		sum = k.a.Add(sum, k.state(t.axis).start)
	}
	for _, s := range d.affine.scalars {
		r := k.scalar(s.value)
		if r.Class == asm.B64 {
			r = k.a.Calc(asm.B32, "cvt.u32.u64", r)
		}
		sum = k.a.Add(sum, k.a.Mul(r, int(s.coef)))
	}
	return sum
}

// mapName names a tensor map's parameter.
func mapName(n int) string { return fmt.Sprintf("map_%d", n) }
