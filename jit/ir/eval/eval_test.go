package eval

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

func fl(v float64) ir.Const { return ir.Const{Float: v} }
func in(n int64) ir.Const   { return ir.Const{Int: n} }

// operandTypes is the element types that the operation's rule takes.
func operandTypes(r lang.Rule) []lang.DType {
	var ds []lang.DType
	for _, d := range lang.DTypes() {
		switch r {
		case lang.RuleNumeric:
			if d == lang.Bool {
				continue
			}
		case lang.RuleFloat, lang.RuleTest:
			if !d.IsFloat() {
				continue
			}
		case lang.RuleInt:
			if !d.IsInt() {
				continue
			}
		case lang.RuleBool:
			if d != lang.Bool {
				continue
			}
		case lang.RuleBits64:
			if d != lang.U64 {
				continue
			}
		}
		ds = append(ds, d)
	}
	return ds
}

func specials(d lang.DType) []ir.Const {
	if d.IsFloat() {
		var cs []ir.Const
		for _, v := range []float64{0, math.Copysign(0, -1), 1, -1.5, 3, 1e-40, 1e30, math.Inf(1), math.Inf(-1), math.NaN()} {
			cs = append(cs, fl(Round(v, d)))
		}
		return cs
	}
	lo, hi := Limits(d)
	return []ir.Const{in(0), in(1), in(Wrap(3, d)), in(Wrap(-1, d)), in(lo), in(hi)}
}

// Every elementwise row of the operation table evaluates, for every type that
// it takes, on special values, to a value of its type.
func TestEveryElementwiseOperation(t *testing.T) {
	for _, code := range lang.Ops() {
		row := code.Row()
		if !row.Elementwise || code == lang.OpCast || code == lang.OpBitcast {
			assert.False(t, Has(code), code.String())
			continue
		}
		require.True(t, Has(code), "%s has no row", code)
		for _, d := range operandTypes(row.Rule) {
			s := specials(d)
			for _, a := range s {
				for _, b := range s {
					args := []ir.Const{a, b, s[2]}[:len(row.Operands)]
					if row.Rule == lang.RuleSelect {
						args = []ir.Const{in(1), a, b}
					}
					c := Apply(code, d, args...)
					result := d
					if row.Rule == lang.RuleCompare || row.Rule == lang.RuleTest {
						result = lang.Bool
					}
					if result.IsFloat() {
						assert.True(t, c.Float != c.Float || c.Float == Round(c.Float, result), "%s %s %v gives %v", code, d, args, c)
					} else {
						assert.Equal(t, Wrap(c.Int, result), c.Int, "%s %s %v", code, d, args)
					}
				}
			}
		}
	}
}

func TestIntegersAreTotal(t *testing.T) {
	for _, c := range []struct {
		code lang.Op
		d    lang.DType
		a, b int64
		want int64
	}{
		{lang.OpAdd, lang.I8, 127, 1, -128},
		{lang.OpSub, lang.U8, 0, 1, 255},
		{lang.OpMul, lang.I32, 1 << 20, 1 << 12, 0},
		{lang.OpDiv, lang.I32, 7, 0, 0},
		{lang.OpDiv, lang.I8, -128, -1, -128},
		{lang.OpDiv, lang.I64, math.MinInt64, -1, math.MinInt64},
		{lang.OpDiv, lang.I32, -7, 2, -3},
		{lang.OpFloorDiv, lang.I32, -7, 2, -4},
		{lang.OpFloorDiv, lang.I32, 7, -2, -4},
		{lang.OpFloorDiv, lang.I32, -8, 2, -4},
		{lang.OpFloorDiv, lang.I32, 7, 0, 0},
		{lang.OpMod, lang.I32, -7, 2, -1},
		{lang.OpMod, lang.I32, -7, 0, -7},
		{lang.OpDiv, lang.U64, -1, 2, math.MaxInt64},
		{lang.OpMax, lang.U64, -1, 2, -1},
		{lang.OpMax, lang.I64, -1, 2, 2},
		{lang.OpShl, lang.I32, 1, 31, math.MinInt32},
		{lang.OpShl, lang.I32, 1, 32, 0},
		{lang.OpShl, lang.I32, 1, -1, 0},
		{lang.OpShr, lang.I32, -8, 1, -4},
		{lang.OpShr, lang.I32, -8, 32, -1},
		{lang.OpShr, lang.I32, 8, 99, 0},
		{lang.OpShr, lang.U8, 255, 8, 0},
		{lang.OpShr, lang.U64, -1, 63, 1},
		{lang.OpPopcount, lang.I8, -1, 0, 8},
		{lang.OpClz, lang.I16, 0, 0, 16},
		{lang.OpClz, lang.U8, 1, 0, 7},
		{lang.OpNot, lang.U8, 1, 0, 254},
		{lang.OpAbs, lang.I8, -128, 0, -128},
		{lang.OpAbs, lang.U64, -1, 0, -1},
		{lang.OpSign, lang.I8, -5, 0, -1},
		{lang.OpSign, lang.U64, -5, 0, 1},
		{lang.OpLt, lang.U64, -1, 2, 0},
	} {
		n := len(c.code.Row().Operands)
		got := Apply(c.code, c.d, []ir.Const{in(c.a), in(c.b)}[:n]...)
		assert.Equal(t, c.want, got.Int, "%s %s %d %d", c.code, c.d, c.a, c.b)
	}
}

func TestFloatsAgainstNative(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any32 := func() float32 { return math.Float32frombits(r.Uint32()) }
	for range 20000 {
		a, b := any32(), any32()
		x, y := fl(float64(a)), fl(float64(b))
		for code, want := range map[lang.Op]float32{lang.OpAdd: a + b, lang.OpSub: a - b, lang.OpMul: a * b, lang.OpDiv: a / b} {
			got := float32(Apply(code, lang.F32, x, y).Float)
			if got != want && (got == got || want == want) {
				t.Fatalf("%s %v %v: %v, want %v", code, a, b, got, want)
			}
		}
	}
}

func TestFmaRoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near := func() float32 {
		return float32(math.Ldexp(float64(1<<23+r.IntN(1<<23)), -r.IntN(60))) * float32(1-2*r.IntN(2))
	}
	for range 20000 {
		a, b, c := near(), near(), near()
		exact := new(big.Float).SetPrec(400)
		exact.Mul(big.NewFloat(float64(a)), big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		got := Apply(lang.OpFma, lang.F32, fl(float64(a)), fl(float64(b)), fl(float64(c)))
		require.Equal(t, want, float32(got.Float), "%v %v %v", a, b, c)
	}
}

// Rounding f64 to the 16-bit formats picks the nearest of all values, ties to the even bits.
func TestRoundPicksTheNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for d, value := range map[lang.DType]func(uint16) float32{lang.F16: lang.F16Value, lang.BF16: lang.BF16Value} {
		for range 2000 {
			bits := uint16(r.IntN(1 << 15))
			lo, hi := float64(value(bits)), float64(value(bits+1))
			if math.IsNaN(lo) || math.IsInf(lo, 0) || math.IsNaN(hi) || math.IsInf(hi, 0) {
				continue
			}
			even := lo
			if bits&1 == 1 {
				even = hi
			}
			mid := lo + (hi-lo)/2
			assert.Equal(t, even, Round(mid, d))
			assert.Equal(t, lo, Round(math.Nextafter(mid, lo), d))
			assert.Equal(t, hi, Round(math.Nextafter(mid, hi), d))
		}
	}
}

func TestCasts(t *testing.T) {
	for _, c := range []struct {
		from, to lang.DType
		in, want ir.Const
	}{
		{lang.F32, lang.I8, fl(300), in(127)},
		{lang.F32, lang.I8, fl(-300), in(-128)},
		{lang.F32, lang.I8, fl(-1.9), in(-1)},
		{lang.F32, lang.U8, fl(-1), in(0)},
		{lang.F32, lang.I32, fl(math.NaN()), in(0)},
		{lang.F32, lang.U64, fl(math.Inf(1)), in(-1)},
		{lang.F64, lang.U64, fl(1 << 63), in(math.MinInt64)},
		{lang.F64, lang.I64, fl(1 << 63), in(math.MaxInt64)},
		{lang.F32, lang.Bool, fl(math.NaN()), in(1)},
		{lang.F32, lang.Bool, fl(math.Copysign(0, -1)), in(0)},
		{lang.I32, lang.Bool, in(-4), in(1)},
		{lang.Bool, lang.F32, in(1), fl(1)},
		{lang.I32, lang.I8, in(384), in(-128)},
		{lang.I8, lang.U8, in(-1), in(255)},
		{lang.I8, lang.U64, in(-1), in(-1)},
		{lang.U64, lang.F64, in(-1), fl(1 << 64)},
		{lang.U64, lang.F32, in(-1), fl(1 << 64)},
		{lang.I32, lang.F32, in(1<<24 + 1), fl(1 << 24)},
		{lang.I32, lang.F16, in(65520), fl(math.Inf(1))},
		{lang.F32, lang.BF16, fl(1.00390625), fl(1)},
		{lang.F32, lang.F8E4M3, fl(1000), fl(448)},
		{lang.I64, lang.BF16, in(1<<62 + 1<<54 + 1), fl(1<<62 + 1<<55)},
		{lang.I64, lang.BF16, in(-(1<<62 + 1<<54)), fl(-(1 << 62))},
	} {
		assert.Equal(t, c.want, Cast(c.in, c.from, c.to), "%v as %s to %s", c.in, c.from, c.to)
	}
}

// NaN is neither less than, nor equal to, nor greater than any number or itself.
func TestComparisonsWithNaN(t *testing.T) {
	for _, d := range []lang.DType{lang.F16, lang.BF16, lang.F32, lang.F64} {
		for _, x := range specials(d) {
			for _, args := range [][]ir.Const{{fl(math.NaN()), x}, {x, fl(math.NaN())}} {
				for _, code := range []lang.Op{lang.OpEq, lang.OpLt, lang.OpLe, lang.OpGt, lang.OpGe} {
					assert.Zero(t, Apply(code, d, args...).Int, "%s %v %v", code, d, args)
				}
				assert.EqualValues(t, 1, Apply(lang.OpNe, d, args...).Int, "%v %v", d, args)
			}
		}
	}
}
