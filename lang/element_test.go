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
			values = append(values, 0.5, 1.5, -0.25)
		}
		for _, v := range values {
			b := make([]byte, d.Size())
			d.PutElement(b, v)
			assert.Equal(t, v, d.Element(b), d.String())
		}
	}
}

func TestRankOrdersFloats(t *testing.T) {
	values := []float64{math.Inf(-1), -240, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 240, math.Inf(1)}
	for _, d := range lang.DTypes() {
		if !d.IsFloat() {
			continue
		}
		list := values
		if d == lang.F8E4M3 { // has no infinities
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
