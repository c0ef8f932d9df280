package gpt

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt/bpe"
)

// A prompt and a text to score begin with the tokens that the tokenizer puts before every text, and an empty prompt is those.
func TestTextsBeginAsTheTokenizerSays(t *testing.T) {
	tokenizer, err := bpe.NewFromJSON([]byte(byteLevel(t, `"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "!"}}, {"SpecialToken": {"id": "!"}}, {"Sequence": {"id": "A"}}],
		"special_tokens": {"!": {"ids": [33]}}}`)))
	require.NoError(t, err)
	m := &Model{Checkpoint: &Checkpoint{Tokenizer: tokenizer}, context: 4}
	m.Checkpoint.Config.BOSTokenID = 7
	for prompt, want := range map[string][]int32{"": {33, 33}, "ab": {33, 33, 'a', 'b'}} {
		ids, err := m.Encode(prompt)
		require.NoError(t, err)
		require.Equal(t, want, ids)
		ids, begins, err := m.EncodeText(prompt)
		require.NoError(t, err)
		require.True(t, begins)
		require.Equal(t, want, ids)
	}
	_, err = m.Encode("abc")
	require.ErrorContains(t, err, "the prompt has 5 tokens, the model's context 4")
}

// A character that no token has is an error of the prompt and of a text, not a prompt without it.
func TestCharactersWithoutAToken(t *testing.T) {
	data, err := bpe.CharactersJSON([]string{"\n", "a", "b"})
	require.NoError(t, err)
	tokenizer, err := bpe.NewFromJSON(data)
	require.NoError(t, err)
	m := &Model{Checkpoint: &Checkpoint{Tokenizer: tokenizer}, context: 4}
	m.Checkpoint.Config.BOSTokenID = -1
	ids, err := m.Encode("ab\n")
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 0}, ids)
	const want = `the character "c" at byte 2 of the text is not in the vocabulary, which has 3 characters`
	_, err = m.Encode("abc")
	require.EqualError(t, err, want)
	_, _, err = m.EncodeText("abc")
	require.EqualError(t, err, want)
	_, begins, err := m.EncodeText("ab")
	require.NoError(t, err)
	require.False(t, begins)
	_, err = m.Encode("")
	require.ErrorContains(t, err, "the prompt is empty")
}

// byteLevel is a tokenizer.json whose tokens are the bytes, by their numbers, with another field.
func byteLevel(t *testing.T, field string) string {
	t.Helper()
	vocab := map[string]int{}
	next := rune(256)
	for b := range 256 {
		char := rune(b)
		if b <= ' ' || b >= 0x7f && b <= 0xa0 || b == 0xad { // what is not printed has a character of its own
			char = next
			next++
		}
		vocab[string(char)] = b
	}
	text, err := json.Marshal(vocab)
	require.NoError(t, err)
	return fmt.Sprintf(`{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE", "vocab": %s, "merges": []}, %s}`, text, field)
}
