package jit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/tensor"
	"tilec/lang"
)

// onAxes is a kernel over n axes of one or two elements, whole ones or ones of the grid.
func onAxes(n int, whole bool) (source string, shape []int64) {
	dims, axes := names("D", n)
	header, body := fmt.Sprintf("kernel f(x: f32[%s]) -> y: f32[%s]", list(dims), list(dims)), ""
	if whole {
		header += "\n    grid g in 1\n"
		for i, a := range axes {
			body += fmt.Sprintf("    axis %s in %s\n", a, dims[i])
		}
	}
	for i := range n {
		shape = append(shape, 1+int64(i%5/4))
	}
	return fmt.Sprintf("%s {\n%s    y[%s] = x[%s] + 1\n}\n", header, body, list(axes), list(axes)), shape
}

// A tile has as many axes on the CPU as on a GPU, and what has too many says so everywhere in the same words.
func TestTilesOfManyAxes(t *testing.T) {
	run := func(device string, n int, whole bool) ([]float64, error) {
		source, shape := onAxes(n, whole)
		d, err := OpenDevice(device)
		require.NoError(t, err)
		defer d.Close()
		m, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		values := make([]float64, tensor.Elements(shape))
		for i := range values {
			values[i] = float64(i)
		}
		out, err := m.Call("f", Args{"x": Converted(lang.F32, values, shape...)})
		if err != nil {
			return nil, err
		}
		return out["y"].Floats(), nil
	}
	for _, whole := range []bool{false, true} {
		for _, n := range []int{12, 13, 20, 32} {
			for _, device := range []string{"cpu", "emu", "emu:sm_80"} {
				got, err := run(device, n, whole)
				require.NoError(t, err, "%d axes on %s", n, device)
				for i, v := range got {
					require.Equal(t, float64(i+1), v)
				}
			}
		}
		for _, device := range []string{"cpu", "emu"} {
			_, err := run(device, 33, whole)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "33 axes in one operation, the limit is 32: 1 too many")
			assert.NotContains(t, strings.ToLower(err.Error()), "bug")
		}
	}
}
