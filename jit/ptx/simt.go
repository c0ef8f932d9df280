package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// simtLayout is the layout of a result that the ordinary cores compute: every
// thread owns neighbours along the columns, a warp a row of them.
func (k *kernel) simtLayout(c *contraction) layout {
	axes := append(append(append([]*ir.Axis(nil), c.n...), c.m...), c.batch...)
	if len(axes) == 0 {
		return uniform(k.warps)
	}
	vec := min(4, powerBelow(int(axes[0].Extent)), powerBelow(max(1, volume(axes)/(k.warps*lanes))))
	return blocked(axes, extents(axes), vec, k.warps)
}

// simtTile puts an operand in shared memory with the depth outermost, so that a
// step along the depth is one stride for every element.
func (k *kernel) simtTile(c *contraction, arg int) *sharedTile {
	v := c.op.Args[arg]
	free := c.m
	if arg == c.b {
		free = c.n
	}
	axes := append(append(append([]*ir.Axis(nil), free...), c.batch...), c.k...)
	want := &sharedTile{d: v.Type.DType.WholeBytes(), axes: axes, ext: extents(axes), swizzle: 1}
	for s := k.scope; s != nil; s = s.parent {
		for _, t := range s.tiles[v] {
			if t.swizzle == 1 && t.holds(want) && want.holds(t) {
				return t
			}
		}
	}
	want.buffer = k.allocate(want.bytes(), "operand "+valueName(v))
	k.fill(want, v, c.k)
	k.scope.tiles[v] = append(k.scope.tiles[v], want)
	return want
}

// multiplySimt emits a contraction as a loop of multiply-adds over the flattened
// depth, both operands read from shared memory.
func (k *kernel) multiplySimt(c *contraction, acc []asm.Reg) []asm.Reg {
	a := k.a
	d := c.op.Args[0].Type.DType.WholeBytes()
	sum := d.Accumulator()
	tiles := [2]*sharedTile{k.simtTile(c, 0), k.simtTile(c, 1)}
	for _, t := range tiles {
		k.reading(t.buffer)
	}
	depth := volume(c.k)
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
	var slices [2]layout
	var strides [2]int
	for i, t := range tiles {
		free := ir.Without(t.axes, c.k)
		slices[i] = c.result.slice(free)
		spots[i] = k.accessing(t, slices[i])
		strides[i] = t.bytes() / depth
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
		var values [2][]asm.Reg
		for i, t := range tiles {
			s := slices[i]
			free := ir.Without(t.axes, c.k)
			contiguous := t.contiguous()
			n := k.sharedVector(t)
			if len(free) == 0 || contiguous != free[0] || strides[i]%(n*d.Size()) != 0 {
				n = 1
			}
			groups, n := s.groups(contiguous, k.laneAligned(s, contiguous, n))
			values[i] = make([]asm.Reg, s.regs())
			for _, g := range groups {
				part := tileOf(t, free)
				p, ok := k.room(part, part.ext, s, g[0], asm.Reg{})
				if !ok {
					for _, r := range g {
						values[i][r] = elem.Zero(k.a, sum)
					}
					continue
				}
				from := spots[i].moved(g[0], moving[i], u*strides[i])
				for j, x := range k.fetch(d, n, "ld.shared", p, from) {
					if d != sum {
						x = elem.Cast(a, d, sum, x)
					}
					values[i][g[j]] = x
				}
			}
		}
		for r := range out {
			x := values[0][c.result.project(r, ir.Without(tiles[0].axes, c.k))]
			y := values[1][c.result.project(r, ir.Without(tiles[1].axes, c.k))]
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

// tileOf is a tile with only some of its axes: what of it bounds a slice.
func tileOf(t *sharedTile, axes []*ir.Axis) *sharedTile {
	u := &sharedTile{d: t.d, swizzle: 1}
	for i, a := range t.axes {
		if (ir.Type{Axes: axes}).Has(a) {
			u.axes = append(u.axes, a)
			u.ext = append(u.ext, t.ext[i])
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
