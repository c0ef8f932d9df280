package ptx

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/plan"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// sharedName is the symbol of the block's dynamic shared memory.
const sharedName asm.Symbol = "arena"

// arena hands out shared memory, and keeps track of what has been
// read and written there since the last barrier, so that barriers go only where they are needed.
type arena struct {
	block.Arena
	names   []string // of the buffers at the peak
	live    []buffer
	reads   []buffer
	writes  []buffer
	unknown bool // anything may have been read or written
}

// buffer is a range of shared memory, in bytes.
type buffer struct {
	at, size int
	name     string
	// guarded: mbarriers say when it may be read and written, not the block's barriers.
	guarded bool
}

func (b buffer) overlaps(c buffer) bool { return b.at < c.at+c.size && c.at < b.at+b.size }

// allocate takes size bytes until the scope ends, or until release.
func (k *kernel) allocate(size int, what string) buffer {
	k.noteWrite()
	m := &k.arena
	b, peak := buffer{name: what}, m.Peak
	b.at, b.size = m.Take(size)
	for len(m.live) > 0 && m.live[len(m.live)-1].at >= b.at {
		m.live = m.live[:len(m.live)-1]
	}
	m.live = append(m.live, b)
	if m.Peak > peak {
		m.names = nil
		for _, l := range m.live {
			m.names = append(m.names, fmt.Sprintf("%s takes %d bytes", l.name, l.size))
		}
	}
	// What does not fit is laid out to the end, to say how much it takes, unless that is absurd.
	if m.Top > hopeless*k.Target.SharedPerBlock {
		k.checkShared()
	}
	return b
}

// hopeless is how many times a block's shared memory a plan must need for nobody to care how many exactly.
const hopeless = 16

// checkShared fails when the plan takes more shared memory than it may.
func (k *kernel) checkShared() {
	if limit := int(k.Target.SharedShare(k.Occupancy)); k.arena.Peak > limit {
		panic(failure{&plan.SharedError{Need: k.arena.Peak, Have: limit, Buffers: k.arena.names}})
	}
}

// release gives the last buffer back. A launch that others wait for leaves small ones where they are: what comes behind has memory
// of its own, and needs no barrier before it writes there.
func (k *kernel) release(b buffer) {
	if k.Dependent() && b.size <= smallBuffer && k.arena.Top <= int(k.Target.SharedShare(k.Occupancy))/4*3 {
		return
	}
	k.arena.Top = b.at
}

// smallBuffer is how many bytes a buffer has at most that is not used again.
const smallBuffer = 4 << 10

// barrier makes everything written visible to the block.
func (k *kernel) barrier() *asm.Instr {
	switch {
	case k.Teams() > 1:
		k.a.Do("bar.sync", k.a.Calc(asm.B32, "add.s32", k.walk.team, asm.Int(block.TeamBarrier)), asm.Int(k.Warps*layout.Lanes))
	case k.Producing:
		k.a.Do("bar.sync", asm.Int(0), asm.Int(k.Warps*layout.Lanes))
	default:
		k.a.Do("bar.sync", asm.Int(0))
	}
	placed := k.a.Last()
	k.arena.reads, k.arena.writes, k.arena.unknown = nil, nil, false
	for t := range k.read {
		k.read[t] = false
	}
	for t := range k.written {
		k.written[t] = false
	}
	return placed
}

// reading and writing announce an access to a buffer.
func (k *kernel) reading(b buffer) {
	if b.guarded {
		return
	}
	if unknown := k.arena.unknown; unknown || overlap(k.arena.writes, b) {
		k.tentative(k.barrier(), unknown)
	}
	k.arena.reads = append(k.arena.reads, b)
}

// readUntilNow renews what reading said, after barriers in between.
func (k *kernel) readUntilNow(b buffer) {
	if !b.guarded {
		k.arena.reads = append(k.arena.reads, b)
	}
}

func (k *kernel) writing(b buffer) {
	k.noteWrite()
	if k.arena.unknown || overlap(k.arena.reads, b) || overlap(k.arena.writes, b) {
		k.barrier()
	}
	k.arena.writes = append(k.arena.writes, b)
}

// writtenUntilNow renews what writing said, after barriers in between: what is written may have been computed meanwhile, through shared memory.
func (k *kernel) writtenUntilNow(b buffer) { k.arena.writes = append(k.arena.writes, b) }

func overlap(bs []buffer, b buffer) bool {
	for _, c := range bs {
		if c.overlaps(b) {
			return true
		}
	}
	return false
}

// sharedBase is the address of the arena in the shared window.
func (k *kernel) sharedBase() asm.Reg {
	return k.a.Once("arena", func() asm.Reg { return k.a.Op(asm.B32, "mov.u32", sharedName) })
}

// sharedTile is a tile in shared memory.
type sharedTile struct {
	block.Tile
	buffer
	// filled is how much of the tile is ever written, along each axis, where it may be less; nil where it is all.
	filled []int
	// base is where the tile lies when that changes as the kernel runs (a stage of a pipeline).
	base asm.Reg
}

// newShared lays out a tile; ext may be padded. Contiguous comes first.
func newShared(d lang.DType, axes []*ir.Axis, ext []int, swizzled bool) *sharedTile {
	return &sharedTile{Tile: *block.NewTile(d, axes, ext, swizzled)}
}

// sharedAccess computes the addresses of a tile's elements in one layout.
type sharedAccess struct {
	k *kernel
	t *sharedTile
	l layout.Layout
	// thread is the thread's part of the address, without the tile's place.
	thread asm.Number
	linear bool
	// moving and plus are added to every address, when set.
	moving asm.Reg
	plus   int
}

// moved is the address of register r's element, moved by a register and a constant of bytes.
func (x *sharedAccess) moved(r int, by asm.Reg, plus int) asm.Addr {
	y := *x
	y.moving, y.plus = by, plus
	return y.at(r)
}

// accessing prepares the addresses of a layout's elements.
func (k *kernel) accessing(t *sharedTile, l layout.Layout) *sharedAccess {
	x := &sharedAccess{k: k, t: t, l: l, linear: t.Linear(l)}
	if x.linear {
		x.thread = x.compute(func(a *ir.Axis) asm.Number { return k.threadCoord(l, a) })
	}
	return x
}

// compute is the offset of an element in instructions.
func (x *sharedAccess) compute(coord func(*ir.Axis) asm.Number) asm.Number {
	k, t := x.k, x.t
	var row, column asm.Number = asm.Int(0), asm.Int(0)
	scale := 1
	for i, a := range t.Axes {
		at := coord(a)
		if span := t.Span(i); span > 1 {
			if n, ok := at.(asm.Int); ok {
				at = n / asm.Int(span)
			} else {
				at = k.a.Calc(asm.B32, "shr.u32", at, asm.Int(log2(span)))
			}
		}
		if i == 0 {
			column = k.a.Mul(at, t.DType.Size())
			continue
		}
		row = k.a.Add(row, k.a.Mul(at, scale))
		scale *= t.Extents[i] / t.Span(i)
	}
	var panel asm.Number = asm.Int(0)
	width := t.RowBytes()
	if t.Panels > 0 {
		width = t.Width()
		if c, ok := column.(asm.Reg); ok {
			panel = k.a.Mul(k.a.Calc(asm.B32, "shr.u32", c, asm.Int(log2(width))), t.Panels*width)
			column = k.a.Calc(asm.B32, "and.b32", c, asm.Int(width-1))
		} else {
			n := column.(asm.Int)
			panel, column = n/asm.Int(width)*asm.Int(t.Panels*width), n%asm.Int(width)
		}
	}
	if r, ok := row.(asm.Reg); ok && t.Swizzle > 1 {
		turn := r
		if shift := t.TurnShift(); shift > 0 {
			turn = k.a.Calc(asm.B32, "shr.u32", turn, asm.Int(shift))
		}
		turn = k.a.Calc(asm.B32, "and.b32", turn, asm.Int(t.Swizzle-1))
		turn = k.a.Calc(asm.B32, "shl.b32", turn, asm.Int(4))
		column = k.a.Calc(asm.B32, "xor.b32", turn, column)
	} else if n, ok := row.(asm.Int); ok {
		if turn := asm.Int(t.Turn(int(n)) << 4); turn != 0 {
			if c, ok := column.(asm.Int); ok {
				column = c ^ turn
			} else {
				column = k.a.Calc(asm.B32, "xor.b32", column, asm.Int(turn))
			}
		}
	}
	return k.a.Add(k.a.Add(k.a.Mul(row, width), column), panel)
}

// split is the register's part of the address of its element, of a linear access.
func (x *sharedAccess) split(r int) (xor, plus int) {
	return x.t.Split(x.t.Place(func(a *ir.Axis) int { return x.l.RegCoord(r, a) }))
}

// at is the address of register r's element.
func (x *sharedAccess) at(r int) asm.Addr {
	k, t := x.k, x.t
	var offset asm.Number
	plus := 0
	if x.linear {
		var xor int
		xor, plus = x.split(r)
		offset = x.thread
		if xor != 0 {
			if n, ok := offset.(asm.Int); ok {
				offset = n ^ asm.Int(xor)
			} else {
				offset = k.a.Calc(asm.B32, "xor.b32", offset, asm.Int(xor))
			}
		}
	} else {
		offset = x.compute(func(a *ir.Axis) asm.Number { return k.a.Add(k.threadCoord(x.l, a), asm.Int(x.l.RegCoord(r, a))) })
	}
	if n, ok := offset.(asm.Int); ok {
		offset, plus = asm.Int(0), plus+int(n)
	}
	var base asm.Number = t.base
	if !t.base.Valid() {
		base, plus = k.sharedBase(), plus+t.at
	}
	full := k.a.Register(k.a.Add(base, offset))
	if x.moving.Valid() {
		full = k.a.Op(asm.B32, "add.s32", full, x.moving)
		plus += x.plus
	}
	if plus == 0 {
		return asm.At(full)
	}
	return asm.At(full).Plus(plus)
}

// write stores a value held in the layout l, zeros for the elements that do not
// exist along the axes in zeroed. Elements that the tile has no room for are dropped.
func (k *kernel) write(t *sharedTile, v *ir.Value, l layout.Layout, regs []asm.Reg, zeroed []*ir.Axis) {
	k.writeEach(t, v, l, func(int) bool { return true }, func(r int) asm.Reg { return regs[r] }, zeroed)
}

// writeEach is write of elements that are asked for as they are stored, of registers that are in what is stored.
func (k *kernel) writeEach(t *sharedTile, v *ir.Value, l layout.Layout, in func(r int) bool, values func(r int) asm.Reg, zeroed []*ir.Axis) {
	k.writing(t.buffer)
	x := k.accessing(t, l)
	owner := k.owner(l)
	c := t.Contiguous()
	groups, _ := l.Groups(c, l.Aligned(c, t.Vector()))
	for _, g := range groups {
		p, ok := k.room(t, t.Extents, l, g[0], owner)
		if !ok || !in(g[0]) {
			continue
		}
		var xs []asm.Reg
		for i, r := range g {
			if i%t.elementOf() > 0 {
				continue
			}
			xs = append(xs, values(r))
			if m := k.mask(l, zeroed, r); m.Valid() && !k.zeroPadded(v) {
				xs[len(xs)-1] = k.selected(m, xs[len(xs)-1], elem.Zero(k.a, t.DType))
			}
		}
		k.put(t.DType, xs, "st.shared", p, x.at(g[0]))
	}
	k.writtenUntilNow(t.buffer)
	if t.Async {
		k.a.Do("fence.proxy.async.shared::cta")
	}
}

// elementOf is how many neighbours along the rows have one element of those that are not of the type's own bits.
func (t *sharedTile) elementOf() int {
	if t.Spans == nil || t.DType.Packed() {
		return 1
	}
	return t.Spans[0]
}

// room narrows p to the threads whose element r lies in the first ext elements of the tile; false when no thread's does.
func (k *kernel) room(t *sharedTile, ext []int, l layout.Layout, r int, p asm.Reg) (asm.Reg, bool) {
	for i, a := range t.Axes {
		c := l.RegCoord(r, a)
		if c >= ext[i] {
			return p, false
		}
		if c+layout.Reach(a, l.Lane, l.Warp) <= ext[i] {
			continue
		}
		p = k.both(p, k.a.Calc(asm.Pred, "setp.lt.s32", k.threadCoord(l, a), asm.Int(ext[i]-c)))
	}
	return p, true
}

// fetchTile loads a tile's elements into registers of the layout l; those that the tile has no room for are 0.
func (k *kernel) fetchTile(t *sharedTile, l layout.Layout) []asm.Reg {
	k.reading(t.buffer)
	x := k.accessing(t, l)
	c := t.Contiguous()
	vector, ext := t.Vector(), t.Extents
	if t.filled != nil {
		ext = t.filled
		for vector > 1 && ext[0]%vector != 0 {
			vector /= 2
		}
	}
	groups, n := l.Groups(c, l.Aligned(c, vector))
	regs := make([]asm.Reg, l.Regs())
	for _, g := range groups {
		for i, r := range x.fetch(g[0], n, ext) {
			regs[g[i]] = r
		}
	}
	return regs
}

// fetch loads n neighbours, of which the register r of the layout is the first; where the tile, of such extents, has no room for them they are 0.
func (x *sharedAccess) fetch(r, n int, ext []int) []asm.Reg {
	p, ok := x.k.room(x.t, ext, x.l, r, asm.Reg{})
	if !ok {
		return slices.Repeat([]asm.Reg{elem.Zero(x.k.a, x.t.DType)}, n)
	}
	return x.k.fetch(x.t.DType, n, "ld.shared", p, x.at(r))
}

// zeroPadded reports a value whose elements that do not exist are 0 already: a
// load, which is never converted but loaded again.
func (k *kernel) zeroPadded(v *ir.Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpLoad && v.Def.Else() == nil && k.Again(v)
}

// convert moves a value to another layout through shared memory.
func (k *kernel) convert(v *ir.Value, from held, want layout.Layout) []asm.Reg {
	axes := conversionOrder(v.Type.Axes, from.layout, want)
	ext, filled := make([]int, len(axes)), make([]int, len(axes))
	for i, a := range axes {
		filled[i] = from.layout.Physical(a)
		ext[i] = max(filled[i], want.Physical(a))
	}
	k.a.Comment("convert %s from %s", block.ValueName(v), from.layout)
	k.a.Comment("  to %s", want)
	t := newShared(v.Type.DType, axes, ext, true)
	if len(axes) > 1 {
		t.Alike = layout.PowerBelow(max(from.layout.Run(axes[1], false), want.Run(axes[1], false)))
	}
	t.filled = filled
	t.buffer = k.allocate(t.Bytes(), "converting "+block.ValueName(v))
	k.write(t, v, from.layout, from.regs, nil)
	regs := k.fetchTile(t, want)
	k.release(t.buffer)
	return regs
}

// conversionOrder puts first the axis along which a thread holds most
// neighbours, on the side that reads if both have some.
func conversionOrder(axes []*ir.Axis, from, want layout.Layout) []*ir.Axis {
	out := append([]*ir.Axis(nil), axes...)
	best, run := 0, 0
	for i, a := range out {
		if n := want.Run(a, false)*from.Run(a, false)*64 + want.Run(a, true) + from.Run(a, true); n > run {
			best, run = i, n
		}
	}
	if len(out) > 0 {
		out[0], out[best] = out[best], out[0]
	}
	return out
}
