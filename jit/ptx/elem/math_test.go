package elem

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

const defaultStride = 21001

// stride is the distance of the f32 bit patterns that the error bounds are measured on:
// MATH_STRIDE=1 takes every one (minutes a function).
func stride() uint32 {
	if n, err := strconv.Atoi(os.Getenv("MATH_STRIDE")); err == nil && n > 0 {
		return uint32(n)
	}
	return defaultStride
}

// edges are f32 patterns where functions tend to go wrong, beside their neighbours.
func edges() []uint32 {
	var out []uint32
	for _, v := range []float64{
		0, 0x1p-149, 0x1p-140, 0x1p-126, 0x1p-64, 0x1p-27, 0x1p-26, 0x1p-25, 0x1p-24, 0x1p-12, 0.1, 0.34657359, 0.5, 0.55,
		0.69314718, math.Sqrt2 / 2, 0.9, 0.92, 1, math.Sqrt2, math.Pi / 4, math.Pi / 2, 2, math.Pi, 3 * math.Pi / 4, 4, 10, 17.3, 22, 87.336544, 88.029691,
		88.722839, 89.415985, 103.27893, 103.97208, 104, 126, 127, 127.5, 128, 149, 150, 151, 1000, 99999, 100000, 1e5 + 1, 105615, 0x1p22, 0x1p23,
		0x1p24, 0x1p31, 0x1p32, 1e10, 0x1p63, 0x1p64, 1e20, 1e30, 0x1p126, 0x1p127, math.MaxFloat32, math.Inf(1),
	} {
		b := math.Float32bits(float32(v))
		for _, d := range []uint32{^uint32(1), ^uint32(0), 0, 1, 2} {
			out = append(out, b+d, (b+d)^1<<31)
		}
	}
	return append(out, 0x7fc00000, 0x7f800001, 0xffc00000)
}

// samples32 calls f for edges and a dense sample of all f32.
func samples32(f func(x float32)) {
	for _, b := range edges() {
		f(math.Float32frombits(b))
	}
	for n := 1; n < 70000; n++ { // beside zeros and poles of sine, cosine and tangent
		x := float32(float64(n) * math.Pi / 2)
		f(x)
		f(math.Nextafter32(x, 0))
		f(-math.Nextafter32(x, 1e9))
	}
	s := stride()
	for b := uint32(0); ; b += s {
		f(math.Float32frombits(b))
		if b > math.MaxUint32-s {
			return
		}
	}
}

// ulps32 is the distance of got from the exact value, in units of its last place as f32.
func ulps32(got float32, want float64) float64 {
	if want != want || got != got {
		if want != want && got != got {
			return 0
		}
		return math.Inf(1)
	}
	if r := float32(want); math.IsInf(float64(r), 0) || math.IsInf(float64(got), 0) {
		if r == got {
			return 0
		}
		// The largest finite number stands for 2^128 within an ulp.
		if math.Abs(want) < 0x1p129 && math.Signbit(want) == math.Signbit(float64(got)) {
			big := math.Min(math.Abs(float64(got)), 0x1p128)
			return math.Abs(big-math.Min(math.Abs(want), 0x1p128)) / 0x1p104
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// functions32 are the functions of one operand, against float64, whose error here is nothing.
var functions32 = []struct {
	op   lang.Op
	want func(float64) float64
}{
	{lang.OpExp, math.Exp}, {lang.OpExp2, math.Exp2}, {lang.OpExpm1, math.Expm1},
	{lang.OpLog, logReference}, {lang.OpLog2, log2Reference}, {lang.OpLog1p, math.Log1p},
	{lang.OpSqrt, math.Sqrt}, {lang.OpRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
	{lang.OpSin, math.Sin}, {lang.OpCos, math.Cos}, {lang.OpTan, math.Tan},
	{lang.OpSinh, math.Sinh}, {lang.OpCosh, math.Cosh}, {lang.OpTanh, math.Tanh},
	{lang.OpErf, math.Erf}, {lang.OpSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
}

// logReference is right for subnormal f64 too, where math.Log is not on every machine.
func logReference(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// log2Reference is accurate near 1, where math.Log2 cancels.
func log2Reference(x float64) float64 {
	if x > 0.5 && x < 2 {
		return math.Log1p(x-1) * math.Log2E
	}
	return math.Log2(x)
}

func unary32(t testing.TB, op lang.Op, d lang.DType) *program {
	return assemble(t, 80, []asm.Class{asm.F32}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, op, d, in, false) })
}

// Every function meets the bound of its row over all of f32: subnormals,
// infinities, NaN and huge arguments included.
func TestMath32(t *testing.T) {
	for _, f := range functions32 {
		t.Run(f.op.String(), func(t *testing.T) {
			t.Parallel()
			p := unary32(t, f.op, lang.F32)
			worst, at := -1.0, float32(0)
			samples32(func(x float32) {
				got := fl(p.run(uint64(math.Float32bits(x))))
				if u := ulps32(got, f.want(float64(x))); u > worst {
					worst, at = u, x
				}
			})
			bound := f.op.Row().Ulp
			if bound == 0 {
				bound = 0.5
			}
			report := fmt.Sprintf("%s: %.3f ulp at %v (%#08x), %d instructions", f.op, worst, at, math.Float32bits(at), len(p.code))
			t.Log(report)
			if worst > bound {
				got := fl(p.run(uint64(math.Float32bits(at))))
				t.Errorf("%s, bound %v: got %v, want %v", report, bound, got, f.want(float64(at)))
			}
		})
	}
}

// With @approx the fast forms are close, where they are meant to be used.
func TestApproximate(t *testing.T) {
	for _, f := range functions32 {
		p := assemble(t, 80, []asm.Class{asm.F32}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Apply(a, f.op, lang.F32, in, true) })
		for _, x := range []float32{0.01, 0.3, 0.7, 1.3, 2, 3.1, 9.5, -0.2, -2.6, -8} {
			want := f.want(float64(x))
			if got := float64(fl(p.run(uint64(math.Float32bits(x))))); want == want && math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
				t.Errorf("%s(%v): got %v, want %v", f.op, x, got, want)
			}
		}
	}
}
