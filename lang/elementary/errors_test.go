package elementary_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit/ir/eval/exact"
	"tilec/lang"
	"tilec/lang/elementary"
)

// function is a function of one or two arguments.
type function struct {
	op lang.Op
	of func(x, y float64) float64
	// least and most are the range of arguments at which it is neither 0 nor infinite, ulps what its error is at most.
	least, most, ulps float64
}

func of1(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

// functions is every function of the package.
var functions = []function{
	{lang.OpExp, of1(elementary.Exp), -744, 709.7, 0.8},
	{lang.OpExp2, of1(elementary.Exp2), -1074, 1023.9, 0.8},
	{lang.OpExpm1, of1(elementary.Expm1), -60, 709.7, 0.9},
	{lang.OpLog, of1(elementary.Log), 0, math.MaxFloat64, 0.51},
	{lang.OpLog2, of1(elementary.Log2), 0, math.MaxFloat64, 0.51},
	{lang.OpLog1p, of1(elementary.Log1p), -1, math.MaxFloat64, 0.51},
	{lang.OpSin, of1(elementary.Sin), -math.MaxFloat64, math.MaxFloat64, 0.8},
	{lang.OpCos, of1(elementary.Cos), -math.MaxFloat64, math.MaxFloat64, 0.8},
	{lang.OpTan, of1(elementary.Tan), -math.MaxFloat64, math.MaxFloat64, 1.9},
	{lang.OpSinh, of1(elementary.Sinh), -710, 710, 2},
	{lang.OpCosh, of1(elementary.Cosh), -710, 710, 2},
	{lang.OpTanh, of1(elementary.Tanh), -30, 30, 2},
	{lang.OpErf, of1(elementary.Erf), -6.5, 6.5, 0.75},
	{lang.OpSigmoid, of1(elementary.Sigmoid), -744, 300, 2},
	{lang.OpPow, elementary.Pow, 0, math.MaxFloat64, 0.8},
	{lang.OpAtan2, elementary.Atan2, -math.MaxFloat64, math.MaxFloat64, 1.2},
}

// arguments gives an argument, or two: of every exponent of the range, evenly over it, and beside whole numbers and quarter turns.
func (f function) arguments(r *rand.Rand) (x, y float64) {
	x = f.argument(r)
	switch f.op {
	case lang.OpAtan2:
		y = f.argument(r)
		if r.IntN(2) == 0 {
			y = x * math.Exp2(r.Float64()*20-10)
		}
	case lang.OpPow:
		y = (2*r.Float64() - 1) * 744 / math.Abs(math.Log(x))
		if r.IntN(4) == 0 {
			x, y = r.Float64()*10, float64(r.IntN(41)-20)
		}
	}
	return x, y
}

func (f function) argument(r *rand.Rand) float64 {
	for {
		x := 1.0
		switch r.IntN(4) {
		case 0:
			x = math.Float64frombits(r.Uint64())
		case 1:
			x = f.least + r.Float64()*(min(f.most, 1000)-max(f.least, -1000))
		case 2:
			x = float64(r.IntN(2001)-1000) * (math.Pi / 4)
		case 3:
			x = 1 + math.Ldexp(2*r.Float64()-1, -r.IntN(50))
		}
		if x > f.least && x < f.most && x != 0 && !(f.op == lang.OpPow && x == 1) {
			return x
		}
	}
}

// TestErrors measures every function against values of 180 bits.
func TestErrors(t *testing.T) {
	n := 20000
	if testing.Short() {
		n = 1000
	}
	for _, f := range functions {
		t.Run(f.op.String(), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(f.op)))
			worst, where := 0.0, ""
			for range n {
				x, y := f.arguments(r)
				got := f.of(x, y)
				args := []float64{x, y}[:len(f.op.Row().Operands)]
				if got == 0 || math.IsInf(got, 0) || f.op == lang.OpLog && x == 1 || f.op == lang.OpLog2 && x == 1 {
					continue
				}
				if u := exact.Ulps(got, exact.Apply(f.op, args...), 52, -1074, 1024); u > worst {
					worst, where = u, fmt.Sprintf("%v is %v", args, got)
				}
			}
			t.Logf("%.3f ulp: %s", worst, where)
			assert.LessOrEqual(t, worst, f.ulps, where)
			assert.Greater(t, worst, 0.4, "nothing has been measured")
		})
	}
}

// TestSpecialArguments compares with package math, which has the right values where nothing is rounded.
func TestSpecialArguments(t *testing.T) {
	reference := map[lang.Op]func(x, y float64) float64{
		lang.OpExp: of1(math.Exp), lang.OpExp2: of1(math.Exp2), lang.OpExpm1: of1(math.Expm1), lang.OpLog: of1(math.Log), lang.OpLog2: of1(math.Log2),
		lang.OpLog1p: of1(math.Log1p), lang.OpSin: of1(math.Sin), lang.OpCos: of1(math.Cos), lang.OpTan: of1(math.Tan), lang.OpSinh: of1(math.Sinh),
		lang.OpCosh: of1(math.Cosh), lang.OpTanh: of1(math.Tanh), lang.OpErf: of1(math.Erf), lang.OpPow: math.Pow, lang.OpAtan2: math.Atan2,
		lang.OpSigmoid: of1(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	}
	var special []float64
	for _, x := range []float64{0, 5e-324, 0x1p-1022, 0x1p-600, 0x1p-30, 0.5, 1, 2, 3, 1024, 1<<53 - 1, 1 << 53, 1e18, math.MaxFloat64, math.Inf(1), math.NaN()} {
		special = append(special, x, -x)
	}
	for _, f := range functions {
		for _, x := range special {
			for _, y := range special {
				got, want := f.of(x, y), reference[f.op](x, y)
				switch {
				case want == 0 || math.IsInf(want, 0):
					assert.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s of %v, %v: %v, want %v", f.op, x, y, got, want)
				case want != want:
					assert.True(t, got != got, "%s of %v, %v: %v, want NaN", f.op, x, y, got)
				case math.Abs(x) > 0x1p-1000 && math.Abs(x) < 0x1p20 && math.Abs(y) > 0x1p-1000 && math.Abs(y) < 0x1p20: // elsewhere package math is not exact enough
					assert.InEpsilon(t, want, got, 1e-14, "%s of %v, %v", f.op, x, y)
				}
			}
		}
	}
}

// TestPowersOfTwo is the logarithms and powers that are exact.
func TestPowersOfTwo(t *testing.T) {
	for k := -1074; k < 1024; k++ {
		assert.Equal(t, float64(k), elementary.Log2(math.Ldexp(1, k)))
		assert.Equal(t, math.Ldexp(1, k), elementary.Exp2(float64(k)))
		assert.Equal(t, math.Ldexp(1, k), elementary.Pow(2, float64(k)))
	}
}

func BenchmarkFunctions(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var x, y [1024]float64
	for i := range x {
		x[i], y[i] = r.Float64()*20, r.Float64()*4-2
	}
	for _, f := range []struct {
		name string
		of   func(x, y float64) float64
	}{
		{"Log", of1(elementary.Log)}, {"math.Log", of1(math.Log)}, {"Log2", of1(elementary.Log2)}, {"math.Log2", of1(math.Log2)},
		{"Log1p", of1(elementary.Log1p)}, {"math.Log1p", of1(math.Log1p)}, {"Sin", of1(elementary.Sin)}, {"math.Sin", of1(math.Sin)},
		{"Cos", of1(elementary.Cos)}, {"math.Cos", of1(math.Cos)}, {"Tan", of1(elementary.Tan)}, {"math.Tan", of1(math.Tan)},
		{"Pow", elementary.Pow}, {"math.Pow", math.Pow}, {"Atan2", elementary.Atan2}, {"math.Atan2", math.Atan2},
		{"Exp", of1(elementary.Exp)}, {"math.Exp", of1(math.Exp)},
	} {
		b.Run(f.name, func(b *testing.B) {
			s := 0.0
			for i := 0; b.Loop(); i++ {
				s += f.of(x[i%1024], y[i%1024])
			}
		})
	}
}
