package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// Products go through their rows by one axis where each is of the same rows over the same positions, and neither needs the other.
func TestAbreast(t *testing.T) {
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(abreast.Before) }
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"as they are":                {abreast.Before, true},
		"other rows":                 {replaced("%7 = load %x[%0, %6]", "%7 = load %z[%0, %6]", "  tensor %v", "  tensor %z : in bf16[M, K]\n  tensor %v"), false},
		"other positions":            {replaced("axis l : whole K[0 .. 64]", "axis l : whole K[0 .. 32]"), false},
		"the second needs the first": {replaced("%9 = dot %7, %8 over l", "%11 = cast %5 : bf16{i, j}\n  %12 = mul %8, %11 : bf16{i, l, j}\n  %9 = dot %7, %12 over l"), false},
		"the first needs the second, which is above": {replaced("%5 = dot %3, %4 over k : f32{i, j}\n", "", "%10 = mul",
			"%11 = cast %9 : bf16{i, j}\n  %12 = mul %4, %11 : bf16{i, k, j}\n  %5 = dot %3, %12 over k : f32{i, j}\n  %10 = mul"), false},
		"a sum beside a product": {replaced("%9 = dot %7, %8 over l : f32{i, j}", "%11 = cast %7 : f32{i, l}\n  %9 = sum %11 over l : f32{i}", "%10 = mul %5, %9 : f32{i, j}", "%10 = mul %5, %9 : f32{i, j}",
			"  %8 = load %w[%6, %1] : bf16{l, j}\n", "", "  tensor %w : in bf16[K, N]\n", ""), false},
	} {
		require.Equal(t, c.want, c.text == abreast.Before, "%s changes the example", name)
		f, err := ir.Parse("abreast", c.text)
		require.NoError(t, err, name)
		changed, err := abreast.Run(f, &Options{Matrix: true})
		require.NoError(t, err, name)
		assert.Equal(t, c.want, changed, name)
		require.NoError(t, ir.Verify(f), name)
		changed, err = abreast.Run(f, &Options{})
		require.NoError(t, err, name)
		assert.False(t, changed, "%s, on a machine without a matrix unit", name)
	}
}
