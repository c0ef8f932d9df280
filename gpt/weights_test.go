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
