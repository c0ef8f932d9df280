package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// fragments gives the registers of an operand of the tensor cores, tile by tile.
type fragments struct {
	// at is the fragment of a depth step, a repetition of rows (or columns) and a
	// batch: four registers for rows, two for columns.
	at func(step, rep, batch int) []asm.Reg
}

// staged is an operand that is ready to be read: in registers or in shared memory.
type staged struct {
	regs []asm.Reg
	tile *sharedTile
}

// stage finds the way to an operand: from the registers where a thread holds
// what it needs, through shared memory otherwise.
func (k *kernel) stage(c *block.Product, arg int) staged {
	v := c.Op.Args[arg]
	if _, ok := k.ahead[v]; ok {
		return staged{}
	}
	if regs := k.inRegisters(c, v, c.FragmentLayout(arg)); regs != nil {
		return staged{regs: regs}
	}
	return staged{tile: k.operandTile(c, arg)}
}

// fragments reads a staged operand.
func (k *kernel) fragments(c *block.Product, arg int, s staged) fragments {
	if f, ok := k.ahead[c.Op.Args[arg]]; ok {
		return f
	}
	l, reps := c.FragmentLayout(arg), layout.Product(c.MReps)
	if arg == c.B {
		reps = layout.Product(c.NReps)
	}
	steps := layout.Product(c.KReps)
	number := func(step, rep, batch int) int { return step + steps*(rep+reps*batch) }
	if s.regs != nil {
		pack := k.packElements(c, arg)
		return fragments{at: func(step, rep, batch int) []asm.Reg {
			return k.packFragment(c, arg, s.regs, number(step, rep, batch), pack)
		}}
	}
	t := s.tile
	k.reading(t.buffer)
	if load := k.matrices(c, arg, t); load != nil {
		return fragments{at: load}
	}
	x, pack := k.accessing(t, l), k.packElements(c, arg)
	known := map[asm.Addr]asm.Reg{} // several positions may have one element
	return fragments{at: func(step, rep, batch int) []asm.Reg {
		per := l.Regs() / (steps * reps * c.Batches())
		first := number(step, rep, batch) * per
		values := make([]asm.Reg, l.Regs())
		for r := first; r < first+per; r++ {
			at := x.at(r)
			if !known[at].Valid() {
				known[at] = k.fetchOne(t, at)
			}
			values[r] = k.ofByte(t, l, r, known[at])
		}
		return k.packFragment(c, arg, values, number(step, rep, batch), pack)
	}}
}

// fetchOne loads an element from shared memory, of a packed type the byte that has it.
func (k *kernel) fetchOne(t *sharedTile, at asm.Addr) asm.Reg {
	d := t.DType
	if t.Spans != nil && d.Packed() {
		d = lang.U8
	}
	return k.fetch(d, 1, "ld.shared", asm.Reg{}, at)[0]
}

// ofByte is the element of a register in a layout: of a packed type that which its position says of the byte.
func (k *kernel) ofByte(t *sharedTile, l layout.Layout, r int, x asm.Reg) asm.Reg {
	if t.Spans == nil || !t.DType.Packed() {
		return x
	}
	a := t.Contiguous()
	at := k.a.Add(k.threadCoord(l, a), asm.Int(l.RegCoord(r, a)))
	up := k.a.Calc(asm.B32, "shl.b32", k.a.Calc(asm.B32, "and.b32", k.a.Register(at), asm.Int(1)), asm.Int(2))
	return elem.Unpack(k.a, t.DType, k.a.Op(asm.B32, "shr.u32", x, up), 1)[0]
}

// packElements gives how a product's elements in registers, given also by their numbers in the layout of fragments, become what the instruction has in one, or in one for each part.
func (k *kernel) packElements(c *block.Product, arg int) func(rs []int, xs []asm.Reg) []asm.Reg {
	from, to := c.Op.Args[arg].Type.DType, c.Element(arg)
	if arg == c.A && c.Op.Fn != nil {
		made := k.factors(c)
		return func(rs []int, xs []asm.Reg) []asm.Reg {
			return made([2]int(rs), [2]rawElement{k.alone(from, xs[0]), k.alone(from, xs[1])})
		}
	}
	return func(_ []int, xs []asm.Reg) []asm.Reg {
		xs = slices.Clone(xs)
		for i, x := range xs {
			if from.IsInt() && to.IsFloat() {
				xs[i] = elem.Cast(k.a, from, to, x)
			}
		}
		if c.MMA.InRegister == 0 {
			return xs[:1]
		}
		return []asm.Reg{elem.PackFull(k.a, to, xs)}
	}
}

// inRegisters finds a copy of an operand that every thread holds as the fragment
// wants it, with the elements that do not exist along the depth replaced by 0.
func (k *kernel) inRegisters(c *block.Product, v *ir.Value, l layout.Layout) []asm.Reg {
	copies := k.copies(v)
	if v.Def != nil && k.PackedCast(v.Def) {
		copies = append(copies, k.copies(v.Def.Args[0])...)
	}
	for _, h := range copies {
		from, ok := h.layout.Permutation(l, v.Type.Axes)
		if !ok {
			continue
		}
		regs := make([]asm.Reg, len(from))
		for i, r := range from {
			if r < 0 {
				regs[i] = elem.Zero(k.a, v.Type.DType)
				continue
			}
			regs[i] = h.regs[r]
			if m := k.mask(l, c.K, i); m.Valid() && !k.zeroPadded(v) {
				regs[i] = k.selected(m, regs[i], elem.Zero(k.a, v.Type.DType))
			}
		}
		return regs
	}
	return nil
}

// packFragment packs the elements of fragment number n as the instruction wants
// them. Bits of a role without an axis are copies: the rows or columns that they
// would name do not exist, and any value does.
func (k *kernel) packFragment(c *block.Product, arg int, values []asm.Reg, n int, pack func(rs []int, xs []asm.Reg) []asm.Reg) []asm.Reg {
	unit := c.UnitBits(arg)
	per := 1
	for _, b := range unit {
		if b.Axis != nil {
			per *= 2
		}
	}
	var rs []int
	var elements []asm.Reg
	for i := range 1 << len(unit) {
		r, scale := n*per, 1
		for bit, b := range unit {
			if b.Axis != nil {
				r += i >> bit & 1 * scale
				scale *= 2
			}
		}
		rs, elements = append(rs, r), append(elements, values[r])
	}
	per = 1 << c.MMA.InRegister
	packed := make([][]asm.Reg, len(elements)/per)
	for i := range packed {
		packed[i] = pack(rs[per*i:per*(i+1)], elements[per*i:per*(i+1)])
	}
	return inOrder(packed)
}

// operandTile puts an operand in shared memory, or finds it there.
func (k *kernel) operandTile(c *block.Product, arg int) *sharedTile {
	v := c.Op.Args[arg]
	want := &sharedTile{Tile: *c.Tiles[arg]}
	for _, t := range k.copiesInShared(v) {
		if t.Holds(&want.Tile) {
			return t
		}
	}
	want.buffer = k.operandBuffer(want.Bytes(), "operand "+block.ValueName(v))
	if b := k.copiedOperand(v.Def); b != nil {
		k.copyOperand(b, want)
	} else if v.Def == nil || !k.askProducer(v, want) {
		k.fill(want, v, c.K)
	}
	k.scope.tiles[v] = append(k.scope.tiles[v], want)
	return want
}

// operandBuffer is shared memory for an operand: that of one which was handed over, where there is such.
func (k *kernel) operandBuffer(size int, what string) buffer {
	for i, b := range k.handed {
		if b.size >= size {
			k.handed = slices.Delete(k.handed, i, i+1)
			return buffer{at: b.at, size: size, name: what}
		}
	}
	return k.allocate(size, what)
}

// copiedOperand is how an operand is copied to shared memory; nil where it is not copied as it is.
func (k *kernel) copiedOperand(load *ir.Op) *block.Beside {
	if i := slices.IndexFunc(k.Copied, func(b *block.Beside) bool { return b.Load == load }); i >= 0 {
		return k.Copied[i]
	}
	return nil
}

// copyOperand copies an operand, and waits until the thread's part of it is there.
func (k *kernel) copyOperand(b *block.Beside, to *sharedTile) {
	k.a.Loc(b.Load.At)
	k.a.Comment("copy %s", describe(b.Load))
	k.writing(to.buffer)
	k.copyAsync(b.Load, to, b.Layout, b.Vector)
	k.a.Do("cp.async.commit_group")
	k.a.Do("cp.async.wait_group", asm.Int(0))
}

// copiesInShared lists the tiles that hold a value, innermost scope first.
func (k *kernel) copiesInShared(v *ir.Value) []*sharedTile {
	var ts []*sharedTile
	for s := k.scope; s != nil; s = s.parent {
		ts = append(ts, s.tiles[v]...)
	}
	return ts
}

// fill writes a value to a tile, with 0 for what does not exist along the axes in
// zeroed, and for what the layout in which the value is held does not reach.
func (k *kernel) fill(t *sharedTile, v *ir.Value, zeroed []*ir.Axis) {
	if v.Def != nil && (k.Again(v) || t.Spans != nil) {
		vec := t.Vector()
		if v.Def.Code == lang.OpLoad {
			if dims := k.Access(v.Def); block.Contiguous(dims) == t.Contiguous() {
				vec = min(vec, k.Vector(v.Def.Tensor, dims, t.Contiguous()))
			}
		}
		if len(t.Axes) > 0 {
			vec = max(vec, t.Span(0))
		}
		l := k.CopyLayout(&t.Tile, vec)
		k.write(t, v, l, k.recompute(v.Def, l), zeroed)
		return
	}
	if v.Def != nil && k.PackedCast(v.Def) && len(k.copies(v)) == 0 {
		k.hold(v, k.Homes[v], k.elementwise(v.Def, k.Homes[v]))
	}
	copies := k.copies(v)
	if len(copies) == 0 {
		failf("operand %s is used before it is computed", block.ValueName(v))
	}
	h := copies[0]
	// What the layout does not reach is 0: along zeroed axes it counts, and elsewhere
	// it makes rows of the product that do not exist, on which functions branch.
	for i, a := range t.Axes {
		if h.layout.Physical(a) < t.Extents[i] {
			k.clear(t)
			break
		}
	}
	k.write(t, v, h.layout, h.regs, zeroed)
}

// clear writes zeros to a whole tile.
func (k *kernel) clear(t *sharedTile) {
	k.writing(t.buffer)
	bytes := &ir.Axis{Name: "byte", Kind: ir.Whole, Len: int64(t.Bytes() / 4), Extent: int64(t.Bytes() / 4)}
	raw := newShared(lang.U32, []*ir.Axis{bytes}, []int{t.Bytes() / 4}, false)
	raw.buffer, raw.base = t.buffer, t.base
	l := layout.Blocked(raw.Axes, raw.Extents, 4, k.Warps)
	x := k.accessing(raw, l)
	zero := elem.Zero(k.a, lang.U32)
	groups, _ := l.Groups(bytes, l.Aligned(bytes, raw.Vector()))
	for _, g := range groups {
		p, ok := k.room(raw, raw.Extents, l, g[0], k.owner(l))
		if !ok {
			continue
		}
		xs := make([]asm.Reg, len(g))
		for i := range xs {
			xs[i] = zero
		}
		k.put(lang.U32, xs, "st.shared", p, x.at(g[0]))
	}
}

// matrices reads fragments by ldmatrix; nil when the tile does not lie as that needs.
func (k *kernel) matrices(c *block.Product, arg int, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	switch {
	case arg == c.A && c.Op.Mixed() && t.DType.Bits() == 16 && t.Spans == nil:
		return k.made16(c, t, k.byMatrices(c, arg, t))
	case arg == c.A && c.Op.Mixed():
		return k.loadMixed(c, t)
	case c.Across(arg):
		return k.loadAcross(c, arg, t)
	case arg == c.B && c.Run() > 2 && t.Contiguous() == c.K[0]:
		return k.loadRuns(c, t)
	}
	return k.byMatrices(c, arg, t)
}

// byMatrices reads fragments of elements as they lie by ldmatrix; nil when the tile does not lie as that needs.
func (k *kernel) byMatrices(c *block.Product, arg int, t *sharedTile) func(step, rep, batch int) []asm.Reg {
	m := c.Matrices(arg, &t.Tile)
	if m == nil {
		return nil
	}
	trans := ""
	if m.Transposed {
		trans = ".trans"
	}
	x := k.accessing(t, m.Layout)
	loaded := map[int][]asm.Reg{}
	return func(step, rep, batch int) []asm.Reg {
		which := rep
		if m.Paired {
			which /= 2
		}
		at := step
		if m.Twice {
			at /= 2
		}
		r := at + m.Steps*(which+m.Reps*batch)
		regs, ok := loaded[r]
		if !ok {
			regs = k.a.Regs(asm.B32, m.Count)
			k.a.Set(asm.List(regs), fmt.Sprintf("ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16", m.Count, trans), x.at(r))
			loaded[r] = regs
		}
		switch {
		case m.Paired:
			regs = regs[rep%2*2 : rep%2*2+2]
		case m.Twice:
			regs = regs[step%2*2 : step%2*2+2]
		}
		return k.asElements(c, regs)
	}
}

// asElements gives tf32 fragments as floats, as the rounding takes them.
func (k *kernel) asElements(c *block.Product, regs []asm.Reg) []asm.Reg {
	if c.MMA.InRegister > 0 {
		return regs
	}
	out := make([]asm.Reg, len(regs))
	for i, r := range regs {
		out[i] = k.a.Calc(asm.F32, "mov.b32", r)
	}
	return out
}

// hoistOperands brings to shared memory, before a loop, the operands of a
// contraction in it that do not change there.
func (k *kernel) hoistOperands(op *ir.Op, inside map[*ir.Value]bool) {
	c := k.Products[op]
	for arg, v := range op.Args[:2] {
		if inside[v] || k.dependsOn(v, inside) {
			continue
		}
		if c.MMA == nil {
			k.inShared(c, arg)
			continue
		}
		if k.inRegisters(c, v, c.FragmentLayout(arg)) == nil {
			k.operandTile(c, arg)
		}
	}
}
