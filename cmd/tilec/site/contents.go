package site

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// This file reads the contents of a site: a text in Markdown with the title of the site, chapters, and an item for each page, which is a link.
//
//	# Kernels of ours
//	## Begin
//	- [About](README.md)
//	## Reference
//	- [Attention](attention.tile)
//	- [Standard library](tilec:library)
//
// A page is a text in Markdown, a source of .tile, of which the page says what it declares, or something that tilec knows by itself. Further links of an item
// are to files and folders that the page stands for, where other pages link to them. What stands before the first chapter is for readers of the contents.

// contents are those of a site.
type contents struct {
	title    string
	chapters []chapter
}

// chapter is a part of the navigation.
type chapter struct {
	title string
	pages []*page
}

// page is a page of the site.
type page struct {
	// file is the file that the page is made of, by which others link to it, "" for a page that tilec knows by itself, which made names; also are
	// what else it stands for.
	file, made string
	also       []string
	// address is the page's file in the site, title what the navigation calls it.
	address, title string
	markdown       string
}

// madeScheme begins the address of what tilec knows by itself.
const madeScheme = "tilec:"

// referenceContents are the contents of a site that nobody gives contents for.
const referenceContents = `# tilec
## Reference
- [Operations](tilec:operations)
- [Standard library](tilec:library)
- [Errors and warnings](tilec:errors)
- [Command line](tilec:commands)
`

var contentsLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*)\)`)

// read reads contents; file is where they come from.
func read(file, text string) (*contents, error) {
	c, pages := &contents{title: "Documentation"}, 0
	for n, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: "+format, append([]any{file, n + 1}, args...)...)
		}
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# "):
			c.title = strings.TrimSpace(line[2:])
		case strings.HasPrefix(line, "## "):
			c.chapters = append(c.chapters, chapter{title: strings.TrimSpace(line[3:])})
		case strings.HasPrefix(line, "- "):
			if len(c.chapters) == 0 {
				return nil, fail("a page before the first chapter: begin one with ## TITLE")
			}
			p, err := pageOf(file, line, pages == 0)
			if err != nil {
				return nil, fail("%w", err)
			}
			last := &c.chapters[len(c.chapters)-1]
			last.pages = append(last.pages, p)
			pages++
		case line != "" && len(c.chapters) > 0:
			return nil, fail("behind the first chapter there are chapters, ## TITLE, and pages, - [TITLE](FILE)")
		}
	}
	if pages == 0 {
		return nil, fmt.Errorf("%s: the contents have no page: add one, as - [About](README.md) below a chapter, ## TITLE", file)
	}
	return c, c.apart(file)
}

// pageOf is the page of an item; the first one is where a site begins.
func pageOf(file, line string, first bool) (*page, error) {
	links := contentsLink.FindAllStringSubmatch(line, -1)
	if len(links) == 0 || !strings.HasPrefix(line[2:], links[0][0]) {
		return nil, fmt.Errorf("an item is a page: - [TITLE](FILE)")
	}
	p := &page{title: links[0][1]}
	beside := func(to string) string { return path.Join(path.Dir(file), to) }
	switch to := links[0][2]; {
	case strings.HasPrefix(to, madeScheme):
		p.made = to[len(madeScheme):]
		p.address = p.made + ".html"
		if makers[p.made] == nil {
			return nil, fmt.Errorf("%s is nothing that tilec knows by itself: that is %s", to, strings.Join(madeNames(), ", "))
		}
	case path.Ext(to) == ".md" || path.Ext(to) == ".tile":
		p.file = beside(to)
		name := strings.TrimSuffix(path.Base(p.file), path.Ext(to))
		if folder := path.Base(path.Dir(p.file)); name == "README" && folder != "." {
			name = folder
		}
		p.address = strings.ToLower(name) + ".html"
	default:
		return nil, fmt.Errorf("%s is no page: a page is a .md or a .tile file, or one of %s", to, strings.Join(madeNames(), ", "))
	}
	for _, link := range links[1:] {
		p.also = append(p.also, beside(link[2]))
	}
	if first {
		p.address = "index.html"
	}
	return p, nil
}

// apart checks that pages have addresses of their own.
func (c *contents) apart(file string) error {
	seen := map[string]string{}
	for _, p := range c.pages() {
		if other, twice := seen[p.address]; twice {
			return fmt.Errorf("%s: the pages %q and %q would both be %s: rename one of the files", file, other, p.title, p.address)
		}
		seen[p.address] = p.title
	}
	return nil
}

// pages are those of all chapters.
func (c *contents) pages() (all []*page) {
	for _, chapter := range c.chapters {
		all = append(all, chapter.pages...)
	}
	return all
}
