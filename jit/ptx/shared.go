package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// sharedName is the symbol of the block's dynamic shared memory.
const sharedName asm.Symbol = "arena"

// arena hands out shared memory, as a stack, and keeps track of what has been
// read and written there since the last barrier, so that barriers go only where they are needed.
type arena struct {
	top, peak int
	names     []string // of the buffers at the peak
	live      []buffer
	reads     []buffer
	writes    []buffer
	unknown   bool // anything may have been read or written
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
	m := &k.arena
	b := buffer{at: m.top, size: (size + 127) / 128 * 128, name: what}
	align := min(1024, powerAbove(b.size)) // where a swizzle pattern begins
	b.at = (b.at + align - 1) / align * align
	m.top = b.at + b.size
	for len(m.live) > 0 && m.live[len(m.live)-1].at >= b.at {
		m.live = m.live[:len(m.live)-1]
	}
	m.live = append(m.live, b)
	if m.top > m.peak {
		m.peak = m.top
		m.names = nil
		for _, l := range m.live {
			m.names = append(m.names, fmt.Sprintf("%s takes %d bytes", l.name, l.size))
		}
	}
	// What does not fit is laid out to the end, to say how much it takes, unless that is absurd.
	if m.top > hopeless*k.target.SharedPerBlock {
		k.checkShared()
	}
	return b
}

// hopeless is how many times a block's shared memory a plan must need for nobody to care how many exactly.
const hopeless = 16

// checkShared fails when the plan takes more shared memory than it may.
func (k *kernel) checkShared() {
	if limit := k.plan.SharedLimit(k.target); k.arena.peak > limit {
		panic(failure{&SharedError{k.arena.peak, limit, k.arena.names}})
	}
}

// release gives the last buffer back.
func (k *kernel) release(b buffer) { k.arena.top = b.at }

// barrier makes everything written visible to the block.
func (k *kernel) barrier() {
	if k.producing {
		k.a.Do("bar.sync", asm.Int(0), asm.Int(k.warps*lanes))
	} else {
		k.a.Do("bar.sync", asm.Int(0))
	}
	k.arena.reads, k.arena.writes, k.arena.unknown = nil, nil, false
	for t := range k.read {
		k.read[t] = false
	}
	for t := range k.written {
		k.written[t] = false
	}
}

// reading and writing announce an access to a buffer.
func (k *kernel) reading(b buffer) {
	if b.guarded {
		return
	}
	if k.arena.unknown || overlap(k.arena.writes, b) {
		k.barrier()
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
	if k.arena.unknown || overlap(k.arena.reads, b) || overlap(k.arena.writes, b) {
		k.barrier()
	}
	k.arena.writes = append(k.arena.writes, b)
}

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

// sharedTile is a tile in shared memory: rows of one contiguous axis, in chunks
// of 16 bytes that are permuted within a row by an XOR with the row number, so
// that neither the rows of a column nor the chunks of a row share banks.
type sharedTile struct {
	buffer
	d    lang.DType
	axes []*ir.Axis // the contiguous one first
	ext  []int      // how much is held along each
	// filled is how much of that is ever written, where it may be less; nil where it is all.
	filled []int
	// swizzle is how many chunks are permuted among each other: 1, 2, 4 or 8.
	swizzle int
	// panels is how many rows lie in a panel, where longer rows are cut in panels
	// of 128 bytes one behind the other, as wgmma reads them; 0 where they are not.
	panels int
	// async marks a tile that wgmma reads: writes to it are made visible to the asynchronous proxy.
	async bool
	// base is where the tile lies when that changes as the kernel runs (a stage of a pipeline).
	base asm.Reg
}

// newShared lays out a tile; ext may be padded. Contiguous comes first. Elements of packed types take a byte each.
func newShared(d lang.DType, axes []*ir.Axis, ext []int, swizzled bool) *sharedTile {
	d = d.WholeBytes()
	t := &sharedTile{d: d, axes: axes, ext: append([]int(nil), ext...), swizzle: 1}
	if len(axes) > 0 {
		chunk := max(16/d.Size(), 1)
		if t.ext[0] > chunk/2 || len(axes) > 1 && t.ext[0] > 1 {
			t.ext[0] = (t.ext[0] + chunk - 1) / chunk * chunk
		}
		for i := 1; i < len(t.ext)-1; i++ {
			if t.ext[i] < 8 {
				t.ext[i] = powerAbove(t.ext[i])
			} else {
				t.ext[i] = (t.ext[i] + 7) / 8 * 8
			}
		}
		if row := t.rowBytes(); swizzled && row%16 == 0 {
			for t.swizzle < 8 && row/16%(2*t.swizzle) == 0 {
				t.swizzle *= 2
			}
		}
	}
	return t
}

func (t *sharedTile) rowBytes() int {
	if len(t.axes) == 0 {
		return t.d.Size()
	}
	return t.ext[0] * t.d.Size()
}

func (t *sharedTile) bytes() int {
	n := t.rowBytes()
	for _, e := range t.ext[min(1, len(t.ext)):] {
		n *= e
	}
	return n
}

// place gives the row and the byte in the row of a coordinate, given along each axis.
func (t *sharedTile) place(coord func(*ir.Axis) int) (row, column int) {
	scale := 1
	for i, a := range t.axes {
		if i == 0 {
			column = coord(a) * t.d.Size()
			continue
		}
		row += coord(a) * scale
		scale *= t.ext[i]
	}
	return row, column
}

// turn is the number that a row's chunks are XORed with.
func (t *sharedTile) turn(row int) int {
	return row / (8 / t.swizzle) % t.swizzle
}

// offset is the byte at which an element lies.
func (t *sharedTile) offset(row, column int) int {
	if t.panels > 0 {
		return column/panelBytes*t.panels*panelBytes + row*panelBytes + (column%panelBytes ^ t.turn(row)<<4)
	}
	return row*t.rowBytes() + (column ^ t.turn(row)<<4)
}

// panelBytes is the width of a panel.
const panelBytes = 128

// sharedAccess computes the addresses of a tile's elements in one layout.
type sharedAccess struct {
	k *kernel
	t *sharedTile
	l layout
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
func (k *kernel) accessing(t *sharedTile, l layout) *sharedAccess {
	x := &sharedAccess{k: k, t: t, l: l, linear: t.linear(l)}
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
	for i, a := range t.axes {
		if i == 0 {
			column = k.a.Mul(coord(a), t.d.Size())
			continue
		}
		row = k.a.Add(row, k.a.Mul(coord(a), scale))
		scale *= t.ext[i]
	}
	var panel asm.Number = asm.Int(0)
	width := t.rowBytes()
	if t.panels > 0 {
		width = panelBytes
		if c, ok := column.(asm.Reg); ok {
			panel = k.a.Mul(k.a.Calc(asm.B32, "shr.u32", c, asm.Int(7)), t.panels*panelBytes)
			column = k.a.Calc(asm.B32, "and.b32", c, asm.Int(panelBytes-1))
		} else {
			n := column.(asm.Int)
			panel, column = n/panelBytes*asm.Int(t.panels*panelBytes), n%panelBytes
		}
	}
	if r, ok := row.(asm.Reg); ok && t.swizzle > 1 {
		turn := r
		if shift := 8 / t.swizzle; shift > 1 {
			turn = k.a.Calc(asm.B32, "shr.u32", turn, asm.Int(map[int]int{2: 1, 4: 2}[shift]))
		}
		turn = k.a.Calc(asm.B32, "and.b32", turn, asm.Int(t.swizzle-1))
		turn = k.a.Calc(asm.B32, "shl.b32", turn, asm.Int(4))
		column = k.a.Calc(asm.B32, "xor.b32", turn, column)
	} else if n, ok := row.(asm.Int); ok {
		if turn := asm.Int(t.turn(int(n)) << 4); turn != 0 {
			if c, ok := column.(asm.Int); ok {
				column = c ^ turn
			} else {
				column = k.a.Calc(asm.B32, "xor.b32", column, asm.Int(turn))
			}
		}
	}
	return k.a.Add(k.a.Add(k.a.Mul(row, width), column), panel)
}

// linear reports that an element's offset is the thread's, XORed with a constant
// in the swizzled bits, plus a constant: checked on every thread and register.
func (t *sharedTile) linear(l layout) bool {
	type spot struct{ row, column int }
	var threads, regs []spot
	for w := range l.warps() {
		for n := range lanes {
			row, column := t.place(func(a *ir.Axis) int { return l.threadCoord(n, w, a) })
			threads = append(threads, spot{row, column})
		}
	}
	for r := range l.regs() {
		row, column := t.place(func(a *ir.Axis) int { return l.regCoord(r, a) })
		regs = append(regs, spot{row, column})
	}
	for _, r := range regs {
		xor, plus := t.split(r.row, r.column)
		for _, h := range threads {
			if (t.offset(h.row, h.column)^xor)+plus != t.offset(h.row+r.row, h.column+r.column) {
				return false
			}
		}
	}
	return true
}

// split gives the two constants of a register's part of the offset.
func (t *sharedTile) split(row, column int) (xor, plus int) {
	mask := (t.swizzle - 1) << 4
	xor = column&mask ^ t.turn(row)<<4
	if t.panels > 0 {
		return xor, column/panelBytes*t.panels*panelBytes + row*panelBytes + column%panelBytes&^mask
	}
	return xor, row*t.rowBytes() + column&^mask
}

// at is the address of register r's element.
func (x *sharedAccess) at(r int) asm.Addr {
	k, t := x.k, x.t
	var offset asm.Number
	plus := 0
	if x.linear {
		row, column := t.place(func(a *ir.Axis) int { return x.l.regCoord(r, a) })
		var xor int
		xor, plus = t.split(row, column)
		offset = x.thread
		if xor != 0 {
			if n, ok := offset.(asm.Int); ok {
				offset = n ^ asm.Int(xor)
			} else {
				offset = k.a.Calc(asm.B32, "xor.b32", offset, asm.Int(xor))
			}
		}
	} else {
		offset = x.compute(func(a *ir.Axis) asm.Number { return k.a.Add(k.threadCoord(x.l, a), asm.Int(x.l.regCoord(r, a))) })
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
func (k *kernel) write(t *sharedTile, v *ir.Value, l layout, regs []asm.Reg, zeroed []*ir.Axis) {
	k.writing(t.buffer)
	x := k.accessing(t, l)
	owner := k.owner(l)
	c := t.contiguous()
	groups, _ := l.groups(c, k.laneAligned(l, c, k.sharedVector(t)))
	for _, g := range groups {
		p, ok := k.room(t, t.ext, l, g[0], owner)
		if !ok {
			continue
		}
		xs := make([]asm.Reg, len(g))
		for i, r := range g {
			xs[i] = regs[r]
			if m := k.mask(l, zeroed, r); m.Valid() && !k.zeroPadded(v) {
				xs[i] = k.selected(m, xs[i], elem.Zero(k.a, t.d))
			}
		}
		k.put(t.d, xs, "st.shared", p, x.at(g[0]))
	}
	if t.async {
		k.a.Do("fence.proxy.async.shared::cta")
	}
}

// room narrows p to the threads whose element r lies in the first ext elements of the tile; false when no thread's does.
func (k *kernel) room(t *sharedTile, ext []int, l layout, r int, p asm.Reg) (asm.Reg, bool) {
	for i, a := range t.axes {
		c := l.regCoord(r, a)
		if c >= ext[i] {
			return p, false
		}
		if c+reach(a, l.lane, l.warp) <= ext[i] {
			continue
		}
		p = k.both(p, k.a.Calc(asm.Pred, "setp.lt.s32", k.threadCoord(l, a), asm.Int(ext[i]-c)))
	}
	return p, true
}

// fetchTile loads a tile's elements into registers of the layout l; those that the tile has no room for are 0.
func (k *kernel) fetchTile(t *sharedTile, l layout) []asm.Reg {
	k.reading(t.buffer)
	x := k.accessing(t, l)
	c := t.contiguous()
	vector, ext := k.sharedVector(t), t.ext
	if t.filled != nil {
		ext = t.filled
		for vector > 1 && ext[0]%vector != 0 {
			vector /= 2
		}
	}
	groups, n := l.groups(c, k.laneAligned(l, c, vector))
	regs := make([]asm.Reg, l.regs())
	for _, g := range groups {
		p, ok := k.room(t, ext, l, g[0], asm.Reg{})
		if !ok {
			for _, r := range g {
				regs[r] = elem.Zero(k.a, t.d)
			}
			continue
		}
		for i, x := range k.fetch(t.d, n, "ld.shared", p, x.at(g[0])) {
			regs[g[i]] = x
		}
	}
	return regs
}

func (t *sharedTile) contiguous() *ir.Axis {
	if len(t.axes) == 0 {
		return nil
	}
	return t.axes[0]
}

// sharedVector is how many neighbours one access to the tile may move.
func (k *kernel) sharedVector(t *sharedTile) int {
	v := max(16/t.d.Size(), 1)
	for v > 1 && (len(t.ext) == 0 || t.ext[0]%v != 0) {
		v /= 2
	}
	return v
}

// zeroPadded reports a value whose elements that do not exist are 0 already: a
// load, which is never converted but loaded again.
func (k *kernel) zeroPadded(v *ir.Value) bool {
	return v.Def != nil && v.Def.Code == lang.OpLoad && v.Def.Else() == nil && k.again(v)
}

// convert moves a value to another layout through shared memory.
func (k *kernel) convert(v *ir.Value, from held, want layout) []asm.Reg {
	axes := conversionOrder(v.Type.Axes, from.layout, want)
	ext, filled := make([]int, len(axes)), make([]int, len(axes))
	for i, a := range axes {
		filled[i] = from.layout.physical(a)
		ext[i] = max(filled[i], want.physical(a))
	}
	k.a.Comment("convert %s from %s", valueName(v), from.layout)
	k.a.Comment("  to %s", want)
	t := newShared(v.Type.DType, axes, ext, true)
	t.filled = filled
	t.buffer = k.allocate(t.bytes(), "converting "+valueName(v))
	k.write(t, v, from.layout, from.regs, nil)
	regs := k.fetchTile(t, want)
	k.release(t.buffer)
	return regs
}

// conversionOrder puts first the axis along which a thread holds most
// neighbours, on the side that reads if both have some.
func conversionOrder(axes []*ir.Axis, from, want layout) []*ir.Axis {
	out := append([]*ir.Axis(nil), axes...)
	best, run := 0, 0
	for i, a := range out {
		if n := want.run(a, false)*from.run(a, false)*64 + want.run(a, true) + from.run(a, true); n > run {
			best, run = i, n
		}
	}
	if len(out) > 0 {
		out[0], out[best] = out[best], out[0]
	}
	return out
}
