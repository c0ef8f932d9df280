package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
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

// copyBoxes emits the copies of a load to a tile in shared memory; bar is the address of the mbarrier that counts the bytes.
func (k *kernel) copyBoxes(b *Box, t *sharedTile, bar asm.Reg) {
	k.eachBox(b, t, func(tile asm.Reg, from asm.Box) {
		k.a.Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(from.At)), asm.At(tile), from, asm.At(bar))
	})
}

// eachBox gives the address of each panel of a tile and its box of the tensor.
func (k *kernel) eachBox(b *Box, t *sharedTile, emit func(tile asm.Reg, box asm.Box)) {
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

// storeBoxes stores a tile by the TMA; false where that was not decided.
func (k *kernel) storeBoxes(op *ir.Op) bool {
	s := k.stores[op]
	if s == nil {
		return false
	}
	v, b, t := op.Stored(), s.box, &sharedTile{Tile: *s.tile}
	k.orderWrite(op.Tensor)
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
