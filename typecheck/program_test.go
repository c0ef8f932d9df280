package typecheck_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

// check parses and types a program: one file, or several as a txtar archive whose first is the root.
func check(t testing.TB, text string) (*typed.Program, lang.Diagnostics) {
	t.Helper()
	a := txtar.Parse([]byte(text))
	files := map[string]string{}
	root := "main.tile"
	if len(a.Files) == 0 {
		files[root] = text
	} else {
		root = a.Files[0].Name
	}
	for _, f := range a.Files {
		files[f.Name] = string(f.Data)
	}
	return checkFiles(t, root, files)
}

func checkFiles(t testing.TB, root string, files map[string]string) (*typed.Program, lang.Diagnostics) {
	t.Helper()
	parse := func(name string) *lang.Module {
		m, ds := parser.Parse(lang.NewSource(name, files[name]))
		require.NoError(t, ds.Err())
		return m
	}
	load := func(p string, from *lang.Module, at lang.Span) (*lang.Module, lang.Diagnostics) {
		name := path.Join(path.Dir(from.Source.Path), p)
		if !strings.HasSuffix(name, ".tile") {
			name += ".tile"
		}
		if _, ok := files[name]; !ok {
			file, isLibrary := strings.CutPrefix(strings.TrimSuffix(p, ".tile")+".tile", "std/")
			name = "std/" + file
			text, err := os.ReadFile(filepath.Join("..", "stdlib", file))
			if !isLibrary || err != nil {
				return nil, nil
			}
			files[name] = string(text)
		}
		return parse(name), nil
	}
	return typecheck.Check(parse(root), load)
}
