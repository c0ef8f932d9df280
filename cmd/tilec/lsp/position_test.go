package lsp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/cmd/tilec/lsp/protocol"
)

// A place is counted in UTF-16 code units from the beginning of its line, inside characters and of bytes that are none too.
func TestPositionsOfEveryOffset(t *testing.T) {
	for _, text := range []string{
		"", "a", "a\nbc\r\nd\re", "é\n", "aé∑😀b\n😀😀\r\nx∑", "\xff\xfe a\xe2\x88\n\xf0\x9f", strings.Repeat("x∑y😀", 100) + "\n" + strings.Repeat("é", 50),
	} {
		l := newLines(text)
		for offset := range len(text) + 1 {
			want := protocol.Position{}
			for i := range offset {
				if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
					want = protocol.Position{Line: want.Line + 1, Character: uint32(i + 1)} // of the first byte, until the end of the loop
				}
			}
			start := int(want.Character)
			if want.Line == 0 {
				start = 0
			}
			want.Character = 0
			for _, r := range text[start:offset] {
				want.Character += uint32(units(r))
			}
			require.Equal(t, want, l.position(offset), "%q at %d", text, offset)
		}
	}
}
