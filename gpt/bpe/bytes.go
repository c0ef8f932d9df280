package bpe

import "fmt"

// NewBytes is a tokenizer for a vocabulary of so many tokens whose texts nobody has: its first 256 tokens are the bytes, in the order of
// GPT-2's vocabulary, and its last one is end-of-text. Text is its bytes; every other token is shown by its number, "<1234>", and
// no text has it.
func NewBytes(size int) *Tokenizer {
	ids := map[string]int32{EndOfText: int32(size - 1)}
	for b, char := range byteChar {
		ids[string(char)] = int32(byteOrder[b])
	}
	for id := 256; id < size-1; id++ {
		ids[fmt.Sprintf("<%d>", id)] = int32(id)
	}
	t := newTokenizer(ids)
	for b := range t.byteID {
		t.byteID[b] = int32(byteOrder[b])
	}
	t.added = []addedTokens{newAddedTokens([]addedToken{{text: EndOfText, id: t.endOfText}})}
	return t
}

// byteOrder is where each byte stands among the first tokens of GPT-2: those that are printable characters by themselves come first.
var byteOrder = func() (order [256]int) {
	next := 0
	for _, own := range []bool{true, false} {
		for b, char := range byteChar {
			if (rune(b) == char) == own {
				order[b] = next
				next++
			}
		}
	}
	return order
}()
