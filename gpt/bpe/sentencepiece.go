package bpe

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// spaceMark stands for a space in SentencePiece's vocabularies.
const spaceMark = "\u2581"

// sentencePiece is how the tokenizers of Llama 2 and its kin start: a text is one piece and starts as its characters. A
// character that is no token starts as the tokens of its bytes, "<0xE4>".
type sentencePiece struct {
	// ids are the tokens of single characters.
	ids   map[rune]int32
	bytes [256]int32
	// before says before which texts a space is put.
	before prepending
	// normalizes says that spaces are marked before the last added tokens are looked for, and not when the text is cut.
	normalizes bool
	// added are looked for in a text whose spaces are marked, and have them marked too.
	added addedTokens
	// strips says that decoding takes the first space away.
	strips bool
}

// prepending is before which of the texts between added tokens a space is put.
type prepending uint8

const (
	toNone prepending = iota
	toEach
	// Those that have one already get none.
	toEachWithout
	toFirstWithout
)

// newSentencePiece finds the tokens of characters and bytes in a vocabulary.
func newSentencePiece(ids map[string]int32) (*sentencePiece, error) {
	s := &sentencePiece{ids: map[rune]int32{}}
	for b := range s.bytes {
		token := byteToken(byte(b))
		id, ok := ids[token]
		if !ok {
			return nil, fmt.Errorf("the token %q is missing, required one for each of the 256 bytes", token)
		}
		s.bytes[b] = id
	}
	for token, id := range ids {
		if r, size, ok := character(token); ok && size == len(token) {
			s.ids[r] = id
		}
	}
	return s, nil
}

// character is the first character of a text; not ok for bytes that are none. U+FFFD, which stands for such bytes elsewhere, is one.
func character(text string) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRuneInString(text)
	return r, size, r != utf8.RuneError || size > 1
}

func byteToken(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// text is what a token of the vocabulary stands for.
func (s *sentencePiece) text(token string, id int32) string {
	var b byte
	if n, err := fmt.Sscanf(token, "<0x%02X>", &b); n == 1 && err == nil && s.bytes[b] == id {
		return string([]byte{b})
	}
	return strings.ReplaceAll(token, spaceMark, " ")
}

// normalize marks the spaces of a text between added tokens; first says that nothing is before it.
func (s *sentencePiece) normalize(text string, first bool) string {
	text = strings.ReplaceAll(text, " ", spaceMark)
	marked := strings.HasPrefix(text, spaceMark)
	if s.before == toEach || s.before == toEachWithout && !marked || s.before == toFirstWithout && !marked && first {
		return spaceMark + text
	}
	return text
}

// start puts the tokens that a text starts as into a merger.
func (s *sentencePiece) start(m *merger, text string) {
	for len(text) > 0 {
		r, size, ok := character(text)
		if id, isToken := s.ids[r]; ok && isToken {
			m.add(id)
		} else {
			for i := range size {
				m.add(s.bytes[text[i]])
			}
		}
		text = text[size:]
	}
}
