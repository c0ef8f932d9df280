package typecheck_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// A header that does not parse leaves the errors of the kernel before it.
func TestBrokenHeaderHidesNothingBeforeIt(t *testing.T) {
	for _, header := range []string{
		"kernel two(x f32[N]) -> y: f32[N] {",
		"kernel two(x: f32[N]) -> y: f32[N]\n    grid i N by B\n{",
		"kernel two(x: f32[N]) -> f32[N] {",
		"fn two(x {",
	} {
		ds := all("kernel one(x: f32[N]) -> y: f32[N] {\n    y[i] = exq(x[i]) + x[i, 3]\n}\n" + header + "\n    y[i] = x[i]\n}\n")
		require.Len(t, ds, 3, "%s: %v", header, ds)
		assert.Equal(t, lang.ErrUnknownName, ds[0].Code)
		assert.Equal(t, lang.ErrIndexCount, ds[1].Code)
	}
	// What a stray brace cuts off from a kernel is still a part of it.
	ds := all("kernel one(x: f32[N]) -> (y: f32[N], z: f32[N]) {\n    y[i] = x[i]\n}\n    z[i] = x[i]\n}\n")
	for _, d := range ds {
		assert.NotEqual(t, lang.ErrNeverStored, d.Code, "%v", d)
	}
}
