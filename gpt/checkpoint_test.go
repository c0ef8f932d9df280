package gpt

import (
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// The embedded tensors come out of their compressed file whole.
func TestMiniHasAllItsParameters(t *testing.T) {
	c, err := OpenFS(Mini())
	require.NoError(t, err)
	elements := 0
	for _, tensor := range c.Tensors.Tensors() {
		tensor, err := c.Tensors.Tensor(tensor.Name)
		require.NoError(t, err)
		require.Equal(t, lang.BF16, tensor.DType)
		elements += len(tensor.Data) / tensor.DType.Size()
	}
	require.Equal(t, 2_915_328, elements)
	wte, err := c.Tensors.Tensor("transformer.wte.weight")
	require.NoError(t, err)
	require.Equal(t, 1024, wte.Shape[0])
}

func TestWeightsThatCannotBeRead(t *testing.T) {
	_, err := readWeights(fstest.MapFS{})
	require.ErrorContains(t, err, "model.safetensors")
	_, err = readWeights(fstest.MapFS{"model.safetensors.planes.zst": {Data: []byte("no frame of zstd")}})
	require.ErrorContains(t, err, "model.safetensors.planes.zst: ")
}

// A file of any length comes back from its planes.
func TestPlanes(t *testing.T) {
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer w.Close()
	for n := range 6 {
		want := []byte{0xc0, 0x49, 0x7f, 0x80, 0x01}[:max(n-1, 0)]
		var exponents, fractions []byte
		for i := 0; i+1 < len(want); i += 2 {
			word := uint16(want[i]) | uint16(want[i+1])<<8
			exponents, fractions = append(exponents, byte(word>>7)), append(fractions, byte(word>>8)&0x80|byte(word)&0x7f)
		}
		planes := append(append(exponents, fractions...), want[len(want)/2*2:]...)
		got, err := readWeights(fstest.MapFS{"model.safetensors.planes.zst": {Data: w.EncodeAll(planes, nil)}})
		require.NoError(t, err)
		require.Equal(t, want, append([]byte{}, got...))
	}
}
