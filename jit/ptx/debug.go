package ptx

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file lowers print and assert. All threads of a block run the same code,
// so each knows how much the block has said, and a record needs no agreement:
// each thread writes the elements that it holds to where they belong.

// debugOutput is what the code of a kernel that prints or asserts has at hand.
type debugOutput struct {
	base  reg // the launch's memory for it
	block reg // the block's number, in the order of the grid's axes
	share reg // bytes of the block's area
	room  reg // whether the block has an area
	area  reg
	table reg // where the bytes used are noted
	// said is the bytes used so far: a register that changes, the same in every thread.
	said reg
}

// startDebugOutput finds the block's area, in the entry section. Numbers are the block's along each axis of the grid.
func (k *kernel) startDebugOutput(axes []*ir.Axis, numbers []reg) {
	if !k.f.HasDebug() {
		return
	}
	a, s := k.a, &k.debug
	a.atEntry(func() {
		s.block = a.op(b32, "mov.b32", 0)
		for i, x := range axes {
			if i == 0 {
				s.block = numbers[0]
			} else {
				s.block = a.op(b32, "mad.lo.s32", s.block, k.blocksOf(x), numbers[i])
			}
		}
		_, name := paramDecl(ir.Param{Kind: ir.ParamDebug})
		raw := a.reg(b64)
		a.ins("ld.param.u64 %v, [%s]", raw, name)
		s.base = a.op(b64, "cvta.to.global.u64", raw)
		areas, first := a.reg(b32), a.reg(b64)
		s.share = a.reg(b32)
		a.ins("ld.global.u32 %v, [%v+%d]", s.share, s.base, ir.DebugShare)
		a.ins("ld.global.u32 %v, [%v+%d]", areas, s.base, ir.DebugAreas)
		a.ins("ld.global.u64 %v, [%v+%d]", first, s.base, ir.DebugFirst)
		s.room = a.op(pred, "setp.lt.u32", s.block, areas)
		s.area = a.op(b64, "mad.wide.u32", s.block, s.share, a.op(b64, "add.s64", s.base, first))
		s.table = a.op(b64, "mad.wide.u32", s.block, ir.DebugWord, a.op(b64, "add.s64", s.base, k.f.DebugTable()))
		s.said = a.op(b32, "mov.b32", 0)
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
	regs []reg
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
	return k.calc(b32, "mul.lo.s32", x, y)
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
	return k.calc(b32, "sub.s32", x, y)
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
	var long reg // whether the tile is abbreviated, where that is not known
	if !fits && !known {
		long = k.calc(pred, "setp.gt.s32", all, ir.ShownElements)
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
		few := k.calc(b32, "min.s32", k.register(c), 2*ir.ShownEdge)
		if long.valid() {
			few = k.calc(b32, "selp.b32", few, c, long)
		}
		p.shown, p.hidden = append(p.shown, few), append(p.hidden, k.minus(c, few))
	}
}

// place is the word of register r's element behind the counts, and the predicate that it is shown, if it needs one.
func (p *printed) place(k *kernel, r int) (any, reg) {
	var at any = 0
	var visible reg
	for i, a := range p.axes {
		rel := k.add(k.threadCoord(p.l, a), p.l.regCoord(r, a))
		if p.hidden[i] != any(0) {
			here := k.register(rel)
			front := k.calc(pred, "setp.lt.s32", here, ir.ShownEdge)
			back := k.calc(pred, "setp.ge.s32", here, k.add(p.hidden[i], ir.ShownEdge))
			visible = k.both(visible, k.calc(pred, "or.pred", front, back))
			rel = k.calc(b32, "selp.b32", here, k.minus(here, p.hidden[i]), front)
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
	next := a.op(b32, "mad.lo.s32", k.register(size), ir.DebugWord, s.said)
	fits := a.op(pred, "setp.le.u32", next, s.share)
	fits = a.op(pred, "and.pred", fits, s.room)
	record := a.op(b64, "add.s64", s.area, a.op(b64, "cvt.u64.u32", s.said))
	put := func(p reg, at, word any) {
		if n, ok := at.(int); ok {
			a.ins("%sst.global.u64 [%v+%d], %v", guard(p), record, n*ir.DebugWord, word)
			return
		}
		a.ins("%sst.global.u64 [%v], %v", guard(p), a.op(b64, "mad.wide.u32", at, ir.DebugWord, record), word)
	}
	first := k.calc(pred, "setp.eq.u32", k.tid, 0)
	leads := a.op(pred, "and.pred", fits, first)
	put(leads, 0, k.site(op))
	for _, p := range args {
		for i, n := range p.counts {
			if r, ok := n.(reg); ok {
				n = a.op(b64, "cvt.u64.u32", r)
			}
			put(leads, k.add(p.at, i), n)
		}
		owner := k.owner(p.l)
		for r := range p.regs {
			at, visible := p.place(k, r)
			q := k.both(k.both(owner, k.mask(p.l, p.v.Type.Axes, r)), visible)
			if q.valid() {
				q = a.op(pred, "and.pred", q, fits)
			} else {
				q = fits
			}
			put(q, k.add(k.add(p.at, len(p.counts)), at), k.word(p.v.Type.DType, p.regs[r]))
		}
	}
	// A print without room ends what the block says.
	a.ins("selp.b32 %v, %v, %v, %v", s.said, next, s.share, fits)
	a.ins("%sst.global.u64 [%v], %v", guard(leads), s.table, a.op(b64, "cvt.u64.u32", s.said))
	lost := a.op(pred, "not.pred", fits)
	lost = a.op(pred, "and.pred", lost, first)
	a.ins("%sred.global.add.u64 [%v+%d], 1", guard(lost), s.base, ir.DebugDropped)
}

// word is an element as a record holds it.
func (k *kernel) word(d lang.DType, x reg) reg {
	a := k.a
	switch x.class {
	case pred:
		return a.op(b64, "selp.b64", 1, 0, x)
	case f32:
		return a.op(b64, "cvt.u64.u32", a.op(b32, "mov.b32", x))
	case f64:
		return a.op(b64, "mov.b64", x)
	case b64:
		return x
	}
	if d.IsSigned() {
		return a.op(b64, "cvt.s64.s32", x)
	}
	return a.op(b64, "cvt.u64.u32", x)
}

// assert emits an assert: one thread of a failing block takes the lock and, unless what failed before comes first
// as package ir orders failures, notes what failed.
func (k *kernel) assert(op *ir.Op) {
	a, s := k.a, &k.debug
	regs := make([]reg, len(op.Args))
	for i, v := range op.Args {
		regs[i] = k.scalar(v)
	}
	fails := a.op(pred, "and.pred", regs[0], k.calc(pred, "setp.eq.u32", k.tid, 0))
	done, again, release := a.label(), a.label(), a.label()
	a.ins("@!%v bra %s", fails, done)
	a.place(again)
	taken := a.reg(b32)
	a.ins("atom.acquire.gpu.global.cas.b32 %v, [%v+%d], 0, 1", taken, s.base, ir.DebugLock)
	a.ins("@%v bra %s", a.op(pred, "setp.ne.u32", taken, 0), again)
	words := []any{k.site(op)}
	offsets := []int{ir.DebugSite}
	for i, v := range op.Args[1:] {
		words = append(words, k.word(v.Type.DType, regs[i+1]))
		offsets = append(offsets, ir.DebugValues+i*ir.DebugWord)
	}
	// What failed before stays unless this comes first: the last of the words that are compared decides last.
	var first reg
	for i := len(op.Names); i >= 0; i-- {
		kept := a.reg(b64)
		a.ins("ld.relaxed.gpu.global.u64 %v, [%v+%d]", kept, s.base, offsets[i])
		less := a.op(pred, "setp.gt.s64", kept, words[i])
		if first.valid() {
			same := a.op(pred, "setp.eq.s64", kept, words[i])
			less = a.op(pred, "or.pred", less, a.op(pred, "and.pred", same, first))
		}
		first = less
	}
	failed := a.reg(b32)
	a.ins("ld.relaxed.gpu.global.u32 %v, [%v+%d]", failed, s.base, ir.DebugFailed)
	first = a.op(pred, "or.pred", first, a.op(pred, "setp.eq.u32", failed, 0))
	a.ins("@!%v bra %s", first, release)
	a.ins("st.relaxed.gpu.global.u32 [%v+%d], 1", s.base, ir.DebugFailed)
	for i, word := range words {
		a.ins("st.relaxed.gpu.global.u64 [%v+%d], %v", s.base, offsets[i], word)
	}
	a.place(release)
	a.ins("st.release.gpu.global.u32 [%v+%d], 0", s.base, ir.DebugLock)
	a.place(done)
}
