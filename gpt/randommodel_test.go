package gpt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/jit/jittest"
	"tilec/lang"
)

// A network of random weights computes what its float64 model does.
func TestRandomModel(t *testing.T) {
	ckpt, err := gpt.Random("tile-small", 3)
	require.NoError(t, err)
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	tokens := []int32{5, 900, 33, 5, 77, 1023, 0}
	got, err := m.Scores(tokens)
	require.NoError(t, err)
	want := newReference(t, ckpt, "exact").logits(tokens)
	largest, _ := difference(got, want)
	assert.LessOrEqual(t, largest, logitBound(exactPrecisions(t)[0]))
	largest, _ = difference(want, make([]float64, len(want)))
	assert.Greater(t, largest, 0.1, "the logits are no zeros")
}

// So does a Llama's, which another program runs.
func TestRandomLlama(t *testing.T) {
	assert.Equal(t, "gpt.tile", gpt.ProgramFor("gpt2"))
	assert.Equal(t, "llama.tile", gpt.ProgramFor("llama-nano"))
	ckpt, err := gpt.Random("llama-nano", 3)
	require.NoError(t, err)
	tokens := []int32{5, 900, 33, 5, 77, 1023, 0}
	got, err := mustLlama(t, ckpt, gpt.Options{DType: lang.F32}).Scores(tokens)
	require.NoError(t, err)
	exact := newLlama(t, ckpt, same, same)
	rounding := *exact
	rounding.round, rounding.each = roundTo(lang.F32), roundTo(lang.F32)
	assertRounded(t, "random", got, rounding.logits(tokens), exact.logits(tokens))
}
