package fuzz

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// Every elementwise operation of the table has a row in the reference for each class that its rule takes.
func TestEveryOperationHasAReference(t *testing.T) {
	for _, op := range lang.Ops() {
		row := op.Row()
		switch {
		case row.Elementwise && (row.Rule == lang.RuleNumeric || row.Rule == lang.RuleFloat):
			assert.Contains(t, floats, op, op.String())
		case row.Elementwise && (row.Rule == lang.RuleCompare || row.Rule == lang.RuleTest):
			assert.Contains(t, tests, op, op.String())
		case row.Group == lang.GroupReduce && row.Rule != lang.RuleBool && row.Rule != lang.RuleArg:
			assert.Contains(t, floatReductions, op, op.String())
		case row.Elementwise || row.Group == lang.GroupReduce || row.Group == lang.GroupContract || row.Derived || op == lang.OpJoin: // of a plan, not of a program
		default:
			assert.Contains(t, specials, op, op.String())
		}
	}
}

// What jit/ir/eval gives, the reference accepts: for every operation on floats, on special values and others.
func TestReferenceHoldsEval(t *testing.T) {
	r := random(1, "operands")
	for op, f := range floats {
		for _, d := range []lang.DType{lang.F16, lang.BF16, lang.F32, lang.F64, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2} {
			for range 400 {
				var args [3]ir.Const
				var x [3]interval
				n := len(op.Row().Operands)
				for i := range n {
					args[i] = pick(r, styles...).element(d, r)
					x[i] = point(args[i].Float)
				}
				want := eval.Apply(op, d, args[:n]...).Float
				got := f(d, x)
				if op != lang.OpPow {
					got = got.taint(x[:n]...)
				}
				got = got.inType(d)
				if !assert.True(t, got.accepts(want), "%s of %s %v is %v, the reference has %s", op, d, args[:n], want, got) {
					return
				}
			}
		}
	}
}

// A product with 1 may be left out or computed: of f8e5m2 that differs for an infinity, which results of operations saturate.
func TestProductWithOne(t *testing.T) {
	got := mul(lang.F8E5M2, [3]interval{point(math.Inf(-1)), point(1)})
	assert.True(t, got.accepts(math.Inf(-1)))
	assert.True(t, got.accepts(-57344))
	assert.False(t, got.accepts(-40960))
	assert.Equal(t, point(0.1), mul(lang.F64, [3]interval{point(1), point(0.1)}), "what rounds to itself stays a point")
}

// An interval of operands gives an interval that holds the result of every number in it.
func TestIntervalsHoldWhatIsInThem(t *testing.T) {
	r := random(2, "operands")
	for op, f := range floats {
		for range 2000 {
			var inside [3]ir.Const
			var x [3]interval
			n := len(op.Row().Operands)
			for i := range n {
				a, b := eval.Round(3*r.NormFloat64(), lang.F32), eval.Round(3*r.NormFloat64(), lang.F32)
				if r.IntN(2) == 0 {
					b = eval.Round(a+a*1e-6, lang.F32)
				}
				x[i] = interval{min(a, b), max(a, b), never}
				inside[i].Float = eval.Round(x[i].lo+r.Float64()*(x[i].hi-x[i].lo), lang.F32)
				inside[i].Float = min(max(inside[i].Float, x[i].lo), x[i].hi)
			}
			want := eval.Apply(op, lang.F32, inside[:n]...).Float
			got := f(lang.F32, x)
			if !assert.True(t, got.accepts(want), "%s of %v is %v, the reference has %s for %v", op, inside[:n], want, got, x[:n]) {
				return
			}
		}
	}
}

func TestSumsHoldInAnyOrder(t *testing.T) {
	r := random(3, "sums")
	for range 200 {
		list := make([]interval, 1+r.IntN(300))
		for i := range list {
			list[i] = point(eval.Round(r.NormFloat64()*math.Exp(4*r.NormFloat64()), lang.F32))
		}
		want, products := sumFloats(lang.F32, list), product(lang.F32, list)
		for range 20 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			sum, prod := float32(0), float32(1)
			for _, x := range list {
				sum, prod = sum+float32(x.lo), prod*float32(x.lo)
			}
			if !assert.True(t, want.accepts(float64(sum))) || !assert.True(t, products.accepts(float64(prod))) {
				return
			}
		}
	}
}

// What a loop adds up in steps may be added up in any order, its first value among the others.
func TestSumsOfSumsHoldInAnyOrder(t *testing.T) {
	r := random(5, "sums")
	for range 300 {
		list := make([]float64, 2+r.IntN(100))
		for i := range list {
			if list[i] = eval.Round(r.NormFloat64()*math.Exp(4*r.NormFloat64()), lang.F32); r.IntN(3) == 0 {
				list[i] = float64(r.IntN(9)-4) * 0x1p20 // what is left of these is exact, and small
			}
		}
		total := sumOf(points(list[:1]))
		for at := 1; at < len(list); {
			end := min(len(list), at+1+r.IntN(5))
			total = sumOf(points(list[at:end])).plus(total)
			at = end
		}
		n := float64(len(list))
		want := total.rounded(lang.F32, n*0x1p-24, n)
		for range 20 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			sum := float32(0)
			for _, x := range list {
				sum += float32(x)
			}
			if !assert.True(t, want.accepts(float64(sum)), "%v: %v, want %s", list, sum, want) {
				return
			}
		}
	}
	assert.Equal(t, point(3), sumOf(points([]float64{1, 2})).plus(sumOf(points([]float64{0x1p22, -0x1p22}))).rounded(lang.F32, 4*0x1p-24, 4))
	assert.False(t, sumOf(points([]float64{0x1p-3, 2})).plus(sumOf(points([]float64{0x1p24, -0x1p24}))).rounded(lang.F32, 4*0x1p-24, 4).exact())
}

func TestExactSumsArePoints(t *testing.T) {
	list := []interval{point(1.25), point(-3), point(0.5), point(1000)}
	assert.Equal(t, point(998.75), sumFloats(lang.F32, list))
	assert.False(t, sumFloats(lang.F32, []interval{point(1e8), point(0.1), point(-1e8)}).exact())
	assert.True(t, sumFloats(lang.F32, []interval{point(infinity), point(-infinity)}).nan == always)
	assert.True(t, sumFloats(lang.F32, []interval{point(3e38), point(3e38)}).isUnknown())
}

func TestFirstOf(t *testing.T) {
	nan := point(math.NaN())
	about := func(v float64) interval { return interval{v - 1, v + 1, never} }
	for _, c := range []struct {
		list []interval
		want whole
	}{
		{[]interval{point(1), point(3), point(3), point(2)}, whole{1, true}},
		{[]interval{point(1), nan, point(3), nan}, whole{1, true}},
		{[]interval{about(1), about(9), about(4)}, whole{1, true}},
		{[]interval{about(1), about(9), about(10)}, whole{}},
		{[]interval{about(10), about(9)}, whole{}},
		{nil, whole{}},
	} {
		assert.Equal(t, c.want, firstOf(c.list, greater), "%v", c.list)
	}
}

// An infinite quotient may be one of the largest numbers in its coarse form, and no NaN.
func TestCoarseOfInfinity(t *testing.T) {
	x := point(math.Inf(1)).coarse(20)
	assert.True(t, x.hi == math.Inf(1) && x.lo > 0.99*lang.F32.Largest() && x.nan == never, "%v", x)
	y := point(math.Inf(-1)).coarse(20)
	assert.True(t, y.lo == math.Inf(-1) && y.hi < -0.99*lang.F32.Largest() && y.nan == never, "%v", y)
}
