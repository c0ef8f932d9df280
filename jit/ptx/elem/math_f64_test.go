package elem

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"tilec/jit/ir/eval/exact"
	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// samples64 is how many arguments of f64 are tried: the square root of the
// density with which f32 is, as references to 200 bits take their time.
func samples64() int { return int(3000 * math.Sqrt(defaultStride/float64(stride()))) }

// ulps64 is the distance of got from the exact value in units of its last place as f64.
func ulps64(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if got != got {
		return math.Inf(1)
	}
	if math.IsInf(w, 0) || math.IsInf(got, 0) {
		if w == got || math.Abs(w) == math.MaxFloat64 || math.Abs(got) == math.MaxFloat64 {
			return 0
		}
		return math.Inf(1)
	}
	if want.Sign() == 0 {
		if got == 0 {
			return 0
		}
		return math.Inf(1)
	}
	diff := exact.Sub(exact.Of(got), want)
	u, _ := exact.Scale(diff, -max(want.MantExp(nil)-53, -1074)).Float64()
	return math.Abs(u)
}

// reals are f64 from lo to hi, by size and by value, of both signs where lo is negative.
func reals(r *rand.Rand, n int, lo, hi float64) []float64 {
	out := []float64{hi, math.Nextafter(hi, 0)}
	for k := 1.0; k <= 70000 && k*2 < hi; k *= 1.7 { // beside zeros and poles of sine, cosine and tangent
		out = append(out, math.Floor(k)*(math.Pi/2), math.Nextafter(math.Floor(k)*(math.Pi/2), 0))
	}
	if lo < 0 {
		out = append(out, lo)
	}
	for len(out) < n {
		v := math.Float64frombits(r.Uint64())
		switch r.IntN(3) {
		case 0:
			v = lo + (hi-lo)*r.Float64()
		case 1:
			v = math.Copysign(math.Ldexp(1+r.Float64(), r.IntN(60)-40), v)
		}
		if v >= lo && v <= hi && v != 0 {
			out = append(out, v)
		}
	}
	return out
}

// functions64 are measured on [lo, hi]; bound is what they promise.
var functions64 = []struct {
	op     lang.Op
	lo, hi float64
	bound  float64
}{
	{lang.OpExp, -744, 709.7, 1.5},
	{lang.OpExp2, -1073, 1023.9, 1.5},
	{lang.OpExpm1, -60, 709.7, 2.5},
	{lang.OpLog, 0x1p-1074, math.MaxFloat64, 1.5},
	{lang.OpLog2, 0x1p-1074, math.MaxFloat64, 2},
	{lang.OpLog1p, -0.9999999, math.MaxFloat64, 2},
	{lang.OpSqrt, 0, math.MaxFloat64, 0.5},
	{lang.OpRsqrt, 0, math.MaxFloat64, 2},
	{lang.OpSin, -math.MaxFloat64, math.MaxFloat64, 2},
	{lang.OpCos, -math.MaxFloat64, math.MaxFloat64, 2},
	{lang.OpTan, -math.MaxFloat64, math.MaxFloat64, 4},
	{lang.OpSinh, -710.4, 710.4, 4},
	{lang.OpCosh, -710.4, 710.4, 3},
	{lang.OpTanh, -30, 30, 4},
	{lang.OpErf, -6.5, 6.5, 2},
	{lang.OpSigmoid, -740, 40, 3},
}

func TestMath64(t *testing.T) {
	for _, f := range functions64 {
		t.Run(f.op.String(), func(t *testing.T) {
			t.Parallel()
			p := assemble(t, 80, []asm.Class{asm.F64}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, f.op, lang.F64, in, false) })
			worst, at := -1.0, 0.0
			for _, x := range reals(rand.New(rand.NewPCG(3, uint64(f.op))), samples64(), f.lo, f.hi) {
				got := db(p.run(math.Float64bits(x)))
				if u := ulps64(got, exact.Apply(f.op, x)); u > worst {
					worst, at = u, x
				}
			}
			report := fmt.Sprintf("%s: %.3f ulp at %v, %d instructions", f.op, worst, at, len(p.code))
			t.Log(report)
			if worst > f.bound {
				got := db(p.run(math.Float64bits(at)))
				t.Errorf("%s, bound %v: got %v, want %v", report, f.bound, got, exact.Apply(f.op, at))
			}
		})
	}
}

// Infinities, NaN, zeros and the ends of the domains in both precisions.
func TestMathSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	negZero := math.Copysign(0, -1)
	for _, f := range functions32 {
		for _, d := range []lang.DType{lang.F32, lang.F64} {
			p := assemble(t, 80, []asm.Class{ClassOf(d)}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, f.op, d, in, false) })
			for _, x := range []float64{0, negZero, inf, -inf, nan, -1, 1, -2, 1e30, -1e30, 1e-40, 5e-324} {
				if d == lang.F32 {
					x = float64(float32(x))
				}
				got, want := floatFrom(d, p.run(floatSlot(d, x))), f.want(x)
				if d == lang.F32 {
					want = float64(float32(want))
				}
				if close := math.Abs(got-want) <= 1e-6*math.Abs(want); !sameFloat(got, want) && !(close && want != 0) {
					if x == 0 && got == 0 && want == 0 { // the sign of zero may differ from the argument's
						continue
					}
					t.Errorf("%s of %s %v: got %v, want %v", f.op, d, x, got, want)
				}
			}
		}
	}
}

func binaryFunc(t testing.TB, op lang.Op, d lang.DType) func(x, y float64) float64 {
	p := assemble(t, 80, []asm.Class{ClassOf(d), ClassOf(d)}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, op, d, in, false) })
	return func(x, y float64) float64 { return floatFrom(d, p.run(floatSlot(d, x), floatSlot(d, y))) }
}

// Special operands of pow, atan2 and mod as C and Go define them.
func TestMathSpecial2(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	vs := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 1e10, 16777217, 1e30, 1e-30, inf}
	for _, d := range []lang.DType{lang.F32, lang.F64} {
		for op, want := range map[lang.Op]func(a, b float64) float64{
			lang.OpPow: math.Pow, lang.OpAtan2: math.Atan2, lang.OpMod: math.Mod,
		} {
			f := binaryFunc(t, op, d)
			for _, a := range vs {
				for _, b := range append(vs, nan) {
					for s := range 4 {
						x, y := a, b
						if s&1 != 0 {
							x = -x
						}
						if s&2 != 0 {
							y = -y
						}
						if s == 0 && a == inf {
							x = nan
						}
						if d == lang.F32 {
							x, y = float64(float32(x)), float64(float32(y))
						}
						got, w := f(x, y), want(x, y)
						if d == lang.F32 {
							w = float64(float32(w))
						}
						if op == lang.OpMod && !sameFloat(got, w) || !sameFloat(got, w) && !(math.Abs(got-w) <= 1e-6*math.Abs(w) && w != 0) {
							t.Errorf("%s of %s %v, %v: got %v, want %v", op, d, x, y, got, w)
						}
					}
				}
			}
		}
	}
}

// The functions of two operands meet their bounds; pow's error in f64 is largest where its result is.
func TestMathOfTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	n := samples64()
	random := func(d lang.DType) float64 {
		v := math.Copysign(math.Ldexp(1+r.Float64(), r.IntN(40)-20), r.Float64()-0.5)
		if r.IntN(4) == 0 {
			v = math.Float64frombits(r.Uint64())
		}
		if d == lang.F32 {
			if math.Abs(v) > math.MaxFloat32 || v != v || float32(v) == 0 {
				return 1.5
			}
			return float64(float32(v))
		}
		if v-v != 0 || v == 0 {
			return 1.5
		}
		return v
	}
	for _, d := range []lang.DType{lang.F32, lang.F64} {
		measure := func(op lang.Op, bound float64, pick func() (x, y float64), want func(x, y float64) *big.Float) {
			f := binaryFunc(t, op, d)
			worst, wx, wy := -1.0, 0.0, 0.0
			for range n {
				x, y := pick()
				w := want(x, y)
				got, u := f(x, y), 0.0
				if d == lang.F64 {
					u = ulps64(got, w)
				} else {
					w64, _ := w.Float64()
					u = ulps32(float32(got), w64)
				}
				if u > worst {
					worst, wx, wy = u, x, y
				}
			}
			t.Logf("%s of %s: %.3f ulp at %v, %v", op, d, worst, wx, wy)
			if worst > bound {
				t.Errorf("%s of %s is %v ulp off at %v, %v: got %v, want %v", op, d, worst, wx, wy, f(wx, wy), want(wx, wy))
			}
		}
		bound := map[lang.DType]float64{lang.F32: 4, lang.F64: 2}[d]
		measure(lang.OpAtan2, bound, func() (float64, float64) { return random(d), random(d) }, exact.Atan2)
		limit := map[lang.DType]float64{lang.F32: 88, lang.F64: 700}[d]
		bound = map[lang.DType]float64{lang.F32: 1.1, lang.F64: 2}[d]
		measure(lang.OpPow, bound, func() (float64, float64) {
			x := math.Abs(random(d))
			for x == 1 || x == 0 {
				x = math.Abs(random(d))
			}
			y := (2*r.Float64() - 1) * limit / math.Log(x)
			if math.Abs(y) > 1e300 {
				y = 3
			}
			if d == lang.F32 {
				y = float64(float32(y))
			}
			return x, y
		}, func(x, y float64) *big.Float { return exact.Exp(exact.Mul(exact.Of(y), exact.Log(exact.Of(x)))) })
	}
}

// The remainder is exact, however far apart its operands are.
func TestMod(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, d := range []lang.DType{lang.F32, lang.F64} {
		f := binaryFunc(t, lang.OpMod, d)
		for range 20000 {
			x, y := math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())
			if r.IntN(2) == 0 {
				y = x * math.Ldexp(r.Float64(), -r.IntN(70))
			}
			if d == lang.F32 {
				x, y = float64(math.Float32frombits(r.Uint32())), float64(math.Float32frombits(r.Uint32()))
			}
			if got, want := f(x, y), math.Mod(x, y); !sameFloat(got, want) {
				t.Fatalf("%v %% %v: got %v, want %v", x, y, got, want)
			}
		}
	}
}
