package ir

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file has contractions of two types: of a factor of 16 bits, the first, and one of which the elements are made such as they are multiplied. Programs have none;
// the pass `mix` makes them of elementwise operations and a contraction, for machines whose threads turn what they read from shared memory into what they multiply.
// Numbers of 8 bits are widened, without loss:
//
//	%6 = dot %3, %4 over k : f32{i, j}
//
// All else is by a function of the second factor's elements, and of those of tiles that broadcast to it, behind the word `using`:
//
//	%6 = dot %3, %4 using %5 over k by (%7, %8) : (f32{i, j}) {
//	  %9 = cast %7 : f32
//	  %10 = mul %9, %8 : f32
//	  %11 = cast %10 : bf16
//	  yield %11
//	}
//
// With factors of bf16 the function may also give f32, of which each number is multiplied as the sum of two of bf16: exactly where it is one, as products of two of bf16 are, and off by 2^-17 of it otherwise.

// Mixes reports a float of 16 bits that is multiplied with a number of 8 bits as that lies: it has all of its values.
func Mixes(wide, narrow lang.DType) bool {
	return (wide == lang.F16 || wide == lang.BF16) && narrow.Bits() == 8 && narrow != lang.Bool
}

// Mixed reports a contraction of two types.
func (op *Op) Mixed() bool {
	return op.Code.Row().Group == lang.GroupContract && (op.Fn != nil || Mixes(op.Args[0].Type.DType, op.Args[1].Type.DType))
}

// InParts reports a contraction of which the function gives sums of two numbers of the other factor's type.
func (op *Op) InParts() bool {
	return op.Code.Row().Group == lang.GroupContract && op.Fn != nil && givesParts(op.Fn, op.Args[0].Type.DType)
}

// givesParts reports a function of numbers that are multiplied in two parts of a type.
func givesParts(fn *Block, d lang.DType) bool {
	return d == lang.BF16 && len(fn.Yield) == 1 && fn.Yield[0].Type.Same(Scalar(lang.F32))
}

// Factor gives what a contraction multiplies the first factor with: the second, or what the function or a cast makes of it.
func (b *Builder) Factor(op *Op) *Value {
	switch raw := op.Args[1]; {
	case op.Fn != nil:
		return b.Inline(op.Fn, append([]*Value{raw}, op.Using()...), raw.Type.Axes)[0]
	case op.Mixed():
		return b.Cast(raw, op.Args[0].Type.DType)
	default:
		return raw
	}
}

// Accumulate emits a contraction of the factors of another that adds to acc.
func (b *Builder) Accumulate(op *Op, acc *Value) *Value {
	sum := &Op{Code: lang.OpMma, Args: slices.Concat(op.Args[:2], []*Value{acc}, op.Using()), Over: slices.Clone(op.Over), Precision: op.Precision}
	if op.Fn != nil {
		sum.Fn = b.Func.CopyBlock(op.Fn)
	}
	return b.Emit(sum)[0]
}

// contractConvention is `dot %1, %2 using %3`.
var contractConvention = convention{
	func(b *strings.Builder, op *Op) {
		n := min(len(op.Code.Row().Operands), len(op.Args))
		b.WriteString(" " + uses(op.Args[:n]))
		if using := op.Args[n:]; len(using) > 0 {
			b.WriteString(" using " + uses(using))
		}
	},
	func(p *parser, op *Op) {
		op.Args = p.uses()
		if n := len(op.Code.Row().Operands); len(op.Args) != n {
			p.fail("%d factors of %s, which takes %d", len(op.Args), op.Code, n)
		}
		if p.acceptWord("using") {
			op.Args = append(op.Args, p.uses()...)
		}
	},
}

// inferFactor checks the function of a contraction of two types.
func inferFactor(op *Op, types []Type) error {
	n := len(op.Code.Row().Operands)
	given := append([]Type{types[1]}, types[n:]...)
	if len(op.Fn.Params) != len(given) || len(op.Fn.Yield) != 1 {
		return fmt.Errorf("has a function of %d parameters and %d results for %d values", len(op.Fn.Params), len(op.Fn.Yield), len(given))
	}
	for i, t := range given {
		if !op.Fn.Params[i].Type.Same(Scalar(t.DType)) {
			return fmt.Errorf("parameter %d is %s, its argument %s", i, op.Fn.Params[i].Type, t)
		}
		if extra := Without(t.Axes, types[1].Axes); len(extra) > 0 {
			return fmt.Errorf("takes %s beside %s", t, types[1])
		}
	}
	if y := op.Fn.Yield[0].Type; !y.Same(Scalar(types[0].DType)) && !givesParts(op.Fn, types[0].DType) {
		return fmt.Errorf("multiplies %s by a function that gives %s", types[0], y)
	}
	return nil
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
				b.At = op.At
				factor, parts := b.Factor(op), op.InParts()
				op.Args = slices.Clone(op.Args[:len(op.Code.Row().Operands)])
				op.Args[1], op.Fn = factor, nil
				if parts {
					op.Args[0] = b.Cast(op.Args[0], factor.Type.DType)
				}
			}
			b.Block.Ops = append(b.Block.Ops, op)
		}
		old.Ops = b.Block.Ops
	}
	block(f.Body)
	return f
}
