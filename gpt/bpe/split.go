package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// contractions are the English endings that are pieces by themselves, in the
// order in which the rule tries them.
var contractions = []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}

// nextPiece is the length in bytes of the piece that text, not empty, starts
// with under GPT-2's rule
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// Merges never cross pieces. Bytes that are not valid UTF-8 count as neither
// space nor letter nor number.
func nextPiece(text string) int {
	if text[0] == '\'' {
		for _, c := range contractions {
			if strings.HasPrefix(text, c) {
				return len(c)
			}
		}
	}
	body := text
	if text[0] == ' ' && len(text) > 1 {
		body = text[1:]
	}
	if kind, _ := classify(body); kind != space {
		return len(text) - len(body) + runOf(kind, body)
	}
	// Spaces: all of them at the end of the text, else all but the last, which
	// stays for the next piece; a lone one, which cannot go there as it is not
	// ' ', is a piece.
	end := runOf(space, text)
	if end == len(text) {
		return end
	}
	_, last := utf8.DecodeLastRuneInString(text[:end])
	if end == last {
		return end
	}
	return end - last
}

// class is what the rule distinguishes among characters.
type class uint8

const (
	other class = iota
	space
	letter
	number
)

// asciiClass answers for the characters that most texts are made of.
var asciiClass = func() (table [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		table[r] = classOf(r)
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// classify gives the class and the length of the first character of text, which is not empty.
func classify(text string) (class, int) {
	if c := text[0]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, size := utf8.DecodeRuneInString(text) // invalid bytes give U+FFFD, which is other
	return classOf(r), size
}

// runOf is the length in bytes of the longest start of text whose characters are all of kind.
func runOf(kind class, text string) int {
	end := 0
	for end < len(text) {
		k, size := classify(text[end:])
		if k != kind {
			break
		}
		end += size
	}
	return end
}
