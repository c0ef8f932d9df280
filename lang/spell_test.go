package lang

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	names := []string{"centred", "rsqrt", "sqrt", "softmax", "N", "BM", "index", "_", ""}
	for wrote, meant := range map[string]string{
		"centered": "centred", // a letter more
		"rsqr":     "rsqrt",   // a letter less
		"sotfmax":  "softmax", // neighbours swapped
		"indx":     "index",
		"n":        "N", // case alone
		"bm":       "BM",
		"q":        "", // one letter replaced is another name
		"epsilon":  "",
		"softmin":  "softmax",
		"index":    "", // the name itself is no suggestion
		"":         "",
	} {
		assert.Equal(t, meant, Nearest(wrote, names), "%q", wrote)
	}
	// A name of a million letters is no typo, and takes no time.
	long := strings.Repeat("x", 1_000_000)
	assert.Equal(t, "", Nearest(long, []string{long + "y", "x"}))
	assert.Equal(t, "", Nearest("xx", []string{long}))
	// The answer does not depend on the order of the names.
	assert.Equal(t, Nearest("abd", []string{"abc", "abe"}), Nearest("abd", []string{"abe", "abc"}))
}

func TestEditDistance(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"größe", "grösse", 2}} {
		assert.Equal(t, x.want, editDistance([]rune(x.a), []rune(x.b), 10), "%s %s", x.a, x.b)
		assert.Equal(t, x.want, editDistance([]rune(x.b), []rune(x.a), 10), "%s %s", x.b, x.a)
	}
	assert.Greater(t, editDistance([]rune("a"), []rune("abcdef"), 2), 2)
}
