package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file multiplies by wgmma (sm_90a): four warps together, a tile of 64 rows
// by all the columns, with the columns' operand, and mostly the rows' too, read
// from shared memory by descriptors. The accumulator's and the register operand's
// layouts are those of mma.sync with four warps down the rows, so that everything
// around a product stays as it is.

// descriptor gives the descriptors that name a tile to wgmma, and what lies so many bytes behind where it begins: where it is, how far apart its groups of
// eight rows and its panels are, and its swizzle. Of an address, which has 18 bits, a descriptor takes all but the last four; so a step along the tile is a sum in
// its low half, and the high half is always the same.
func (k *kernel) descriptor(t *sharedTile, at asm.Number, rowsApart int) func(bytes int) asm.Reg {
	width := t.Width()
	mode := map[int]int{128: 1, 64: 2, 32: 3}[width]
	rows := t.Bytes() / t.RowBytes()
	apart, high := asm.Int(rows*width/16)<<16, uint64(rowsApart*width/16|mode<<30)
	var base asm.Number = t.base
	if !t.base.Valid() {
		base = k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(t.at))
	}
	address := k.a.Add(base, at)
	if k.ClusterSize() > 1 { // from bit 24 on, the block's rank
		address = k.a.Calc(asm.B32, "and.b32", address, asm.Int(1<<18-1))
	}
	place := k.a.Calc(asm.B32, "shr.u32", address, asm.Int(4))
	return func(bytes int) asm.Reg {
		low := k.a.Calc(asm.B32, "add.s32", place, apart+asm.Int(bytes/16))
		return k.a.Calc(asm.B64, "or.b64", k.a.Calc(asm.B64, "cvt.u64.u32", low), asm.Hex(high<<32))
	}
}

// wgmmaOperand gives the descriptors of an operand in shared memory, by depth step
// and repetition of rows, and whether its depth is not the contiguous axis.
func (k *kernel) wgmmaOperand(c *block.Product, arg int, t *sharedTile) (at func(step, rep int) asm.Reg, trans int) {
	var group asm.Number = asm.Int(0)
	groups := k.Warps / 4
	if arg == c.A && groups > 1 {
		group = k.a.Once("warpgroup", func() asm.Reg { return k.ofWarp(k.a.Op(asm.B32, "shr.u32", k.tid, asm.Int(7))) })
	}
	// From so many rows of instructions on lie the rows of a warpgroup, and of a repetition.
	along, rowsApart := func(instructions int) int { return instructions * block.WgmmaRows * t.Width() }, block.RowsOfGroup
	switch deep := t.Contiguous() == c.K[0]; {
	case !deep:
		trans, along = 1, func(instructions int) int { return instructions * t.BytesOfPanel() } // which holds 64 rows
	default:
		along, rowsApart = func(instructions int) int { return c.RowAt(arg, instructions*block.WgmmaRows) * t.Width() }, c.RowsApart(arg)
	}
	var mine asm.Number = asm.Int(0)
	if arg == c.A && groups > 1 {
		mine = k.a.Mul(group, along(1))
	}
	descriptors := k.descriptor(t, mine, rowsApart)
	return func(step, rep int) asm.Reg {
		bytes := c.AlongDepth(&t.Tile, step)
		if arg == c.A {
			bytes += along(rep * groups)
		}
		return descriptors(bytes)
	}, trans
}

// ofWarp is a number that all lanes of a warp have, as the assembler can see: it then keeps what follows from it once a warp.
func (k *kernel) ofWarp(r asm.Reg) asm.Reg {
	return k.a.Op(asm.B32, "shfl.sync.idx.b32", r, asm.Int(0), asm.Int(31), asm.AllLanes)
}

// multiplyWgmma emits the wgmma instructions of a contraction.
func (k *kernel) multiplyWgmma(c *block.Product, acc []asm.Reg) []asm.Reg {
	var out []asm.Reg
	if c.Stepwise {
		out = k.a.Regs(elem.ClassOf(c.MMA.Sum), len(acc))
	} else {
		out = k.wgmmaAccumulator(c, acc, c.Op.Code == lang.OpDot)
	}
	x := k.operandsOfWgmma(c)
	if c.Passes > 1 {
		k.startPasses(c, x, out)
		k.awaitWgmma(ofStep(c))
		x.release(k)
		return out
	}
	for group := range c.Groups {
		// What is widened takes longer to be at hand than one group is under way. Beside two of them, one of which may be the last of the step before, a third has registers of its own.
		early := c.Op.Mixed() && c.Groups > 2
		if group > 0 && !early {
			x.load(group)
		}
		k.startGroup(c, x, out, group)
		if early && group < c.Groups-1 {
			x.load(group + 1)
		}
		underWay := ofStep(c)
		if group < c.Groups-1 {
			underWay = 1
		}
		k.awaitWgmma(underWay)
	}
	x.release(k)
	if !c.Stepwise {
		return out
	}
	sums := k.wgmmaAccumulator(c, acc, true)
	for i, r := range out {
		k.a.Set(sums[i], "add.f32", acc[i], r)
	}
	return sums
}

// ofStep is how many groups the products of a step are that the next step waits for, with this one: so many may be under way behind it. 0 where its own step does.
func ofStep(c *block.Product) (n int) {
	for _, of := range c.Overlapped {
		n += of.Passes
	}
	return n
}

// wgmmaOperands are the operands of a product as wgmma takes them.
type wgmmaOperands struct {
	of            *block.Product
	rows, columns staged
	// left are the rows in registers, and frags those that are loaded, by instruction; where they are in shared memory, leftAt gives
	// their descriptors.
	left            fragments
	frags           [][]asm.Reg
	leftAt, rightAt func(step, rep int) asm.Reg
	// tA and tB: the depth of the rows, of the columns, is not their contiguous axis.
	tA, tB int
}

// group is from and up to which instruction a group of a step's goes, where there are passes that of the first, and reps how many of them have the same depth.
func (x *wgmmaOperands) group(n int) (from, to, reps int) {
	reps = layout.Product(x.of.MReps)
	all, groups := layout.Product(x.of.KReps)*reps, x.of.Groups*x.of.Passes
	return n * all / groups, (n + 1) * all / groups, reps
}

// load makes a group's operands in registers and all of its descriptors ready.
func (x *wgmmaOperands) load(group int) {
	from, to, reps := x.group(group)
	for at := from; at < to; at++ {
		s, i := at/reps, at%reps
		x.rightAt(s, 0)
		if x.leftAt != nil {
			x.leftAt(s, i)
		} else {
			x.frags[at] = x.left.at(s, i, 0)
		}
	}
}

// release says that the operands have been read.
func (x *wgmmaOperands) release(k *kernel) {
	for _, s := range []staged{x.rows, x.columns} {
		if s.tile != nil {
			k.readUntilNow(s.tile.buffer)
		}
	}
}

// awaitWgmma waits for all products but the last so many.
func (k *kernel) awaitWgmma(underWay int) { k.a.Do("wgmma.wait_group.sync.aligned", asm.Int(underWay)) }

// operandsOfWgmma makes the operands of a product ready, as far as its first group needs them.
func (k *kernel) operandsOfWgmma(c *block.Product) *wgmmaOperands {
	rows := k.stage(c, c.A)
	x := &wgmmaOperands{of: c, rows: rows, frags: make([][]asm.Reg, layout.Product(c.KReps)*layout.Product(c.MReps))}
	switch {
	case c.RowsInRegisters && c.MMA.InRegister == 0:
		x.left = k.rowsAcross(c, rows.tile)
	case c.RowsInRegisters || rows.regs != nil:
		x.left = k.fragments(c, c.A, rows)
	default:
		k.reading(rows.tile.buffer)
		x.leftAt, x.tA = k.wgmmaOperand(c, c.A, rows.tile)
	}
	x.readColumns(k)
	x.load(0)
	return x
}

// operandsBeside are the operands of a product of one group whose rows are in registers, by instruction.
func (k *kernel) operandsBeside(c *block.Product, rows [][]asm.Reg) *wgmmaOperands {
	x := &wgmmaOperands{of: c, frags: rows}
	x.readColumns(k)
	return x
}

// readColumns finds the columns in shared memory.
func (x *wgmmaOperands) readColumns(k *kernel) {
	if x.columns = k.stage(x.of, x.of.B); x.columns.tile == nil {
		x.columns = staged{tile: k.operandTile(x.of, x.of.B)}
	}
	k.reading(x.columns.tile.buffer)
	x.rightAt, x.tB = k.wgmmaOperand(x.of, x.of.B, x.columns.tile)
}

// startWgmma starts a product of one group, which adds to out.
func (k *kernel) startWgmma(c *block.Product, x *wgmmaOperands, out []asm.Reg) {
	k.startGroup(c, x, out, 0)
}

// startGroup starts the instructions of a group, whose operands are ready.
func (k *kernel) startGroup(c *block.Product, x *wgmmaOperands, out []asm.Reg, group int) {
	fresh := c.Op.Code == lang.OpDot || c.Stepwise
	multiply := k.wgmma(c, x, out)
	k.a.Do("wgmma.fence.sync.aligned")
	from, to, reps := x.group(group)
	for at := from; at < to; at++ {
		s, i := at/reps, at%reps
		if x.leftAt != nil {
			multiply(i, x.leftAt(s, i), x.rightAt(s, 0), !fresh || s > 0)
			continue
		}
		for part, rows := range partsOf(c, x.frags[at]) {
			multiply(i, asm.List(rows), x.rightAt(s, 0), !fresh || s > 0 || part > 0)
		}
	}
	k.a.Do("wgmma.commit_group.sync.aligned")
}

// startPasses starts a product by a loop of which each pass is a group.
func (k *kernel) startPasses(c *block.Product, x *wgmmaOperands, out []asm.Reg) {
	a := k.a
	_, to, reps := x.group(0)
	each := to / reps
	type operand struct {
		at asm.Reg
		// by is what the descriptor counts on from pass to pass, for which its low half has room.
		by int
	}
	first := func(t *sharedTile, descriptor asm.Reg) operand {
		at := a.Reg(asm.B64)
		a.Move(at, descriptor)
		return operand{at, c.AlongDepth(&t.Tile, each) / 16}
	}
	var rows, columns []operand
	for s := range each {
		for i := range reps {
			rows = append(rows, first(x.rows.tile, x.leftAt(s, i)))
		}
		columns = append(columns, first(x.columns.tile, x.rightAt(s, 0)))
	}
	multiply := k.wgmma(c, x, out)
	pass, top := a.Reg(asm.B32), a.Label()
	a.Set(pass, "mov.b32", asm.Int(0))
	a.PlaceRolled(top)
	a.Do("wgmma.fence.sync.aligned")
	for at := range to {
		multiply(at%reps, rows[at].at, columns[at/reps].at, true)
	}
	a.Do("wgmma.commit_group.sync.aligned")
	for _, o := range append(rows, columns...) {
		a.Set(o.at, "add.s64", o.at, asm.Int(o.by))
	}
	a.Set(pass, "add.s32", pass, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.lt.s32", pass, asm.Int(c.Passes))).Do("bra.uni", top)
}

// wgmma gives what emits an instruction of a product for a repetition of its rows, whose sum begins anew or is kept.
func (k *kernel) wgmma(c *block.Product, x *wgmmaOperands, out []asm.Reg) func(rep int, rows asm.Operand, columns asm.Reg, kept bool) {
	a := k.a
	n := 8 * layout.Product(c.NReps)
	if c.MMA.Elements[0] != c.MMA.Elements[1] {
		a.Require(84)
	}
	name := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s", n, c.MMA.Depth, operandTypes(c.MMA))
	// Products of floats can be negated, which these are not, and operands of 16 bits transposed.
	var immediates []asm.Operand
	if c.MMA.Sum == lang.F32 {
		immediates = []asm.Operand{asm.Int(1), asm.Int(1)}
		if c.MMA.InRegister == 1 {
			if x.leftAt != nil {
				immediates = append(immediates, asm.Int(x.tA))
			}
			immediates = append(immediates, asm.Int(x.tB))
		}
	}
	keep := map[bool]asm.Reg{true: a.Calc(asm.Pred, "mov.pred", asm.Int(1)), false: a.Calc(asm.Pred, "mov.pred", asm.Int(0))}
	return func(rep int, rows asm.Operand, columns asm.Reg, kept bool) {
		d := asm.List(out[rep*n/2 : (rep+1)*n/2])
		a.Set(d, name, append([]asm.Operand{rows, columns, keep[kept]}, immediates...)...)
	}
}

// rowsAcross loads rows from a tile across which the depth lies, in pairs of neighbours.
func (k *kernel) rowsAcross(c *block.Product, t *sharedTile) fragments {
	k.reading(t.buffer)
	l := c.FragmentLayout(c.A)
	x := k.accessing(t, l)
	const per = 4 // registers of a fragment: two rows at two places of the depth
	return fragments{at: func(step, rep, _ int) []asm.Reg {
		first := per * (step + layout.Product(c.KReps)*rep)
		return append(k.fetch(lang.U32, 2, "ld.shared", asm.Reg{}, x.at(first)), k.fetch(lang.U32, 2, "ld.shared", asm.Reg{}, x.at(first+2))...)
	}}
}

// wgmmaAccumulator is the registers in which wgmma adds up: those of acc, where they may be overwritten, else others, with what
// acc has unless the product begins anew.
func (k *kernel) wgmmaAccumulator(c *block.Product, acc []asm.Reg, fresh bool) []asm.Reg {
	if k.ownsAccumulator(c) {
		return acc
	}
	out := k.a.Regs(elem.ClassOf(c.MMA.Sum), len(acc))
	for i, r := range acc {
		if !fresh {
			k.a.Move(out[i], r)
		}
	}
	return out
}

// ownsAccumulator reports an accumulation into what a loop carries and nothing
// else reads: its registers may be overwritten.
func (k *kernel) ownsAccumulator(c *block.Product) bool {
	if c.Op.Code != lang.OpMma {
		return false
	}
	v := c.Op.Args[2]
	copies := k.copies(v)
	return v.Def == nil && len(k.Uses[v]) == 1 && len(copies) > 0 && k.a.LevelOf(copies[0].regs[0]) == k.a.Level() && k.Yields(v) == 0 && c.Op.Result().Type.DType == c.MMA.Sum
}
