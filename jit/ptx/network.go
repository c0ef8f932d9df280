package ptx

import (
	"math/bits"

	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file has the network of a sort. In round r runs of 2^r words are made of runs of half as many: first each word of a run is compared with that which stands
// as far from the run's other end, then with that half a run away, a quarter and so on, the smaller word always to the front. A thread takes 16 words that differ
// in four bits of their numbers, goes with them through the four steps that compare such words, and puts them back: a quarter of the loads, the stores and
// the barriers of a step at a time. Where words lie in shared memory is turned so that a warp's words are in different banks,
// whether they are neighbours or each thread has 16 neighbours.

// item is what moves: a key with its place in the lower half, or both apart.
type item struct{ key, place asm.Reg }

// bits is how many bits of their numbers the words of a thread differ in.
func (s *sorting) bits() int {
	return block.SortBits(s.op.Args[0].Type.DType, int64(s.rows()), int64(s.length()), s.k.Warps*layout.Lanes)
}

// rounds is the exponent of a row's length.
func (s *sorting) rounds() int { return bits.Len(uint(s.length())) - 1 }

// turned gives the byte, counted from the first word, at which a word lies, given its number: words of a thread's block of neighbours change their order from block to
// block. Of numbers that have no bit in common with one another the bytes are those of each, put together by an exclusive or.
func (s *sorting) turned(number asm.Reg) asm.Reg {
	a, n := s.k.a, s.bits()
	block := a.Op(asm.B32, "and.b32", a.Op(asm.B32, "shr.u32", number, asm.Int(n)), asm.Int(1<<n-1))
	return a.Op(asm.B32, "shl.b32", a.Op(asm.B32, "xor.b32", number, block), asm.Int(3))
}

// byteOf is where the word of a register of a layout lies.
func (s *sorting) byteOf(l layout.Layout, r int) asm.Reg {
	k := s.k
	var number asm.Number = asm.Int(0)
	scale := 1
	for i, x := range s.words.Axes {
		at := k.a.Add(k.threadCoord(l, x), asm.Int(l.RegCoord(r, x)))
		number = k.a.Add(number, k.a.Mul(at, scale))
		scale *= s.words.Extents[i]
	}
	return s.turned(k.a.Register(number))
}

// ofPlace is the address of a place, of places that lie from the arena's begin on, given the byte of its word.
func (s *sorting) ofPlace(at asm.Reg) asm.Reg {
	return s.k.a.Op(asm.B32, "add.s32", s.k.a.Op(asm.B32, "shr.u32", at, asm.Int(1)), s.k.sharedBase())
}

// put stores a word where p holds, and take loads one; without p, it is the greatest.
func (s *sorting) put(at asm.Reg, w item, p asm.Reg) {
	a := s.k.a
	a.If(p).Do("st.shared.b64", asm.At(a.Op(asm.B32, "add.s32", at, s.k.sharedBase())).Plus(s.words.at), w.key)
	if s.places != nil {
		a.If(p).Do("st.shared.b32", asm.At(s.ofPlace(at)).Plus(s.places.at), w.place)
	}
}

func (s *sorting) take(at, p asm.Reg) item {
	a := s.k.a
	w := item{key: a.Reg(asm.B64)}
	if p.Valid() {
		a.Set(w.key, "mov.b64", asm.Int(-1))
	}
	a.If(p).Set(w.key, "ld.shared.b64", asm.At(a.Op(asm.B32, "add.s32", at, s.k.sharedBase())).Plus(s.words.at))
	if s.places != nil {
		w.place = a.Reg(asm.B32)
		if p.Valid() {
			a.Set(w.place, "mov.b32", asm.Int(-1))
		}
		a.If(p).Set(w.place, "ld.shared.b32", asm.At(s.ofPlace(at)).Plus(s.places.at))
	}
	return w
}

// exchange puts the smaller of two words first.
func (s *sorting) exchange(x, y *item) {
	a := s.k.a
	greater := a.Op(asm.Pred, "setp.gt.u64", x.key, y.key)
	if s.places != nil {
		after := a.Op(asm.Pred, "setp.gt.u32", x.place, y.place)
		greater = a.Op(asm.Pred, "or.pred", greater, a.Op(asm.Pred, "setp.eq.and.u64", x.key, y.key, after))
	}
	first := item{key: a.Op(asm.B64, "selp.b64", y.key, x.key, greater)}
	second := item{key: a.Op(asm.B64, "selp.b64", x.key, y.key, greater)}
	if s.places != nil {
		first.place = a.Op(asm.B32, "selp.b32", y.place, x.place, greater)
		second.place = a.Op(asm.B32, "selp.b32", x.place, y.place, greater)
	}
	*x, *y = first, second
}

// pass emits one way of all words through registers. The words of a thread differ in the bits from low on; those behind the middle of a run that
// begins there have the bits below turned over where turned holds, as the first step of a round compares them.
func (s *sorting) pass(low asm.Reg, mirrored bool, steps func(ws []item)) {
	a, n := s.k.a, s.bits()
	one := a.Op(asm.B32, "mov.b32", asm.Int(1))
	below := a.Op(asm.B32, "sub.s32", a.Op(asm.B32, "shl.b32", one, low), asm.Int(1))
	var bit []asm.Reg // what each bit of a word's number in the thread adds to its byte
	for i := range n {
		bit = append(bit, s.turned(a.Op(asm.B32, "shl.b32", asm.Int(1<<i), low)))
	}
	if mirrored {
		bit[n-1] = a.Op(asm.B32, "xor.b32", bit[n-1], s.turned(below))
	}
	s.k.inPieces(s.rows()*s.length()>>n, func(piece, within asm.Reg) {
		right := a.Op(asm.B32, "and.b32", piece, below)
		left := a.Op(asm.B32, "sub.s32", piece, right)
		number := a.Op(asm.B32, "add.s32", a.Op(asm.B32, "shl.b32", left, asm.Int(n)), right)
		at := make([]asm.Reg, 1<<n)
		at[0] = s.turned(number)
		ws := make([]item, 1<<n)
		for i := range at {
			if i > 0 {
				top := bits.Len(uint(i)) - 1
				at[i] = a.Op(asm.B32, "xor.b32", at[i-1<<top], bit[top])
			}
			ws[i] = s.take(at[i], within)
		}
		steps(ws)
		for i, w := range ws {
			s.put(at[i], w, within)
		}
	})
	s.k.barrier()
}

// mirror compares each of a thread's words, of those that differ in the bits below n, with that which stands as far from the other end of its run.
func (s *sorting) mirror(ws []item, n int) {
	for i := range ws {
		if j := i ^ (1<<n - 1); i < j {
			s.exchange(&ws[i], &ws[j])
		}
	}
}

// step compares each of a thread's words with that whose number differs in one bit.
func (s *sorting) step(ws []item, bit int) {
	for i := range ws {
		if j := i | 1<<bit; i < j {
			s.exchange(&ws[i], &ws[j])
		}
	}
}

// network emits the rounds: the first ones with neighbours in registers, then each round in ways of a few steps.
func (s *sorting) network() {
	a, n := s.k.a, s.bits()
	none := a.Op(asm.B32, "mov.b32", asm.Int(0))
	s.pass(none, false, func(ws []item) {
		for round := 1; round <= n; round++ {
			s.mirror(ws, round)
			for bit := round - 2; bit >= 0; bit-- {
				s.step(ws, bit)
			}
		}
	})
	if s.rounds() == n {
		return
	}
	low, start := a.Op(asm.B32, "mov.b32", asm.Int(1)), a.Op(asm.B32, "mov.b32", asm.Int(1))
	round, merge := a.Label(), a.Label()
	a.Comment("a round: start is the lowest bit in which its first words differ")
	a.Place(round)
	s.pass(start, true, func(ws []item) {
		s.mirror(ws, n)
		for bit := n - 2; bit >= 0; bit-- {
			s.step(ws, bit)
		}
	})
	a.Set(low, "mov.b32", start)
	a.Place(merge)
	// The last way of a round may have fewer steps left than others.
	left := a.Op(asm.B32, "min.s32", low, asm.Int(n))
	a.Set(low, "sub.s32", low, left)
	s.pass(low, false, func(ws []item) {
		for bit := n - 1; bit >= 0; bit-- {
			skip := a.Label()
			a.If(a.Op(asm.Pred, "setp.le.s32", left, asm.Int(bit))).Do("bra.uni", skip)
			s.inPlace(ws, func(ws []item) { s.step(ws, bit) })
			a.Place(skip)
		}
	})
	a.If(a.Op(asm.Pred, "setp.ne.u32", low, asm.Int(0))).Do("bra.uni", merge)
	a.Set(start, "add.s32", start, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.le.u32", start, asm.Int(s.rounds()-n))).Do("bra.uni", round)
}

// inPlace has what is done with words end in the registers in which it began, since it may be passed over.
func (s *sorting) inPlace(ws []item, steps func(ws []item)) {
	made := append([]item(nil), ws...)
	steps(made)
	for i, w := range made {
		s.k.a.Move(ws[i].key, w.key)
		if s.places != nil {
			s.k.a.Move(ws[i].place, w.place)
		}
	}
}
