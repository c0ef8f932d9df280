package bpe

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCharacters(t *testing.T) {
	data, err := CharactersJSON([]string{"\n", " ", "é", "a", "\ufffd"})
	require.NoError(t, err)
	tokenizer := fromJSON(t, data)
	require.Equal(t, 5, tokenizer.VocabSize())
	require.Equal(t, []int32{3, 2, 1, 0, 4}, tokenizer.Encode("aé \n\ufffd"))
	text, err := tokenizer.Decode([]int32{3, 2, 1, 0, 4})
	require.NoError(t, err)
	require.Equal(t, "aé \n\ufffd", text)
	require.NoError(t, tokenizer.Check("aé \n"))
	require.EqualError(t, tokenizer.Check("a éx"), `the character "x" at byte 4 of the text is not in the vocabulary, which has 5 characters`)
	require.NoError(t, nano(t).Check("x\xff"))
	_, err = CharactersJSON([]string{"a", "b", "a"})
	require.EqualError(t, err, `the character "a" has two ids, 0 and 2`)

	for _, c := range []struct {
		change fields
		want   string
	}{
		{fields{"model": fields{"type": "WordLevel", "vocab": fields{"ab": 0}}}, `model: vocab: token "ab": required a single character`},
		{fields{"model": fields{"type": "WordLevel", "vocab": 3}}, "model: vocab: JSON 3 where an object is required"},
		{fields{"pre_tokenizer": fields{"type": "Whitespace"}}, "WordLevel is supported for single characters alone"},
		{fields{"pre_tokenizer": fields{"type": "Split", "pattern": fields{"Regex": `\w+`}, "behavior": "Isolated", "invert": false}}, "WordLevel is supported for single characters alone"},
		{fields{"decoder": nil}, "normalizer nothing and decoder nothing are not supported with a vocabulary of characters"},
		{fields{"added_tokens": []fields{{"id": 5, "content": "<|end|>"}}}, "added_tokens are not supported with a vocabulary of characters"},
	} {
		all := fields{}
		require.NoError(t, json.Unmarshal(data, &all))
		maps.Copy(all, c.change)
		text, err := json.Marshal(all)
		require.NoError(t, err)
		_, err = NewFromJSON(text)
		require.ErrorContains(t, err, c.want)
	}
}
