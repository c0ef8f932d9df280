package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// A sort is a bitonic network in shared memory; see network. What moves is an integer that
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
	for r := range regs {
		key := s.key(d, regs[r])
		place := k.a.Register(k.a.Add(k.threadCoord(l, axis), asm.Int(l.RegCoord(r, axis))))
		exists := k.mask(l, op.Over, r)
		if !wide {
			key = k.a.Whole(asm.B64, place, key)
		}
		p, ok := k.room(s.words, ext, l, r, k.owner(l))
		if !ok {
			continue
		}
		w := item{key: k.selected(exists, key, k.greatest(asm.B64))}
		if wide {
			w.place = k.selected(exists, place, k.greatest(asm.B32))
		}
		s.put(s.byteOf(l, r), w, p)
	}
	k.barrier()
	s.network()

	k.reading(s.words.buffer)
	if wide {
		k.reading(s.places.buffer)
	}
	out := make([]asm.Reg, len(regs))
	for r := range out {
		out[r] = k.a.Op(asm.B32, "mov.b32", asm.Int(0))
		if p, ok := k.room(s.words, ext, l, r, asm.Reg{}); ok {
			at := s.byteOf(l, r)
			if wide {
				k.a.If(p).Set(out[r], "ld.shared.b32", asm.At(s.ofPlace(at)).Plus(s.places.at))
			} else { // the lower half of the word
				k.a.If(p).Set(out[r], "ld.shared.b32", asm.At(k.a.Op(asm.B32, "add.s32", at, k.sharedBase())).Plus(s.words.at))
			}
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
