package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// madeSite is the text of each page of the site of the repository's documentation, by address.
func madeSite(t *testing.T) map[string]string {
	t.Helper()
	t.Chdir("../..")
	dir := filepath.Join(t.TempDir(), "site")
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	if code := run([]string{"doc", "--site", dir, "docs/contents.md"}, out, out, time.Now()); code != 0 {
		said, _ := os.ReadFile(out.Name())
		require.Fail(t, string(said))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	pages := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		pages[filepath.Base(f)] = string(text)
	}
	return pages
}

var (
	siteLink   = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
	siteAnchor = regexp.MustCompile(`\sid="([^"]*)"`)
)

// Every link inside the site leads to a page, and to a place that is there; every page is led to; nothing but links leads elsewhere.
func TestLinksOfTheSite(t *testing.T) {
	pages := madeSite(t)
	anchors := map[string][]string{}
	for address, text := range pages {
		for _, m := range siteAnchor.FindAllStringSubmatch(text, -1) {
			name := html.UnescapeString(m[1])
			assert.NotContains(t, anchors[address], name, "%s has a place twice", address)
			anchors[address] = append(anchors[address], name)
		}
	}
	reached, links := map[string]bool{"index.html": true}, 0
	for address, text := range pages {
		if !strings.HasSuffix(address, ".html") {
			continue
		}
		for _, m := range siteLink.FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(m[1])
			if strings.Contains(to, "://") || strings.HasPrefix(to, "data:") {
				assert.True(t, strings.HasPrefix(strings.TrimSpace(m[0]), "href"), "%s loads %s", address, to)
				continue
			}
			links++
			file, place, hasPlace := strings.Cut(to, "#")
			if file == "" {
				file = address
			}
			if _, ok := pages[file]; !assert.True(t, ok, "%s links to %s, which is not there", address, to) {
				continue
			}
			reached[file] = reached[file] || file != address
			if hasPlace {
				assert.True(t, slices.Contains(anchors[file], place), "%s links to %s: %s has no such place", address, to, file)
			}
		}
	}
	assert.Greater(t, links, 1000)
	for address := range pages {
		assert.True(t, reached[address], "nothing links to %s", address)
	}
}

// Every page of docs is in the navigation, every command and code has its section, every kernel of the library its signature, axes and tests.
func TestPagesOfTheSiteAreWhole(t *testing.T) {
	pages := madeSite(t)
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		if filepath.Base(f) == "contents.md" {
			continue
		}
		assert.Contains(t, pages, strings.ToLower(strings.TrimSuffix(filepath.Base(f), ".md"))+".html", "give docs/%s a place in docs/contents.md", filepath.Base(f))
	}
	for address, wants := range map[string][]string{
		"commands.html": {`<h2 id="tilec-run">tilec run</h2>`, `<h2 id="tilec-report">`, `<h3 id="tilec-bench-run">tilec bench run</h3>`, "--precision string"},
		"errors.html":   {`<h2 id="e0101">E0101</h2>`, "This fails:", "This works:", "This is warned of:"},
		"library.html": {`<h2 id="stdnn">std/nn</h2>`, `<h3 id="softmax">softmax</h3>`, "kernel softmax&lt;T: float&gt;(x: T[M, N]) -&gt; y: T[M, N]",
			"<td><code>i</code></td>\n<td>grid</td>\n<td><code>M</code></td>\n<td><code>BM</code></td>", "As tests have it:", "Tests above have it too: “", "<code>BM</code> of 16, 32, 64, 128</td>", "Softmax over the last dimension."},
		"index.html":    {`aria-current="page"`, `href="language.html#graphs"`},
		"language.html": {`<table>`, `class="language-tile"`},
	} {
		for _, want := range wants {
			assert.True(t, strings.Contains(pages[address], want), "%s has no %s", address, want)
		}
	}
	assert.False(t, strings.Contains(pages["library.html"], "<nil>"))
}
