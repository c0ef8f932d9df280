package jit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tilec/lang"
	"tilec/parser"
	"tilec/stdlib"
	"tilec/typecheck"
)

// Load parses and checks a file and everything that it imports. The program
// comes even with diagnostics, as far as it could be checked.
func Load(path string, text []byte, logs *Logs) (*typecheck.Program, lang.Diagnostics) {
	l := &Loader{logs: logs}
	root, syntax := l.Parse(path, text)
	program, ds := typecheck.Check(root, l.Import)
	ds = append(ds, syntax...)
	if len(ds) == 0 {
		logs.Print(StageTyped, path, func() string {
			var b strings.Builder
			typecheck.PrintTyped(&b, program)
			return b.String()
		})
	}
	return program, ds.Sort()
}

// Loader parses a file and what it imports.
type Loader struct {
	// Open gives the text of a file that is not to be read from disk, such as
	// what an editor has of it; it may be nil.
	Open func(name string) (text []byte, ok bool)

	logs    *Logs
	modules map[string]*lang.Module
}

// Parse parses a text; what the tree lacks is in the diagnostics.
func (l *Loader) Parse(path string, text []byte) (*lang.Module, lang.Diagnostics) {
	m, ds := parser.Parse(lang.NewSource(path, string(text)))
	if m != nil {
		l.logs.Print(StageAST, path, func() string {
			var b strings.Builder
			parser.Print(&b, m)
			return b.String()
		})
	}
	return m, ds
}

// Import finds an imported file: "std/nn" in the standard library, anything else
// relative to the file that imports it. A file is parsed once. It is a typecheck.Loader.
func (l *Loader) Import(path string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics) {
	name, read := resolve(path, from.Source.Path)
	if m, ok := l.modules[name]; ok {
		return m, nil
	}
	text, err := l.read(name, read)
	if err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no file " + name
		}
		d := &lang.Diagnostic{Code: lang.ErrImport, At: at, Message: fmt.Sprintf("cannot import %q: %s", path, reason)}
		if near := nearestLibrary(path); near != "" {
			d.Fix = &lang.Fix{Message: fmt.Sprintf("did you mean %q?", near)}
		}
		return nil, lang.Diagnostics{d}
	}
	m, ds := l.Parse(name, text)
	if l.modules == nil {
		l.modules = map[string]*lang.Module{}
	}
	l.modules[name] = m
	return m, ds
}

func (l *Loader) read(name string, fromDisk func() ([]byte, error)) ([]byte, error) {
	if l.Open != nil {
		if text, ok := l.Open(name); ok {
			return text, nil
		}
	}
	return fromDisk()
}

// nearestLibrary is the file of the library that a path which leads nowhere may mean; "" for none.
func nearestLibrary(path string) string {
	files, err := stdlib.FS.ReadDir(".")
	if err != nil {
		return ""
	}
	var names []string
	for _, f := range files {
		name := "std/" + strings.TrimSuffix(f.Name(), ".tile")
		if name == "std/"+strings.TrimSuffix(filepath.Base(path), ".tile") {
			return name
		}
		names = append(names, name)
	}
	return lang.Nearest(path, names)
}

func resolve(path, from string) (name string, read func() ([]byte, error)) {
	if rest, ok := strings.CutPrefix(path, "std/"); ok {
		name = "std/" + strings.TrimSuffix(rest, ".tile") + ".tile"
		return name, func() ([]byte, error) { return stdlib.FS.ReadFile(strings.TrimPrefix(name, "std/")) }
	}
	name = filepath.Join(filepath.Dir(from), filepath.FromSlash(path))
	if filepath.Ext(name) != ".tile" {
		name += ".tile"
	}
	return name, func() ([]byte, error) { return os.ReadFile(name) }
}
