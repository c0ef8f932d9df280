package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// take emits a take: the tile goes to shared memory as it is held, and each
// thread reads the elements that it wants at the positions that it computes.
// Elements that do not exist are not read and become 0.
func (k *kernel) take(op *ir.Op) {
	x, result := op.Args[0], op.Result()
	from, to := k.Homes[x], k.Homes[result]
	positions := make([][]asm.Reg, len(op.Axes))
	for i, v := range op.Taken() {
		positions[i] = k.get(v, to.Slice(v.Type.Axes))
	}
	t, alone := k.takenFrom(x), k.takenOnce(x)
	if t == nil {
		axes := conversionOrder(x.Type.Axes, from, to)
		t = newShared(x.Type.DType, axes, block.Extents(axes), false)
		t.buffer = k.allocate(t.Bytes(), "taking from "+block.ValueName(x))
		k.write(t, x, from, k.get(x, from), nil)
		if !alone {
			k.scope.taken[x] = t
		}
	}
	k.reading(t.buffer)

	// Neighbours along an axis that stays are neighbours in shared memory, as long
	// as what is taken from the other axes is the same for both.
	c, n := t.Contiguous(), 1
	stays := !(ir.Type{Axes: op.Axes}).Has(c)
	for _, v := range op.Taken() {
		stays = stays && !v.Type.Has(c)
	}
	if stays {
		n = t.Vector()
		for int(c.Extent)%n != 0 {
			n /= 2
		}
	} else {
		c = nil
	}
	groups, n := to.Groups(c, to.Aligned(c, n))
	read := &sharedAccess{k: k, t: t, l: to}
	out := make([]asm.Reg, to.Regs())
	for _, g := range groups {
		r := g[0]
		offset := read.compute(func(a *ir.Axis) asm.Number {
			for i, b := range op.Axes {
				if a == b {
					at := k.a.Add(positions[i][to.Project(r, op.Taken()[i].Type.Axes)], asm.Int(-a.Lo))
					if wide := at.(asm.Reg); wide.Class == asm.B64 {
						at = k.a.Calc(asm.B32, "cvt.u32.u64", wide)
					}
					return at
				}
			}
			return k.a.Add(k.threadCoord(to, a), asm.Int(to.RegCoord(r, a)))
		})
		plus := t.at
		if m, ok := offset.(asm.Int); ok {
			offset, plus = asm.Int(0), plus+int(m)
		}
		at := k.a.Register(k.a.Add(k.sharedBase(), offset))
		got := k.fetch(t.DType, n, "ld.shared", k.mask(to, result.Type.Axes, r), asm.At(at).Plus(plus))
		for i, r := range g {
			out[r] = got[i]
		}
	}
	if alone {
		k.release(t.buffer)
	}
	k.hold(result, to, out)
}

// takenFrom is where a value lies from which something was taken before; nil where it lies nowhere any more.
func (k *kernel) takenFrom(x *ir.Value) *sharedTile {
	for s := k.scope; s != nil; s = s.parent {
		if t := s.taken[x]; t != nil && t.at+t.size <= k.arena.Top && slices.Contains(k.arena.live, t.buffer) {
			return t
		}
	}
	return nil
}

// takenOnce reports a value from which one take takes.
func (k *kernel) takenOnce(x *ir.Value) bool {
	takes := 0
	for _, u := range k.Uses[x] {
		if u.Op.Code == lang.OpTake && u.Arg == 0 {
			takes++
		}
	}
	return takes == 1
}
