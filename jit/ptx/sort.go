package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
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
	l := k.Homes[result]
	axis := op.Over[0]
	regs := k.get(x, l.Slice(x.Type.Axes))
	d := x.Type.DType
	axes := append([]*ir.Axis{axis}, ir.Without(result.Type.Axes, op.Over)...)
	ext := block.Extents(axes)
	ext[0] = int(block.SortRow(int64(ext[0]))) // rows of words and rows of places are as long

	// Keys of up to 32 bits share a word with the place; others have one of their own.
	s := &sorting{k: k, op: op, words: newShared(lang.U64, axes, ext, false)}
	s.words.buffer = k.allocate(s.words.Bytes(), "sorting "+block.ValueName(x))
	wide := block.SortsPlaces(d)
	if wide {
		s.places = newShared(lang.U32, axes, ext, false)
		s.places.buffer = k.allocate(s.places.Bytes(), "sorting "+block.ValueName(x))
	}
	s.clear()
	words, places := make([]asm.Reg, len(regs)), make([]asm.Reg, len(regs))
	for r := range regs {
		key := s.key(d, regs[r])
		place := k.a.Register(k.a.Add(k.threadCoord(l, axis), asm.Int(l.RegCoord(r, axis))))
		exists := k.mask(l, op.Over, r)
		if !wide {
			key = k.a.Whole(asm.B64, place, key)
		}
		words[r] = k.selected(exists, key, k.greatest(asm.B64))
		places[r] = k.selected(exists, place, k.greatest(asm.B32))
	}
	k.write(s.words, x, l, words, nil)
	if wide {
		k.write(s.places, x, l, places, nil)
	}
	k.barrier()
	s.network()

	out := make([]asm.Reg, len(regs))
	if wide {
		copy(out, k.fetchTile(s.places, l))
	} else {
		for r, w := range k.fetchTile(s.words, l) {
			out[r], _ = k.a.Halves(w)
		}
	}
	for r := range out {
		if start := k.state(axis).start; start != asm.Int(0) {
			out[r] = k.a.Op(asm.B32, "add.s32", out[r], start)
		}
	}
	k.release(s.words.buffer)
	k.hold(result, l, out)
}

// greatest is a register of ones.
func (k *kernel) greatest(c asm.Class) asm.Reg {
	return k.a.Once(fmt.Sprint("ones ", c), func() asm.Reg {
		if c == asm.B64 {
			return k.a.Op(asm.B64, "mov.b64", asm.Int(-1))
		}
		return k.a.Op(asm.B32, "mov.b32", asm.Int(-1))
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
func (s *sorting) key(d lang.DType, x asm.Reg) asm.Reg {
	a := s.k.a
	c, bits, width, top := asm.B32, "b32", 32, asm.Hex(1<<31)
	if d.Bits() == 64 {
		c, bits, width, top = asm.B64, "b64", 64, asm.Hex(1<<63)
	}
	key := x
	switch {
	case d.IsFloat():
		nan := elem.Apply(a, lang.OpIsNaN, d, []asm.Reg{x}, false)
		zero := elem.Apply(a, lang.OpEq, d, []asm.Reg{x, elem.Zero(s.k.a, d)}, false)
		raw := a.Op(c, "mov."+bits, x)
		// Negative numbers turn over, positive ones come above them.
		sign := a.Op(c, "shr.s"+bits[1:], raw, asm.Int(width-1))
		turned := a.Op(c, "xor."+bits, raw, a.Op(c, "or."+bits, sign, top))
		key = a.Op(c, "selp."+bits, top, turned, zero)
		key = a.Op(c, "selp."+bits, asm.Int(-1), key, nan)
	case d.IsSigned():
		key = a.Op(c, "xor."+bits, x, top)
	}
	if s.op.Descending {
		key = a.Op(c, "not."+bits, key)
	}
	return key
}

// length is the words in a row, rows how many rows there are.
func (s *sorting) length() int { return s.words.Extents[0] }

func (s *sorting) rows() int { return s.words.Bytes() / s.words.RowBytes() }

// clear fills the rows with the greatest words.
func (s *sorting) clear() {
	k, a := s.k, s.k.a
	k.writing(s.words.buffer)
	if s.places != nil {
		k.writing(s.places.buffer)
	}
	ones, one := k.greatest(asm.B64), k.greatest(asm.B32)
	base := k.sharedBase()
	k.inPieces(s.rows()*s.length(), func(piece, within asm.Reg) {
		at := a.Op(asm.B32, "mad.lo.u32", piece, asm.Int(8), base)
		a.If(within).Do("st.shared.b64", asm.At(at).Plus(s.words.at), ones)
		if s.places != nil {
			at := a.Op(asm.B32, "mad.lo.u32", piece, asm.Int(4), base)
			a.If(within).Do("st.shared.b32", asm.At(at).Plus(s.places.at), one)
		}
	})
	k.barrier()
}

// network emits the bitonic network: in round `size`, runs of so many words
// are merged, rising and falling by turns, from words `distance` apart to neighbours.
func (s *sorting) network() {
	k, a := s.k, s.k.a
	size, distance := a.Reg(asm.B32), a.Reg(asm.B32)
	a.Set(size, "mov.b32", asm.Int(2))
	round, merge := a.Label(), a.Label()
	a.Place(round)
	a.Set(distance, "shr.u32", size, asm.Int(1))
	a.Place(merge)
	low := a.Op(asm.B32, "sub.u32", distance, asm.Int(1))
	k.inPieces(s.rows()*s.length()/2, func(piece, within asm.Reg) {
		// The pair's first word: a 0 put into the number where the distance has its 1. Rows
		// are powers of two long, so that the number of the pair has the row in front.
		right := a.Op(asm.B32, "and.b32", piece, low)
		left := a.Op(asm.B32, "sub.u32", piece, right)
		first := a.Op(asm.B32, "add.u32", a.Op(asm.B32, "add.u32", left, left), right)
		falls := a.Op(asm.Pred, "setp.ne.u32", a.Op(asm.B32, "and.b32", a.Op(asm.B32, "and.b32", first, asm.Int(s.length()-1)), size), asm.Int(0))
		s.exchange(first, a.Op(asm.B32, "add.u32", first, distance), falls, within)
	})
	k.barrier()
	a.Set(distance, "shr.u32", distance, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.ne.u32", distance, asm.Int(0))).Do("bra.uni", merge)
	a.Set(size, "shl.b32", size, asm.Int(1))
	a.If(a.Op(asm.Pred, "setp.le.u32", size, asm.Int(s.length()))).Do("bra.uni", round)
}

// exchange puts two words in order: the greater one behind, or in front where the run falls.
func (s *sorting) exchange(first, second, falls, within asm.Reg) {
	a, base := s.k.a, s.k.sharedBase()
	load := func(bits int, at asm.Reg, off int) asm.Reg {
		c := asm.B32
		if bits == 64 {
			c = asm.B64
		}
		r := a.Reg(c)
		if within.Valid() { // lanes without a pair compare ones with ones
			a.Set(r, fmt.Sprintf("mov.b%d", bits), asm.Int(-1))
		}
		a.If(within).Set(r, fmt.Sprintf("ld.shared.b%d", bits), asm.At(at).Plus(off))
		return r
	}
	at1, at2 := a.Op(asm.B32, "mad.lo.u32", first, asm.Int(8), base), a.Op(asm.B32, "mad.lo.u32", second, asm.Int(8), base)
	x, y := load(64, at1, s.words.at), load(64, at2, s.words.at)
	greater := a.Op(asm.Pred, "setp.gt.u64", x, y)
	var p, q, pat1, pat2 asm.Reg
	if s.places != nil {
		pat1, pat2 = a.Op(asm.B32, "mad.lo.u32", first, asm.Int(4), base), a.Op(asm.B32, "mad.lo.u32", second, asm.Int(4), base)
		p, q = load(32, pat1, s.places.at), load(32, pat2, s.places.at)
		tie := a.Op(asm.Pred, "and.pred", a.Op(asm.Pred, "setp.eq.u64", x, y), a.Op(asm.Pred, "setp.gt.u32", p, q))
		greater = a.Op(asm.Pred, "or.pred", greater, tie)
	}
	swap := a.Op(asm.Pred, "xor.pred", greater, falls)
	if within.Valid() {
		swap = a.Op(asm.Pred, "and.pred", swap, within)
	}
	a.If(swap).Do("st.shared.b64", asm.At(at1).Plus(s.words.at), y)
	a.If(swap).Do("st.shared.b64", asm.At(at2).Plus(s.words.at), x)
	if s.places != nil {
		a.If(swap).Do("st.shared.b32", asm.At(pat1).Plus(s.places.at), q)
		a.If(swap).Do("st.shared.b32", asm.At(pat2).Plus(s.places.at), p)
	}
}
