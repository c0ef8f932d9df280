package jit_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
)

const scaled = `
struct Layer { w: f32[N] }

kernel scale<T: float, const K: int = 2>(x: T[M, N], f: f32, n: u8 = 1) -> y: T[M, N]
    grid i in M by BM, j in N by BN
{
    y[i, j] = (x[i, j] as f32 * f * K as f32 * n as f32) as T
}

kernel fill(v: i32, s: i32[N]) -> y: i32[N]
    grid i in N by B
{
    y[i] = v + s[i]
}

graph layers(x: f32[1, N], layers: [L]Layer) -> y: f32[1, N] {
    y = scale(x, 3)
}
`

func TestArgumentsThatDoNotFit(t *testing.T) {
	module := loadExample(scaled)
	x := jit.ArrayOf([]float32{1, 2}, 1, 2)
	for _, c := range []struct {
		function string
		args     jit.Args
		want     string
	}{
		{"scale", jit.Args{"f": 1}, "x of scale: is not given"},
		{"scale", jit.Args{"x": x}, "f of scale: is not given"},
		{"scale", jit.Args{"x": "abc", "f": 1}, "x of scale: is a tensor, and no string can be one: give an *Array, a *Tensor or a slice of numbers"},
		{"scale", jit.Args{"x": jit.ArrayOf([]float32{1, 2}, 3, 2), "f": 1}, "x of scale: it has 2 elements, and its shape [3, 2] has 6"},
		{"scale", jit.Args{"x": jit.ArrayOf([]float32{1, 2}, -1, -2), "f": 1}, "x of scale: its shape [-1, -2] has a negative size"},
		{"scale", jit.Args{"x": x, "f": true}, "f of scale: is true of type bool, must be a number of type f32"},
		{"scale", jit.Args{"x": x, "f": 1, "n": 256}, "n of scale: is 256, beyond the range of u8, 0 to 255"},
		{"scale", jit.Args{"x": x, "f": 1, "n": -1}, "n of scale: is -1, beyond the range of u8, 0 to 255"},
		{"scale", jit.Args{"x": x, "f": 1, "K": 1.5}, "K of scale: is 1.5 of type float64, must be a number of type i32"},
		{"scale", jit.Args{"x": x, "f": 1, "T": lang.F64}, "T of scale: is f64, must be a lang.DType that T: float allows"},
		{"scale", jit.Args{"x": x, "f": 1, "BM": 0}, "BM of scale: a pin is an integer of 1 or more, not 0"},
		{"scale", jit.Args{"x": x, "f": 1, "@precision": "f64"}, `@precision of scale: is f64, must be "tf32", "tf32x3" or "ieee"`},
		{"scale", jit.Args{"x": (*jit.Tensor)(nil), "f": 1}, "x of scale: is a nil *Tensor"},
		{"scale", jit.Args{"x": &jit.Tensor{DType: lang.F32, Shape: []int64{1, 2}}, "f": 1}, "x of scale: is a *Tensor without memory or element type: Upload gives memory"},
		{"scale", jit.Args{"x": &jit.Array{DType: 99, Shape: []int64{1}}, "f": 1}, "x of scale: it has no element type of the language"},
		{"scale", jit.Args{"x": x, "f": 1e300}, "f of scale: is 1e+300, beyond the range of f32"},
		{"scale", jit.Args{"x": x, "f": 1, "wraps": 1}, "there is no argument of scale wraps: did you mean warps?"},
		{"fill", jit.Args{"v": 1, "N": -1, "s": []int32{0}}, "N of fill: a dimension is an integer of 0 or more, not -1"},
		{"scale", jit.Args{"x": (*jit.Array)(nil), "f": 1}, "x of scale: is a nil *Array"},
		{"scale", jit.Args{"x": x, "f": 1, "@precision": 7}, `@precision of scale: is 7, must be "tf32", "tf32x3" or "ieee"`},
		{"fill", jit.Args{"v": 1.5, "s": []int32{0}}, "v of fill: is 1.5 of type float64, must be a number of type i32"},
		{"layers", jit.Args{"x": x, "layers": 3}, "layers of layers: is an array of structs: give []jit.Args, not int"},
		{"layers", jit.Args{"x": x, "layers": []jit.Args{{"v": x}}}, "layers[0].w of layers: is not given"},
		{"layers", jit.Args{"x": x, "layers": []jit.Args{{"w": []float32{1, 2}, "v": x}}}, "there is no field of layers[0] v: there is w"},
	} {
		_, err := module.Call(c.function, c.args)
		require.Error(t, err, "%s %v", c.function, c.args)
		assert.Equal(t, c.want, err.Error())
	}
}

func TestCalls(t *testing.T) {
	module := loadExample(scaled)
	assert.Equal(t, []string{"scale", "fill", "layers"}, module.Names())
	out, err := module.Call("scale", jit.Args{"x": jit.Converted(lang.F16, []float32{1, -2}, 1, 2), "f": 2, "n": uint8(3), "K": 5, "BN": 1})
	require.NoError(t, err)
	assert.Equal(t, []float64{30, -60}, out["y"].Floats())
	out, err = module.Call("fill", jit.Args{"v": -7, "s": []int32{0, 1, 2}})
	require.NoError(t, err)
	y, err := jit.Slice[int32](out["y"])
	require.NoError(t, err)
	assert.Equal(t, []int32{-7, -6, -5}, y)
	_, err = jit.Slice[float32](out["y"])
	assert.EqualError(t, err, "jit.Slice: the array is i32[3], and has no elements of type float32")
}

func TestLaunchLeavesTheCallersArraysAlone(t *testing.T) {
	module := loadExample(scaled)
	f, err := module.Function("scale")
	require.NoError(t, err)
	first := jit.ArrayOf([]float32{1, 2}, 1, 2)
	l, err := f.Bind(jit.Args{"x": first, "f": 1})
	require.NoError(t, err)
	defer l.Close()
	_, err = l.Read("y")
	assert.EqualError(t, err, "jit.Launch.Read: y of scale: there are no results before Run")
	for i, values := range [][]float32{{1, 2}, {5, 6}, {7, 8}} {
		if i > 0 {
			require.NoError(t, l.Write("x", jit.ArrayOf(values, 1, 2)))
		}
		require.NoError(t, l.Run())
		y, err := l.Read("y")
		require.NoError(t, err)
		assert.Equal(t, []float64{2 * float64(values[0]), 2 * float64(values[1])}, y.Floats())
	}
	assert.Equal(t, []float64{1, 2}, first.Floats())
	assert.EqualError(t, l.Write("x", jit.ArrayOf([]float32{1})), "x of scale: was bound to f32[1, 2], and f32[1] is given")
	_, err = l.Read("z")
	assert.EqualError(t, err, "there is no tensor of scale z: there are y, x")
	assert.EqualError(t, l.Write("x", nil), "x of scale: is given no array")
	l.Close()
	l.Close()
	assert.EqualError(t, l.Run(), "jit.Launch.Run: the launch of scale is closed")
	_, err = l.Read("y")
	assert.EqualError(t, err, "jit.Launch.Read: the launch of scale is closed")
}

func TestAnElementTypeGivenIsThatOfTheArguments(t *testing.T) {
	_, err := loadExample(scaled).Call("scale", jit.Args{"x": jit.ArrayOf([]float32{1}, 1, 1), "f": 1, "T": lang.BF16})
	assert.ErrorContains(t, err, "x of scale is T, which is bf16 here, but the argument is f32")
}

func TestConvertedSaturates(t *testing.T) {
	values := []float64{-1e30, -3.7, 2.5, 300, math.Inf(1), math.NaN()}
	for d, want := range map[lang.DType][]float64{
		lang.I8:  {-128, -3, 2, 127, 127, 0},
		lang.U16: {0, 0, 2, 300, 65535, 0},
		lang.I64: {math.MinInt64, -3, 2, 300, math.MaxInt64, 0},
		lang.U64: {0, 0, 2, 300, math.MaxUint64, 0},
	} {
		assert.Equal(t, want, jit.Converted(d, values).Floats(), d)
	}
	_, err := jit.Slice[int8](nil)
	assert.EqualError(t, err, "jit.Slice: there is no array, and so no elements of type int8")
}

// A dimension without elements is shown where a parameter has it, with the access that needs one.
func TestAnEmptyDimensionIsShownWhereItStands(t *testing.T) {
	module := loadExample(`kernel last(x: f32[N], z: f32[M]) -> y: f32[M]
    grid i in M by B
{
    y[i] = z[i] + x[N - 1]
}
`)
	f, err := module.Function("last")
	require.NoError(t, err)
	_, err = f.Call(jit.Args{"x": jit.ArrayOf([]float32{}, 0), "z": jit.ArrayOf([]float32{1, 2}, 2)})
	d := &lang.Diagnostic{}
	require.ErrorAs(t, err, &d)
	assert.Equal(t, lang.ErrArgShape, d.Code)
	assert.Equal(t, "N", d.At.Text())
	require.Len(t, d.Labels, 1)
	assert.Equal(t, "N - 1", d.Labels[0].At.Text())
}
