package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// This file emits loops that go through rows by words (block.Words). Positions before the row stand only in the first word of the first step,
// those behind it only in the last step, which has code of its own. Whole words are read where some of their elements belong to the row; the
// others, which are of the rows before and behind, nobody looks at.

// wordBytes is how many bytes a word has.
const wordBytes = 16

// lead is how many positions the block's row lies behind the word in which it begins.
func (k *kernel) lead() asm.Reg {
	row := k.Words.Row
	within := k.a.Calc(asm.B32, "and.b32", k.lowWord(k.rowAddress(row)), asm.Int(wordBytes-1))
	return k.a.Calc(asm.B32, "shr.u32", within, asm.Int(log2(row.Tensor.DType.Size())))
}

// wordStart is the address of the word in which an address lies.
func (k *kernel) wordStart(address asm.Reg) asm.Reg {
	return k.a.Calc(asm.B64, "and.b64", address, asm.Int(-wordBytes))
}

// inFirstWord reports a coordinate along an axis of which the position may lie before the row, in a step that is whole otherwise.
func (k *kernel) inFirstWord(a *ir.Axis, c int) bool {
	return k.LoopsByWords(a) && !k.partial(a) && int64(c) < k.Words.Unit
}

// loadWords loads elements along an axis c of a loop by words, in groups of as many as a word has.
func (k *kernel) loadWords(x *addressing, axes []*ir.Axis, c *ir.Axis, groups [][]int, mnemonic string) []asm.Reg {
	t, l := x.tensor.Held(), x.l
	form, _ := k.WordForm(x.tensor, x.dims)
	others := ir.Without(axes, []*ir.Axis{c})
	regs := make([]asm.Reg, l.Regs())
	together := x.tensor.Shared && k.keptTogether(x.tensor, len(groups[0])) // what lies beside the row is read too, where some of the word belongs to it
	for _, g := range groups {
		p := k.mask(l, others, g[0])
		var got []asm.Reg
		first := l.RegCoord(g[0], c)
		switch {
		case together && k.partial(c):
			got = k.fetchAt(t, len(g), mnemonic, k.both(p, k.exists(l, c, first)), x.at(g[0]))
		case k.partial(c), x.tensor.Shared && !together && k.inFirstWord(c, first):
			for _, r := range g {
				got = append(got, k.fetchAt(t, 1, mnemonic, k.both(p, k.exists(l, c, l.RegCoord(r, c))), x.at(r))...)
			}
		case form == block.AcrossWords:
			got = k.acrossWords(x, t, len(g), mnemonic, p, k.inFirstWord(c, first), x.at(g[0]))
		default:
			got = k.fetchAt(t, len(g), mnemonic, p, x.at(g[0]))
		}
		for i, r := range g {
			regs[r] = got[i]
		}
	}
	return regs
}

// keptTogether reports a row in shared memory of which so many neighbours were written at once, also where the row begins or ends among them.
func (k *kernel) keptTogether(t *ir.Tensor, n int) (together bool) {
	k.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpStore && op.Tensor == t {
			l, dims := k.StoreLayout(op), k.Access(op)
			c := block.Contiguous(dims)
			_, at := l.Groups(c, l.Aligned(c, k.Vector(t, dims, c)))
			copied := slices.ContainsFunc(k.rowCopies(), func(c *block.RowCopy) bool { return c.Store == op })
			together = copied || at%n == 0
		}
		return !together
	})
	return together
}

// acrossWords loads n neighbours from the two words of so many elements across which they lie: how far is the same for all threads. Of what
// begins before the tensor the tensor's first word is read in its place, whose elements nobody looks at: under a predicate, the assembler would
// not fuse products with sums across the load.
func (k *kernel) acrossWords(x *addressing, d lang.DType, n int, mnemonic string, p asm.Reg, before bool, from address) []asm.Reg {
	a, w := k.a, words(d, n)
	var raw []asm.Reg
	for i := range 2 {
		at := address{base: from.base, offset: from.offset + int64(i*n*d.Size())}
		if before {
			at = address{base: a.Calc(asm.B64, "max.u64", k.offset(at.base, at.offset), k.pointer(x.tensor))}
		}
		part := a.Regs(w.class, w.count)
		if p.Valid() {
			for _, r := range part {
				a.Set(r, "mov."+w.class.String(), w.class.Zero())
			}
		}
		a.If(p).Set(asm.List(part), mnemonic+w.vec()+"."+w.suffix, at.addr())
		raw = append(raw, part...)
	}
	// A register holds one element or two. Where the elements begin in the first word is a number of which each bit moves them or not.
	behind := k.behindWord(n)
	inRegister := 0
	if w.elements == 2 {
		inRegister = 1
	}
	for bit := w.count / 2; bit > 0; bit /= 2 {
		moves := a.Calc(asm.Pred, "setp.ne.u32", a.Calc(asm.B32, "and.b32", behind, asm.Int(bit*w.elements)), asm.Int(0))
		next := make([]asm.Reg, w.count+inRegister+bit-1)
		for i := range next {
			next[i] = k.selected(moves, raw[i+bit], raw[i])
		}
		raw = next
	}
	if inRegister > 0 {
		odd := a.Calc(asm.Pred, "setp.ne.u32", a.Calc(asm.B32, "and.b32", behind, asm.Int(1)), asm.Int(0))
		bytes := a.Calc(asm.B32, "selp.b32", asm.Int(0x5432), asm.Int(0x3210), odd)
		for i := range w.count {
			raw[i] = a.Op(asm.B32, "prmt.b32", raw[i], raw[i+1], bytes)
		}
	}
	var out []asm.Reg
	for _, r := range raw[:w.count] {
		out = append(out, elem.Unpack(a, d, r, w.elements)...)
	}
	return out
}

// behindWord is how many positions the first of n neighbours lies behind the word of a tensor that has no lead.
func (k *kernel) behindWord(n int) asm.Reg {
	return k.a.Calc(asm.B32, "and.b32", k.a.Calc(asm.B32, "neg.s32", k.lead()), asm.Int(n-1))
}

// fromWord moves the addresses of an access in a loop by words: in shared memory a row lies behind a lead as in global memory, and
// what lies across words is read from the beginning of the first.
func (x *addressing) fromWord(base asm.Reg) asm.Reg {
	k, c := x.k, block.Contiguous(x.dims)
	if !k.LoopsByWords(c) {
		return base
	}
	last := len(x.dims) - 1
	form, n := k.WordForm(x.tensor, x.dims)
	_, n = x.l.Groups(c, x.l.Aligned(c, n))
	switch {
	case x.tensor.Shared:
		return x.step(base, last, k.lead(), 1)
	case form == block.AcrossWords && !k.partial(c) && n > 1:
		return x.step(base, last, k.behindWord(n), -1)
	}
	return base
}

// storeWords stores a group of neighbours along an axis of a loop by words: as one where all of them exist, else one by one.
func (k *kernel) storeWords(x *addressing, c *ir.Axis, g []int, xs []asm.Reg, mnemonic string, p asm.Reg) {
	t, l := x.tensor.Held(), x.l
	first := l.RegCoord(g[0], c)
	each := func() {
		for i, r := range g {
			k.putAt(t, xs[i:i+1], mnemonic, k.both(p, k.exists(l, c, l.RegCoord(r, c))), x.at(r))
		}
	}
	switch {
	case x.tensor.Shared: // there is room before and behind the row
		if k.partial(c) {
			p = k.both(p, k.exists(l, c, first))
		}
		k.putAt(t, xs, mnemonic, p, x.at(g[0]))
	case k.partial(c):
		each()
	case !k.inFirstWord(c, first):
		k.putAt(t, xs, mnemonic, p, x.at(g[0]))
	default:
		whole, over := k.exists(l, c, first), k.a.Label()
		k.putAt(t, xs, mnemonic, k.both(p, whole), x.at(g[0]))
		begin := k.a.Here()
		k.a.If(whole).Do("bra", over)
		k.push(begin)
		each()
		k.pop()
		k.a.Place(over)
	}
}
