package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/jit/target"
	"tilec/lang"
)

// This file multiplies by wgmma (sm_90a): four warps together, a tile of 64 rows
// by all the columns, with the columns' operand, and mostly the rows' too, read
// from shared memory by descriptors. The accumulator's and the register operand's
// layouts are those of mma.sync with four warps down the rows, so that everything
// around a product stays as it is.

// wgmmaColumns is from how many columns on wgmma is used without a hint that asks for it: with
// fewer, it reads both operands from shared memory faster than shared memory gives them. At 64 it
// keeps up with mma.sync (one plan of attention with heads of 64 took 128 µs on an H200; by mma.sync,
// in a run of another day, 134).
const wgmmaColumns = 64

// fitsWgmma reports a contraction in a shape that wgmma takes.
func (k *kernel) fitsWgmma(c *contraction) bool {
	hint, asked := k.f.Hints["wgmma"]
	if asked && hint == 0 || !k.target.Has(target.Wgmma) || c.mma.inRegister == 0 || c.element(0) != c.op.Args[0].Type.DType {
		return false
	}
	if len(c.m) != 1 || len(c.n) != 1 || len(c.k) != 1 || len(c.batch) > 0 || k.warps%4 != 0 || k.warps&(k.warps-1) != 0 {
		return false
	}
	m, n, depth := c.m[0], c.n[0], c.k[0]
	if layout.PowerAbove((int(m.Extent)+15)/16) < k.warps || n.Extent > 256 || !asked && n.Extent < wgmmaColumns {
		return false
	}
	columns, steps := (int(n.Extent)+7)/8*8, (int(depth.Extent)+c.mma.depth-1)/c.mma.depth*c.mma.depth
	panel := func(elements int) bool {
		bytes := elements * c.element(0).Size()
		return bytes == 32 || bytes == 64 || bytes%panelBytes == 0
	}
	if !panel(steps) {
		return false
	}
	b := c.op.Args[c.b]
	if b.Def == nil || b.Def.Code != lang.OpLoad {
		return false
	}
	deep := k.wideFirst(c, c.b) == depth
	if c.mma.inRegister == 2 { // bytes are never transposed, and there are fewer shapes
		return deep && k.wideFirst(c, c.a) == depth && (columns <= 32 || columns%16 == 0)
	}
	return deep || panel(columns)
}

// wideFirst is the axis along which an operand lies contiguous in shared memory:
// as in global memory, or the depth for a computed one.
func (k *kernel) wideFirst(c *contraction, arg int) *ir.Axis {
	v := c.op.Args[arg]
	if v.Def != nil && v.Def.Code == lang.OpLoad {
		if a := contiguous(k.access(v.Def)); a != nil && v.Type.Has(a) {
			return a
		}
	}
	return c.k[0]
}

// wideTile is the shape of an operand in shared memory: rows of up to 128
// bytes, in panels, with the swizzle that the descriptors name.
func (k *kernel) wideTile(c *contraction, arg int) *sharedTile {
	l := c.fragmentLayout(arg)
	side := c.m[0]
	if arg == c.b {
		side = c.n[0]
	}
	first, other := k.wideFirst(c, arg), side
	if first == side {
		other = c.k[0]
	}
	t := newShared(c.element(arg), []*ir.Axis{first, other}, []int{l.Physical(first), l.Physical(other)}, true)
	t.async = true
	t.panel()
	return t
}

// descriptor names a tile to wgmma: where it is, how far apart its groups of
// eight rows and its panels are, and its swizzle.
func (k *kernel) descriptor(t *sharedTile, at asm.Number) asm.Reg {
	width := min(t.rowBytes(), panelBytes)
	mode := map[int]uint64{128: 1, 64: 2, 32: 3}[width]
	rows := t.ext[1]
	bits := uint64(rows*width/16)<<16 | uint64(8*width/16)<<32 | mode<<62
	var base asm.Number = t.base
	if !t.base.Valid() {
		base = k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(t.at))
	}
	low := k.a.Calc(asm.B32, "and.b32", k.a.Calc(asm.B32, "shr.u32", k.a.Add(base, at), asm.Int(4)), asm.Int(0x3fff))
	return k.a.Calc(asm.B64, "or.b64", k.a.Calc(asm.B64, "cvt.u64.u32", low), asm.Hex(bits))
}

// wideOperand gives the descriptors of an operand in shared memory, by depth step
// and repetition of rows, and whether its depth is not the contiguous axis.
func (k *kernel) wideOperand(c *contraction, arg int, t *sharedTile) (at func(step, rep int) asm.Reg, trans int) {
	width := min(t.rowBytes(), panelBytes)
	panel := t.ext[1] * width
	var group asm.Number = asm.Int(0)
	groups := k.warps / 4
	if arg == c.a && groups > 1 {
		group = k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(7))
	}
	deep := t.contiguous() == c.k[0]
	tile := 64 * width // bytes from 64 rows to the next
	if !deep {
		trans, tile = 1, panel // a panel holds 64 rows
	}
	base := k.descriptor(t, k.a.Mul(group, tile))
	return func(step, rep int) asm.Reg {
		bytes := 32 * step // along the depth
		if deep {
			bytes = bytes/width*panel + bytes%width
		} else {
			bytes = c.mma.depth * step * width
		}
		if arg == c.a {
			bytes += rep * groups * tile
		}
		if bytes == 0 {
			return base
		}
		return k.a.Calc(asm.B64, "add.s64", base, asm.Int(bytes/16))
	}, trans
}

// multiplyWide emits the wgmma instructions of a contraction.
func (k *kernel) multiplyWide(c *contraction, acc []asm.Reg) []asm.Reg {
	a := k.a
	rows, columns := k.stage(c, c.a), k.stage(c, c.b)
	if columns.tile == nil {
		columns = staged{tile: k.operandTile(c, c.b)}
	}
	var left fragments
	var leftAt func(step, rep int) asm.Reg
	tA := 0
	if rows.regs != nil {
		left = k.fragments(c, c.a, rows)
	} else {
		k.reading(rows.tile.buffer)
		leftAt, tA = k.wideOperand(c, c.a, rows.tile)
	}
	k.reading(columns.tile.buffer)
	rightAt, tB := k.wideOperand(c, c.b, columns.tile)

	steps, reps := layout.Product(c.kReps), layout.Product(c.mReps)
	n := 8 * layout.Product(c.nReps)
	if c.mma.elements[0] != c.mma.elements[1] {
		a.Require(84)
	}
	name := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s", n, c.mma.depth, c.mma.types)
	out := acc
	fresh := c.op.Code == lang.OpDot
	if !k.ownsAccumulator(c) {
		out = a.Regs(elem.ClassOf(c.mma.sum), len(acc))
		for i, r := range acc {
			if !fresh {
				k.a.Move(out[i], r)
			}
		}
	}
	// All operands in registers and all descriptors come before the fence.
	frags := make([][][]asm.Reg, steps)
	for s := range steps {
		frags[s] = make([][]asm.Reg, reps)
		for i := range reps {
			rightAt(s, 0)
			if leftAt != nil {
				leftAt(s, i)
			} else {
				frags[s][i] = left.at(s, i, 0)
			}
		}
	}
	// Products of floats can be negated, which these are not, and operands transposed.
	immediates := func(transposed ...asm.Operand) []asm.Operand {
		if c.mma.sum != lang.F32 {
			return nil
		}
		return append([]asm.Operand{asm.Int(1), asm.Int(1)}, transposed...)
	}
	yes, no := k.a.Calc(asm.Pred, "mov.pred", asm.Int(1)), k.a.Calc(asm.Pred, "mov.pred", asm.Int(0))
	a.Do("wgmma.fence.sync.aligned")
	for s := range steps {
		for i := range reps {
			keep := yes
			if fresh && s == 0 {
				keep = no
			}
			d := asm.List(out[i*n/2 : (i+1)*n/2])
			if leftAt != nil {
				operands := []asm.Operand{leftAt(s, i), rightAt(s, 0), keep}
				a.Set(d, name, append(operands, immediates(asm.Int(tA), asm.Int(tB))...)...)
			} else {
				operands := []asm.Operand{asm.List(frags[s][i]), rightAt(s, 0), keep}
				a.Set(d, name, append(operands, immediates(asm.Int(tB))...)...)
			}
		}
	}
	a.Do("wgmma.commit_group.sync.aligned")
	if c.overlapped {
		a.Do("wgmma.wait_group.sync.aligned", asm.Int(1))
	} else {
		a.Do("wgmma.wait_group.sync.aligned", asm.Int(0))
	}
	for _, s := range []staged{rows, columns} {
		if s.tile != nil {
			k.readUntilNow(s.tile.buffer)
		}
	}
	return out
}

// ownsAccumulator reports an accumulation into what a loop carries and nothing
// else reads: its registers may be overwritten.
func (k *kernel) ownsAccumulator(c *contraction) bool {
	if c.op.Code != lang.OpMma {
		return false
	}
	v := c.op.Args[2]
	copies := k.copies(v)
	return v.Def == nil && len(k.uses[v]) == 1 && len(copies) > 0 && k.a.LevelOf(copies[0].regs[0]) == k.a.Level() && k.yields(v) == 0 && c.op.Result().Type.DType == c.mma.sum
}

// yields counts how often a value is handed back by a region.
func (k *kernel) yields(v *ir.Value) int {
	n := 0
	k.f.Walk(func(op *ir.Op) bool {
		for _, b := range op.Blocks {
			for _, y := range b.Yield {
				if y == v {
					n++
				}
			}
		}
		return true
	})
	return n
}
