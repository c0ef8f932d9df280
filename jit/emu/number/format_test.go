package number

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRounding checks single rounding of random operations against exact arithmetic, in each mode.
func TestRounding(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	value := func() float32 {
		for {
			// Exponents near each other, so that sums cancel and are sticky.
			f := math.Float32frombits(random.Uint32()&0x807fffff | uint32(100+random.IntN(60))<<23)
			if random.IntN(8) == 0 {
				f = math.Float32frombits(random.Uint32())
			}
			if f == f && !math.IsInf(float64(f), 0) {
				return f
			}
		}
	}
	modes := map[string]big.RoundingMode{"rn": big.ToNearestEven, "rz": big.ToZero, "rm": big.ToNegativeInf, "rp": big.ToPositiveInf}
	fma := FloatOps["fma"].Narrow
	for name, mode := range modes {
		s := Style{Type: Types["f32"], Mode: Roundings[name]}
		for range 1000 {
			a, b, c := value(), value(), value()
			exactly := exact(float64(a))
			exactly.Mul(exactly, exact(float64(b))).Add(exactly, exact(float64(c)))
			if exactly.Sign() == 0 {
				continue
			}
			want := roundBig(exactly, mode)
			require.Equal(t, want, s.Out(fma(s.In(Bits32(a)), s.In(Bits32(b)), s.In(Bits32(c)), s.Mode)), "%s: %v*%v+%v", name, a, b, c)
			if mode == big.ToNearestEven {
				require.Equal(t, want, FMA32(Bits32(a), Bits32(b), Bits32(c)), "%v*%v+%v", a, b, c)
			}
		}
	}
}

// roundBig rounds to f32 by comparing with the candidates themselves.
func roundBig(x *big.Float, mode big.RoundingMode) uint64 {
	f, _ := x.Float32() // to nearest even, subnormals and overflow too
	nearest := bigOf(float64(f))
	step := 0
	switch cmp := x.Cmp(nearest); mode {
	case big.ToZero:
		if x.Sign() > 0 && cmp < 0 {
			step = -1
		} else if x.Sign() < 0 && cmp > 0 {
			step = 1
		}
	case big.ToNegativeInf:
		step = min(cmp, 0)
	case big.ToPositiveInf:
		step = max(cmp, 0)
	}
	if step != 0 {
		f = math.Nextafter32(f, float32(math.Inf(step)))
	}
	return Bits32(f)
}

// TestFormats checks every value of the narrow formats there and back, and
// rounding between neighbours.
func TestFormats(t *testing.T) {
	for name, f := range map[string]*Format{"f16": &F16, "bf16": &BF16, "e5m2": &E5M2, "e4m3": &E4M3} {
		for code := range f.infinity() {
			v := f.Value(code)
			require.Equal(t, code, f.Round(v, NearestEven, false), "%s %#x", name, code)
			next := f.Value(code + 1)
			if code+1 >= f.infinity() {
				continue
			}
			require.Greater(t, next, v, "%s %#x", name, code)
			mid := (v + next) / 2
			even := code + code&1
			require.Equal(t, even, f.Round(mid, NearestEven, false), "%s between %#x and the next", name, code)
			require.Equal(t, code+1, f.Round(mid, NearestAway, false))
			require.Equal(t, code, f.Round(mid, TowardZero, false))
			require.Equal(t, code+1, f.Round(mid, Upward, false))
			require.Equal(t, code, f.Round(math.Nextafter(mid, 0), NearestEven, false))
			require.Equal(t, code+1, f.Round(math.Nextafter(mid, next), NearestEven, false))
		}
	}
	// Documented limits.
	require.Equal(t, 65504.0, F16.Value(0x7bff))
	require.Equal(t, 448.0, E4M3.Value(0x7e))
	require.Equal(t, 57344.0, E5M2.Value(0x7b))
	require.True(t, math.IsNaN(E4M3.Value(0x7f)))
	require.Equal(t, uint64(0x7e), E4M3.Round(1e9, NearestEven, true))
}
