package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"tilec/jit/emu/number"
)

// An approximation is an instruction whose error the ISA bounds, not its result.
type approximation struct {
	op      string
	f       func(a float64) float64
	from    func(u float64) float64 // operands, from u in [0, 1)
	bound   func(x, y float64) float64
	special []float32
}

func exponential(low, high float64) func(u float64) float64 {
	return func(u float64) float64 { return math.Exp2(low + u*(high-low)) }
}

func linear(low, high float64) func(u float64) float64 {
	return func(u float64) float64 { return low + u*(high-low) }
}

// relative, absolute and ulps are bounds on the error of a result y for an operand x.
func relative(e float64) func(x, y float64) float64 {
	return func(_, y float64) float64 { return e * math.Abs(y) }
}

func absolute(e float64) func(x, y float64) float64 {
	return func(float64, float64) float64 { return e }
}

func ulps(n float64) func(x, y float64) float64 {
	return func(_, y float64) float64 {
		_, exp := math.Frexp(y)
		return n * math.Ldexp(1, max(exp, -125)-24)
	}
}

var oddFloats = []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// approximations are the functions of f32 with the bounds in the ISA's notes on each.
var approximations = []approximation{
	{"rcp.approx.f32", func(a float64) float64 { return 1 / a }, exponential(-125, 125), ulps(1.5), oddFloats},
	{"rcp.approx.ftz.f32", func(a float64) float64 { return 1 / a }, exponential(-125, 125), ulps(1.5), oddFloats},
	{"sqrt.approx.f32", math.Sqrt, exponential(-126, 127), relative(0x1p-23), oddFloats},
	{"rsqrt.approx.f32", func(a float64) float64 { return 1 / math.Sqrt(a) }, exponential(-126, 127), relative(math.Exp2(-22.9)), oddFloats},
	{"sin.approx.f32", math.Sin, linear(-2*math.Pi, 2*math.Pi), absolute(math.Exp2(-20.5)), oddFloats},
	{"cos.approx.f32", math.Cos, linear(-2*math.Pi, 2*math.Pi), absolute(math.Exp2(-20.5)), oddFloats},
	{"sin.approx.f32", math.Sin, linear(-100*math.Pi, 100*math.Pi), absolute(math.Exp2(-14.7)), nil},
	{"cos.approx.f32", math.Cos, linear(-100*math.Pi, 100*math.Pi), absolute(math.Exp2(-14.7)), nil},
	{"lg2.approx.f32", math.Log2, linear(0.501, 1.999), absolute(0x1p-22), oddFloats},
	{"lg2.approx.f32", math.Log2, exponential(1, 127), relative(0x1p-22), nil},
	{"lg2.approx.f32", math.Log2, exponential(-126, -1), relative(0x1p-22), nil},
	{"ex2.approx.f32", math.Exp2, linear(-125, 127), ulps(2.5), oddFloats},
	{"ex2.approx.ftz.f32", math.Exp2, linear(-1, 1), ulps(2.5), oddFloats},
	{"tanh.approx.f32", math.Tanh, linear(-10, 10), relative(0x1p-11), oddFloats},
}

// Approximate functions keep within the documented error of the function, in the
// emulator and on the device; zeros, infinities and NaN have the results of the tables.
func TestApproximations(t *testing.T) {
	const n = 128
	for i, c := range approximations {
		t.Run(fmt.Sprintf("%d_%s", i, c.op), func(t *testing.T) {
			var in []byte
			operands := append([]float32{}, c.special...)
			for j := len(operands); j < n; j++ {
				operands = append(operands, float32(c.from((float64(j)+math.Mod(float64(j)*0.61803398875, 1))/(n+1))))
			}
			for _, v := range operands {
				in = binary.LittleEndian.AppendUint32(in, math.Float32bits(v))
			}
			check := func(out []byte) error {
				for j, v := range operands {
					y, have := c.f(float64(v)), float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*j:])))
					if want := float64(float32(y)); j < len(c.special) || math.IsInf(want, 0) {
						if (want != have || math.Signbit(want) != math.Signbit(have)) && (want == want || have == have) {
							return fmt.Errorf("%s of %v is %v, want %v", c.op, v, have, want)
						}
						continue
					}
					if math.Abs(have-y) > c.bound(float64(v), y) {
						return fmt.Errorf("%s of %v is %v, want %v within %v", c.op, v, have, y, c.bound(float64(v), y))
					}
				}
				return nil
			}
			r := &run{threads: n, in: in, outSize: 4 * n, compare: func(device, _ []byte) error { return check(device) }}
			r.clean(t, kernel(`
	mul.wide.u32 %rd2, %r0, 4;
	add.u64 %rd3, %rd0, %rd2;
	add.u64 %rd4, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	`+c.op+` %f2, %f1;
	st.global.f32 [%rd4], %f2;`))
			if err := check(r.out); err != nil {
				t.Error(err)
			}
		})
	}
}

// halfApproximations are the functions of f16 and bf16.
var halfApproximations = []struct {
	op    string
	of    *number.Format
	f     func(a float64) float64
	from  func(u float64) float64
	bound func(x, y float64) float64
}{
	{"ex2.approx.f16", &number.F16, math.Exp2, linear(-12, 15), relative(math.Exp2(-9.9))},
	{"ex2.approx.ftz.bf16", &number.BF16, math.Exp2, linear(-100, 100), relative(0x1p-7)},
	{"tanh.approx.f16", &number.F16, math.Tanh, linear(-5, 5), absolute(math.Exp2(-10.987))},
	{"tanh.approx.bf16", &number.BF16, math.Tanh, linear(-5, 5), absolute(0x1p-8)},
}

func TestHalfApproximations(t *testing.T) {
	const n = 128
	for _, c := range halfApproximations {
		t.Run(c.op, func(t *testing.T) {
			var in []byte
			operands := make([]float64, n)
			for j := range operands {
				code := c.of.Round(c.from(float64(j)/n), number.NearestEven, false)
				operands[j] = c.of.Value(code)
				in = binary.LittleEndian.AppendUint16(in, uint16(code))
			}
			check := func(out []byte) error {
				for j, v := range operands {
					y, have := c.f(v), c.of.Value(uint64(binary.LittleEndian.Uint16(out[2*j:])))
					if !(math.Abs(have-y) <= c.bound(v, y)) {
						return fmt.Errorf("%s of %v is %v, want %v within %v", c.op, v, have, y, c.bound(v, y))
					}
				}
				return nil
			}
			r := &run{threads: n, in: in, outSize: 2 * n, compare: func(device, _ []byte) error { return check(device) }}
			r.clean(t, kernel(`
	mul.wide.u32 %rd2, %r0, 2;
	add.u64 %rd3, %rd0, %rd2;
	add.u64 %rd4, %rd1, %rd2;
	ld.global.b16 %h1, [%rd3];
	`+c.op+` %h2, %h1;
	st.global.b16 [%rd4], %h2;`))
			if err := check(r.out); err != nil {
				t.Error(err)
			}
		})
	}
}

// Quotients by the two approximate divisions are within 2 units in the last place.
func TestApproximateQuotients(t *testing.T) {
	const n = 128
	for _, op := range []string{"div.approx.f32", "div.full.f32"} {
		var in []byte
		operands := make([]float32, 2*n)
		for j := range operands {
			f := exponential(-60, 60)
			operands[j] = float32(f(math.Mod(float64(j)*0.61803398875, 1)))
			in = binary.LittleEndian.AppendUint32(in, math.Float32bits(operands[j]))
		}
		check := func(out []byte) error {
			for j := range n {
				y, have := float64(operands[2*j])/float64(operands[2*j+1]), float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*j:])))
				if !(math.Abs(have-y) <= ulps(2.5)(0, y)) {
					return fmt.Errorf("%s of %v and %v is %v", op, operands[2*j], operands[2*j+1], have)
				}
			}
			return nil
		}
		r := &run{threads: n, in: in, outSize: 4 * n, compare: func(device, _ []byte) error { return check(device) }}
		r.clean(t, kernel(`
	mad.wide.u32 %rd3, %r0, 8, %rd0;
	mad.wide.u32 %rd4, %r0, 4, %rd1;
	ld.global.v2.f32 {%f1, %f2}, [%rd3];
	`+op+` %f3, %f1, %f2;
	st.global.f32 [%rd4], %f3;`))
		if err := check(r.out); err != nil {
			t.Error(err)
		}
	}
}
