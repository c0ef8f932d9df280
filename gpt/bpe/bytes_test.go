package bpe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	tokenizer := NewBytes(50257)
	require.Equal(t, 50257, tokenizer.VocabSize())
	// As GPT-2's vocabulary has them.
	require.Equal(t, []int32{0, 32, 64, 220, 198, 50256}, tokenizer.Encode("!Aa \n"+EndOfText))
	text := "naïve — 你好 🌍\x00\xff <300>"
	got, err := tokenizer.Decode(tokenizer.Encode(text))
	require.NoError(t, err)
	require.Equal(t, text, got)
	require.Len(t, tokenizer.Encode("<300>"), 5)
	shown, err := tokenizer.Decode([]int32{300, 64, 50255})
	require.NoError(t, err)
	require.Equal(t, "<300>a<50255>", shown)
	id, ok := tokenizer.EndOfText()
	require.True(t, ok)
	require.Equal(t, int32(50256), id)
	seen := map[string]bool{}
	for id := range int32(256) {
		token, err := tokenizer.Token(id)
		require.NoError(t, err)
		require.Len(t, token, 1)
		seen[token] = true
	}
	require.Len(t, seen, 256)
}
