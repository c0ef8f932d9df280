package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
)

// This file emits copies by the tensor memory accelerator: see Box.

// provide computes an early scalar, and what it depends on, where the code being emitted does not have them.
func (k *kernel) provide(v *ir.Value) {
	if len(k.copies(v)) > 0 {
		return
	}
	for _, x := range v.Def.Args {
		k.provide(x)
	}
	k.hold(v, layout.Uniform(k.Warps), k.recompute(v.Def, layout.Uniform(k.Warps)))
}

// copyBoxes emits the copies of a load to a tile in shared memory; bar is the address of the mbarrier that counts the bytes. Of a
// shared one it is the block's half, for both blocks of the cluster, at the same place of each with an mbarrier at the same place.
func (k *kernel) copyBoxes(b *block.Box, t *sharedTile, bar asm.Reg, shared bool) {
	if shared {
		k.copyHalf(b, t, bar)
		return
	}
	k.eachBox(b, t, 0, 1, func(tile asm.Reg, from asm.Box) {
		k.a.Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(from.At)), asm.At(tile), from, asm.At(bar))
	})
}

// copyHalf emits the copies of half of a tile's rows to both blocks of the cluster.
func (k *kernel) copyHalf(b *block.Box, t *sharedTile, bar asm.Reg) {
	a, half := k.a, t.Extents[1]/2
	both := a.Calc(asm.B16, "mov.b16", asm.Int(3))
	rows := a.Calc(asm.B32, "mul.lo.s32", k.rank(), asm.Int(half))
	bytes := a.Calc(asm.B32, "mul.lo.s32", rows, asm.Int(b.Map.Swizzle))
	k.eachBox(b, t, 0, 1, func(tile asm.Reg, from asm.Box) {
		from.At[1] = a.Op(asm.B32, "add.s32", from.At[1], rows)
		to := a.Op(asm.B32, "add.s32", tile, bytes)
		a.Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster", len(from.At)), asm.At(to), from, asm.At(bar), both)
	})
}

// tensorMap is the address of a tensor map, which is asked for where that is computed.
func (k *kernel) tensorMap(m *block.TensorMap) asm.Reg {
	return k.a.Once("map "+m.Name, func() asm.Reg {
		r := k.a.Op(asm.B64, "mov.b64", asm.Symbol(m.Name))
		r = k.a.Op(asm.B64, "cvta.param.u64", r)
		k.a.Do("prefetch.tensormap", asm.At(r))
		return r
	})
}

// eachBox gives the address of each panel of a part of a tile, of so many parts, and its box of the tensor.
func (k *kernel) eachBox(b *block.Box, t *sharedTile, part, parts int, emit func(tile asm.Reg, box asm.Box)) {
	m := b.Map
	at := make([]asm.Number, len(m.Order))
	for n, i := range m.Order {
		at[n] = k.boxPosition(b.Dims[i])
	}
	from := k.tensorMap(m)
	width := m.Swizzle
	panels := t.RowBytes() / width / parts
	for panel := part * panels; panel < (part+1)*panels; panel++ {
		coords := make(asm.Vector, len(at))
		for n, x := range at {
			if n == 0 {
				x = k.a.Add(x, asm.Int(panel*width/t.DType.Size()))
			}
			coords[n] = k.a.Register(x)
		}
		emit(k.a.Register(k.a.Add(t.base, asm.Int(panel*t.Panels*t.Width()))), asm.Box{Map: from, At: coords})
	}
}

// storeBoxes stores a tile by the TMA; false where that was not decided.
func (k *kernel) storeBoxes(op *ir.Op) bool {
	s := k.Stores[op]
	if s == nil {
		return false
	}
	v, t := op.Stored(), &sharedTile{Tile: *s.Tile}
	k.orderWrite(op.Tensor)
	size := t.Bytes() / s.Parts
	t.buffer = k.allocate(size, "storing "+block.ValueName(v))
	values := k.stored(op, k.Homes[v])
	first := k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	for part := range s.Parts {
		if part > 0 && s.Lines == nil {
			k.storesAreRead()
		}
		t.base = k.a.Register(k.a.Add(k.sharedBase(), asm.Int(t.at-part*size)))
		if s.Matrices != nil {
			k.writeMatrices(t, s, part, k.Homes[v], values)
		} else {
			in := func(r int) bool { return s.PartOf(k.Homes[v].RegCoord(r, t.Contiguous())) == part }
			k.writeEach(t, v, k.Homes[v], in, values, nil)
		}
		k.reading(t.buffer)
		if s.Lines != nil {
			k.storeLines(op, t, s, part)
			continue
		}
		k.eachBox(s.Box, t, part, s.Parts, func(tile asm.Reg, to asm.Box) {
			k.a.If(first).Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group", len(to.At)), to, asm.At(tile))
		})
		k.a.If(first).Do("cp.async.bulk.commit_group")
	}
	if ops := k.Func.Body.Ops; s.Lines == nil && (k.Tiles == nil || op != ops[len(ops)-1]) { // else whoever uses the memory next waits
		k.storesAreRead()
	}
	k.release(t.buffer)
	return true
}

// writeMatrices stores the elements of a part of a product's result of which lanes name the rows: see block.BoxStore.
func (k *kernel) writeMatrices(t *sharedTile, s *block.BoxStore, part int, home layout.Layout, values func(r int) asm.Reg) {
	const matrices = 4
	rows := *s.Matrices
	k.writing(t.buffer)
	to := k.accessing(t, rows)
	others := layout.Product(home.Reg[3:])
	columns := rows.Regs() / others
	store := "stmatrix.sync.aligned.m8n8.x4.shared.b16"
	if s.Turned {
		store = "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	}
	for i := range rows.Regs() {
		if s.PartOf(rows.RegCoord(i, t.Contiguous())) != part {
			continue
		}
		quad := make(asm.Vector, matrices)
		for n := range quad {
			at := 2 * (matrices*(i/others+columns*(i%others)) + n)
			quad[n] = elem.Pack(k.a, t.DType, []asm.Reg{values(at), values(at + 1)})
		}
		k.a.Do(store, to.at(i), quad)
	}
	if t.Async {
		k.a.Do("fence.proxy.async.shared::cta")
	}
}

// boxPosition is where a box begins along one dimension of its tensor, 32 bits.
func (k *kernel) boxPosition(d block.DimAccess) asm.Number {
	var sum asm.Number = asm.Int(d.Affine.Offset)
	for _, t := range d.Affine.Terms {
		sum = k.a.Add(sum, k.state(t.Axis).start)
	}
	for _, s := range d.Affine.Scalars {
		r := k.scalar(s.Value)
		if r.Class == asm.B64 {
			r = k.a.Calc(asm.B32, "cvt.u32.u64", r)
		}
		sum = k.a.Add(sum, k.a.Mul(r, int(s.Coef)))
	}
	return sum
}
