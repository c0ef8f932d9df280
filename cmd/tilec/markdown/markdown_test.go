package markdown

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// peer is what a reader of all of Markdown makes of a text, with our names of headings.
func peer(t testing.TB, source string) string {
	t.Helper()
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	names := &names{renderer{given: map[string]int{}}}
	root := md.Parser().Parse(text.NewReader([]byte(source)), parser.WithContext(parser.NewContext(parser.WithIDs(names))))
	var out bytes.Buffer
	require.NoError(t, md.Renderer().Render(&out, []byte(source), root))
	return out.String()
}

type names struct{ r renderer }

func (n *names) Generate(value []byte, _ ast.NodeKind) []byte {
	return []byte(n.r.name(strings.TrimSpace(string(value))))
}
func (n *names) Put([]byte) {}

// Every page of the repository is what a reader of all of Markdown makes of it.
func TestPagesOfTheRepository(t *testing.T) {
	const root = "../../.."
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	}))
	require.Greater(t, len(files), 20)
	for _, f := range files {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		page, err := Render(string(source), nil)
		require.NoError(t, err)
		want, got := strings.Split(peer(t, string(source)), "\n"), strings.Split(page.HTML, "\n")
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				assert.Equal(t, strings.Join(want[max(i-2, 0):min(i+3, len(want))], "\n"), strings.Join(got[max(i-2, 0):min(i+3, len(got))], "\n"), "%s, line %d", f, i)
				break
			}
		}
		assert.Equal(t, len(want), len(got), f)
	}
}

// Small texts of each kind are what a reader of all of Markdown makes of them.
func TestKindsOfText(t *testing.T) {
	for _, source := range []string{
		"", "\n\n", "a\nb\n\nc", "# One\n## Two ##\n###### Six\n#no heading\n####### seven", "a  \nb\\\nc", "---\na\n***\n",
		"```tile\n<x> & \"y\"\n```\n~~~\n```\n~~~\n", "    code\n\n      more\ntext\n", "  ```\n  two in\n    four in\n  ```\n", "````\n```\n````\n",
		"- a\n- b\n  goes on\nlazily\n- c\n", "- a\n\n- b\n", "- a\n\n  b\n- c\n", "1. a\n2. b\n", "3) a\n4) b\n", "- a\n  - b\n    - c\n- d\n", "- a\n* b\n",
		"- a\n  ```\n  x\n  ```\n- b\n", "text\n- a\n", "text\n2. a\n", "> a\nlazily\n> b\n>\n> - c\n", "> > a\n",
		"| a | b |\n|---|:-:|\n| `x|y` \\| z | 2 |\n| 1 |\n| 1 | 2 | 3 |\n\nend", "a | b\n--|--:\n1 | 2\ntext\n", "a | b\n---\n", "b\n===\nc\n---\n", "- a\n---\n",
		"*a* **b** ***c*** _d_ __e__ a*b*c a_b_c **a*b*c** *a **b** c* * a * ** b **", "a * b * c and 2*3*4", "**a* b", "*a **b*", "snake_case_name and _x_.",
		"`a` ``b`c`` `` ` `` ` a ` `unclosed", "`a\nb`", "\\*a\\* \\` \\a", "[a](b.md) [a *b* `c]`](d#e \"t\") [a](<b>) [no] (link) [a](", "[a [b](c) d](e)", "[a ![b](c) d](e)", "[a `[b](c)` d](e)", "[a [b] d](e)",
		"![p](q.png) ![p *x*](q.png \"t\")", "<https://example.org/a?b=c&d> and < no>", "a < b > c & d \"e\" 'f'", "&amp; &lt; &x; & y", "https://example.org/a_b, and (http://example.org/c).",
		"xhttp://example.org", "é *ü* “a”**b**", "a\r\nb\r\n",
	} {
		page, err := Render(source, nil)
		require.NoError(t, err)
		assert.Equal(t, peer(t, source), page.HTML, "%q", source)
	}
}

// HTML in a text is text, addresses that a browser would run lead nowhere, and what is deep in lists is text at last.
func TestWhatIsLeftOut(t *testing.T) {
	for source, want := range map[string]string{
		"a <b>c</b>\n\n<script>x</script>": "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n<p>&lt;script&gt;x&lt;/script&gt;</p>\n",
		"[a](javascript:x) ![b](data:x)":   `<p><a href="">a</a> <img src="" alt="b"></p>` + "\n",
		"[a](JavaScript:x \"y\")":          `<p><a href="" title="y">a</a></p>` + "\n",
		"&amp; &copy; &x":                  "<p>&amp; &amp;copy; &amp;x</p>\n",
	} {
		page, err := Render(source, nil)
		require.NoError(t, err)
		assert.Equal(t, want, page.HTML)
	}
	for _, source := range []string{strings.Repeat("- ", 5000) + "a", strings.Repeat("> ", 5000) + "a", strings.Repeat("[", 5000) + strings.Repeat("](a)", 5000), strings.Repeat("*a **b ", 2000)} {
		_, err := Render(source, nil)
		assert.NoError(t, err)
	}
}

// Links lead where a function says, and an error of it is the page's; sections are the headings of the second level.
func TestLinksAndSections(t *testing.T) {
	page, err := Render("# A\n## B `c` & *d*\n## B c  d\n[x](y.md)", func(to string) (string, error) { return to + "!", nil })
	require.NoError(t, err)
	assert.Equal(t, []Section{{"b-c--d", "B c & d"}, {"b-c--d-1", "B c  d"}}, page.Sections)
	assert.Contains(t, page.HTML, `<a href="y.md!">x</a>`)
	_, err = Render("[x](y.md) [z](w)", func(to string) (string, error) { return "", errors.New("no " + to) })
	assert.EqualError(t, err, "no y.md")
}

// Names of headings are those that links in the repository use.
func TestHeadingNames(t *testing.T) {
	r := &renderer{given: map[string]int{}}
	for text, want := range map[string]string{"Where the time goes": "where-the-time-goes", "`generation_config.json`": "generation_configjson", "What's new, in 2?": "whats-new-in-2"} {
		assert.Equal(t, want, r.name(text))
	}
	assert.Equal(t, "where-the-time-goes-1", r.name("Where the time goes"))
}

// Whatever a text is, there is an end to it.
func FuzzRender(f *testing.F) {
	f.Add("- a\n  > b\n\n| a |\n|-|\n**x*y_`z` [a](b)")
	f.Fuzz(func(t *testing.T, source string) {
		_, err := Render(source, nil)
		require.NoError(t, err)
	})
}
