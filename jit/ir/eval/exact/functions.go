package exact

import (
	"math"
	"math/big"

	"tilec/lang"
)

// functions are the operations that round, of finite arguments at which their
// value is finite and not 0.
var functions = map[lang.Op]func(a []float64) *big.Float{
	lang.OpDiv:  func(a []float64) *big.Float { return Div(Of(a[0]), Of(a[1])) },
	lang.OpFma:  func(a []float64) *big.Float { return precise(a[0], a[1], a[2]) },
	lang.OpPow:  func(a []float64) *big.Float { return pow(a[0], a[1]) },
	lang.OpExp:  func(a []float64) *big.Float { return Exp(Of(a[0])) },
	lang.OpExp2: func(a []float64) *big.Float { return Exp(Mul(Of(a[0]), Ln2)) },
	lang.OpExpm1: func(a []float64) *big.Float {
		if a[0] < -200 {
			return Of(-1)
		}
		return Expm1(Of(a[0]))
	},
	lang.OpLog:  func(a []float64) *big.Float { return Log(Of(a[0])) },
	lang.OpLog2: func(a []float64) *big.Float { return Div(Log(Of(a[0])), Ln2) },
	lang.OpLog1p: func(a []float64) *big.Float {
		if math.Abs(a[0]) < 0.25 {
			return Log1p(Of(a[0]))
		}
		return Log(Add(Of(1), Of(a[0])))
	},
	lang.OpSqrt:  func(a []float64) *big.Float { return Sqrt(Of(a[0])) },
	lang.OpRsqrt: func(a []float64) *big.Float { return Div(Of(1), Sqrt(Of(a[0]))) },
	lang.OpSin:   func(a []float64) *big.Float { s, _ := SinCos(a[0]); return s },
	lang.OpCos:   func(a []float64) *big.Float { _, c := SinCos(a[0]); return c },
	lang.OpTan:   func(a []float64) *big.Float { s, c := SinCos(a[0]); return Div(s, c) },
	lang.OpSinh: func(a []float64) *big.Float {
		e := Expm1(Of(math.Abs(a[0])))
		y := Scale(Add(e, Div(e, Add(e, Of(1)))), -1)
		if a[0] < 0 {
			y.Neg(y)
		}
		return y
	},
	lang.OpCosh: func(a []float64) *big.Float {
		e := Exp(Of(a[0]))
		return Scale(Add(e, Div(Of(1), e)), -1)
	},
	lang.OpTanh: func(a []float64) *big.Float {
		if math.Abs(a[0]) > 400 {
			return Of(math.Copysign(1, a[0]))
		}
		e := Expm1(Of(2 * a[0]))
		return Div(e, Add(e, Of(2)))
	},
	lang.OpAtan2: func(a []float64) *big.Float { return Atan2(a[0], a[1]) },
	lang.OpErf: func(a []float64) *big.Float {
		if math.Abs(a[0]) > 6.5 { // nearer to 1 than f64 can tell
			return Of(math.Copysign(1, a[0]))
		}
		return Erf(a[0])
	},
	lang.OpSigmoid: func(a []float64) *big.Float {
		if a[0] > 400 {
			return Of(1)
		}
		return Div(Of(1), Add(Of(1), Exp(Of(-a[0]))))
	},
}

// pow is x to the power y; of a negative x, y is whole.
func pow(x, y float64) *big.Float {
	p := Exp(Mul(Of(y), Log(Of(math.Abs(x)))))
	if x < 0 && math.Mod(y, 2) != 0 {
		p.Neg(p)
	}
	return p
}

// precise is a b + c with all the digits that two f64 far apart can have.
func precise(a, b, c float64) *big.Float {
	const bits = 4400
	of := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	p := new(big.Float).SetPrec(bits).Mul(of(a), of(b))
	return p.Add(p, of(c))
}

// Functions lists the operations that Apply knows: those whose results round.
func Functions() []lang.Op {
	var ops []lang.Op
	for _, op := range lang.Ops() {
		if functions[op] != nil {
			ops = append(ops, op)
		}
	}
	return ops
}

// Apply is an operation of Functions at finite arguments at which its value is
// finite and not 0, to about 180 bits.
func Apply(op lang.Op, args ...float64) *big.Float { return functions[op](args) }

// Ulps is the distance of a result from an exact value that is not 0, in units
// in the last place of the exact value in a type of so many bits of fraction,
// whose least positive number is 2 to the power least and whose numbers end
// below 2 to the power most. An infinite result counts as 2 to the power most.
func Ulps(got float64, want *big.Float, fraction, least, most int) float64 {
	if got != got {
		return math.Inf(1)
	}
	w := want
	if e := w.MantExp(nil); e > most { // beyond the type's numbers, the first one that is
		w = Scale(Of(float64(w.Sign())), most)
	}
	g := Of(0)
	if math.IsInf(got, 0) {
		g = Scale(Of(math.Copysign(1, got)), most)
	} else {
		g = Of(got)
	}
	diff := Sub(g, w)
	u, _ := Scale(diff, -max(min(w.MantExp(nil), most)-1-fraction, least)).Float64()
	return math.Abs(u)
}
