package ir

import (
	"slices"

	"tilec/lang"
)

// This file has contractions of two types: of a factor of 16 bits, the first, and one of 8, which is widened, without loss, as it is multiplied. Programs have none;
// the pass `mix` makes them of a cast and a contraction, for machines whose threads widen what they read from shared memory.

// Mixes reports a float of 16 bits that is multiplied with a number of 8 bits as that lies: it has all of its values.
func Mixes(wide, narrow lang.DType) bool {
	return (wide == lang.F16 || wide == lang.BF16) && narrow.Bits() == 8 && narrow != lang.Bool
}

// Mixed reports a contraction of two types.
func (op *Op) Mixed() bool {
	return op.Code.Row().Group == lang.GroupContract && Mixes(op.Args[0].Type.DType, op.Args[1].Type.DType)
}

// Unmix gives a kernel that widens what contractions of two types take before they take it, for machines that multiply no others: f itself where it has none.
func Unmix(f *Func) *Func {
	mixed := false
	f.Walk(func(op *Op) bool {
		mixed = mixed || op.Mixed()
		return !mixed
	})
	if !mixed {
		return f
	}
	f = Clone(f)
	var block func(*Block)
	block = func(old *Block) {
		b := &Builder{Func: f, Block: &Block{}}
		for _, op := range old.Ops {
			for _, inner := range op.Blocks {
				block(inner)
			}
			if op.Mixed() {
				b.At, op.Args = op.At, slices.Clone(op.Args)
				op.Args[1] = b.Cast(op.Args[1], op.Args[0].Type.DType)
			}
			b.Block.Ops = append(b.Block.Ops, op)
		}
		old.Ops = b.Block.Ops
	}
	block(f.Body)
	return f
}
