package gpt_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// A program may keep anything of a text: here a vector, which has no dimension of positions. Its tokens are those of a float64 model,
// and a second text is not made from what the first left.
func TestStateOfAnyKind(t *testing.T) {
	const width, vocabulary = 24, 1024
	random := rand.New(rand.NewPCG(7, 8))
	values := func(n int, deviation float64) (narrow []float32, wide []float64) {
		for range n {
			v := float32(deviation * random.NormFloat64())
			narrow, wide = append(narrow, v), append(wide, float64(v))
		}
		return narrow, wide
	}
	words, wordsOf := values(vocabulary*width, 1)
	u, uOf := values(width*width, 0.4)
	cfg, err := config.Of(map[string]any{"hidden_size": width, "vocab_size": vocabulary, "n_positions": 64})
	require.NoError(t, err)
	ckpt := llamaOf(t, cfg, []safetensors.Tensor{
		{Name: "words", DType: lang.F32, Shape: []int{vocabulary, width}, Data: jit.Bytes(words)},
		{Name: "u", DType: lang.F32, Shape: []int{width, width}, Data: jit.Bytes(u)},
	})
	source, err := os.ReadFile("testdata/recurrent.tile")
	require.NoError(t, err)
	program, problems := jit.Load("recurrent.tile", source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, ckpt, jit.NewCompiler(jittest.Device(t), nil), lang.F32, exactPrecisions(t)[0])
	require.NoError(t, err)
	defer m.Close()
	for _, prompt := range [][]int32{{5, 900, 17}, {3}, {5, 900, 17}} {
		h := make([]float64, width)
		step := func(id int32) {
			y := make([]float64, width)
			for j := range y {
				y[j] = math.Tanh(dot(h, uOf[j*width:][:width]) + wordsOf[int(id)*width+j])
			}
			h = y
		}
		for _, id := range prompt {
			step(id)
		}
		var want []int32
		for range 12 {
			logits := make([]float64, vocabulary)
			for v := range logits {
				logits[v] = dot(h, wordsOf[v*width:][:width])
			}
			best := slices.Index(logits, slices.Max(logits))
			require.Greater(t, logits[best]-slices.Sorted(slices.Values(logits))[vocabulary-2], 1e-3, "a test of which rounding decides")
			want = append(want, int32(best))
			step(int32(best))
		}
		assert.Equal(t, want, tokensOf(t, m, prompt, 12))
	}
}
