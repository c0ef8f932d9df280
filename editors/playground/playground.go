// Package playground is the page in which a program is written, looked at in every stage of the compiler and run; and its server for the
// page beside a tilec of the same machine. Without a server the same page runs the compiler as WebAssembly: build.sh makes that folder.
package playground

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"path"
	"strings"
)

//go:embed page
var embedded embed.FS

// backendOf is what the page has where it names its backend, and what stands there in the page of a server.
var backendOf = [2][]byte{[]byte(`name="backend" content="wasm"`), []byte(`name="backend" content="native"`)}

// kinds are the types of the page's files, by how their names end.
var kinds = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

// Style is the page's style, for other pages that look like it.
func Style() string { return text("style.css") }

// Colours is a script with the function colour(text), which makes a fragment of a program with its words in the page's colours.
func Colours() string {
	return strings.ReplaceAll(text("highlight.js"), "export ", "") // a module, which a page of one file cannot load
}

// text is a file of the page, which is there.
func text(name string) string {
	data, err := fs.ReadFile(embedded, path.Join("page", name))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// pageFile gives a file of the page and its type.
func pageFile(name string) (data []byte, kind string, err error) {
	if name == "" {
		name = "index.html"
	}
	if data, err = fs.ReadFile(embedded, path.Join("page", path.Clean("/"+name))); err != nil {
		return nil, "", err
	}
	if name == "index.html" {
		if !bytes.Contains(data, backendOf[0]) {
			return nil, "", errors.New("the page does not name its backend")
		}
		data = bytes.Replace(data, backendOf[0], backendOf[1], 1)
	}
	return data, kinds[path.Ext(name)], nil
}
