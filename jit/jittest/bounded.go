package jittest

import (
	"math"

	"tilec/lang"
)

// Bounded is a number known in float64 together with how far a kernel's result
// may be from it: every correct computation gives a number within E of V. A
// kernel's reference, written with Bounded's operations, carries the tolerance
// of its result along ("running error analysis", Higham 2002, 3.3): each
// operation adds to what its operands' errors become the rounding that f32
// arithmetic may add. FMA contraction only saves roundings.
type Bounded struct{ V, E float64 }

const (
	// unit is f32's unit roundoff: a result that is rounded to nearest is off by at most unit times itself.
	unit = 1.0 / (1 << 24)
	// tiny is half the spacing of f32's subnormal numbers, the rounding error where unit is too optimistic.
	tiny = 0x1p-150
	// flushed is below what functions may take for 0 where their results are rounded to f16 or bf16 (Numbers in docs/language.md).
	flushed = 0x1p-124
)

// Exact is a number that the kernel has exactly: an input, a whole constant.
func Exact(v float64) Bounded { return Bounded{V: v} }

// Constant is a number that the kernel has rounded to f32.
func Constant(v float64) Bounded { return Bounded{v, unit * math.Abs(v)} }

// most is the largest magnitude that the computed number may have.
func (a Bounded) most() float64 { return math.Abs(a.V) + a.E }

// least is the smallest magnitude that the computed number may have.
func (a Bounded) least() float64 { return max(0, math.Abs(a.V)-a.E) }

// rounded adds the rounding of the operation that gave a. The table of
// operations says how many units in the last place it may be off; 0 is half of
// one. A unit in the last place of x is at most 2 unit |x|.
func (a Bounded) rounded(op lang.Op) Bounded {
	ulps := max(0.5, op.Row().Ulp)
	a.E += 2 * ulps * (unit*a.most() + tiny)
	if op.Row().Coarse > 0 {
		a.E += flushed
	}
	return a
}

// Add is a + b.
func (a Bounded) Add(b Bounded) Bounded {
	return Bounded{a.V + b.V, a.E + b.E}.rounded(lang.OpAdd)
}

// Sub is a - b.
func (a Bounded) Sub(b Bounded) Bounded {
	return Bounded{a.V - b.V, a.E + b.E}.rounded(lang.OpSub)
}

// Mul is a * b.
func (a Bounded) Mul(b Bounded) Bounded {
	return Bounded{a.V * b.V, math.Abs(a.V)*b.E + math.Abs(b.V)*a.E + a.E*b.E}.rounded(lang.OpMul)
}

// Div is a / b. A divisor that may be 0 makes the error infinite.
func (a Bounded) Div(b Bounded) Bounded {
	q := a.V / b.V
	// |a'/b' - a/b| = |(a'-a) - q (b'-b)| / |b'|
	return Bounded{q, (a.E + math.Abs(q)*b.E) / b.least()}.rounded(lang.OpDiv)
}

// Exp is e to the power a: between a-E and a+E it changes by at most the factor e to the power E.
func (a Bounded) Exp() Bounded {
	v := math.Exp(a.V)
	return Bounded{v, v * math.Expm1(a.E)}.rounded(lang.OpExp)
}

// Tanh is steepest where its argument is nearest to 0.
func (a Bounded) Tanh() Bounded {
	slope := 1 / math.Cosh(a.least())
	return Bounded{math.Tanh(a.V), slope * slope * a.E}.rounded(lang.OpTanh)
}

// Sigmoid is steepest where its argument is nearest to 0.
func (a Bounded) Sigmoid() Bounded {
	s := 1 / (1 + math.Exp(a.least()))
	return Bounded{1 / (1 + math.Exp(-a.V)), s * (1 - s) * a.E}.rounded(lang.OpSigmoid)
}

// Rsqrt is 1 / sqrt(a) of a number that is known to be at least floor, above 0.
// It falls, ever less: the largest change is toward 0.
func (a Bounded) Rsqrt(floor float64) Bounded {
	v := 1 / math.Sqrt(a.V)
	return Bounded{v, 1/math.Sqrt(max(a.V-a.E, floor)) - v}.rounded(lang.OpRsqrt)
}

// growth is how far n roundings in a row may take a number, relative to it:
// (1+unit)^n - 1 <= n unit / (1 - n unit), Higham's gamma.
func growth(n, unit float64) float64 { return n * unit / (1 - n*unit) }

// Sum is the sum of a list in any order: whatever the order, a number goes
// through at most as many additions as there are numbers.
func Sum(list []Bounded) Bounded {
	var sum Bounded
	size := 0.0
	for _, x := range list {
		sum.V += x.V
		sum.E += x.E
		size += x.most()
	}
	sum.E += growth(float64(len(list)), unit) * size
	return sum
}

// As is the conversion of an f32 number to a type: to f32 it is none. What is rounded to f16 or bf16 may have been computed with as few
// digits as that shows (Numbers in docs/language.md).
func (a Bounded) As(d lang.DType) Bounded {
	if d == lang.F16 || d == lang.BF16 {
		a.E += math.Ldexp(a.most(), -d.Precision()-6)
	}
	if d.Bits() < 32 { // half of the distance between its numbers, also below the least normal one
		a.E += math.Ldexp(a.most(), -d.Precision()) + d.Spacing(0)/2
	}
	return a
}

// Log is the natural logarithm of a number above 0, steepest where its argument is least.
func (a Bounded) Log() Bounded {
	v := math.Log(a.V)
	return Bounded{v, v - math.Log(a.V-a.E)}.rounded(lang.OpLog)
}
