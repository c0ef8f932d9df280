package bpe

import (
	"strings"
	"unicode/utf8"
)

// cl100k cuts text by the rule of OpenAI's cl100k and of Llama 3,
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// with so many digits in a piece at most, which Qwen 2 has as 1.
func cl100k(digits int) func(text string) int {
	return func(text string) int {
		if n := contraction(text); n > 0 {
			return n
		}
		kind, size := classify(text)
		switch kind {
		case letter:
			return runOf(letter, text)
		case number:
			n := 0
			for range digits {
				if kind, size = classify(text[n:]); kind != number {
					break
				}
				if n += size; n == len(text) {
					break
				}
			}
			return n
		}
		// A character that ends no line goes with the letters behind it.
		if text[0] != '\r' && text[0] != '\n' && size < len(text) {
			if after, _ := classify(text[size:]); after == letter {
				return size + runOf(letter, text[size:])
			}
		}
		start := 0
		if text[0] == ' ' && len(text) > 1 {
			start = 1
		}
		if kind, _ := classify(text[start:]); kind == other {
			n := start + runOf(other, text[start:])
			return n + len(text[n:]) - len(strings.TrimLeft(text[n:], "\r\n"))
		}
		end := runOf(space, text)
		if line := strings.LastIndexAny(text[:end], "\r\n"); line >= 0 {
			return line + 1
		}
		if end == len(text) {
			return end
		}
		if _, last := utf8.DecodeLastRuneInString(text[:end]); end > last {
			return end - last
		}
		return end
	}
}

// contraction is the length of the contraction that text starts with, in capital letters too, 0 for none.
func contraction(text string) int {
	if text[0] != '\'' {
		return 0
	}
	for _, c := range contractions {
		// As many characters, which a letter of another length folds to (ſ is s).
		n := 0
		for range c {
			_, size := utf8.DecodeRuneInString(text[n:])
			n += size
		}
		if strings.EqualFold(text[:n], c) {
			return n
		}
	}
	return 0
}
