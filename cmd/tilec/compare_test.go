package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/jit"
	"tilec/lang"
)

// vector is an array of one dimension.
func vector(d lang.DType, values ...float64) *array {
	return &array{name: "y", Array: jit.Converted(d, values)}
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
