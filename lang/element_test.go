package lang_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

func TestElementsKeepWhatTheirTypeHolds(t *testing.T) {
	for _, d := range lang.DTypes() {
		values := []float64{0, 1}
		if d.IsSigned() {
			values = append(values, -1, -4)
		}
		if d.IsFloat() {
			values = append(values, 0.5, 1.5, -0.5)
		}
		for _, v := range values {
			b := make([]byte, d.Size())
			d.PutElement(b, v)
			assert.Equal(t, v, d.Element(b), d.String())
		}
	}
}

// Elements that share a byte lie from its low bits to its high ones, and setting one leaves the others.
func TestPackedElements(t *testing.T) {
	data := []byte{0, 0xff, 0}
	for i, v := range []float64{0.5, -6, 0, 3} {
		lang.F4E2M1.PutElementAt(data, int64(i)+1, v)
	}
	assert.Equal(t, []byte{0x10, 0x0f, 0x05}, data)
	assert.Equal(t, -6.0, lang.F4E2M1.ElementAt(data, 2))
	assert.Equal(t, 3.0, lang.F4E2M1.ElementAt(data, 4))
	assert.EqualValues(t, 3, lang.F4E2M1.Bytes(5))
	assert.EqualValues(t, 6, lang.F4E2M1.Elements(3))
	assert.True(t, lang.F4E2M1.WholeAt(4) && !lang.F4E2M1.WholeAt(3) && lang.F32.WholeAt(3))
	for _, d := range lang.DTypes() {
		assert.False(t, d.WholeBytes().Packed(), d)
		assert.True(t, d.WholeBytes().Holds(d), d)
	}
}

func TestRankOrdersFloats(t *testing.T) {
	values := []float64{math.Inf(-1), -240, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 240, math.Inf(1)}
	for _, d := range lang.DTypes() {
		if !d.IsFloat() {
			continue
		}
		list := values
		switch {
		case d == lang.F4E2M1:
			list = []float64{-6, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 6}
		case !d.HasInfinity():
			list = values[1 : len(values)-1]
		}
		for i := 1; i < len(list); i++ {
			low, high := make([]byte, d.Size()), make([]byte, d.Size())
			d.PutElement(low, list[i-1])
			d.PutElement(high, list[i])
			assert.Less(t, d.Rank(low), d.Rank(high), "%s: %g and %g", d, list[i-1], list[i])
		}
	}
}
