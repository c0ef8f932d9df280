package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tilec/gpt"
	"tilec/jit"
	"tilec/jit/file"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// networks are the sources of language models that are part of the binary.
var networks = map[string][]byte{"gpt.tile": gpt.Source, "llama.tile": gpt.LlamaSource}

// embedded reads a source that is part of the binary: gpt.tile, std/nn.tile ...
func embedded(name string) ([]byte, bool) {
	name = filepath.ToSlash(filepath.Clean(name))
	if source, ok := networks[name]; ok {
		return source, true
	}
	if file, ok := strings.CutPrefix(name, "std/"); ok {
		text, err := stdlib.FS.ReadFile(file)
		return text, err == nil
	}
	return nil, false
}

// embeddedNames lists the sources that are part of the binary.
func embeddedNames() []string {
	names := slices.Collect(maps.Keys(networks))
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

// stdinName is what stdin is called in messages; `-` stands for it on the command line.
const stdinName = "<stdin>"

// source is the file that an argument names.
func source(arg string) string {
	if arg == "-" {
		return stdinName
	}
	return arg
}

// expand gives the sources that arguments name. A directory stands for the
// .tile files in it and below, without hidden directories.
func expand(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			files = append(files, source(arg)) // what is wrong with a file is said where it is read
			continue
		}
		before := len(files)
		err := filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && path != arg && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case !e.IsDir() && filepath.Ext(path) == ".tile":
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("there is no .tile file in the directory %s", arg)
		}
	}
	return files, nil
}

// readSource finds a .tile file: on disk, then among the embedded sources; stdinName is stdin.
func (a *app) readSource(path string) ([]byte, error) {
	if path == stdinName {
		text, err := file.ReadAll(os.Stdin, file.MaxSource)
		if err != nil {
			return nil, fmt.Errorf("cannot read stdin: %w", err)
		}
		a.sources[path] = text
		return text, nil
	}
	if path == "" {
		return nil, errors.New("the name of a file is empty")
	}
	text, err := file.Read(path, file.MaxSource)
	if errors.Is(err, fs.ErrNotExist) {
		var ok bool
		if text, ok = embedded(path); !ok {
			where := path
			if abs, err := filepath.Abs(path); err == nil {
				where = abs
			}
			return nil, fmt.Errorf("there is no file %s: looked for %s, and among the embedded sources (%s)", path, where, strings.Join(embeddedNames(), ", "))
		}
	} else if errors.Is(err, file.ErrNotRegular) {
		return nil, fmt.Errorf("cannot read %s: %w; - reads stdin", path, errors.Unwrap(err))
	} else if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	a.sources[path] = text
	return text, nil
}

// load reads, parses and checks a file; its diagnostics are the error.
func (a *app) load(path string) (*typed.Program, error) {
	text, err := a.readSource(path)
	if err != nil {
		return nil, err
	}
	program, ds := jit.Load(path, text, a.logs)
	for _, m := range program.Modules {
		a.sources[m.Source.Path] = []byte(m.Source.Text)
	}
	return program, ds.Err()
}
