package elem

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ptx/asm"
	"tilec/lang"
)

// least is the magnitude below which a coarse form may take a number for 0.
const least = 0x1p-124

// flushed is a number that a coarse form may take for 0.
func flushed(x float64) float64 {
	if math.Abs(x) < least {
		return math.Copysign(0, x)
	}
	return x
}

// coarseError is how far a result is off, relative to what it should be, where wants are all that it may be taken for.
func coarseError(got float32, wants ...float64) float64 {
	closest := math.Inf(1)
	for _, want := range wants {
		g, off := float64(got), 0.0
		switch {
		case want != want && g != g || g == want:
		case math.Abs(want) < least && math.Abs(g) <= least: // or with the digits of a subnormal number
		case want != want || g != g:
			off = math.Inf(1)
		case math.IsInf(g, 0): // a number that the error could have taken beyond the largest
			if math.Abs(want) < math.MaxFloat32*(1-0x1p-16) || math.Signbit(want) != math.Signbit(g) {
				off = math.Inf(1)
			}
		case math.Abs(want) > math.MaxFloat32:
			off = math.Abs(math.MaxFloat32-math.Abs(g)) / math.MaxFloat32
		case want == 0:
			off = math.Inf(1)
		default:
			off = math.Abs(g-want) / math.Abs(want)
		}
		closest = min(closest, off)
	}
	return closest
}

// Every coarse form is within the bound of its row over all of f32, whatever the approximate instructions make of their documented errors.
func TestCoarseFormsKeepTheirBounds(t *testing.T) {
	for _, op := range lang.Ops() {
		assert.Equal(t, coarseForms[op] != nil, op.Row().Coarse > 0, op.String())
	}
	for _, f := range functions32 {
		if coarseForms[f.op] == nil {
			continue
		}
		p := assemble(t, 80, []asm.Class{asm.F32}, func(a *asm.Builder, in []asm.Reg) asm.Reg { return Coarse(a, f.op, in) })
		worst, at := -1.0, float32(0)
		samples32(func(x float32) {
			want, of0 := f.want(float64(x)), f.want(flushed(float64(x)))
			got := fl(p.run(uint64(math.Float32bits(x))))
			if e := coarseError(got, want, flushed(want), of0, flushed(of0)); e > worst {
				worst, at = e, x
			}
		})
		t.Logf("%s: 2^%.2f at %v, %d instructions", f.op, math.Log2(worst), at, len(p.code))
		assert.LessOrEqual(t, worst, math.Ldexp(1, -f.op.Row().Coarse), "%s at %v", f.op, at)
	}
}

// Quotients, each for itself or several by one reciprocal, are within the bound for every divisor.
func TestCoarseQuotientsKeepTheirBound(t *testing.T) {
	each := func(a *asm.Builder, in []asm.Reg) asm.Reg { return Coarse(a, lang.OpDiv, in) }
	row := func(a *asm.Builder, in []asm.Reg) asm.Reg { return CoarseQuotients(a, in[:1], in[1])[0] }
	r := rand.New(rand.NewPCG(3, 4))
	number := func() float32 { // of all sizes, and of special ones
		if r.IntN(8) == 0 {
			es := edges()
			return math.Float32frombits(es[r.IntN(len(es))])
		}
		return math.Float32frombits(r.Uint32())
	}
	for name, emit := range map[string]func(*asm.Builder, []asm.Reg) asm.Reg{"each": each, "row": row} {
		p := assemble(t, 80, []asm.Class{asm.F32, asm.F32}, emit)
		for range 300_000 {
			x, b := number(), number()
			got := fl(p.run(uint64(math.Float32bits(x)), uint64(math.Float32bits(b))))
			if flushed(float64(x)) != float64(x) || flushed(float64(b)) != float64(b) {
				continue // either may be 0, or have the digits of a subnormal number
			}
			want := float64(x) / float64(b)
			require.LessOrEqual(t, coarseError(got, want, flushed(want)), math.Ldexp(1, -lang.OpDiv.Row().Coarse), "%s: %v / %v is %v", name, x, b, got)
		}
	}
}
