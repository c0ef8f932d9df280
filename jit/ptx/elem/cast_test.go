package elem

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// shape is precision, exponent of the least subnormal, and largest number of a float type.
var shape = map[lang.DType]struct {
	precision, least int
	largest          float64
	saturates        bool
}{
	lang.F4E2M1: {2, -1, 6, true},
	lang.F8E4M3: {4, -9, 448, true},
	lang.F8E5M2: {3, -16, 57344, true},
	lang.F16:    {11, -24, 65504, false},
	lang.BF16:   {8, -133, 0x1.fep127, false},
	lang.F32:    {24, -149, math.MaxFloat32, false},
	lang.F64:    {53, -1074, math.MaxFloat64, false},
}

// roundExact rounds an exact number to a float type by the definition: to a
// multiple of its spacing there, ties to even, and past the largest to infinity or to it.
func roundExact(d lang.DType, x *big.Float) float64 {
	s := shape[d]
	if x.Sign() == 0 {
		f, _ := x.Float64()
		return f
	}
	quantum := max(x.MantExp(nil)-s.precision, s.least)
	scaled := new(big.Float).SetPrec(200).SetMantExp(x, -quantum)
	n, _ := scaled.Int(nil) // toward zero
	rest := new(big.Float).SetPrec(200).Sub(scaled, new(big.Float).SetInt(n))
	half := rest.Abs(rest).Cmp(big.NewFloat(0.5))
	if half > 0 || half == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(int64(x.Sign())))
	}
	r, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(n), quantum).Float64()
	r = math.Copysign(r, float64(x.Sign()))
	if math.Abs(r) > s.largest {
		if s.saturates {
			return math.Copysign(s.largest, r)
		}
		return math.Inf(x.Sign())
	}
	return r
}

// castReference converts by the definition. Exactly one of the sources is in use.
func castReference(from, to lang.DType, f float64, i int64) (rf float64, ri int64) {
	exact := new(big.Float).SetPrec(200)
	switch {
	case from.IsFloat():
		if f != f || math.IsInf(f, 0) {
			switch {
			case to == lang.Bool:
				return 0, 1
			case to.IsInt() && f != f:
				return 0, 0
			case to.IsInt() && to.IsSigned():
				return 0, int64(norm(to.Bits(), true, saturate(f, to.Bits(), true)))
			case to.IsInt():
				if f < 0 {
					return 0, 0
				}
				return 0, int64(^uint64(0) >> (64 - to.Bits()))
			case f != f && to == lang.F4E2M1: // has none
				return 6, 0
			case f == f && shape[to].saturates:
				return math.Copysign(shape[to].largest, f), 0
			}
			return f, 0
		}
		if f == 0 && to.IsFloat() {
			return f, 0
		}
		exact.SetFloat64(f)
	case from == lang.U64:
		exact.SetUint64(uint64(i))
	default:
		exact.SetInt64(i)
	}
	switch {
	case to == lang.Bool:
		return 0, int64(flag(exact.Sign() != 0))
	case to.IsFloat():
		return roundExact(to, exact), 0
	case from.IsFloat():
		n, _ := exact.Int(nil)
		lo, hi := big.NewInt(0), new(big.Int).SetUint64(^uint64(0)>>(64-to.Bits()))
		if to.IsSigned() {
			hi.Rsh(hi, 1)
			lo.Sub(big.NewInt(-1), hi)
		}
		if n.Cmp(lo) < 0 {
			n = lo
		} else if n.Cmp(hi) > 0 {
			n = hi
		}
		if n.IsUint64() {
			return 0, int64(n.Uint64())
		}
		return 0, n.Int64()
	}
	return 0, int64(norm(to.Bits(), to.IsSigned(), uint64(i)))
}

// Every pair of types agrees with the definition, on all values of small types and
// on edges, ties and random values of the others.
func TestCast(t *testing.T) {
	t.Parallel()
	for _, from := range lang.DTypes() {
		r := rand.New(rand.NewPCG(7, uint64(from)))
		var fs []float64
		var is []int64
		switch {
		case from == lang.Bool:
			is = []int64{0, 1}
		case from.IsInt():
			is = intSamples(from, r)
			for range 400 { // near the midpoints of short floats
				v := int64(1)<<62 | int64(r.IntN(1<<12))<<50 | int64(r.IntN(5)-2)
				is = append(is, int64(norm(from.Bits(), from.IsSigned(), uint64(v>>r.IntN(50)))))
			}
		default:
			fs = floatSamples(from, r, 3000)
			for _, d := range floats { // midpoints of the narrow types, and beside them
				for range 150 {
					v := floatSamples(d, r, 0)
					x := v[r.IntN(len(v))] * (1 + math.Ldexp(1, -shape[d].precision))
					for _, y := range []float64{x, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1)), x * (1 + 0x1p-23), x * (1 - 0x1p-23)} {
						switch from {
						case lang.F64:
						case lang.F32:
							y = float64(float32(y))
						default:
							y = float64(from.Round(float32(y)))
						}
						fs = append(fs, y)
					}
				}
			}
			for _, b := range []int{7, 8, 15, 16, 31, 32, 63, 64} {
				for _, k := range []float64{-1, -0.5, 0, 0.5, 1} {
					v := math.Ldexp(1, b) + k
					if from != lang.F64 {
						v = float64(from.Round(float32(v)))
					}
					fs = append(fs, v, -v)
				}
			}
		}
		for _, to := range lang.DTypes() {
			p := assemble(t, 80, []asm.Class{ClassOf(from)}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Cast(a, from, to, in[0]) })
			check := func(in uint64, f float64, i int64) {
				raw := p.run(in)
				rf, ri := castReference(from, to, f, i)
				switch {
				case to == lang.Bool:
					if raw != uint64(ri) {
						require.Failf(t, "wrong", "%s to bool of %v %d", from, f, i)
					}
				case to.IsFloat():
					got := floatFrom(to, raw)
					if from == to && f == f { // nothing to convert, infinities of f8 included
						rf = f
					}
					if from.IsFloat() && !sameFloat(got, rf) || !from.IsFloat() && got != rf {
						require.Failf(t, "wrong", "%s to %s of %v %d: got %v, want %v", from, to, f, i, got, rf)
					}
				default:
					got, ok := intFrom(to, raw)
					if !ok || got != ri {
						require.Failf(t, "wrong", "%s to %s of %v %d: got %#x, want %d", from, to, f, i, raw, ri)
					}
				}
			}
			for _, f := range fs {
				check(floatSlot(from, f), f, 0)
			}
			for _, i := range is {
				in := uint64(i)
				if from.IsInt() {
					in = intSlot(from, i)
				}
				check(in, 0, i)
			}
		}
	}
}
