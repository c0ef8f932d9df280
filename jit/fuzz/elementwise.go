package fuzz

import (
	"math"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// whole is an integer or a bool; ok tells whether it is known.
type whole struct {
	v  int64
	ok bool
}

func (v verdict) whole() whole {
	return whole{int64(v & 1), v != undecided}
}

// floats has one row for each elementwise operation that gives a float: the
// result of correct computations on operands of type d, rounded to d.
var floats = map[lang.Op]func(d lang.DType, x [3]interval) interval{
	lang.OpAdd:      func(d lang.DType, x [3]interval) interval { return x[0].add(x[1]).round(d) },
	lang.OpSub:      func(d lang.DType, x [3]interval) interval { return x[0].add(x[1].neg()).round(d) },
	lang.OpMul:      mul,
	lang.OpDiv:      func(d lang.DType, x [3]interval) interval { return x[0].div(x[1]).round(d) },
	lang.OpFloorDiv: floorDiv,
	lang.OpMod:      mod,
	lang.OpPow:      pow,
	lang.OpNeg:      func(_ lang.DType, x [3]interval) interval { return x[0].neg() },
	lang.OpAbs:      func(_ lang.DType, x [3]interval) interval { return abs(x[0]) },
	lang.OpSign:     monotone(sign),
	lang.OpMin:      func(_ lang.DType, x [3]interval) interval { return minimum(x[0], x[1]) },
	lang.OpMax:      func(_ lang.DType, x [3]interval) interval { return maximum(x[0], x[1]) },
	lang.OpFma:      func(d lang.DType, x [3]interval) interval { return x[0].mul(x[1]).add(x[2]).round(d) },
	lang.OpClamp:    func(_ lang.DType, x [3]interval) interval { return minimum(maximum(x[0], x[1]), x[2]) },

	lang.OpExp:     function(lang.OpExp, math.Exp, all),
	lang.OpExp2:    function(lang.OpExp2, math.Exp2, all),
	lang.OpExpm1:   function(lang.OpExpm1, math.Expm1, all),
	lang.OpLog:     function(lang.OpLog, math.Log, domain{0, infinity}),
	lang.OpLog2:    function(lang.OpLog2, math.Log2, domain{0, infinity}),
	lang.OpLog1p:   function(lang.OpLog1p, math.Log1p, domain{-1, infinity}),
	lang.OpSqrt:    function(lang.OpSqrt, math.Sqrt, domain{0, infinity}),
	lang.OpRsqrt:   rsqrt,
	lang.OpSin:     wave(lang.OpSin, math.Sin),
	lang.OpCos:     wave(lang.OpCos, math.Cos),
	lang.OpTan:     tan,
	lang.OpSinh:    function(lang.OpSinh, math.Sinh, all),
	lang.OpCosh:    cosh,
	lang.OpTanh:    function(lang.OpTanh, math.Tanh, all),
	lang.OpAtan2:   atan2,
	lang.OpErf:     function(lang.OpErf, math.Erf, all),
	lang.OpSigmoid: function(lang.OpSigmoid, func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }, all),
	lang.OpFloor:   monotone(math.Floor),
	lang.OpCeil:    monotone(math.Ceil),
	lang.OpTrunc:   monotone(math.Trunc),
	lang.OpRound:   monotone(math.RoundToEven),
}

// tests has one row for each elementwise operation that gives a bool of floats.
var tests = map[lang.Op]func(x [3]interval) verdict{
	lang.OpIsNaN: func(x [3]interval) verdict { return [...]verdict{never: no, perhaps: undecided, always: yes}[x[0].nan] },
	lang.OpIsInf: isInf,
	lang.OpEq:    comparison(interval.equal, no),
	lang.OpNe:    comparison(func(a, b interval) verdict { return a.equal(b).not() }, yes),
	lang.OpLt:    comparison(interval.less, no),
	lang.OpGt:    comparison(func(a, b interval) verdict { return b.less(a) }, no),
	lang.OpLe:    comparison(func(a, b interval) verdict { return b.less(a).not() }, no),
	lang.OpGe:    comparison(func(a, b interval) verdict { return a.less(b).not() }, no),
}

// comparison decides between numbers as given, and with NaN always the same.
func comparison(numbers func(a, b interval) verdict, withNaN verdict) func(x [3]interval) verdict {
	return func(x [3]interval) verdict {
		nan := max(x[0].nan, x[1].nan)
		if nan == always {
			return withNaN
		}
		v := numbers(x[0], x[1])
		if nan == perhaps && v != withNaN {
			return undecided
		}
		return v
	}
}

// fusable is a product that may be rounded to d, or be part of a fused multiply-add that keeps all of it.
func fusable(d lang.DType, p interval) interval { return p.round(d).union(p) }

func mul(d lang.DType, x [3]interval) interval {
	for i := range 2 {
		if x[i] == point(1) { // nothing may be computed; where something is, an infinity saturates in 8 bits
			return fusable(d, x[1-i])
		}
	}
	return fusable(d, x[0].mul(x[1]))
}

// accumulator is the type in which arithmetic on d is carried out.
func accumulator(d lang.DType) lang.DType { return d.Accumulator() }

// referenceUlps bounds the error of a function of package math, in float64's last places.
const referenceUlps = 4

// settled is the value of a table function: off by the row's ulps in the type of computation, then rounded.
func settled(op lang.Op, d lang.DType, r interval) interval {
	if r.nan == always {
		return r
	}
	ulps := op.Row().Ulp
	if ulps == 0 { // correctly rounded
		return r.widen(1).round(d)
	}
	return r.widen(referenceUlps).off(accumulator(d), ulps).round(d)
}

// evaluate is f(v). In f64 package math errs too much for some functions, on
// which jit/ir/eval has its own; rounded to a narrower type it does not show.
func evaluate(op lang.Op, d lang.DType, f func(float64) float64, v float64) float64 {
	if d == lang.F64 {
		return eval.Apply(op, d, ir.Const{Float: v}).Float
	}
	return f(v)
}

func evaluate2(op lang.Op, d lang.DType, f func(x, y float64) float64, x, y float64) float64 {
	if d == lang.F64 {
		return eval.Apply(op, d, ir.Const{Float: x}, ir.Const{Float: y}).Float
	}
	return f(x, y)
}

type domain struct{ lo, hi float64 }

var all = domain{-infinity, infinity}

// into cuts an operand to a function's domain; what lies outside gives NaN.
func (a interval) into(in domain) interval {
	switch {
	case a.nan == always || a.hi < in.lo || a.lo > in.hi:
		return notANum
	case a.lo < in.lo || a.hi > in.hi:
		a = a.within(in.lo, in.hi)
		a.nan = perhaps
	}
	return a
}

// function is an increasing function with a documented error.
func function(op lang.Op, f func(float64) float64, in domain) func(lang.DType, [3]interval) interval {
	return func(d lang.DType, x [3]interval) interval {
		a := x[0].into(in)
		if a.nan == always {
			return a
		}
		lo, hi := evaluate(op, d, f, a.lo), evaluate(op, d, f, a.hi)
		if op == lang.OpSqrt && a.exact() && lo*lo == a.lo && math.FMA(lo, lo, -a.lo) == 0 {
			return interval{lo, hi, a.nan}.round(d)
		}
		return settled(op, d, interval{lo, hi, a.nan})
	}
}

// monotone is an increasing function whose values every type holds exactly.
func monotone(f func(float64) float64) func(lang.DType, [3]interval) interval {
	return func(_ lang.DType, x [3]interval) interval {
		if x[0].nan == always {
			return x[0]
		}
		return interval{f(x[0].lo), f(x[0].hi), x[0].nan}
	}
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

func abs(a interval) interval {
	if a.nan == always {
		return a
	}
	return interval{a.least(), a.most(), a.nan}
}

func rsqrt(d lang.DType, x [3]interval) interval {
	a := x[0].into(domain{0, infinity})
	switch {
	case a.nan == always:
		return a
	case a.lo == 0: // the sign of the zero is not followed
		return interval{-infinity, infinity, a.nan}
	}
	return settled(lang.OpRsqrt, d, interval{1 / math.Sqrt(a.hi), 1 / math.Sqrt(a.lo), a.nan})
}

func cosh(d lang.DType, x [3]interval) interval {
	a := abs(x[0])
	if a.nan == always {
		return a
	}
	return settled(lang.OpCosh, d, interval{evaluate(lang.OpCosh, d, math.Cosh, a.lo), evaluate(lang.OpCosh, d, math.Cosh, a.hi), a.nan})
}

// wave is sin or cos: no steeper than 1, between -1 and 1.
func wave(op lang.Op, f func(float64) float64) func(lang.DType, [3]interval) interval {
	return func(d lang.DType, x [3]interval) interval {
		a := x[0]
		if a.nan == always || a.lo == infinity || a.hi == -infinity {
			return notANum
		}
		if math.IsInf(a.most(), 0) {
			return unknown
		}
		mid := a.lo/2 + a.hi/2
		if a.exact() {
			mid = a.lo
		}
		r := point(evaluate(op, d, f, mid)).grow(max(a.hi-mid, mid-a.lo)).within(-1, 1)
		r.nan = a.nan
		return settled(op, d, r)
	}
}

func tan(d lang.DType, x [3]interval) interval {
	a := x[0]
	if a.nan == always || a.lo == infinity || a.hi == -infinity {
		return notANum
	}
	if math.IsInf(a.most(), 0) {
		return unknown
	}
	if !a.exact() {
		// Between two poles, well away from either, tan increases.
		branch := func(v float64) float64 { return math.Floor(v/math.Pi + 0.5) }
		edge := 1e-9 * (1 + a.most())
		if a.most() > 1e5 || branch(a.lo-edge) != branch(a.hi+edge) {
			return interval{-infinity, infinity, a.nan}
		}
	}
	return settled(lang.OpTan, d, interval{evaluate(lang.OpTan, d, math.Tan, a.lo), evaluate(lang.OpTan, d, math.Tan, a.hi), a.nan})
}

func atan2(d lang.DType, v [3]interval) interval {
	y, x := v[0], v[1]
	r := interval{}.taint(y, x)
	if r.nan == always {
		return r
	}
	exact := y.exact() && x.exact()
	switch {
	case exact && y.lo != 0:
		return settled(lang.OpAtan2, d, point(evaluate2(lang.OpAtan2, d, math.Atan2, y.lo, x.lo)))
	case math.IsInf(x.most(), 0) || math.IsInf(y.most(), 0), y.has(0) && x.lo <= 0:
		// A zero's sign, which is not followed, chooses between pi and -pi.
		return settled(lang.OpAtan2, d, interval{-math.Pi, math.Pi, r.nan})
	}
	if max(y.most(), x.most()) < 0x1p-500 { // halves and squares of tiny numbers would vanish, and the angle is that of larger ones
		const up = 0x1p540
		y, x = interval{y.lo * up, y.hi * up, y.nan}, interval{x.lo * up, x.hi * up, x.nan}
	}
	// The angle changes by at most the distance over the radius.
	my, mx := y.lo/2+y.hi/2, x.lo/2+x.hi/2
	radius := math.Hypot(y.least(), x.least())
	p := point(evaluate2(lang.OpAtan2, d, math.Atan2, my, mx)).grow(math.Hypot(y.hi-my+y.most()*0x1p-50, x.hi-mx+x.most()*0x1p-50) / radius)
	p.nan = r.nan
	return settled(lang.OpAtan2, d, p)
}

func pow(d lang.DType, v [3]interval) interval {
	x, y := v[0], v[1]
	if x.exact() && y.exact() && x.lo != 0 {
		return settled(lang.OpPow, d, point(evaluate2(lang.OpPow, d, math.Pow, x.lo, y.lo)))
	}
	if x.nan != never || y.nan != never || !(x.lo > 0) || math.IsInf(x.hi, 0) || math.IsInf(y.most(), 0) {
		return unknown // bases of either sign, zeros, and 1 ** NaN
	}
	r := interval{lo: infinity, hi: -infinity}
	for _, a := range [2]float64{x.lo, x.hi} {
		for _, b := range [2]float64{y.lo, y.hi} {
			p := evaluate2(lang.OpPow, d, math.Pow, a, b)
			r.lo, r.hi = min(r.lo, p), max(r.hi, p)
		}
	}
	return settled(lang.OpPow, d, r)
}

// floorDiv rounds the quotient as arithmetic on d is carried out, before or after it is rounded down.
func floorDiv(d lang.DType, x [3]interval) interval {
	q := x[0].div(x[1])
	q = q.union(q.round(accumulator(d)))
	if q.nan == always {
		return q
	}
	return interval{math.Floor(q.lo), math.Floor(q.hi), q.nan}.round(d)
}

func mod(d lang.DType, x [3]interval) interval {
	a, b := x[0], x[1]
	if a.nan == always || b.nan == always {
		return notANum
	}
	if a.exact() && b.exact() {
		return point(math.Mod(a.lo, b.lo))
	}
	r := interval{-infinity, infinity, perhaps}
	if !b.has(0) && !math.IsInf(a.most(), 0) && a.nan == never && b.nan == never {
		r = interval{-b.most(), b.most(), never}.within(-a.most(), a.most())
	}
	return r
}

func isInf(x [3]interval) verdict {
	a := x[0]
	switch {
	case a.nan == always || !math.IsInf(a.lo, 0) && !math.IsInf(a.hi, 0):
		return no
	case a.nan == never && a.lo == a.hi:
		return yes
	}
	return undecided
}

// castFloat converts a float to a float.
func castFloat(a interval, to lang.DType) interval { return a.round(to) }

// truncated is the integer that floats of an interval convert to.
func truncated(a interval, from, to lang.DType) whole {
	at := func(v float64) int64 { return eval.Cast(ir.Const{Float: v}, from, to).Int }
	switch {
	case a.nan == always:
		return whole{at(math.NaN()), true}
	case to == lang.Bool:
		if a.nan == never && a.exact() || !a.has(0) {
			return whole{at(a.lo), true}
		}
		return whole{}
	}
	lo, hi := at(a.lo), at(a.hi)
	if lo != hi || a.nan == perhaps && lo != 0 {
		return whole{}
	}
	return whole{lo, true}
}

// wholes evaluates an elementwise operation on integers or bools.
func wholes(op lang.Op, d lang.DType, x [3]whole) whole {
	n := len(op.Row().Operands)
	var args [3]ir.Const
	for i := range n {
		if !x[i].ok {
			return absorbed(op, x)
		}
		args[i].Int = x[i].v
	}
	return whole{eval.Apply(op, d, args[:n]...).Int, true}
}

// absorbed decides logic of which one operand is enough.
func absorbed(op lang.Op, x [3]whole) whole {
	for _, a := range x[:2] {
		if a.ok && (op == lang.OpLogicAnd && a.v == 0 || op == lang.OpLogicOr && a.v != 0) {
			return a
		}
	}
	return whole{}
}
