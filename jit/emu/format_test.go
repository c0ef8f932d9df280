package emu

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
	fma := exactOps["fma"].narrow
	for name, mode := range modes {
		s := floatStyle{t: types["f32"], mode: roundings[name]}
		for range 1000 {
			a, b, c := value(), value(), value()
			exactly := exact(float64(a))
			exactly.Mul(exactly, exact(float64(b))).Add(exactly, exact(float64(c)))
			if exactly.Sign() == 0 {
				continue
			}
			want := roundBig(exactly, mode)
			require.Equal(t, want, s.out(fma(s.in(bits32(a)), s.in(bits32(b)), s.in(bits32(c)), s.mode)), "%s: %v*%v+%v", name, a, b, c)
			if mode == big.ToNearestEven {
				require.Equal(t, want, fma32(bits32(a), bits32(b), bits32(c)), "%v*%v+%v", a, b, c)
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
	return bits32(f)
}

// TestFormats checks every value of the narrow formats there and back, and
// rounding between neighbours.
func TestFormats(t *testing.T) {
	for name, f := range map[string]*format{"f16": &f16, "bf16": &bf16, "e5m2": &e5m2, "e4m3": &e4m3} {
		for code := range f.infinity() {
			v := f.value(code)
			require.Equal(t, code, f.round(v, nearestEven, false), "%s %#x", name, code)
			next := f.value(code + 1)
			if code+1 >= f.infinity() {
				continue
			}
			require.Greater(t, next, v, "%s %#x", name, code)
			mid := (v + next) / 2
			even := code + code&1
			require.Equal(t, even, f.round(mid, nearestEven, false), "%s between %#x and the next", name, code)
			require.Equal(t, code+1, f.round(mid, nearestAway, false))
			require.Equal(t, code, f.round(mid, towardZero, false))
			require.Equal(t, code+1, f.round(mid, upward, false))
			require.Equal(t, code, f.round(math.Nextafter(mid, 0), nearestEven, false))
			require.Equal(t, code+1, f.round(math.Nextafter(mid, next), nearestEven, false))
		}
	}
	// Documented limits.
	require.Equal(t, 65504.0, f16.value(0x7bff))
	require.Equal(t, 448.0, e4m3.value(0x7e))
	require.Equal(t, 57344.0, e5m2.value(0x7b))
	require.True(t, math.IsNaN(e4m3.value(0x7f)))
	require.Equal(t, uint64(0x7e), e4m3.round(1e9, nearestEven, true))
}
