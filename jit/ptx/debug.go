package ptx

import (
	"tilec/jit/ir"
	"tilec/jit/layout"
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
	if !k.Func.HasDebug() {
		return
	}
	a, s := k.a, &k.debug
	a.AtEntry(func() {
		s.block = a.Op(asm.B32, "mov.b32", asm.Int(0))
		for i, x := range axes {
			if i == 0 {
				s.block = numbers[0]
			} else {
				s.block = a.Op(asm.B32, "mad.lo.s32", s.block, k.blocksOf(x), numbers[i])
			}
		}
		raw := k.argument(ir.Param{Kind: ir.ParamDebug})
		s.base = a.Op(asm.B64, "cvta.to.global.u64", raw)
		areas, first := a.Reg(asm.B32), a.Reg(asm.B64)
		s.share = a.Op(asm.B32, "ld.global.u32", asm.At(s.base).Plus(ir.DebugShare))
		a.Set(areas, "ld.global.u32", asm.At(s.base).Plus(ir.DebugAreas))
		a.Set(first, "ld.global.u64", asm.At(s.base).Plus(ir.DebugFirst))
		s.room = a.Op(asm.Pred, "setp.lt.u32", s.block, areas)
		s.area = a.Op(asm.B64, "mad.wide.u32", s.block, s.share, a.Op(asm.B64, "add.s64", s.base, first))
		s.table = a.Op(asm.B64, "mad.wide.u32", s.block, asm.Int(ir.DebugWord), a.Op(asm.B64, "add.s64", s.base, asm.Int(k.Func.DebugTable())))
		s.said = a.Op(asm.B32, "mov.b32", asm.Int(0))
	})
}

// site is the number of a print or an assert.
func (k *kernel) site(op *ir.Op) int {
	for i, s := range k.Func.Sites() {
		if s == op {
			return i + 1
		}
	}
	failf("`%s` is not in the kernel", op)
	return 0
}

// printed is an argument of a print: where its elements go in the record.
type printed struct {
	v    *ir.Value
	axes []*ir.Axis // in the order of declaration
	l    layout.Layout
	regs []asm.Reg
	at   asm.Number // its first word
	// By axis: how many positions there are, how many of these the tile has, how many are shown and how many are not.
	counts, present, shown, hidden []asm.Number
}

// words is the number of words that the argument takes.
func (p *printed) words(k *kernel) asm.Number {
	var n asm.Number = asm.Int(1)
	for _, c := range p.shown {
		n = k.a.Times(n, c)
	}
	return k.a.Add(n, asm.Int(len(p.counts)))
}

// measure finds how many elements of the argument are shown.
func (p *printed) measure(k *kernel) {
	var all asm.Number = asm.Int(1)
	most := 1
	for _, a := range p.axes {
		n := k.extent(a)
		count := n
		if a.Edges > 0 {
			count = asm.Int(a.Edges)
		}
		p.counts = append(p.counts, count)
		p.present = append(p.present, n)
		all = k.a.Times(all, count)
		most *= int(max(a.Extent, a.Edges))
	}
	total, known := all.(asm.Int)
	fits := most <= ir.ShownElements || known && total <= ir.ShownElements
	var long asm.Reg // whether the tile is abbreviated, where that is not known
	if !fits && !known {
		long = k.a.Calc(asm.Pred, "setp.gt.s32", all, asm.Int(ir.ShownElements))
	}
	for _, c := range p.present {
		n, isInt := c.(asm.Int)
		switch {
		case fits, isInt && n <= 2*ir.ShownEdge:
			p.shown, p.hidden = append(p.shown, c), append(p.hidden, asm.Int(0))
			continue
		case isInt && known:
			p.shown, p.hidden = append(p.shown, asm.Int(2*ir.ShownEdge)), append(p.hidden, n-2*ir.ShownEdge)
			continue
		}
		few := k.a.Calc(asm.B32, "min.s32", k.a.Register(c), asm.Int(2*ir.ShownEdge))
		if long.Valid() {
			few = k.a.Calc(asm.B32, "selp.b32", few, c, long)
		}
		p.shown, p.hidden = append(p.shown, few), append(p.hidden, k.a.Sub(c, few))
	}
}

// place is the word of register r's element behind the counts, and the predicate that it is shown, if it needs one.
func (p *printed) place(k *kernel, r int) (asm.Number, asm.Reg) {
	var at asm.Number = asm.Int(0)
	var visible asm.Reg
	for i, a := range p.axes {
		rel := k.a.Add(k.threadCoord(p.l, a), asm.Int(p.l.RegCoord(r, a)))
		if p.hidden[i] != asm.Int(0) {
			here := k.a.Register(rel)
			front := k.a.Calc(asm.Pred, "setp.lt.s32", here, asm.Int(ir.ShownEdge))
			back := k.a.Calc(asm.Pred, "setp.ge.s32", here, k.a.Add(p.hidden[i], asm.Int(ir.ShownEdge)))
			visible = k.both(visible, k.a.Calc(asm.Pred, "or.pred", front, back))
			rel = k.a.Calc(asm.B32, "selp.b32", here, k.a.Sub(here, p.hidden[i]), front)
		}
		at = k.a.Add(k.a.Times(at, p.shown[i]), rel)
	}
	return at, visible
}

// print emits a print.
func (k *kernel) print(op *ir.Op) {
	a, s := k.a, &k.debug
	var size asm.Number = asm.Int(1) // words: first the site
	var args []*printed
	for _, v := range op.Args {
		p := &printed{v: v, axes: k.Func.InOrder(v.Type.Axes), l: k.DebugLayout(v), at: size}
		p.regs = k.get(v, p.l)
		p.measure(k)
		size = k.a.Add(size, p.words(k))
		args = append(args, p)
	}
	// From here on code depends on what was said before: it stays where it is.
	next := a.Op(asm.B32, "mad.lo.s32", k.a.Register(size), asm.Int(ir.DebugWord), s.said)
	fits := a.Op(asm.Pred, "setp.le.u32", next, s.share)
	fits = a.Op(asm.Pred, "and.pred", fits, s.room)
	record := a.Op(asm.B64, "add.s64", s.area, a.Op(asm.B64, "cvt.u64.u32", s.said))
	put := func(p asm.Reg, at, word asm.Number) {
		if n, ok := at.(asm.Int); ok {
			a.If(p).Do("st.global.u64", asm.At(record).Plus(int(n)*ir.DebugWord), word)
			return
		}
		a.If(p).Do("st.global.u64", asm.At(a.Op(asm.B64, "mad.wide.u32", at, asm.Int(ir.DebugWord), record)), word)
	}
	first := k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0))
	leads := a.Op(asm.Pred, "and.pred", fits, first)
	put(leads, asm.Int(0), asm.Int(k.site(op)))
	for _, p := range args {
		for i, n := range p.counts {
			if r, ok := n.(asm.Reg); ok {
				n = a.Op(asm.B64, "cvt.u64.u32", r)
			}
			put(leads, k.a.Add(p.at, asm.Int(i)), n)
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
			put(q, k.a.Add(k.a.Add(p.at, asm.Int(len(p.counts))), at), k.word(p.v.Type.DType, p.regs[r]))
		}
	}
	// A print without room ends what the block says.
	a.Set(s.said, "selp.b32", next, s.share, fits)
	a.If(leads).Do("st.global.u64", asm.At(s.table), a.Op(asm.B64, "cvt.u64.u32", s.said))
	lost := a.Op(asm.Pred, "not.pred", fits)
	lost = a.Op(asm.Pred, "and.pred", lost, first)
	a.If(lost).Do("red.global.add.u64", asm.At(s.base).Plus(ir.DebugDropped), asm.Int(1))
}

// word is an element as a record holds it.
func (k *kernel) word(d lang.DType, x asm.Reg) asm.Reg {
	a := k.a
	switch x.Class {
	case asm.Pred:
		return a.Op(asm.B64, "selp.b64", asm.Int(1), asm.Int(0), x)
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

// assert emits an assert: one thread of a failing block takes the lock and, unless what failed before comes first
// as package ir orders failures, notes what failed.
func (k *kernel) assert(op *ir.Op) {
	a, s := k.a, &k.debug
	regs := make([]asm.Reg, len(op.Args))
	for i, v := range op.Args {
		regs[i] = k.scalar(v)
	}
	fails := a.Op(asm.Pred, "and.pred", regs[0], k.a.Calc(asm.Pred, "setp.eq.u32", k.tid, asm.Int(0)))
	done, again, release := a.Label(), a.Label(), a.Label()
	a.Unless(fails).Do("bra", done)
	a.Place(again)
	taken := a.Op(asm.B32, "atom.acquire.gpu.global.cas.b32", asm.At(s.base).Plus(ir.DebugLock), asm.Int(0), asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.ne.u32", taken, asm.Int(0))).Do("bra", again)
	words := []asm.Number{asm.Int(k.site(op))}
	offsets := []int{ir.DebugSite}
	for i, v := range op.Args[1:] {
		words = append(words, k.word(v.Type.DType, regs[i+1]))
		offsets = append(offsets, ir.DebugValues+i*ir.DebugWord)
	}
	// What failed before stays unless this comes first: the last of the words that are compared decides last.
	var first asm.Reg
	for i := len(op.Names); i >= 0; i-- {
		kept := a.Op(asm.B64, "ld.relaxed.gpu.global.u64", asm.At(s.base).Plus(offsets[i]))
		less := a.Op(asm.Pred, "setp.gt.s64", kept, words[i])
		if first.Valid() {
			same := a.Op(asm.Pred, "setp.eq.s64", kept, words[i])
			less = a.Op(asm.Pred, "or.pred", less, a.Op(asm.Pred, "and.pred", same, first))
		}
		first = less
	}
	failed := a.Op(asm.B32, "ld.relaxed.gpu.global.u32", asm.At(s.base).Plus(ir.DebugFailed))
	first = a.Op(asm.Pred, "or.pred", first, a.Op(asm.Pred, "setp.eq.u32", failed, asm.Int(0)))
	a.Unless(first).Do("bra", release)
	a.Do("st.relaxed.gpu.global.u32", asm.At(s.base).Plus(ir.DebugFailed), asm.Int(1))
	for i, word := range words {
		a.Do("st.relaxed.gpu.global.u64", asm.At(s.base).Plus(offsets[i]), word)
	}
	a.Place(release)
	a.Do("st.release.gpu.global.u32", asm.At(s.base).Plus(ir.DebugLock), asm.Int(0))
	a.Place(done)
}
