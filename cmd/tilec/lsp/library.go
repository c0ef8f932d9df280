package lsp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"

	"tilec/stdlib"
)

// uriOf is where the editor finds a source. The files of the standard library
// are part of the program; a copy on disk is made of one that is asked for.
func (s *server) uriOf(path string) (uri.URI, error) {
	for u, d := range s.docs {
		if d.path == path {
			return u, nil
		}
	}
	if name, ok := strings.CutPrefix(path, "std/"); ok {
		file, err := s.libraryFile(name)
		if err != nil {
			return "", fmt.Errorf("no copy of %s for the editor: %w", path, err)
		}
		return uri.File(file), nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return uri.File(abs), nil
}

// libraryFile writes a file of the standard library into the library folder,
// read-only, unless it is there already.
func (s *server) libraryFile(name string) (string, error) {
	if s.opts.LibraryDir == "" {
		return "", errors.New("there is no folder for it")
	}
	text, err := stdlib.FS.ReadFile(name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.opts.LibraryDir, "std", name)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(text) {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Another server may write the same file: each makes its own and renames it.
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return "", err
	}
	return path, os.Rename(f.Name(), path)
}

// libraryNames lists the files of the standard library as imports name them.
func libraryNames() []string {
	entries, err := stdlib.FS.ReadDir(".")
	if err != nil {
		panic(err) // an embedded file system has its root
	}
	var names []string
	for _, e := range entries {
		names = append(names, "std/"+strings.TrimSuffix(e.Name(), ".tile"))
	}
	return names
}
