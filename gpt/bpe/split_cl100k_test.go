package bpe

import (
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func splitBy(rule func(string) int, text string) []string {
	var pieces []string
	for len(text) > 0 {
		n := rule(text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

func TestSplitCL100K(t *testing.T) {
	for text, want := range map[string][]string{
		"Hello, world!":             {"Hello", ",", " world", "!"},
		"it's WE'LL I'D":            {"it", "'s", " WE", "'LL", " I", "'D"},
		"it'\u017f x":               {"it", "'\u017f", " x"}, // ſ is a small s
		"'tis 'xy":                  {"'t", "is", " '", "xy"},
		"(a)[b] \"c\"":              {"(a", ")[", "b", "]", " \"", "c", "\""},
		"12345 678":                 {"123", "45", " ", "678"},
		"a  b":                      {"a", " ", " b"},
		"a \n b":                    {"a", " \n", " b"},
		"a\n\n  b":                  {"a", "\n\n", " ", " b"},
		"a  \r\n \t b":              {"a", "  \r\n", " \t", " b"},
		"x;\n\ny":                   {"x", ";\n\n", "y"},
		"end  ":                     {"end", "  "},
		"a\tb":                      {"a", "\tb"},
		"\u00a0\u2003x":             {"\u00a0", "\u2003x"},
		" \u4f60\u597d\u3000\u4f60": {" \u4f60\u597d", "\u3000\u4f60"},
		"e\u0301a":                  {"e", "\u0301a"},
		" \xff\xfea":                {" \xff\xfe", "a"},
		"\xffa":                     {"\xffa"},
		" ":                         {" "},
		"'":                         {"'"},
	} {
		require.Equal(t, want, splitBy(cl100k(3), text), "%q", text)
	}
	require.Equal(t, []string{"1", "2", "3"}, splitBy(cl100k(1), "123"))
}

// The rule with RE2's means: all alternatives but the lookahead, which is done by hand.
var (
	cl100kBodies = regexp.MustCompile(`^(?:(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\p{Z}\t-\r\x{85}\p{L}\p{N}]+[\r\n]*|[\p{Z}\t-\r\x{85}]*[\r\n]+)`)
)

func FuzzSplitCL100K(f *testing.F) {
	for _, text := range []string{"", "a  b", " \u00a0x", "don't 'sT  \n x\t", "1½a—\xff \xff", "\u0085\u180e", "  \n \r\n  a;\n\n'\u017f1234", " \n a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for len(text) > 0 {
			want := len(cl100kBodies.FindString(text))
			if want == 0 {
				want = len(spaces.FindString(text))
				require.NotZero(t, want, "the rule matches every character")
				_, last := utf8.DecodeLastRuneInString(text[:want])
				if want < len(text) && want > last {
					want -= last
				}
			}
			require.Equal(t, want, cl100k(3)(text), "%q", text)
			text = text[want:]
		}
	})
}
