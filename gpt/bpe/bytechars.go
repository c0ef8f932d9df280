package bpe

import "strings"

// Vocabulary files are text, so each byte is written as a printable character:
// itself where it is one in Latin-1, else the next free one from U+0100 on (a
// space is "Ġ").

// byteChar is the character that stands for each byte.
var byteChar = func() (chars [256]rune) {
	next := rune(256)
	for b := range chars {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			chars[b] = rune(b)
		default:
			chars[b] = next
			next++
		}
	}
	return chars
}()

// charByte is the inverse of byteChar.
var charByte = func() map[rune]byte {
	bytes := make(map[rune]byte, len(byteChar))
	for b, char := range byteChar {
		bytes[char] = byte(b)
	}
	return bytes
}()

// unescape gives the bytes that a token of a vocabulary file stands for. A
// token with a character that stands for no byte stands for its own text: such
// tokens were added by hand.
func unescape(token string) string {
	if bytes, ok := byteText(token); ok {
		return bytes
	}
	return token
}

// byteText gives the bytes of a token of which each character stands for one.
func byteText(token string) (bytes string, ok bool) {
	var b strings.Builder
	for _, char := range token {
		value, ok := charByte[char]
		if !ok {
			return "", false
		}
		b.WriteByte(value)
	}
	return b.String(), true
}
