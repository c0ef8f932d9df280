package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/lang"
)

// A sort is a bitonic network in shared memory. What moves is an integer that
// has the key's order in its upper bits and the element's place in the lower
// ones, so that no two are equal: the order is one and the same in every run and
// with every plan, and equal keys keep theirs. Places without an element hold the
// greatest integer and stay behind.

// sort emits a sort: the positions of the elements in order.
func (k *kernel) sort(op *ir.Op) {
	x, result := op.Args[0], op.Result()
	l := k.home[result]
	axis := op.Over[0]
	regs := k.get(x, l.slice(x.Type.Axes))
	d := x.Type.DType
	axes := append([]*ir.Axis{axis}, ir.Without(result.Type.Axes, op.Over)...)
	ext := extents(axes)
	ext[0] = max(powerAbove(ext[0]), 4) // rows of words and rows of places are as long, in whole chunks of 16 bytes

	// Keys of up to 32 bits share a word with the place; others have one of their own.
	s := &sorting{k: k, op: op, words: newShared(lang.U64, axes, ext, false)}
	s.words.buffer = k.allocate(s.words.bytes(), "sorting "+valueName(x))
	wide := d.Bits() == 64
	if wide {
		s.places = newShared(lang.U32, axes, ext, false)
		s.places.buffer = k.allocate(s.places.bytes(), "sorting "+valueName(x))
	}
	s.clear()
	words, places := make([]reg, len(regs)), make([]reg, len(regs))
	for r := range regs {
		key := s.key(d, regs[r])
		place := k.register(k.add(k.threadCoord(l, axis), l.regCoord(r, axis)))
		exists := k.mask(l, op.Over, r)
		if !wide {
			both := k.a.reg(b64)
			k.a.ins("mov.b64 %v, {%v, %v}", both, place, key)
			key = both
		}
		words[r] = k.selected(exists, key, k.greatest(b64))
		places[r] = k.selected(exists, place, k.greatest(b32))
	}
	k.write(s.words, x, l, words, nil)
	if wide {
		k.write(s.places, x, l, places, nil)
	}
	k.barrier()
	s.network()

	out := make([]reg, len(regs))
	if wide {
		copy(out, k.fetchTile(s.places, l))
	} else {
		for r, w := range k.fetchTile(s.words, l) {
			out[r] = k.a.reg(b32)
			k.a.ins("mov.b64 {%v, %v}, %v", out[r], k.a.reg(b32), w)
		}
	}
	for r := range out {
		if start := k.state(axis).start; start != any(0) {
			out[r] = k.a.op(b32, "add.s32", out[r], start)
		}
	}
	k.release(s.words.buffer)
	k.hold(result, l, out)
}

// greatest is a register of ones.
func (k *kernel) greatest(c regClass) reg {
	return k.atEntry(fmt.Sprint("ones ", c), func() reg {
		if c == b64 {
			return k.a.op(b64, "mov.b64", -1)
		}
		return k.a.op(b32, "mov.b32", -1)
	})
}

// sorting is one sort: a row of words for each row of the tile, a power of two long.
type sorting struct {
	k      *kernel
	op     *ir.Op
	words  *sharedTile
	places *sharedTile // nil where the words have the places
}

// key is an unsigned integer in the order of a value: 32 bits, or 64 of wide types.
func (s *sorting) key(d lang.DType, x reg) reg {
	a := s.k.a
	c, bits, width, top := b32, "b32", 32, "0x80000000"
	if d.Bits() == 64 {
		c, bits, width, top = b64, "b64", 64, "0x8000000000000000"
	}
	key := x
	switch {
	case d.IsFloat():
		nan := elementwise(a, lang.OpIsNaN, d, []reg{x}, false)
		zero := elementwise(a, lang.OpEq, d, []reg{x, s.k.zero(d)}, false)
		raw := a.op(c, "mov."+bits, x)
		// Negative numbers turn over, positive ones come above them.
		sign := a.op(c, "shr.s"+bits[1:], raw, width-1)
		turned := a.op(c, "xor."+bits, raw, a.op(c, "or."+bits, sign, top))
		key = a.op(c, "selp."+bits, top, turned, zero)
		key = a.op(c, "selp."+bits, -1, key, nan)
	case d.IsSigned():
		key = a.op(c, "xor."+bits, x, top)
	}
	if s.op.Descending {
		key = a.op(c, "not."+bits, key)
	}
	return key
}

// length is the words in a row, rows how many rows there are.
func (s *sorting) length() int { return s.words.ext[0] }

func (s *sorting) rows() int { return s.words.bytes() / s.words.rowBytes() }

// each emits a loop in which the threads share n pieces of work: piece has the
// number of one. The loop is the same for all threads; those without work skip it.
func (s *sorting) each(n int, work func(piece, within reg)) {
	a, threads := s.k.a, s.k.warps*lanes
	piece := a.reg(b32)
	s.k.move(piece, s.k.tid)
	var within reg
	steps := (n + threads - 1) / threads
	body := func() {
		if n%threads != 0 {
			within = a.op(pred, "setp.lt.u32", piece, n)
		}
		work(piece, within)
	}
	if steps == 1 {
		body()
		return
	}
	top := a.label()
	left := a.reg(b32)
	a.ins("mov.b32 %v, %d", left, steps)
	a.place(top)
	body()
	a.ins("add.u32 %v, %v, %d", piece, piece, threads)
	a.ins("sub.u32 %v, %v, 1", left, left)
	a.ins("@%v bra.uni %s", a.op(pred, "setp.ne.u32", left, 0), top)
}

// clear fills the rows with the greatest words.
func (s *sorting) clear() {
	k, a := s.k, s.k.a
	k.writing(s.words.buffer)
	if s.places != nil {
		k.writing(s.places.buffer)
	}
	ones, one := k.greatest(b64), k.greatest(b32)
	base := k.sharedBase()
	s.each(s.rows()*s.length(), func(piece, within reg) {
		at := a.op(b32, "mad.lo.u32", piece, 8, base)
		a.ins("%sst.shared.b64 [%v+%d], %v", guard(within), at, s.words.at, ones)
		if s.places != nil {
			at := a.op(b32, "mad.lo.u32", piece, 4, base)
			a.ins("%sst.shared.b32 [%v+%d], %v", guard(within), at, s.places.at, one)
		}
	})
	k.barrier()
}

// network emits the bitonic network: in round `size`, runs of so many words
// are merged, rising and falling by turns, from words `distance` apart to neighbours.
func (s *sorting) network() {
	k, a := s.k, s.k.a
	size, distance := a.reg(b32), a.reg(b32)
	a.ins("mov.b32 %v, 2", size)
	round, merge := a.label(), a.label()
	a.place(round)
	a.ins("shr.u32 %v, %v, 1", distance, size)
	a.place(merge)
	low := a.op(b32, "sub.u32", distance, 1)
	s.each(s.rows()*s.length()/2, func(piece, within reg) {
		// The pair's first word: a 0 put into the number where the distance has its 1. Rows
		// are powers of two long, so that the number of the pair has the row in front.
		right := a.op(b32, "and.b32", piece, low)
		left := a.op(b32, "sub.u32", piece, right)
		first := a.op(b32, "add.u32", a.op(b32, "add.u32", left, left), right)
		falls := a.op(pred, "setp.ne.u32", a.op(b32, "and.b32", a.op(b32, "and.b32", first, s.length()-1), size), 0)
		s.exchange(first, a.op(b32, "add.u32", first, distance), falls, within)
	})
	k.barrier()
	a.ins("shr.u32 %v, %v, 1", distance, distance)
	a.ins("@%v bra.uni %s", a.op(pred, "setp.ne.u32", distance, 0), merge)
	a.ins("shl.b32 %v, %v, 1", size, size)
	a.ins("@%v bra.uni %s", a.op(pred, "setp.le.u32", size, s.length()), round)
}

// exchange puts two words in order: the greater one behind, or in front where the run falls.
func (s *sorting) exchange(first, second, falls, within reg) {
	a, base := s.k.a, s.k.sharedBase()
	load := func(bits int, at, off any) reg {
		c := b32
		if bits == 64 {
			c = b64
		}
		r := a.reg(c)
		if within.valid() { // lanes without a pair compare ones with ones
			a.ins("mov.b%d %v, -1", bits, r)
		}
		a.ins("%sld.shared.b%d %v, [%v+%v]", guard(within), bits, r, at, off)
		return r
	}
	at1, at2 := a.op(b32, "mad.lo.u32", first, 8, base), a.op(b32, "mad.lo.u32", second, 8, base)
	x, y := load(64, at1, s.words.at), load(64, at2, s.words.at)
	greater := a.op(pred, "setp.gt.u64", x, y)
	var p, q, pat1, pat2 reg
	if s.places != nil {
		pat1, pat2 = a.op(b32, "mad.lo.u32", first, 4, base), a.op(b32, "mad.lo.u32", second, 4, base)
		p, q = load(32, pat1, s.places.at), load(32, pat2, s.places.at)
		tie := a.op(pred, "and.pred", a.op(pred, "setp.eq.u64", x, y), a.op(pred, "setp.gt.u32", p, q))
		greater = a.op(pred, "or.pred", greater, tie)
	}
	swap := a.op(pred, "xor.pred", greater, falls)
	if within.valid() {
		swap = a.op(pred, "and.pred", swap, within)
	}
	a.ins("@%v st.shared.b64 [%v+%d], %v", swap, at1, s.words.at, y)
	a.ins("@%v st.shared.b64 [%v+%d], %v", swap, at2, s.words.at, x)
	if s.places != nil {
		a.ins("@%v st.shared.b32 [%v+%d], %v", swap, pat1, s.places.at, q)
		a.ins("@%v st.shared.b32 [%v+%d], %v", swap, pat2, s.places.at, p)
	}
}
