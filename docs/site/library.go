package main

import (
	"fmt"
	"io/fs"
	"strings"

	"tilec/cmd/tilec/reference"
	"tilec/jit"
	"tilec/stdlib"
)

// libraryPage describes the standard library by its sources: what each file declares, with its signature, its axes, and the tests that use it.
func libraryPage() (string, error) {
	names, err := fs.Glob(stdlib.FS, "*.tile")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# The standard library\nWhat `import \"std/nn\"` and the like bring. A kernel's axes are those along which blocks divide its work (`grid`), go step by step\n" +
		"(`loop`) or have whole (`axis`); an extent that has a name, as `BM`, can be pinned.\n\n")
	for _, name := range names {
		text, err := stdlib.FS.ReadFile(name)
		if err != nil {
			return "", err
		}
		path := "std/" + name
		program, problems := jit.Load(path, text, nil)
		if err := problems.Err(); err != nil {
			return "", err
		}
		writeModule(&b, reference.Of(program))
	}
	return b.String(), nil
}

// writeModule describes one file of the library.
func writeModule(b *strings.Builder, m reference.Module) {
	fmt.Fprintf(b, "## %s\n%s\n\n", m.Name, m.About)
	shown := map[string]bool{}
	for _, e := range m.Entries {
		fmt.Fprintf(b, "### %s\n%s\n\n%s\n", e.Name, e.Doc, fenced("tile", e.Signature))
		if e.Kind == "kernel" {
			writeAxes(b, e.Axes)
		}
		var texts, names []string
		for _, t := range e.Tests {
			if shown[t.Name] {
				names = append(names, "“"+t.Name+"”")
			} else {
				texts = append(texts, t.Text)
			}
			shown[t.Name] = true
		}
		if texts != nil {
			b.WriteString("As tests have it:\n" + fenced("tile", strings.Join(texts, "\n\n")) + "\n")
		}
		if names != nil {
			fmt.Fprintf(b, "Tests above have it too: %s.\n\n", strings.Join(names, ", "))
		}
	}
}

// writeAxes is a table of a kernel's axes.
func writeAxes(b *strings.Builder, axes []reference.Axis) {
	b.WriteString("| axis | is | over | extent |\n|---|---|---|---|\n")
	for _, a := range axes {
		extent := a.Extent
		if a.Chosen {
			extent = "`" + extent + "`"
		}
		if len(a.Choices) > 0 {
			extent += " of " + strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Choices), "[]"), " ", ", ")
		}
		fmt.Fprintf(b, "| `%s` | %s | `%s` | %s |\n", a.Name, a.Is, a.Over, extent)
	}
	b.WriteByte('\n')
}
