package cpu

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// withoutVectors runs a test with the Go loops, which other machines have.
func withoutVectors(t *testing.T, name string, f func(t *testing.T)) {
	defer UseVectors(UseVectors(false))
	t.Run(name, f)
}

// TestWithoutVectors runs what the vector loops take part in on the Go loops.
func TestWithoutVectors(t *testing.T) {
	if !vectors {
		t.Skip("this machine has the Go loops only")
	}
	withoutVectors(t, "contract", TestContractAxes)
	withoutVectors(t, "product", TestLargeProduct)
	withoutVectors(t, "reduce", TestReduceSpecial)
	withoutVectors(t, "gelu", TestLinearGelu)
	withoutVectors(t, "attention", TestAttention)
	withoutVectors(t, "bounds", TestMathBounds)
	withoutVectors(t, "elementwise", func(t *testing.T) {
		for op := range vectorRows() {
			for _, d := range []lang.DType{lang.F32, lang.BF16, lang.F16} {
				testElementwise(t, op, d)
			}
		}
	})
}

// TestConversions compares the vector conversions with those of lang: every
// pattern of 16 bits, and float32 values about every tie.
func TestConversions(t *testing.T) {
	patterns := make([]uint16, 1<<16)
	for i := range patterns {
		patterns[i] = uint16(i)
	}
	for _, d := range []lang.DType{lang.F16, lang.BF16} {
		value, bits := lang.F16Value, lang.F16Bits
		if d == lang.BF16 {
			value, bits = lang.BF16Value, lang.BF16Bits
		}
		wide, back := make([]float32, 1<<16), make([]uint16, 1<<16)
		loader(d)(ptr(wide), 1, ptr(patterns), 1, len(wide))
		storer(d)(ptr(back), 1, ptr(wide), 1, len(wide))
		var ties []float32
		for i, v := range wide {
			want := value(uint16(i))
			require.True(t, v == want && math.Signbit(float64(v)) == math.Signbit(float64(want)) || v != v && want != want, "%s %#x is %v, want %v", d, i, v, want)
			if v != v {
				require.True(t, value(back[i]) != value(back[i]), "%s %#x", d, i)
				continue
			}
			require.Equal(t, uint16(i), back[i], "%s", d)
			next := value(uint16(i) + 1)
			for _, x := range []float32{v, v/2 + next/2, math.Nextafter32(v/2+next/2, next), math.Nextafter32(v/2+next/2, v)} {
				ties = append(ties, x)
			}
		}
		ties = append(ties, float32(math.NaN()), math.Float32frombits(0x7f800001), math.MaxFloat32, -math.MaxFloat32, 65519.996, 65520, 1e-45)
		rounded := append([]float32(nil), ties...)
		rounder(d)(rounded)
		for i, x := range ties {
			want := value(bits(x))
			got := rounded[i]
			require.True(t, got == want && math.Signbit(float64(got)) == math.Signbit(float64(want)) || got != got && want != want, "%v as %s is %v, want %v", x, d, got, want)
		}
	}
}
