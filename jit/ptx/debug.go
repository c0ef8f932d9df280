package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// This file lowers print and assert. All threads of a block run the same code,
// so each knows how much the block has said, and a record needs no agreement:
// each thread writes the elements that it holds to where they belong.

// debugOutput is what the code of a kernel that prints or asserts has at hand.
type debugOutput struct {
	base  asm.Reg // the launch's memory for it
	block asm.Reg // the block's number, in the order of the grid's axes
	share asm.Reg // bytes of the block's area
	room  asm.Reg // whether the block has an area
	area  asm.Reg
	table asm.Reg // where the bytes used are noted
	// said is the bytes used so far: a register that changes, the same in every thread.
	said asm.Reg
}

// startDebugOutput finds the block's area, in the entry section. Numbers are the block's along each axis of the grid.
func (k *kernel) startDebugOutput(axes []*ir.Axis, numbers []asm.Reg) {
	if !k.f.HasDebug() {
		return
	}
	a, s := k.a, &k.debug
	a.AtEntry(func() {
		s.block = a.Op(asm.B32, "mov.b32", 0)
		for i, x := range axes {
			if i == 0 {
				s.block = numbers[0]
			} else {
				s.block = a.Op(asm.B32, "mad.lo.s32", s.block, k.blocksOf(x), numbers[i])
			}
		}
		_, name := paramDecl(ir.Param{Kind: ir.ParamDebug})
		raw := a.Reg(asm.B64)
		a.Ins("ld.param.u64 %v, [%s]", raw, name)
		s.base = a.Op(asm.B64, "cvta.to.global.u64", raw)
		areas, first := a.Reg(asm.B32), a.Reg(asm.B64)
		s.share = a.Reg(asm.B32)
		a.Ins("ld.global.u32 %v, [%v+%d]", s.share, s.base, ir.DebugShare)
		a.Ins("ld.global.u32 %v, [%v+%d]", areas, s.base, ir.DebugAreas)
		a.Ins("ld.global.u64 %v, [%v+%d]", first, s.base, ir.DebugFirst)
		s.room = a.Op(asm.Pred, "setp.lt.u32", s.block, areas)
		s.area = a.Op(asm.B64, "mad.wide.u32", s.block, s.share, a.Op(asm.B64, "add.s64", s.base, first))
		s.table = a.Op(asm.B64, "mad.wide.u32", s.block, ir.DebugWord, a.Op(asm.B64, "add.s64", s.base, k.f.DebugTable()))
		s.said = a.Op(asm.B32, "mov.b32", 0)
	})
}

// site is the number of a print or an assert.
func (k *kernel) site(op *ir.Op) int {
	for i, s := range k.f.Sites() {
		if s == op {
			return i + 1
		}
	}
	failf("`%s` is not in the kernel", op)
	return 0
}

// debugLayout is the layout in which a print takes a tile.
func (k *kernel) debugLayout(v *ir.Value) layout {
	if v.Type.IsScalar() {
		return uniform(k.warps)
	}
	if l, ok := k.home[v]; ok && !k.cheap(v) {
		return l
	}
	axes := reversed(v.Type.Axes)
	return blocked(axes, extents(axes), 1, k.warps)
}

// printed is an argument of a print: where its elements go in the record.
type printed struct {
	v    *ir.Value
	axes []*ir.Axis // in the order of declaration
	l    layout
	regs []asm.Reg
	at   any // its first word: a register or an int, as the following are
	// By axis: how many positions there are, how many of these the tile has, how many are shown and how many are not.
	counts, present, shown, hidden []any
}

// words is the number of words that the argument takes.
func (p *printed) words(k *kernel) any {
	var n any = 1
	for _, c := range p.shown {
		n = k.times(n, c)
	}
	return k.add(n, len(p.counts))
}

// times is the product of 32-bit registers and ints.
func (k *kernel) times(x, y any) any {
	if n, ok := y.(int); ok {
		return k.mul(x, n)
	}
	if n, ok := x.(int); ok {
		return k.mul(y, n)
	}
	return k.calc(asm.B32, "mul.lo.s32", x, y)
}

// minus is the difference of 32-bit registers and ints.
func (k *kernel) minus(x, y any) any {
	m, xInt := x.(int)
	n, yInt := y.(int)
	switch {
	case xInt && yInt:
		return m - n
	case y == any(0):
		return x
	}
	return k.calc(asm.B32, "sub.s32", x, y)
}

// measure finds how many elements of the argument are shown.
func (p *printed) measure(k *kernel) {
	var all any = 1
	most := 1
	for _, a := range p.axes {
		n := k.extent(a)
		count := n
		if a.Edges > 0 {
			count = int(a.Edges)
		}
		p.counts = append(p.counts, count)
		p.present = append(p.present, n)
		all = k.times(all, count)
		most *= int(max(a.Extent, a.Edges))
	}
	total, known := all.(int)
	fits := most <= ir.ShownElements || known && total <= ir.ShownElements
	var long asm.Reg // whether the tile is abbreviated, where that is not known
	if !fits && !known {
		long = k.calc(asm.Pred, "setp.gt.s32", all, ir.ShownElements)
	}
	for _, c := range p.present {
		n, isInt := c.(int)
		switch {
		case fits, isInt && n <= 2*ir.ShownEdge:
			p.shown, p.hidden = append(p.shown, c), append(p.hidden, 0)
			continue
		case isInt && known:
			p.shown, p.hidden = append(p.shown, 2*ir.ShownEdge), append(p.hidden, n-2*ir.ShownEdge)
			continue
		}
		few := k.calc(asm.B32, "min.s32", k.register(c), 2*ir.ShownEdge)
		if long.Valid() {
			few = k.calc(asm.B32, "selp.b32", few, c, long)
		}
		p.shown, p.hidden = append(p.shown, few), append(p.hidden, k.minus(c, few))
	}
}

// place is the word of register r's element behind the counts, and the predicate that it is shown, if it needs one.
func (p *printed) place(k *kernel, r int) (any, asm.Reg) {
	var at any = 0
	var visible asm.Reg
	for i, a := range p.axes {
		rel := k.add(k.threadCoord(p.l, a), p.l.regCoord(r, a))
		if p.hidden[i] != any(0) {
			here := k.register(rel)
			front := k.calc(asm.Pred, "setp.lt.s32", here, ir.ShownEdge)
			back := k.calc(asm.Pred, "setp.ge.s32", here, k.add(p.hidden[i], ir.ShownEdge))
			visible = k.both(visible, k.calc(asm.Pred, "or.pred", front, back))
			rel = k.calc(asm.B32, "selp.b32", here, k.minus(here, p.hidden[i]), front)
		}
		at = k.add(k.times(at, p.shown[i]), rel)
	}
	return at, visible
}

// print emits a print.
func (k *kernel) print(op *ir.Op) {
	a, s := k.a, &k.debug
	var size any = 1 // words: first the site
	var args []*printed
	for _, v := range op.Args {
		p := &printed{v: v, axes: k.f.InOrder(v.Type.Axes), l: k.debugLayout(v), at: size}
		p.regs = k.get(v, p.l)
		p.measure(k)
		size = k.add(size, p.words(k))
		args = append(args, p)
	}
	// From here on code depends on what was said before: it stays where it is.
	next := a.Op(asm.B32, "mad.lo.s32", k.register(size), ir.DebugWord, s.said)
	fits := a.Op(asm.Pred, "setp.le.u32", next, s.share)
	fits = a.Op(asm.Pred, "and.pred", fits, s.room)
	record := a.Op(asm.B64, "add.s64", s.area, a.Op(asm.B64, "cvt.u64.u32", s.said))
	put := func(p asm.Reg, at, word any) {
		if n, ok := at.(int); ok {
			a.Ins("%sst.global.u64 [%v+%d], %v", guard(p), record, n*ir.DebugWord, word)
			return
		}
		a.Ins("%sst.global.u64 [%v], %v", guard(p), a.Op(asm.B64, "mad.wide.u32", at, ir.DebugWord, record), word)
	}
	first := k.calc(asm.Pred, "setp.eq.u32", k.tid, 0)
	leads := a.Op(asm.Pred, "and.pred", fits, first)
	put(leads, 0, k.site(op))
	for _, p := range args {
		for i, n := range p.counts {
			if r, ok := n.(asm.Reg); ok {
				n = a.Op(asm.B64, "cvt.u64.u32", r)
			}
			put(leads, k.add(p.at, i), n)
		}
		owner := k.owner(p.l)
		for r := range p.regs {
			at, visible := p.place(k, r)
			q := k.both(k.both(owner, k.mask(p.l, p.v.Type.Axes, r)), visible)
			if q.Valid() {
				q = a.Op(asm.Pred, "and.pred", q, fits)
			} else {
				q = fits
			}
			put(q, k.add(k.add(p.at, len(p.counts)), at), k.word(p.v.Type.DType, p.regs[r]))
		}
	}
	// A print without room ends what the block says.
	a.Ins("selp.b32 %v, %v, %v, %v", s.said, next, s.share, fits)
	a.Ins("%sst.global.u64 [%v], %v", guard(leads), s.table, a.Op(asm.B64, "cvt.u64.u32", s.said))
	lost := a.Op(asm.Pred, "not.pred", fits)
	lost = a.Op(asm.Pred, "and.pred", lost, first)
	a.Ins("%sred.global.add.u64 [%v+%d], 1", guard(lost), s.base, ir.DebugDropped)
}

// word is an element as a record holds it.
func (k *kernel) word(d lang.DType, x asm.Reg) asm.Reg {
	a := k.a
	switch x.Class {
	case asm.Pred:
		return a.Op(asm.B64, "selp.b64", 1, 0, x)
	case asm.F32:
		return a.Op(asm.B64, "cvt.u64.u32", a.Op(asm.B32, "mov.b32", x))
	case asm.F64:
		return a.Op(asm.B64, "mov.b64", x)
	case asm.B64:
		return x
	}
	if d.IsSigned() {
		return a.Op(asm.B64, "cvt.s64.s32", x)
	}
	return a.Op(asm.B64, "cvt.u64.u32", x)
}

// assert emits an assert: one thread of a failing block takes the lock and,
// unless a block before it has failed, notes what failed.
func (k *kernel) assert(op *ir.Op) {
	a, s := k.a, &k.debug
	regs := make([]asm.Reg, len(op.Args))
	for i, v := range op.Args {
		regs[i] = k.scalar(v)
	}
	fails := a.Op(asm.Pred, "and.pred", regs[0], k.calc(asm.Pred, "setp.eq.u32", k.tid, 0))
	done, again, release := a.Label(), a.Label(), a.Label()
	a.Ins("@!%v bra %s", fails, done)
	a.Place(again)
	taken := a.Reg(asm.B32)
	a.Ins("atom.acquire.gpu.global.cas.b32 %v, [%v+%d], 0, 1", taken, s.base, ir.DebugLock)
	a.Ins("@%v bra %s", a.Op(asm.Pred, "setp.ne.u32", taken, 0), again)
	failed, block := a.Reg(asm.B32), a.Reg(asm.B64)
	a.Ins("ld.relaxed.gpu.global.u32 %v, [%v+%d]", failed, s.base, ir.DebugFailed)
	a.Ins("ld.relaxed.gpu.global.u64 %v, [%v+%d]", block, s.base, ir.DebugBlock)
	mine := a.Op(asm.B64, "cvt.u64.u32", s.block)
	before := a.Op(asm.Pred, "setp.le.u64", block, mine)
	kept := a.Op(asm.Pred, "setp.ne.u32", failed, 0)
	a.Ins("@%v bra %s", a.Op(asm.Pred, "and.pred", before, kept), release)
	put := func(at int, word any) { a.Ins("st.relaxed.gpu.global.u64 [%v+%d], %v", s.base, at, word) }
	a.Ins("st.relaxed.gpu.global.u32 [%v+%d], 1", s.base, ir.DebugFailed)
	put(ir.DebugBlock, mine)
	put(ir.DebugSite, k.site(op))
	for i, v := range op.Args[1:] {
		put(ir.DebugValues+i*ir.DebugWord, k.word(v.Type.DType, regs[i+1]))
	}
	a.Place(release)
	a.Ins("st.release.gpu.global.u32 [%v+%d], 0", s.base, ir.DebugLock)
	a.Place(done)
}
