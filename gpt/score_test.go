package gpt_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit/jittest"
	"tilec/lang"
)

// nats is the negative logarithm of the probability that logits give to a token.
func nats(logits []float64, token int32) float64 {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(v - logits[token])
	}
	return math.Log(sum)
}

// short is nano with a context of a few positions.
func short(t *testing.T, positions int) *gpt.Checkpoint {
	return changed(t, map[string]any{"n_positions": positions, "n_ctx": positions}, func(all []safetensors.Tensor) []safetensors.Tensor {
		wpe := named(t, all, "transformer.wpe.weight")
		wpe.Shape = []int{positions, wpe.Shape[1]}
		wpe.Data = wpe.Data[:2*positions*wpe.Shape[1]]
		return all
	})
}

// Every token is foretold once, by as many tokens before it as the windows promise.
func TestScoreIsTheReferences(t *testing.T) {
	const context16, n = 16, 50
	ckpt := short(t, context16)
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	text := oracles(t, "nano")[0].greedy[:n]
	ref := newReference(t, ckpt, "exact")
	for _, c := range []struct{ tokens, stride, windows int }{{n, 16, 4}, {n, 5, 8}, {n, 1, 34}, {17, 8, 1}, {18, 8, 2}, {2, 0, 1}, {n, 0, 6}} {
		tokens := text[:c.tokens]
		stride := c.stride
		if stride == 0 {
			stride = context16 / 2
		}
		// A token is in the first window that reaches it: those begin at multiples of the stride, the last at the end.
		want := 0.0
		for i := 1; i < len(tokens); i++ {
			begin := 0
			for begin+context16 < i {
				begin += stride
			}
			begin = min(begin, max(0, len(tokens)-1-context16))
			logits := ref.logits(tokens[begin:i])
			want += nats(logits[len(logits)-ref.vocab:], tokens[i])
		}
		var reports []int
		s, err := m.Score(context.Background(), tokens, c.stride, func(windows, of int) {
			require.Equal(t, c.windows, of)
			reports = append(reports, windows)
		})
		require.NoError(t, err)
		assert.Equal(t, len(tokens)-1, s.Tokens, "%+v", c)
		assert.Equal(t, c.windows, s.Windows, "%+v", c)
		assert.Len(t, reports, c.windows)
		assert.Equal(t, stride, s.Stride)
		// Two logits of a token's probability are each within the bound.
		assert.InDelta(t, want, s.Nats, 2*logitBound(exactPrecisions(t)[0])*float64(s.Tokens), "%+v", c)
		assert.InDelta(t, math.Exp(want/float64(s.Tokens)), s.Perplexity(), 1e-3*s.Perplexity())
		assert.InDelta(t, want/math.Ln2/100, s.BitsPerByte(100), 1e-3)
	}
}

// The first token of a text is foretold from the token that texts begin with.
func TestScoreOfAText(t *testing.T) {
	m := model(t, "nano", lang.F32, exactPrecisions(t)[0])
	ids, begins, err := m.EncodeText("ROMEO:")
	require.NoError(t, err)
	require.True(t, begins)
	require.Equal(t, append([]int32{0}, m.Checkpoint.Tokenizer.Encode("ROMEO:")...), ids)
	m.Checkpoint.Config.BOSTokenID = 7
	ids, _, err = m.EncodeText("")
	require.NoError(t, err)
	require.Equal(t, []int32{7}, ids)
}

func TestScoreRefuses(t *testing.T) {
	m := model(t, "nano", lang.F32, "")
	for _, c := range []struct {
		tokens []int32
		stride int
		want   string
	}{
		{nil, 1, "there is nothing to foretell"},
		{[]int32{1}, 1, "there is nothing to foretell"},
		{[]int32{1, 2}, -1, "the stride is -1, required 1 to 256"},
		{[]int32{1, 2}, 257, "the stride is 257, required 1 to 256"},
	} {
		_, err := m.Score(context.Background(), c.tokens, c.stride, nil)
		require.ErrorContains(t, err, c.want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := m.Score(ctx, slices.Repeat([]int32{5}, 600), 0, func(int, int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

// A model whose logits are no numbers has no score.
func TestScoreOfNoNumbers(t *testing.T) {
	ckpt := changed(t, nil, func(all []safetensors.Tensor) []safetensors.Tensor {
		for i := range all {
			if all[i].Name == "transformer.ln_f.weight" {
				all[i] = wideF32(t, all[i], 0, 3e38)
			}
		}
		return all
	})
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	_, err = m.Score(context.Background(), []int32{1, 2, 3, 4}, 0, nil)
	require.ErrorContains(t, err, "its logits are no finite numbers")
}
