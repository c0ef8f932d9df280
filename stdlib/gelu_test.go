package stdlib_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestGeluIsExact compares gelu of every bf16 between -9 and 9 with its definition by tanh in f64: below -3, where 1 + tanh cancels,
// the definition's own formula is off by hundreds of units in f32.
func TestGeluIsExact(t *testing.T) {
	k := load(t)
	var xs []float64
	for b := uint32(0); b < 1<<16; b++ {
		if v := float64(math.Float32frombits(b << 16)); math.Abs(v) < 9 && math.Abs(v) > 0x1p-100 {
			xs = append(xs, v)
		}
	}
	x := jittest.NewArray(lang.BF16, 1, int64(len(xs)))
	for i, v := range xs {
		x.SetFloat(i, v)
	}
	y := k.Run(t, "gelu_map", jit.Options{}, x)[0]
	for i, v := range xs {
		u := 0.7978845608028654 * (v + 0.044715*v*v*v)
		want := v / (1 + math.Exp(-2*u)) // v (1 + tanh(u)) / 2
		unit := math.Exp2(math.Floor(math.Log2(math.Abs(want))) - 7)
		require.LessOrEqual(t, math.Abs(y.Float(i)-want)/unit, 0.5+1.0/64, "gelu(%v) is %v, required %v", v, y.Float(i), want)
	}
}
