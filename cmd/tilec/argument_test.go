package main

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/typed"
)

func TestParseArgument(t *testing.T) {
	randn, full := generators["randn"], generators["full"]
	for text, want := range map[string]argument{
		"randn":                  {generator: randn},
		"randn[3, N]":            {generator: randn, dims: []string{"3", "N"}},
		"randn[]":                {generator: randn, dims: []string{}},
		"randn:bf16":             {generator: randn, dtype: lang.BF16},
		"full(-1.5)[2]:f16":      {generator: full, parameters: []float64{-1.5}, dims: []string{"2"}, dtype: lang.F16},
		"full(inf)":              {generator: full, parameters: []float64{math.Inf(1)}},
		"@a/b.npy":               {file: "a/b.npy"},
		"@m.safetensors":         {file: "m.safetensors"},
		"@m.npz":                 {file: "m.npz"},
		"@m.safetensors:h.0.w:x": {file: "m.safetensors", tensor: "h.0.w:x"},
		"1e-5":                   {},
		"bf16":                   {},
		"-3":                     {},
	} {
		got, err := parseArgument("x", text)
		require.NoError(t, err, text)
		want.name, want.text = "x", text
		assert.Equal(t, &want, got, text)
	}
}

func TestParseArgumentRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"@file":                 "a file is @NAME.npy, @NAME.npz:ARRAY or @NAME.safetensors:TENSOR",
		"randn[3":               `a "]" is missing`,
		"full(1":                `a ")" is missing`,
		"full(one)":             `"one" is no number`,
		"randn(1)":              "randn takes 0 numbers in parentheses, 1 are given",
		"randn[3]x":             `do not understand "x"`,
		"randn[3]:f12":          `unknown element type "f12"`,
		"noise[3]":              `unknown generator "noise": known are arange`,
		"randint(1)[3]":         "randint takes 2 numbers in parentheses (low, high), 1 are given",
		"full(1.5)[2]:f16:bf16": `unknown element type "f16:bf16"`,
	} {
		_, err := parseArgument("x", text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestGeneratorsDependOnSeedAndName(t *testing.T) {
	make := func(seed uint64, name string) []byte {
		return generators["randn"].generate(nil, lang.F32, 16, seed, name, new(atomic.Int64))
	}
	assert.Equal(t, make(1, "x"), make(1, "x"))
	assert.NotEqual(t, make(1, "x"), make(2, "x"))
	assert.NotEqual(t, make(1, "x"), make(1, "w"))
}

// Tensors whose elements are left for later are made side by side, each as it would be alone, and who waits is told how many elements there are.
func TestElementsAreMadeLast(t *testing.T) {
	b := newBinding(nil, 1, func(string, ...any) {})
	const n = 2*toldEvery + 3
	for _, name := range []string{"x", "w"} {
		b.arrays[name] = &array{name: name, Array: &jit.Array{DType: lang.F32, Shape: []int64{n}}}
		x, err := b.tensor(name, typed.GType{Kind: typed.GTensor})
		require.NoError(t, err)
		require.Nil(t, x.Data)
	}
	text, stopped := "", false
	b.working = func(say func() string) func() {
		return func() { text, stopped = say(), true }
	}
	b.makeElements()
	assert.True(t, stopped)
	assert.Equal(t, "making tensors: 0 of 0 million elements", text)
	assert.Equal(t, int64(2*n), b.made.Load())
	assert.Equal(t, b.elements, b.made.Load())
	for _, name := range []string{"x", "w"} {
		assert.Equal(t, generators["randn"].generate(nil, lang.F32, n, 1, name, new(atomic.Int64)), b.arrays[name].Data)
	}
}

// The chunks of a large tensor have numbers of their own, the same on any number of processors, and the first those of a small tensor.
func TestRandomTensorsOfManyChunks(t *testing.T) {
	made := func(n int64) []byte {
		var done atomic.Int64
		defer func() { require.Equal(t, n, done.Load()) }()
		return generators["rand"].generate(nil, lang.F32, n, 3, "x", &done)
	}
	few, many := made(1000), made(2*chunk+1000)
	require.Equal(t, few, many[:4000])
	require.NotEqual(t, few, many[4*chunk:4*chunk+4000])
	require.NotEqual(t, many[4*chunk:4*chunk+4000], many[8*chunk:8*chunk+4000])
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.Equal(t, many, made(2*chunk+1000))
}
