package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

// vector is an array of one dimension.
func vector(d lang.DType, values ...float64) *array {
	a := &array{name: "y", dtype: d, shape: []int64{int64(len(values))}, data: make([]byte, len(values)*d.Size())}
	for i, v := range values {
		elementOf(d).put(a.data[i*d.Size():], v)
	}
	return a
}

func TestDifference(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const f32Unit = 1.0 / (1 << 24)
	for _, c := range []struct {
		name      string
		got, want *array
		unit      float64
		length    int64
		beyond    int64
		ulps      int64
	}{
		{"equal", vector(lang.F32, 1, 2, inf, nan), vector(lang.F32, 1, 2, inf, nan), f32Unit, 1, 0, 0},
		{"zeros of both signs are equal", vector(lang.F32, math.Copysign(0, -1)), vector(lang.F32, 0), f32Unit, 1, 0, 0},
		{"one ulp", vector(lang.F32, 1+math.Exp2(-23)), vector(lang.F32, 1), f32Unit, 1, 0, 1},
		{"across zero", vector(lang.F32, math.Exp2(-149), 1), vector(lang.F32, -math.Exp2(-149), 1), f32Unit, 1, 0, 2},
		{"a wrong element", vector(lang.F32, 1, 2.01), vector(lang.F32, 1, 2), f32Unit, 1000, 1, 0},
		{"within tf32", vector(lang.F32, 1, 2.001), vector(lang.F32, 1, 2), 1.0 / (1 << 11), 1000, 0, 0},
		{"a small element lost beside large ones", vector(lang.F32, 0, 1000), vector(lang.F32, 0.1, 1000), f32Unit, 1, 1, 0},
		{"NaN for a number", vector(lang.F32, nan), vector(lang.F32, 1), 1, 1, 1, 0},
		{"infinity for a number", vector(lang.F16, inf), vector(lang.F16, 60000), 1, 1, 1, 0},
		{"integers are equal or wrong", vector(lang.I32, 7, 8), vector(lang.I32, 7, 9), 1, 1, 1, 0},
		{"bf16 by an ulp", vector(lang.BF16, 1.0078125), vector(lang.BF16, 1), 1.0 / (1 << 8), 64, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := difference(c.got, c.want, c.unit, c.length)
			assert.Equal(t, c.beyond, d.beyond, d)
			if c.ulps > 0 {
				assert.Equal(t, c.ulps, d.ulps)
			}
			assert.NotEmpty(t, d.bound)
		})
	}
}

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
			elementOf(d).put(b, v)
			assert.Equal(t, v, elementOf(d).get(b), d.String())
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
		a := vector(d, list...)
		for i := 1; i < len(list); i++ {
			low, high := a.data[(i-1)*d.Size():], a.data[i*d.Size():]
			assert.Less(t, rank(d, low), rank(d, high), "%s: %g and %g", d, list[i-1], list[i])
		}
	}
}
