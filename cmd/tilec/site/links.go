package site

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// links leads from the files that link to each other to the pages of the site.
type links struct {
	// pages are the addresses of files and folders that are pages, and of what tilec knows by itself, sources those of other texts that pages link to, as they are
	// met, and copies those of pictures.
	pages, sources, copies map[string]string
	// taken is what has an address.
	taken map[string]string
}

// take gives an address to a file, which no other has.
func (l *links) take(address, file string) error {
	if other, twice := l.taken[address]; twice && other != file {
		return fmt.Errorf("%s and %s would both be %s: rename one of them", other, file, address)
	}
	l.taken[address] = file
	return nil
}

// pictures are the endings of files that pages show.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp"}

// address is where a link of a page leads to in the site. A link to what is not there is an error.
func (l *links) address(p *page, to string) (string, error) {
	file, anchor, _ := strings.Cut(to, "#")
	switch {
	case strings.HasPrefix(to, madeScheme):
		if address, ok := l.pages[file]; ok {
			return address + strings.TrimPrefix(to, file), nil
		}
		return "", fmt.Errorf("a link leads to %s, which is no page of the site: give it a place in the contents", to)
	case strings.Contains(file, ":") || file == "": // elsewhere, or in the page itself
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
	info, err := os.Stat(filepath.FromSlash(file))
	if err != nil {
		return "", fmt.Errorf("a link leads to %s: %w", to, err)
	}
	if info.IsDir() {
		return "", fmt.Errorf("a link leads to the folder %s, which is no page of the site: link to a file in it, or give the folder to a page in the contents", to)
	}
	flat := strings.ReplaceAll(strings.TrimLeft(file, "./"), "/", "-")
	if slices.Contains(pictures, strings.ToLower(path.Ext(file))) {
		l.copies[file] = flat
		return flat, l.take(flat, file)
	}
	l.sources[file] = flat + ".html"
	return l.sources[file], l.take(flat+".html", file)
}
