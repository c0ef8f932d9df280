package gpt

import (
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

func TestNormalQuantiles(t *testing.T) {
	for i, z := range normalQuantiles() {
		p := 0.5 + (float64(i)+0.5)/(1<<16)
		require.InDelta(t, math.Sqrt2*math.Erfinv(2*p-1), z, 1e-9, "quantile %d", i)
	}
}

// The sizes are those of the published models, to the parameter.
func TestRandomSizes(t *testing.T) {
	for name, want := range map[string]int{"gpt2": 124_439_808, "gpt2-medium": 354_823_168, "gpt2-large": 774_030_080, "gpt2-xl": 1_557_611_200, "llama-1b": 1_235_814_400, "llama-3b": 3_212_749_824, "llama-8b": 8_030_261_248} {
		c, err := Random(name, 1)
		require.NoError(t, err)
		n := 0
		for _, x := range c.Tensors.Tensors() {
			elements := 1
			for _, d := range x.Shape {
				elements *= d
			}
			n += elements
		}
		require.Equal(t, want, n, name)
		vocabulary := 50257
		if strings.HasPrefix(name, "llama") {
			vocabulary = 128256
		}
		require.Equal(t, vocabulary, c.Tokenizer.VocabSize())
	}
	_, err := Random("gpt3", 1)
	require.EqualError(t, err, `no network is called "gpt3": known are nano, micro, mini, tile-small, tile-medium, tile-large, llama-nano, gpt2, gpt2-medium, gpt2-large, gpt2-xl, llama-1b, llama-3b, llama-8b`)
}

func randomTensor(t *testing.T, name string, seed uint64, tensor string) safetensors.Tensor {
	t.Helper()
	c, err := Random(name, seed)
	require.NoError(t, err)
	x, err := c.Tensors.Tensor(tensor)
	require.NoError(t, err)
	require.Equal(t, lang.BF16, x.DType)
	return x
}

// Weights are distributed as GPT-2's are before training, and fall by their seed, tensor and place.
func TestRandomWeights(t *testing.T) {
	for tensor, want := range map[string]float64{"wte.weight": 0.02, "h.5.attn.c_attn.weight": 0.02, "h.0.attn.c_proj.weight": 0.02 / math.Sqrt(12), "h.5.mlp.c_proj.weight": 0.02 / math.Sqrt(12)} {
		values, err := randomTensor(t, "mini", 1, tensor).Float32s()
		require.NoError(t, err)
		n := float64(len(values))
		sum, squares, fourth, beyond := 0.0, 0.0, 0.0, 0.0
		for _, v := range values {
			x := float64(v) / want
			sum, squares, fourth = sum+x, squares+x*x, fourth+x*x*x*x
			if math.Abs(x) > 2 {
				beyond++
			}
		}
		// Five deviations of each: of a mean 1/√n, of squares √(2/n), of fourth powers √(96/n); and bf16's rounding of 2^-9 adds little.
		require.InDelta(t, 0, sum/n, 5/math.Sqrt(n), tensor)
		require.InDelta(t, 1, squares/n, 5*math.Sqrt(2/n)+1e-3, tensor)
		require.InDelta(t, 3, fourth/n, 5*math.Sqrt(96/n)+1e-2, tensor)
		require.InDelta(t, math.Erfc(math.Sqrt2), beyond/n, 5*math.Sqrt(0.0455/n)+1e-3, tensor)
	}
	for tensor, want := range map[string]float32{"h.0.ln_1.weight": 1, "ln_f.weight": 1, "h.0.ln_1.bias": 0, "h.3.attn.c_attn.bias": 0} {
		values, err := randomTensor(t, "mini", 1, tensor).Float32s()
		require.NoError(t, err)
		for _, v := range values {
			require.Equal(t, want, v, tensor)
		}
	}
	a := randomTensor(t, "nano", 1, "h.0.mlp.c_fc.weight").Data
	require.Equal(t, a, randomTensor(t, "nano", 1, "h.0.mlp.c_fc.weight").Data)
	require.NotEqual(t, a, randomTensor(t, "nano", 2, "h.0.mlp.c_fc.weight").Data)
	require.NotEqual(t, a, randomTensor(t, "nano", 1<<32+1, "h.0.mlp.c_fc.weight").Data)
	require.NotEqual(t, a, randomTensor(t, "nano", 1, "h.1.mlp.c_fc.weight").Data)
}

// A seed gives the same bits on every machine.
func TestRandomBitsStay(t *testing.T) {
	h := fnv.New64a()
	for _, tensor := range []string{"wte.weight", "h.2.attn.c_proj.weight"} {
		h.Write(randomTensor(t, "nano", 7, tensor).Data)
	}
	require.Equal(t, uint64(0xac3187950c73c5bd), h.Sum64())
}
