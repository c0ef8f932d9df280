package ptx

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// inShared puts an operand of such a product in shared memory, or finds it there.
func (k *kernel) inShared(c *block.Product, arg int) *sharedTile {
	v := c.Op.Args[arg]
	want := &sharedTile{Tile: *c.Tiles[arg]}
	for s := k.scope; s != nil; s = s.parent {
		for _, t := range s.tiles[v] {
			if t.Swizzle == 1 && t.Holds(&want.Tile) && want.Holds(&t.Tile) {
				return t
			}
		}
	}
	want.buffer = k.allocate(want.Bytes(), "operand "+block.ValueName(v))
	k.fill(want, v, c.K)
	k.scope.tiles[v] = append(k.scope.tiles[v], want)
	return want
}

// multiplySimt emits a contraction as a loop of multiply-adds over the flattened
// depth, both operands read from shared memory.
func (k *kernel) multiplySimt(c *block.Product, acc []asm.Reg) []asm.Reg {
	a := k.a
	d := c.Op.Args[0].Type.DType.WholeBytes()
	sum := d.Accumulator()
	tiles := [2]*sharedTile{k.inShared(c, 0), k.inShared(c, 1)}
	for _, t := range tiles {
		k.reading(t.buffer)
	}
	depth := block.Volume(c.K)
	unroll := 1
	for unroll < 8 && depth%(2*unroll) == 0 {
		unroll *= 2
	}
	out := make([]asm.Reg, len(acc))
	for i, r := range acc {
		out[i] = a.Reg(r.Class)
		k.a.Move(out[i], r)
	}
	// An operand's element of register r, at depth 0, and the bytes of a step.
	var spots [2]*sharedAccess
	var slices [2]layout.Layout
	var strides [2]int
	for i, t := range tiles {
		free := ir.Without(t.Axes, c.K)
		slices[i] = c.Result.Slice(free)
		spots[i] = k.accessing(t, slices[i])
		strides[i] = t.Bytes() / depth
	}
	moving := [2]asm.Reg{}
	for i := range moving {
		moving[i] = a.Op(asm.B32, "mov.b32", asm.Int(0))
	}
	left := a.Op(asm.B32, "mov.b32", asm.Int(depth/unroll))
	top := a.Label()
	begin := a.Here()
	a.Place(top)
	k.push(begin)
	for u := range unroll {
		values := [2][]asm.Reg{
			k.depthStep(c, tiles[0], slices[0], spots[0], moving[0], u*strides[0]),
			k.depthStep(c, tiles[1], slices[1], spots[1], moving[1], u*strides[1]),
		}
		for r := range out {
			x := values[0][c.Result.Project(r, ir.Without(tiles[0].Axes, c.K))]
			y := values[1][c.Result.Project(r, ir.Without(tiles[1].Axes, c.K))]
			multiplyAdd(a, sum, out[r], x, y)
		}
	}
	k.pop()
	for i, r := range moving {
		a.Set(r, "add.s32", r, asm.Int(unroll*strides[i]))
	}
	a.Set(left, "sub.s32", left, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.gt.s32", left, asm.Int(0))).Do("bra.uni", top)
	for _, t := range tiles {
		k.readUntilNow(t.buffer)
	}
	return out
}

// depthStep reads an operand's elements at one position of the depth, in the type of the sum: moving and plus are its bytes from
// the first.
func (k *kernel) depthStep(c *block.Product, t *sharedTile, l layout.Layout, spots *sharedAccess, moving asm.Reg, plus int) []asm.Reg {
	d := c.Op.Args[0].Type.DType.WholeBytes()
	sum := d.Accumulator()
	free := ir.Without(t.Axes, c.K)
	contiguous := t.Contiguous()
	n := t.Vector()
	if len(free) == 0 || contiguous != free[0] || t.Bytes()/block.Volume(c.K)%(n*d.Size()) != 0 {
		n = 1
	}
	groups, n := l.Groups(contiguous, l.Aligned(contiguous, n))
	values := make([]asm.Reg, l.Regs())
	for _, g := range groups {
		part := tileOf(t, free)
		p, ok := k.room(part, part.Extents, l, g[0], asm.Reg{})
		if !ok {
			for _, r := range g {
				values[r] = elem.Zero(k.a, sum)
			}
			continue
		}
		for j, x := range k.fetch(d, n, "ld.shared", p, spots.moved(g[0], moving, plus)) {
			if d != sum {
				x = elem.Cast(k.a, d, sum, x)
			}
			values[g[j]] = x
		}
	}
	return values
}

// tileOf is a tile with only some of its axes: what of it bounds a slice.
func tileOf(t *sharedTile, axes []*ir.Axis) *sharedTile {
	u := &sharedTile{Tile: block.Tile{DType: t.DType, Swizzle: 1}}
	for i, a := range t.Axes {
		if (ir.Type{Axes: axes}).Has(a) {
			u.Axes = append(u.Axes, a)
			u.Extents = append(u.Extents, t.Extents[i])
		}
	}
	return u
}

// multiplyAdd is acc += x * y in place.
func multiplyAdd(a *asm.Builder, d lang.DType, acc, x, y asm.Reg) {
	switch {
	case d == lang.F32:
		a.Set(acc, "fma.rn.f32", x, y, acc)
	case d == lang.F64:
		a.Set(acc, "fma.rn.f64", x, y, acc)
	case d.Bits() == 64:
		a.Set(acc, "mad.lo.s64", x, y, acc)
	default:
		a.Set(acc, "mad.lo.s32", x, y, acc)
	}
}
