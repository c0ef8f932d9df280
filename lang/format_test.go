package lang

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What follows from the widths of a format is what its standard says.
func TestFormatsAreThoseOfTheStandards(t *testing.T) {
	for d, want := range map[DType]struct {
		precision, exponent            int
		largest, leastNormal           float64
		nan, infinity                  uint64
		infinite, saturates, eightBits bool
	}{
		F4E2M1: {2, 2, 6, 1, 0x7, 0, false, true, false},
		F8E4M3: {4, 4, 448, 0x1p-6, 0x7f, 0, false, true, true},
		F8E5M2: {3, 5, 57344, 0x1p-14, 0x7e, 0x7c, true, true, true},
		F16:    {11, 5, 65504, 0x1p-14, 0x7e00, 0x7c00, true, false, false},
		BF16:   {8, 8, 0x1.fep127, 0x1p-126, 0x7fc0, 0x7f80, true, false, false},
		F32:    {24, 8, math.MaxFloat32, 0x1p-126, 0x7fc00000, 0x7f800000, true, false, false},
		F64:    {53, 11, math.MaxFloat64, 0x1p-1022, 0x7ff8000000000000, 0x7ff0000000000000, true, false, false},
	} {
		assert.Equal(t, want.precision, d.Precision(), d)
		assert.Equal(t, want.exponent, d.ExponentBits(), d)
		assert.Equal(t, want.largest, d.Largest(), d)
		assert.Equal(t, want.leastNormal, d.LeastNormal(), d)
		assert.Equal(t, want.nan, d.NaNBits(), d)
		assert.Equal(t, want.infinity, d.InfinityBits(), d)
		assert.Equal(t, want.infinite, d.HasInfinity(), d)
		assert.Equal(t, want.saturates, d.Saturates(), d)
		assert.Equal(t, d.Bits(), 1+want.exponent+want.precision-1, d)
		assert.Equal(t, d.Largest()-d.Spacing(d.Largest()), math.Float64frombits(math.Float64bits(d.Largest())-1<<(53-d.Precision())), d)
	}
	for _, d := range DTypes() {
		want := d
		switch {
		case d.IsFloat() && d.Bits() <= 32:
			want = F32
		case d.IsInt() && d.Bits() < 32:
			want = I32
		}
		assert.Equal(t, want, d.Accumulator(), d)
	}
}

// codes lists the codes of a format's finite numbers from 0 up.
func codes(f *format) []float64 {
	var numbers []float64
	for v := range uint32(1) << (f.exponent + f.mantissa) {
		if x := float64(f.decode(v)); !math.IsNaN(x) && !math.IsInf(x, 0) {
			numbers = append(numbers, x)
		}
	}
	return numbers
}

// Every format rounds to the nearest of its numbers, of two as near to the one with an even code, whatever its widths: those
// of f4e2m1 as well, of whose numbers there are few enough to write them down.
func TestFormatsRoundToNearest(t *testing.T) {
	assert.Equal(t, []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}, codes(e2m1))
	assert.Equal(t, uint32(7), e2m1.encode(float32(math.NaN())))
	assert.Equal(t, uint32(7), e2m1.encode(math.Float32frombits(0xffc00000)), "the sign of a NaN says nothing")
	assert.Equal(t, uint32(15), e2m1.encode(float32(math.Inf(-1))))
	assert.Equal(t, 6.0, e2m1.largest)
	for _, f := range []*format{e2m1, e4m3, e5m2, half} {
		numbers := codes(f)
		require.True(t, slices.IsSorted(numbers))
		require.Equal(t, f.largest, numbers[len(numbers)-1])
		for i, x := range numbers {
			assert.Equal(t, uint32(i), f.encode(float32(x)))
			if i == 0 {
				continue
			}
			middle := float32((numbers[i-1] + x) / 2) // which f32 has
			assert.Equal(t, uint32((i-1)+(i-1)&1), f.encode(middle), "between %g and %g", numbers[i-1], x)
			assert.Equal(t, uint32(i-1), f.encode(math.Nextafter32(middle, 0)), "below the middle of %g and %g", numbers[i-1], x)
			assert.Equal(t, uint32(i), f.encode(math.Nextafter32(middle, 1e9)), "above the middle of %g and %g", numbers[i-1], x)
			assert.Equal(t, uint32(i)|1<<(f.exponent+f.mantissa), f.encode(float32(-x)))
		}
		beyond := f.encode(float32(2 * f.largest))
		if f.saturates {
			assert.Equal(t, uint32(f.top), beyond)
		} else {
			assert.True(t, math.IsInf(float64(f.decode(beyond)), 1))
		}
		if f.specials != allFinite {
			assert.True(t, math.IsNaN(float64(f.decode(f.encode(float32(math.NaN()))))))
		}
	}
}

func TestBytes(t *testing.T) {
	assert.EqualValues(t, 12, F32.Bytes(3))
	assert.EqualValues(t, 3, F8E4M3.Bytes(3))
	assert.EqualValues(t, int64(math.MaxInt64-7), F64.Bytes(1<<60-1))
	for _, d := range DTypes() {
		assert.EqualValues(t, d.Size(), d.Bytes(1))
	}
}

// One type holds another where each of its numbers is unchanged by the way there and back.
func TestHolds(t *testing.T) {
	for _, d := range []DType{F8E4M3, F8E5M2, F16, BF16, F32} {
		for _, e := range []DType{F8E4M3, F8E5M2, F16, BF16} {
			all := true
			for v := range uint64(1) << e.Bits() {
				x := e.FloatValue(v)
				all = all && (math.IsNaN(x) || d.FloatValue(d.FloatBits(x)) == x)
			}
			assert.Equal(t, all, d.Holds(e), "%s in %s", e, d)
		}
	}
	assert.True(t, I32.Holds(U16))
	assert.False(t, U32.Holds(I16))
	assert.True(t, F32.Holds(I16))
	assert.False(t, F32.Holds(I32))
}

// Types narrower than a byte lie one after the other, the first in the low bits. No type of the language is that
// narrow yet: here the row of Invalid stands for one.
func TestElementsNarrowerThanAByte(t *testing.T) {
	saved := dtypeTable[Invalid]
	defer func() { dtypeTable[Invalid] = saved }()
	dtypeTable[Invalid] = dtypeRow{name: "f4e2m1", class: ClassFloat, bits: 4, signed: true, format: newFormat(2, 1, allFinite, true), accumulator: F32}
	d, values := Invalid, []float64{0.5, -6, 3, 1.5, -1}
	require.EqualValues(t, 3, d.Bytes(5))
	require.EqualValues(t, 6, d.Elements(3))
	require.EqualValues(t, 1, d.Size())
	data := []byte{0xff, 0xff, 0xff}
	for i, v := range values {
		d.PutElementAt(data, int64(i), v)
	}
	assert.Equal(t, []byte{0xf1, 0x35, 0xfa}, data)
	for i, v := range values {
		assert.Equal(t, v, d.ElementAt(data, int64(i)))
	}
	assert.Equal(t, float32(6), d.Round(100))
	assert.Equal(t, 3, d.Precision()+1)
}
