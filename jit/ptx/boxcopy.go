package ptx

import (
	"fmt"
	"slices"

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

// provideFor provides the scalars in the indices of an access.
func (k *kernel) provideFor(dims []block.DimAccess) {
	for _, d := range dims {
		for _, s := range d.Affine.Scalars {
			k.provide(s.Value)
		}
	}
}

// provideAnew computes a scalar that follows from where a step begins for the step that the axis stands at now, whatever is known of it for another.
func (k *kernel) provideAnew(v *ir.Value) {
	switch {
	case len(k.scope.values[v]) > 0:
		return
	case !block.OfSteps(v):
		k.provide(v)
		return
	}
	for _, x := range v.Def.Args {
		k.provideAnew(x)
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
	hint, policy := k.passing(b.Map.Tensor)
	k.eachBox(b, t, 0, 1, func(tile asm.Reg, from asm.Box) {
		name := fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes", len(from.At)) + hint
		k.a.Do(name, append([]asm.Operand{asm.At(tile), from, asm.At(bar)}, policy...)...)
	})
}

// copyHalf emits the copies of half of a tile's rows to both blocks of the cluster.
func (k *kernel) copyHalf(b *block.Box, t *sharedTile, bar asm.Reg) {
	a, half := k.a, t.Extents[1]/2
	both := a.Calc(asm.B16, "mov.b16", asm.Int(3))
	hint, policy := k.passing(b.Map.Tensor)
	rows := a.Calc(asm.B32, "mul.lo.s32", k.rank(), asm.Int(half))
	bytes := a.Calc(asm.B32, "mul.lo.s32", rows, asm.Int(b.Map.Swizzle))
	k.eachBox(b, t, 0, 1, func(tile asm.Reg, from asm.Box) {
		from.At[1] = a.Op(asm.B32, "add.s32", from.At[1], rows)
		to := a.Op(asm.B32, "add.s32", tile, bytes)
		name := fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster", len(from.At)) + hint
		a.Do(name, append([]asm.Operand{asm.At(to), from, asm.At(bar), both}, policy...)...)
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
		if unit := b.Unit(i); unit > 1 {
			if x, ok := at[n].(asm.Int); ok {
				at[n] = x / asm.Int(unit)
			} else {
				at[n] = k.a.Calc(asm.B32, "shr.u32", at[n], asm.Int(log2(unit)))
			}
		}
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
	k.orderWrite(op.Tensor)
	k.arrangeFirst(op)
	if a := k.arranged; a != nil && slices.Contains(a.stores, op) {
		k.issueBoxes(op, a.tile, s, 0)
		if k.Tiles == nil { // else whoever uses the memory next waits
			k.storesAreRead()
		}
		if op == a.stores[len(a.stores)-1] {
			k.release(a.tile.buffer)
			k.arranged = nil
		}
		return true
	}
	t, size := &sharedTile{Tile: *s.Tile}, s.Tile.Bytes()/s.Parts
	t.buffer = k.allocate(size, "storing "+block.ValueName(op.Stored()))
	values := k.stored(op, k.Homes[op.Stored()])
	for part := range s.Parts {
		if part > 0 && s.Lines == nil {
			k.storesAreRead()
		}
		k.arrange(op, t, s, part, values)
		k.reading(t.buffer)
		if s.Lines != nil {
			k.storeLines(op, t, s, part)
			continue
		}
		k.issueBoxes(op, t, s, part)
	}
	if s.Lines == nil {
		k.storesAreReadOf(op)
	}
	k.release(t.buffer)
	return true
}

// arrange writes a part of the tile that a store takes to shared memory.
func (k *kernel) arrange(op *ir.Op, t *sharedTile, s *block.BoxStore, part int, values func(r int) asm.Reg) {
	home := k.Homes[op.Stored()]
	t.base = k.a.Register(k.a.Add(k.sharedBase(), asm.Int(t.at-part*s.Tile.Bytes()/s.Parts)))
	if s.Matrices != nil {
		k.writeMatrices(t, s, part, home, values)
		return
	}
	in := func(r int) bool { return s.PartOf(home.RegCoord(r, t.Contiguous())) == part }
	k.writeEach(t, op.Stored(), home, in, values, nil)
}

// issueBoxes begins the copies of a part of a tile in shared memory to the tensor.
func (k *kernel) issueBoxes(op *ir.Op, t *sharedTile, s *block.BoxStore, part int) {
	first := k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	end := k.storeOutside(op, t, s)
	k.eachBox(s.Box, t, part, s.Parts, func(tile asm.Reg, to asm.Box) {
		k.a.If(first).Do(fmt.Sprintf("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group", len(to.At)), to, asm.At(tile))
	})
	k.a.If(first).Do("cp.async.bulk.commit_group")
	if end != nil {
		k.a.Place(*end)
	}
}

// storesAreReadOf waits until the copies of a store have read the shared memory, where nobody else does before that is used again.
func (k *kernel) storesAreReadOf(op *ir.Op) {
	if ops := k.StoresOf(k.Func.Body); k.Tiles == nil || op != ops[len(ops)-1] { // else whoever uses the memory next waits
		k.storesAreRead()
	}
}

// arranged is a tile in shared memory that several stores take as it is.
type arranged struct {
	stores []*ir.Op
	tile   *sharedTile
}

// arrangeFirst arranges the tile that several stores take, before the first of them.
func (k *kernel) arrangeFirst(op *ir.Op) {
	all := k.OfOneTile(op)
	if len(all) < 2 || all[0] != op || k.arranged != nil {
		return
	}
	s, t := k.Stores[op], &sharedTile{Tile: *k.Stores[op].Tile}
	t.buffer = k.allocate(t.Bytes(), "storing "+block.ValueName(op.Stored()))
	k.arrange(op, t, s, 0, k.stored(op, k.Homes[op.Stored()]))
	k.reading(t.buffer)
	k.arranged = &arranged{all, t}
}

// storeOutside emits, for a box that may begin before its tensor, where no box can, that the threads then store what is within, from shared memory; end is where
// what stores the box has to end. It is nil where all boxes begin in the tensor.
func (k *kernel) storeOutside(op *ir.Op, t *sharedTile, s *block.BoxStore) (end *asm.Label) {
	if !s.Box.MayBeginOutside() {
		return nil
	}
	var least asm.Number = asm.Int(0)
	for _, d := range s.Box.Dims {
		if d.Checked {
			at := k.a.Register(k.boxPosition(d))
			least = k.a.Calc(asm.B32, "min.s32", at, least)
		}
	}
	boxes, done := k.a.Label(), k.a.Label()
	begin := k.a.Here()
	k.a.If(k.a.Calc(asm.Pred, "setp.ge.s32", k.a.Register(least), asm.Int(0))).Do("bra.uni", boxes)
	k.push(begin)
	k.storeStaged(op, t)
	k.pop()
	k.a.Do("bra.uni", done)
	k.a.Place(boxes)
	return &done
}

// storeStaged stores a tile from shared memory, its elements one vector after the other.
func (k *kernel) storeStaged(op *ir.Op, t *sharedTile) {
	l := layout.Blocked(t.Axes, t.Extents, t.Vector(), k.Warps)
	from := k.accessing(t, l)
	groups, n := l.Groups(t.Contiguous(), l.Aligned(t.Contiguous(), t.Vector()))
	group, staged := map[int][]int{}, map[int]asm.Reg{}
	for _, g := range groups {
		for _, r := range g {
			group[r] = g
		}
	}
	k.storeEach(op, l, "", func(r int) asm.Reg {
		if _, there := staged[r]; !there {
			g := group[r]
			for i, reg := range from.fetch(g[0], n, t.Extents) {
				staged[g[i]] = reg
			}
		}
		return staged[r]
	})
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
	k.writtenUntilNow(t.buffer)
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
