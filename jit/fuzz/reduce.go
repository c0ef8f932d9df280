package fuzz

import (
	"math"
	"math/bits"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// rounding is the unit roundoff of a type.
func rounding(d lang.DType) float64 { return d.Spacing(1) / 2 }

// growth is how far n roundings in a row may take a number, relative to it (Higham's gamma).
func growth(n, unit float64) float64 {
	if n*unit >= 0.5 {
		return infinity
	}
	return n * unit / (1 - n*unit)
}

// lastBit is the value of the last bit set of a number.
func lastBit(v float64) float64 {
	m := math.Float64bits(v)&(1<<52-1) | 1<<52
	return math.Ldexp(1, max(math.Ilogb(v), -1022)-52+bits.TrailingZeros64(m))
}

func sumFloats(d lang.DType, list []interval) interval { return folded(newAddition(), d, list) }

// product is the product of a list, in any order.
func product(d lang.DType, list []interval) interval { return folded(newMultiplication(), d, list) }

// folding takes numbers one by one, and gives what a fold of them in any order gives.
type folding interface {
	take(x interval)
	result(d lang.DType) interval
}

func folded(f folding, d lang.DType, list []interval) interval {
	for _, x := range list {
		f.take(x)
	}
	return f.result(d)
}

// multiplication multiplies numbers one by one.
type multiplication struct {
	r           interval
	most, least float64 // of what products in some order may come to
	terms       int
	exact       bool
	// nan is a number that is none, behind which nothing changes; nil where there was none.
	nan *interval
}

func newMultiplication() *multiplication {
	return &multiplication{r: point(1), most: 1, least: 1, exact: true}
}

func (p *multiplication) take(x interval) {
	p.terms++
	if p.nan != nil {
		return
	}
	p.r = p.r.mul(x)
	if x.nan == always {
		p.nan = &x
		return
	}
	if m := x.most(); m > 1 {
		p.most *= m
	}
	if m := x.least(); m < 1 && m > 0 {
		p.least *= m
	}
	p.exact = p.exact && x.exact() && (x.lo == 0 || math.Abs(x.lo) == 1)
}

func (p *multiplication) result(d lang.DType) interval {
	acc := accumulator(d)
	switch {
	case p.nan != nil:
		return *p.nan
	case p.exact || p.terms < 2:
		return p.r
	case !(p.most <= acc.Largest()/2) || !(p.least >= acc.Spacing(0)*2/rounding(acc)):
		return unknown // an intermediate product may overflow or lose bits in some order
	}
	return p.r.grow(growth(float64(p.terms), rounding(acc)) * p.r.most())
}

func mean(d lang.DType, list []interval) interval {
	return sumFloats(d, list).div(point(float64(len(list)))).round(accumulator(d))
}

func largestFloat(d lang.DType, list []interval) interval {
	return bestFloat(d, -infinity, maximum, list)
}

func smallestFloat(d lang.DType, list []interval) interval {
	return bestFloat(d, infinity, minimum, list)
}

// bestFloat is the best of a list; of none, an infinity as far as d has it.
func bestFloat(d lang.DType, none float64, better func(a, b interval) interval, list []interval) interval {
	if len(list) == 0 {
		if d.HasInfinity() { // an infinity that is no result of arithmetic does not saturate
			return point(none)
		}
		return point(none).round(d)
	}
	r := list[0]
	for _, x := range list[1:] {
		r = better(r, x)
	}
	return r
}

// floatReductions has one row for each reduction of floats to a float.
var floatReductions = map[lang.Op]func(d lang.DType, list []interval) interval{
	lang.OpSum:       sumFloats,
	lang.OpProd:      product,
	lang.OpMean:      mean,
	lang.OpReduceMax: largestFloat,
	lang.OpReduceMin: smallestFloat,
}

// firstOf is the place of the best of a list, the first of equals; the first NaN wins.
func firstOf(list []interval, better func(a, b interval) verdict) whole {
	best := -1
	for i, x := range list {
		switch {
		case x.nan == perhaps:
			return whole{}
		case x.nan == always:
			return whole{int64(i), noneBefore(list[:i])}
		case best < 0:
			best = i
			continue
		}
		if better(x, list[best]) != no && list[best].nan == never {
			best = i
		}
	}
	if best < 0 {
		return whole{}
	}
	for i, x := range list {
		if i == best {
			continue
		}
		v := better(x, list[best])
		if i < best { // an earlier one must be surely worse, a later one surely not better
			v = better(list[best], x).not()
		}
		if v != no {
			return whole{}
		}
	}
	return whole{int64(best), true}
}

func noneBefore(list []interval) bool {
	for _, x := range list {
		if x.nan != never {
			return false
		}
	}
	return true
}

func greater(a, b interval) verdict { return b.less(a) }
func smaller(a, b interval) verdict { return a.less(b) }

// foldWholes reduces integers or bools.
func foldWholes(op lang.Op, d lang.DType, list []whole) whole {
	step := map[lang.Op]lang.Op{
		lang.OpSum: lang.OpAdd, lang.OpProd: lang.OpMul, lang.OpReduceMax: lang.OpMax, lang.OpReduceMin: lang.OpMin,
		lang.OpAny: lang.OpLogicOr, lang.OpAll: lang.OpLogicAnd,
	}[op]
	lo, hi := eval.Limits(d)
	r := whole{map[lang.Op]int64{lang.OpProd: 1, lang.OpAll: 1, lang.OpReduceMax: lo, lang.OpReduceMin: hi}[op], true}
	for _, x := range list {
		r = wholes(step, d, [3]whole{r, x})
	}
	return r
}

// firstWhole is the place of the largest or smallest integer, the first of equals.
func firstWhole(op lang.Op, d lang.DType, list []whole) whole {
	better := lang.OpGt
	if op == lang.OpArgMin {
		better = lang.OpLt
	}
	best := 0
	for i, x := range list {
		if !x.ok {
			return whole{}
		}
		if eval.Apply(better, d, ir.Const{Int: x.v}, ir.Const{Int: list[best].v}).Int != 0 {
			best = i
		}
	}
	return whole{int64(best), len(list) > 0}
}
