package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"tilec/gpt"
	"tilec/jit"
	"tilec/stdlib"
	"tilec/typecheck"
)

// embedded reads a source that is part of the binary: gpt.tile, std/nn.tile ...
func embedded(name string) ([]byte, bool) {
	name = filepath.ToSlash(filepath.Clean(name))
	if name == "gpt.tile" {
		return gpt.Source, true
	}
	if file, ok := strings.CutPrefix(name, "std/"); ok {
		text, err := stdlib.FS.ReadFile(file)
		return text, err == nil
	}
	return nil, false
}

// embeddedNames lists the sources that are part of the binary.
func embeddedNames() []string {
	names := []string{"gpt.tile"}
	entries, err := stdlib.FS.ReadDir(".")
	if err != nil {
		panic(err) // an embedded file system has its root
	}
	for _, e := range entries {
		names = append(names, "std/"+e.Name())
	}
	sort.Strings(names)
	return names
}

// readSource finds a .tile file: on disk, then among the embedded sources.
func (a *app) readSource(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var ok bool
		if text, ok = embedded(path); !ok {
			where := path
			if abs, err := filepath.Abs(path); err == nil {
				where = abs
			}
			return nil, fmt.Errorf("there is no file %s: looked for %s, and among the embedded sources (%s)", path, where, strings.Join(embeddedNames(), ", "))
		}
	} else if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	a.sources[path] = text
	return text, nil
}

// load reads, parses and checks a file; its diagnostics are the error.
func (a *app) load(path string) (*typecheck.Program, error) {
	text, err := a.readSource(path)
	if err != nil {
		return nil, err
	}
	program, ds := jit.Load(path, text, a.logs)
	return program, ds.Err()
}
