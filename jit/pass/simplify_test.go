package pass

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// corner values of a type: those where an algebraic law that holds for numbers may not.
func corners(d lang.DType) []ir.Const {
	var out []ir.Const
	if d.IsFloat() {
		for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 3, -3.75, 1e-30, 1e30, math.Inf(1), math.Inf(-1), math.NaN()} {
			out = append(out, ir.Const{Float: eval.Round(v, d)})
		}
		return out
	}
	lo, hi := eval.Limits(d)
	for _, n := range []int64{0, 1, -1, 2, -7, 100, lo, hi, hi / 3, 1<<24 + 1} {
		out = append(out, ir.Const{Int: eval.Wrap(n, d)})
	}
	return out
}

// valueOf computes a value whose one open scalar is x.
func valueOf(v *ir.Value, x ir.Const) ir.Const {
	op := v.Def
	switch {
	case op == nil:
		return x
	case op.Code == lang.OpConst:
		return op.Const
	case op.Code == lang.OpCast:
		return eval.Cast(valueOf(op.Args[0], x), op.Args[0].Type.DType, v.Type.DType)
	}
	args := make([]ir.Const, len(op.Args))
	for i, a := range op.Args {
		args[i] = valueOf(a, x)
	}
	return eval.Apply(op.Code, op.Args[len(op.Args)-1].Type.DType, args...)
}

func accepts(op lang.Op, d lang.DType) bool {
	switch op.Row().Rule {
	case lang.RuleNumeric, lang.RuleCompare:
		return d != lang.Bool
	case lang.RuleFloat, lang.RuleTest:
		return d.IsFloat()
	case lang.RuleInt:
		return d.IsInt()
	case lang.RuleBool:
		return d == lang.Bool
	case lang.RuleBits64:
		return d == lang.U64
	}
	return false
}

// Whatever takes the place of an operation gives the same for every value, the
// sign of zero and NaN included: an operation on a value and a constant, on a
// value twice, on its own result, and chains of conversions.
func TestSimplificationsHoldForEveryValue(t *testing.T) {
	tried := 0
	holds := func(d lang.DType, build func(b *ir.Builder, x *ir.Value) *ir.Value) {
		f := &ir.Func{Name: "k", Body: &ir.Block{}}
		x := f.NewValue(ir.Scalar(d), nil)
		f.Scalars = []*ir.Value{x}
		b := &ir.Builder{Func: f, Block: f.Body}
		v := build(b, x)
		for _, simplify := range simplifications {
			if v.Def == nil {
				return // a conversion to its own type
			}
			w := simplify(b, v.Def)
			if w == nil {
				continue
			}
			tried++
			for _, c := range corners(d) {
				want, got := valueOf(v, c), valueOf(w, c)
				same := want.Int == got.Int && (math.Float64bits(want.Float) == math.Float64bits(got.Float) || want.Float != want.Float && got.Float != got.Float)
				if v.Def.Code.Row().Ulp > 0 { // what is computed is itself an approximation
					same = same || math.Abs(want.Float-got.Float) <= 0x1p-51*math.Abs(want.Float)
				}
				if !assert.True(t, same, fmt.Sprintf("%s of %v: %v, want %v", v.Def, c, got, want)) {
					return
				}
			}
		}
	}
	for _, d := range lang.DTypes() {
		for _, op := range lang.Ops() {
			if !op.Row().Elementwise || op == lang.OpCast || op == lang.OpBitcast || !accepts(op, d) {
				continue
			}
			switch len(op.Row().Operands) {
			case 1:
				holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value {
					once := b.Op(op, x)
					if once.Type.DType != d {
						return once
					}
					return b.Op(op, once)
				})
			case 2:
				holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Op(op, x, x) })
				for _, c := range corners(d) {
					holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Op(op, x, b.Const(d, c)) })
					holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Op(op, b.Const(d, c), x) })
				}
			}
		}
		for _, cond := range []int64{0, 1} {
			holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value {
				return b.Op(lang.OpWhere, b.Const(lang.Bool, ir.Const{Int: cond}), x, b.Const(d, ir.Const{Int: 1, Float: 1}))
			})
		}
		for _, via := range lang.DTypes() {
			for _, to := range lang.DTypes() {
				holds(d, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Cast(b.Cast(x, via), to) })
			}
		}
	}
	assert.Greater(t, tried, 1000)
}
