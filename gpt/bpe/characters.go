package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Some small models have a token for each character of their text and no others, as nanoGPT's of Shakespeare. Hugging Face's format says so by a model of
// whole words, and a rule that cuts text into characters.

// everyCharacter is the regular expression of that rule.
const everyCharacter = `[\s\S]`

// CharactersJSON is the tokenizer.json of a vocabulary of characters, the first with the id 0.
func CharactersJSON(characters []string) ([]byte, error) {
	vocab := map[string]int{}
	for id, c := range characters {
		if _, taken := vocab[c]; taken {
			return nil, fmt.Errorf("the character %q has two ids, %d and %d", c, vocab[c], id)
		}
		vocab[c] = id
	}
	type fields = map[string]any
	return json.MarshalIndent(fields{
		"version": "1.0", "added_tokens": []any{}, "normalizer": nil, "post_processor": nil, "decoder": fields{"type": "Fuse"},
		"pre_tokenizer": fields{"type": "Split", "pattern": fields{"Regex": everyCharacter}, "behavior": "Isolated", "invert": false},
		// A model of words must name a token for those that it does not know; that there is none of this name makes them errors.
		"model": fields{"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab},
	}, "", " ")
}

// setCharacters takes a vocabulary of characters.
func (t *Tokenizer) setCharacters(ids map[string]int32, cutters, normalizers, decoders []component) error {
	var pattern struct{ Regex string }
	if len(cutters) != 1 || !cutters[0].is("Split", "behavior", "Isolated", "invert", false) ||
		json.Unmarshal(cutters[0].object["pattern"], &pattern) != nil || pattern.Regex != everyCharacter {
		return fmt.Errorf("model: WordLevel is supported for single characters alone: required the pre_tokenizer Split by the Regex %q, Isolated", everyCharacter)
	}
	if len(normalizers) > 0 || len(decoders) != 1 || decoders[0].kind != "Fuse" {
		return fmt.Errorf("normalizer %s and decoder %s are not supported with a vocabulary of characters, required none and Fuse", kinds(normalizers), kinds(decoders))
	}
	if len(t.added) > 0 {
		return errors.New("added_tokens are not supported with a vocabulary of characters")
	}
	t.characters = map[rune]int32{}
	for token, id := range ids {
		r, size, ok := character(token)
		if !ok || size != len(token) {
			return fmt.Errorf("model: vocab: token %q: required a single character", token)
		}
		t.characters[r], t.tokens[id] = id, token
	}
	return nil
}

// Check makes sure that every character of a text has a token. Tokenizers of bytes have one for each.
func (t *Tokenizer) Check(text string) error {
	if t.characters == nil {
		return nil
	}
	for at, r := range text {
		if _, ok := t.characters[r]; !ok {
			_, size := utf8.DecodeRuneInString(text[at:])
			return fmt.Errorf("the character %q at byte %d of the text is not in the vocabulary, which has %d characters", text[at:at+size], at, len(t.characters))
		}
	}
	return nil
}
