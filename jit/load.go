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
	l := &loader{logs: logs, modules: map[string]*lang.Module{}}
	root, ds := l.parse(path, text)
	if len(ds) > 0 {
		// What a broken tree would say of its types is mostly a consequence.
		return nil, ds.Sort()
	}
	program, ds := typecheck.Check(root, l.load)
	if len(ds) == 0 {
		logs.Print(StageTyped, path, func() string {
			var b strings.Builder
			typecheck.PrintTyped(&b, program)
			return b.String()
		})
	}
	return program, ds.Sort()
}

type loader struct {
	logs    *Logs
	modules map[string]*lang.Module
}

func (l *loader) parse(path string, text []byte) (*lang.Module, lang.Diagnostics) {
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

// load finds an imported file: "std/nn" in the standard library, anything else
// relative to the file that imports it. A file is parsed once.
func (l *loader) load(path string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics) {
	name, read := resolve(path, from.Source.Path)
	if m, ok := l.modules[name]; ok {
		return m, nil
	}
	text, err := read()
	if err != nil {
		reason := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			reason = "there is no file " + name
		}
		return nil, lang.Diagnostics{{Code: lang.ErrImport, At: at, Message: fmt.Sprintf("cannot import %q: %s", path, reason)}}
	}
	m, ds := l.parse(name, text)
	l.modules[name] = m
	return m, ds
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
