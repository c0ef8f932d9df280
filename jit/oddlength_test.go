package jit

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/jit/tensor"
	"tilec/lang"
)

// What computes element by element goes through memory by several neighbours at once, whatever the lengths of rows are, all blocks but the last; where something lies along the rows alone, these stay
// what they are.
func TestOddLengths(t *testing.T) {
	const source = `
kernel line<T: float>(x: T[A]) -> y: T[A] {
    y[a] = x[a] * 2
}
kernel rows<T: float>(x: T[A, B]) -> y: T[A, B] {
    y[a, b] = x[a, b] * 2
}
kernel planes<T: float>(x: T[A, B, C]) -> y: T[A, B, C] {
    y[a, b, c] = x[a, b, c] * 2
}
kernel sixtyFours<T: float>(x: T[A, B]) -> y: T[A, B] {
    assume(A % 64 == 0)
    y[a, b] = x[a, b] * 2
}
kernel along<T: float>(x: T[A, B], s: T[B]) -> y: T[A, B] {
    y[a, b] = x[a, b] * s[b]
}
`
	neighbours := regexp.MustCompile(`st\.global\.(v|b32|b64)`)
	program, ds := Load("odd.tile", []byte(source), nil)
	require.Empty(t, ds)
	m, err := target.Find(target.Default)
	require.NoError(t, err)
	for _, c := range []struct {
		kernel   int
		shape    []int64
		together bool // are neighbours
	}{
		{0, []int64{20001}, true},
		{1, []int64{33, 1001}, true},
		{2, []int64{3, 33, 701}, true},
		{1, []int64{32, 1000}, true},
		{3, []int64{64, 16387}, true}, // 2^20 is no divisor of their number
		{4, []int64{33, 1001}, false},
	} {
		for _, d := range []lang.DType{lang.F32, lang.BF16} {
			k := program.Kernels[c.kernel]
			t.Run(fmt.Sprint(k.Name, c.shape, d), func(t *testing.T) {
				t.Parallel()
				array := func(shape []int64) *Array {
					values := make([]float32, tensor.Elements(shape))
					for i := range values {
						values[i] = float32(i%251) / 4
					}
					return Converted(d, values, shape...)
				}
				dims, args := map[string]int64{}, Args{"x": array(c.shape)}
				for i, n := range c.shape {
					dims[string(rune('A'+i))] = n
				}
				if k.Name == "along" {
					args["s"] = array(c.shape[1:])
				}
				s, err := Specialise(k, Options{Dims: dims, Types: map[string]lang.DType{"T": d}})
				require.NoError(t, err)
				l, err := compile.Lower(s, m, nil)
				require.NoError(t, err)
				ptx, err := l.PTX()
				require.NoError(t, err)
				assert.Equal(t, c.together, neighbours.MatchString(ptx), ptx)
				run := func(d Device) []float64 {
					module, err := NewCompiler(d, nil).Load("odd.tile", []byte(source))
					require.NoError(t, err)
					out, err := module.Call(k.Name, args)
					require.NoError(t, err)
					return out["y"].Floats()
				}
				assert.Equal(t, run(OpenCPU()), run(emulator.New(m)))
			})
		}
	}
}
