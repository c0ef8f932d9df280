package site

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A link into nowhere is an error that says to where.
func TestDeadLinks(t *testing.T) {
	t.Chdir("../../..")
	l := &links{pages: map[string]string{"docs/json.md": "json.html", "stdlib": "library.html", "tilec:library": "library.html"}, sources: map[string]string{}, copies: map[string]string{}, taken: map[string]string{"made.html": "made.md"}}
	for to, want := range map[string]string{
		"json.md#run": "json.html#run", "../stdlib/nn.tile": "stdlib-nn.tile.html", "#here": "#here", "https://example.org/x": "https://example.org/x",
		"mailto:a@example.org": "mailto:a@example.org", "../stdlib": "library.html", "tilec:library": "library.html", "tilec:library#softmax": "library.html#softmax",
	} {
		got, err := l.address(&page{file: "docs/a.md"}, to)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	assert.Equal(t, map[string]string{"stdlib/nn.tile": "stdlib-nn.tile.html"}, l.sources)
	for _, to := range []string{"none.md", "../jit", "../../outside", "tilec:errors"} {
		_, err := l.address(&page{file: "docs/a.md"}, to)
		assert.ErrorContains(t, err, "a link leads to")
	}
	assert.NoError(t, l.take("made.html", "made.md"))
	assert.EqualError(t, l.take("made.html", "made"), "made.md and made would both be made.html: rename one of them")
}

// Contents name a page's file, what else it stands for, and the page in the site; the first page is where a site begins.
func TestContents(t *testing.T) {
	c, err := read("docs/contents.md", "# Ours\nabout this\n## Begin\n- [About](../README.md)\n\n## Reference\n- [Attention](Attention.tile), with [tests](tests)\n- [Inside](inner/README.md)\n- [Library](tilec:library)\n")
	require.NoError(t, err)
	assert.Equal(t, "Ours", c.title)
	require.Len(t, c.chapters, 2)
	assert.Equal(t, "Reference", c.chapters[1].title)
	assert.Equal(t, []*page{
		{file: "README.md", address: "index.html", title: "About"},
		{file: "docs/Attention.tile", also: []string{"docs/tests"}, address: "attention.html", title: "Attention"},
		{file: "docs/inner/README.md", address: "inner.html", title: "Inside"},
		{made: "library", address: "library.html", title: "Library"},
	}, c.pages())
	_, err = read("", referenceContents)
	assert.NoError(t, err)
}

// What contents cannot be is said, with the place.
func TestFaultsOfContents(t *testing.T) {
	for text, says := range map[string]string{
		"":                          "c.md: the contents have no page",
		"# T\n## A\n":               "c.md: the contents have no page",
		"- [A](a.md)\n":             "c.md:1: a page before the first chapter",
		"## A\n- a.md\n":            "c.md:2: an item is a page: - [TITLE](FILE)",
		"## A\n- see [A](a.md)\n":   "c.md:2: an item is a page",
		"## A\n- [A](a.html)\n":     "c.md:2: a.html is no page: a page is a .md or a .tile file, or one of tilec:commands, tilec:errors",
		"## A\n- [A](tilec:all)\n":  "c.md:2: tilec:all is nothing that tilec knows by itself: that is tilec:commands",
		"## A\n- [A](a.md)\ntext\n": "c.md:3: behind the first chapter",
		"## A\n- [Z](z.md)\n- [A](x/a.md)\n- [B](y/a.tile)\n": `c.md: the pages "A" and "B" would both be a.html`,
	} {
		_, err := read("c.md", text)
		assert.ErrorContains(t, err, says, text)
	}
}
