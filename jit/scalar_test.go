package jit

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// A scalar of every type reaches a kernel as it was given, with another one behind: each has its own size in a launch.
func TestScalarsOfEveryType(t *testing.T) {
	on, err := OpenDevice(gpu())
	require.NoError(t, err)
	for _, d := range lang.DTypes() {
		source := strings.ReplaceAll("kernel f(a: T, last: i16, x: T[N]) -> y: T[N], z: i16[N]\n grid i in N by 4\n{ y[i] = a\n z[i] = last }", "T", d.String())
		module, err := NewCompiler(on, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		value, want := any(3), 3.0
		if d == lang.Bool {
			value, want = true, 1
		}
		out, err := module.Call("f", Args{"a": value, "last": -7, "x": Converted(d, []float64{0, 0}, 2)})
		if assert.NoError(t, err, d) {
			assert.Equal(t, []float64{want, want}, out["y"].Floats(), d)
			assert.Equal(t, []float64{-7, -7}, out["z"].Floats(), d)
		}
	}
}
