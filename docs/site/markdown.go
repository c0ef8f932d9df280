package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// links leads from the files that link to each other in the repository to the pages of the site.
type links struct {
	repository string
	// pages are the addresses of the files that are pages, sources those of programs and other texts that pages link to, as they are met.
	pages, sources map[string]string
}

// section is a heading of a page, for its list of contents.
type section struct{ ID, Title string }

// render makes HTML of a page, and lists its sections.
func (l *links) render(p *page) (body []byte, sections []section, err error) {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	source := []byte(p.markdown)
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&headings{given: map[string]int{}}))))
	err = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok && n.Level == 2 {
				sections = append(sections, section{string(id.([]byte)), headingText(n, source)})
			}
		case *ast.Link:
			to, err := l.address(p, string(n.Destination))
			if err != nil {
				return ast.WalkStop, err
			}
			n.Destination = []byte(to)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	err = md.Renderer().Render(&out, source, root)
	return out.Bytes(), sections, err
}

// address is where a link of a page leads to in the site. A link to what the repository does not have is an error.
func (l *links) address(p *page, to string) (string, error) {
	file, anchor, _ := strings.Cut(to, "#")
	switch {
	case strings.Contains(file, "://") || file == "": // elsewhere, or in the page itself
		return to, nil
	case p.file == "": // made for the site
		return to, nil
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	file = path.Join(path.Dir(p.file), file)
	if address, ok := l.pages[file]; ok {
		return address + anchor, nil
	}
	if address, ok := map[string]string{"stdlib": "library.html", "testdata/examples": "examples.html", "docs/tutorial": "tutorial.html"}[file]; ok {
		return address, nil
	}
	info, err := os.Stat(filepath.Join(l.repository, filepath.FromSlash(file)))
	if err != nil {
		return "", fmt.Errorf("a link leads to %s: %w", to, err)
	}
	if info.IsDir() {
		return "", fmt.Errorf("a link leads to the folder %s, which is no page of the site: link to a file in it", to)
	}
	l.sources[file] = strings.ReplaceAll(file, "/", "-") + ".html"
	return l.sources[file], nil
}

// headings gives headings the names that links in the repository use: those of GitHub, which keep letters, digits, "-" and "_".
type headings struct{ given map[string]int }

// Generate is the name of a heading.
func (h *headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	name := b.String()
	n := h.given[name]
	h.given[name]++
	if n > 0 {
		name = fmt.Sprintf("%s-%d", name, n)
	}
	return []byte(name)
}

// Put keeps a name that stands in a text from being given.
func (h *headings) Put(value []byte) { h.given[string(value)]++ }

// headingText is what a heading says, without marks.
func headingText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}
