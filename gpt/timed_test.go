package gpt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/jit/jittest"
	"tilec/lang"
)

// Steps and prompts run again and again, and a text after them is as it was before.
func TestBindStepAndPrompt(t *testing.T) {
	ckpt, err := gpt.Random("nano", 3)
	require.NoError(t, err)
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	text := func() (tokens []int32) {
		require.NoError(t, m.Tokens(context.Background(), []int32{5, 900, 33}, 5, gpt.Sampling{TopP: 1}, func(id int32) (bool, error) {
			tokens = append(tokens, id)
			return true, nil
		}))
		return tokens
	}
	want := text()
	for _, bind := range []func(sequences, tokens int) (func() error, error){
		m.BindStep,
		func(sequences, tokens int) (func() error, error) { return m.BindPrompt(sequences, tokens, lang.F32) },
		func(sequences, tokens int) (func() error, error) { return m.BindPrompt(sequences, tokens, lang.BF16) },
	} {
		for _, of := range [][2]int{{1, 1}, {3, 20}, {2, 256}, {1, 7}} {
			if of[1] > 20 && jittest.Device(t).Target().IsGPU() {
				continue // it may be the emulator
			}
			run, err := bind(of[0], of[1])
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, run())
			}
		}
		assert.Equal(t, want, text())
		for _, of := range [][2]int{{0, 1}, {1, 0}, {1, 257}} {
			_, err := bind(of[0], of[1])
			assert.ErrorContains(t, err, "1 to 256 tokens, the model's context")
		}
	}
}
