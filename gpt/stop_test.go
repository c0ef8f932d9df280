package gpt

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cut pushes pieces and gives the whole text, and how many pieces were taken.
func cut(pieces []string, stops ...string) (text string, taken int) {
	s := stopper{stops: stops}
	for _, piece := range pieces {
		out, stopped := s.push(piece)
		text, taken = text+out, taken+1
		if stopped {
			return text, taken
		}
	}
	return text + s.flush(), taken
}

func TestStopStrings(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		stops  []string
		text   string
		taken  int
	}{
		{[]string{"a b", "c"}, nil, "a bc", 2},
		{[]string{"the cat", "!"}, []string{"he"}, "t", 1},                // in the middle of a piece
		{[]string{"x\n", "\n", "y"}, []string{"\n\n"}, "x", 2},            // over two pieces
		{[]string{"a", "ab", "ac", "d"}, []string{"aac"}, "aabacd", 4},    // what looks like a beginning comes out again
		{[]string{"aa", "ab", "x"}, []string{"aab"}, "a", 2},              // the beginning is not the first one that looks so
		{[]string{"ab", "cd"}, []string{"abcdef", "cd"}, "ab", 2},         // the one that is complete first
		{[]string{"abcd"}, []string{"bcd", "d"}, "a", 1},                  // the longest of those complete at once
		{[]string{"abcd"}, []string{"abcd", "bc"}, "a", 1},                // which does not begin first
		{[]string{"ab"}, []string{"abc"}, "ab", 1},                        // the text ends within a stop string
		{[]string{"你", "好", "x"}, []string{"好"}, "你", 2},                  // characters of several bytes
		{[]string{"", "ROMEO", "", ":"}, []string{"ROMEO:", "O:"}, "", 4}, // empty pieces
	} {
		text, taken := cut(c.pieces, c.stops...)
		require.Equal(t, c.text, text, "%q until %q", c.pieces, c.stops)
		require.Equal(t, c.taken, taken, "%q until %q", c.pieces, c.stops)
	}
}

// However a text is cut into pieces, what is given of it is the same, and is all before the end of the first stop string.
func TestStopStringsDoNotDependOnPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte('a' + byte(r.IntN(2)))
		}
		return b.String()
	}
	stopped := 0
	for range 3000 {
		text, stops := random(24), []string{random(1 + r.IntN(6)), random(1 + r.IntN(6))}
		want := text
	search:
		for end := range len(text) + 1 {
			for begin := range end {
				if s := text[begin:end]; s == stops[0] || s == stops[1] {
					want = text[:begin]
					stopped++
					break search
				}
			}
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), r.IntN(5))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, _ := cut(pieces, stops...)
		require.Equal(t, want, got, "%q until %q", pieces, stops)
	}
	require.Greater(t, stopped, 1000)
}
