package gpt

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// Weights round to the nearest number of a narrower type, halfway to even.
func TestWeightsRound(t *testing.T) {
	values := []float32{1, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1.8p-7, -1 - 0x1.8p-8, 1 + 0x1.8p-11}
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	src := safetensors.Tensor{Name: "w", DType: lang.F32, Shape: []int{len(values)}, Data: data}
	for _, c := range []struct {
		to    lang.DType
		value func(uint16) float32
		want  []float32
	}{
		{lang.BF16, lang.BF16Value, []float32{1, 1, 1 + 0x1p-7, 1 + 0x1p-6, -1 - 0x1p-7, 1}},
		{lang.F16, lang.F16Value, []float32{1, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1.8p-7, -1 - 0x1.8p-8, 1 + 0x1p-10}},
	} {
		out, err := convert(src, c.to)
		require.NoError(t, err)
		for i, want := range c.want {
			assert.Equal(t, want, c.value(binary.LittleEndian.Uint16(out[2*i:])), "%v as %s", values[i], c.to)
		}
	}
}

// Weights of 8 bits are halves rounded to even, of a scale that makes the largest of a row the type's largest number; a row of zeros has one too.
func TestQuantisedTies(t *testing.T) {
	values := []float32{127, 0.5, 1.5, -2.5, 0, 0, 0, 0, -254, 1, 3, 5}
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	src := safetensors.Tensor{Name: "w", DType: lang.F32, Shape: []int{3, 4}, Data: data}
	codes, scales, err := quantise(src, lang.I8)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 1, 2}, scales)
	var got []int8
	for _, c := range codes {
		got = append(got, int8(c))
	}
	assert.Equal(t, []int8{127, 0, 2, -2, 0, 0, 0, 0, -127, 0, 2, 2}, got)
	binary.LittleEndian.PutUint32(data[4*5:], math.Float32bits(float32(math.NaN())))
	_, _, err = quantise(src, lang.I8)
	require.ErrorContains(t, err, `tensor "w": element [1, 1] is NaN`)
}
