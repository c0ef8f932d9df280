// Package site makes a folder of HTML of documentation, that any host of files serves and that a browser opens without one: of texts in Markdown, of sources,
// whose declarations it describes, and of what tilec knows by itself, which is the language's operations, the standard library, errors and commands.
package site

import (
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tilec/cmd/tilec/markdown"
	"tilec/cmd/tilec/reference"
	"tilec/editors/playground"
	"tilec/jit/file"
)

// Command is a command as its help has it.
type Command struct {
	// Name is what is written to run it, Help what --help prints.
	Name, Help string
	Commands   []Command
}

// Sources are what a site is made of beside its texts.
type Sources struct {
	// Module describes a source, Library the standard library.
	Module  func(path string) (reference.Module, error)
	Library []reference.Module
	// Tilec is the command line.
	Tilec Command
}

//go:embed site.css
var style string

// Write makes a new folder a site, by contents in a file (see contents.go), or of what tilec knows where there is none, and tells how many pages that are.
func Write(folder, from string, of Sources) (pages int, err error) {
	text := referenceContents
	if from != "" {
		data, err := os.ReadFile(from)
		if err != nil {
			return 0, err
		}
		text = string(data)
	}
	c, err := read(filepath.ToSlash(from), text)
	if err != nil {
		return 0, err
	}
	err = file.WriteFolder(folder, func(dir string) error {
		pages, err = build(dir, c, of)
		return err
	})
	return pages, err
}

// build writes the pages to a folder. Texts that pages link to become pages of their own.
func build(folder string, c *contents, of Sources) (pages int, err error) {
	l := &links{pages: map[string]string{}, sources: map[string]string{}, copies: map[string]string{}, taken: map[string]string{}}
	for _, p := range c.pages() {
		if p.markdown, err = p.text(of); err != nil {
			return 0, err
		}
		name := p.file
		if p.made != "" {
			name = madeScheme + p.made
		}
		l.taken[p.address] = name
		for _, file := range append(p.also, name) {
			l.pages[file] = p.address
		}
	}
	write := func(p *page) error {
		body, err := markdown.Render(p.markdown, func(to string) (string, error) { return l.address(p, to) })
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err) // only texts of files have links that lead nowhere
		}
		pages++
		return os.WriteFile(filepath.Join(folder, p.address), []byte(c.frame(p, body)), 0o666)
	}
	for _, p := range c.pages() {
		if err := write(p); err != nil {
			return pages, err
		}
	}
	for _, name := range sorted(l.sources) {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			return pages, err
		}
		if !utf8.Valid(text) {
			return pages, fmt.Errorf("a page links to %s, which is no text", name)
		}
		title := strings.TrimLeft(name, "./")
		if err := write(&page{address: l.sources[name], title: title, markdown: "# " + title + "\n" + fenced(strings.TrimPrefix(path.Ext(name), "."), string(text))}); err != nil {
			return pages, err
		}
	}
	for _, name := range sorted(l.copies) {
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, l.copies[name]), data, 0o666)
		}
		if err != nil {
			return pages, err
		}
	}
	// The style and the colours of words are the playground's.
	if err := os.WriteFile(filepath.Join(folder, "site.css"), []byte(playground.Style()+style), 0o666); err != nil {
		return pages, err
	}
	colours := playground.Colours() + "\nfor (const code of document.querySelectorAll(\"code.language-tile\")) code.replaceChildren(colour(code.textContent));\n"
	return pages, os.WriteFile(filepath.Join(folder, "colours.js"), []byte(colours), 0o666)
}

// text is the page in Markdown.
func (p *page) text(of Sources) (string, error) {
	switch {
	case p.made != "":
		return makers[p.made](of), nil
	case path.Ext(p.file) == ".tile":
		m, err := of.Module(filepath.FromSlash(p.file))
		if err != nil {
			return "", err
		}
		return modulePage(p.title, m), nil
	}
	data, err := os.ReadFile(filepath.FromSlash(p.file))
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is no text in UTF-8", p.file)
	}
	return string(data), err
}

// frame is a page with the navigation beside it, in which the page has its sections.
func (c *contents) frame(p *page, body markdown.Page) string {
	var b strings.Builder
	e := markdown.Escape
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"+
		"<title>%s - %s</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"site.css\">\n</head>\n<body>\n<nav>\n<a class=\"home\" href=\"index.html\">%s</a>\n",
		e(p.title), e(c.title), e(c.title))
	for _, chapter := range c.chapters {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<ul>\n", e(chapter.title))
		for _, other := range chapter.pages {
			if other != p {
				fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", e(other.address), e(other.title))
				continue
			}
			fmt.Fprintf(&b, "<li><a href=\"%s\" aria-current=\"page\">%s</a>", e(p.address), e(p.title))
			if len(body.Sections) > 0 {
				b.WriteString("\n<ul>")
				for _, s := range body.Sections {
					fmt.Fprintf(&b, "<li><a href=\"#%s\">%s</a></li>\n", e(s.ID), e(s.Title))
				}
				b.WriteString("</ul>")
			}
			b.WriteString("</li>\n")
		}
		b.WriteString("</ul>\n")
	}
	b.WriteString("</nav>\n<main>\n" + body.HTML + "</main>\n<script src=\"colours.js\"></script>\n</body>\n</html>\n")
	return b.String()
}

// sorted are the keys of a map in order.
func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// fenced is a block of code in Markdown, whatever the code has in it.
func fenced(language, code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(code, "\n") + "\n" + fence + "\n"
}
