package bpe

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func split(text string) []string {
	var pieces []string
	for len(text) > 0 {
		n := nextPiece(text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"Hello, world!":       {"Hello", ",", " world", "!"},
		"it's we'll I'd":      {"it", "'s", " we", "'ll", " I", "'d"},
		"IT'S 'tis":           {"IT", "'", "S", " '", "tis"},
		"''s 's":              {"''", "s", " '", "s"},
		"'re've":              {"'re", "'ve"},
		"a  b":                {"a", " ", " b"},
		"a \n b":              {"a", " \n", " b"},
		"a\n\nb":              {"a", "\n", "\n", "b"},
		"a\tb":                {"a", "\t", "b"},
		"end  ":               {"end", "  "},
		" ":                   {" "},
		"\u00a0\u2003x":       {"\u00a0", "\u2003", "x"},
		"x1½Ⅷ２y":              {"x", "1½Ⅷ２", "y"},
		"été 你好!?":            {"été", " 你好", "!?"},
		"e\u0301":             {"e", "\u0301"}, // a combining mark is no letter
		" \xff\xfe a":         {" \xff\xfe", " a"},
		"a\x1cb\u200bc":       {"a", "\x1c", "b", "\u200b", "c"}, // neither is white space
		"x\u0085\u3000\u180e": {"x", "\u0085", "\u3000", "\u180e"},
	} {
		require.Equal(t, want, split(text), "%q", text)
	}
}

// The rule with RE2's means: all alternatives but the lookahead, which the
// oracle below does by hand.
var (
	bodies = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{Z}\t-\r\x{85}\p{L}\p{N}]+)`)
	spaces = regexp.MustCompile(`^[\p{Z}\t-\r\x{85}]+`)
)

func FuzzSplit(f *testing.F) {
	for _, text := range []string{"", "a  b", " \u00a0x", "don't 'st  \n x\t", "1½a—\xff \xff", "\u0085\u180e"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for len(text) > 0 {
			want := len(bodies.FindString(text))
			if want == 0 {
				want = len(spaces.FindString(text))
				require.NotZero(t, want, "the rule matches every character")
				_, last := utf8.DecodeLastRuneInString(text[:want])
				if want < len(text) && want > last {
					want -= last
				}
			}
			require.Equal(t, want, nextPiece(text), "%q", text)
			text = text[want:]
		}
	})
}
