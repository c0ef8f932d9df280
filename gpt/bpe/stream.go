package bpe

import "unicode/utf8"

// Stream decodes tokens one by one, as they are generated. A token may end
// within a character: Stream holds such bytes back until the rest has come, so
// that what it gives can be shown at once. All it gives, joined, is what Decode
// gives.
type Stream struct {
	tokenizer *Tokenizer
	held      []byte // the start of a character, at most 3 bytes
}

// NewStream starts decoding a sequence of tokens.
func (t *Tokenizer) NewStream() *Stream { return &Stream{tokenizer: t} }

// Next takes a token and gives the text that is complete with it, possibly
// none. Bytes that cannot be part of UTF-8 are given as they are. After an
// error, which an id outside the vocabulary is, the stream is as before.
func (s *Stream) Next(id int32) (string, error) {
	token, err := s.tokenizer.Token(id)
	if err != nil {
		return "", err
	}
	s.held = append(s.held, token...)
	ready := complete(s.held)
	text := string(s.held[:ready])
	s.held = append(s.held[:0], s.held[ready:]...)
	return text, nil
}

// Flush ends the sequence and gives what was held back: the bytes of a
// character that never was completed, or nothing.
func (s *Stream) Flush() string {
	text := string(s.held)
	s.held = s.held[:0]
	return text
}

// complete is the number of bytes of text before a character that more bytes could complete.
func complete(text []byte) int {
	for i := len(text) - 1; i >= 0 && i > len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}
