package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"tilec/jit"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
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
		writeModule(&b, program)
	}
	return b.String(), nil
}

// writeModule describes one file of the library.
func writeModule(b *strings.Builder, program *typed.Program) {
	module := program.Modules[len(program.Modules)-1]
	name := strings.TrimSuffix(module.Source.Path, ".tile")
	fmt.Fprintf(b, "## %s\n%s\n\n", name, opening(module.Source.Text))
	kernels := map[string]*typed.Kernel{}
	for _, k := range program.Kernels {
		kernels[k.Name] = k
	}
	shown := map[*lang.TestDecl]bool{}
	for _, d := range module.Decls {
		if _, ok := d.(*lang.TestDecl); ok {
			continue
		}
		declared := d.DeclName().Name
		fmt.Fprintf(b, "### %s\n", declared)
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(d.DocText()))
		b.WriteString(fenced("tile", signature(d)))
		b.WriteByte('\n')
		if k := kernels[declared]; k != nil && k.Decl == d {
			writeAxes(b, k)
		}
		var texts, names []string
		for _, t := range testsOf(module, declared) {
			if shown[t] {
				names = append(names, "“"+t.DeclName().Name+"”")
			} else {
				texts = append(texts, t.Span().Text())
			}
			shown[t] = true
		}
		if texts != nil {
			b.WriteString("As tests have it:\n" + fenced("tile", strings.Join(texts, "\n\n")) + "\n")
		}
		if names != nil {
			fmt.Fprintf(b, "Tests above have it too: %s.\n\n", strings.Join(names, ", "))
		}
	}
}

// opening is the comment at the top of a source.
func opening(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		said, ok := strings.CutPrefix(line, "// ")
		if !ok {
			break
		}
		lines = append(lines, said)
	}
	return strings.Join(lines, "\n")
}

// signature is a declaration without its body. Of a struct, whose fields are what there is to know, and of a function of one line it is all.
func signature(d lang.Decl) string {
	text := d.Span().Text()
	if i := strings.Index(text, d.DeclName().Name); i >= 0 { // without the attributes above
		i = strings.LastIndex(text[:i], "\n") + 1
		text = text[i:]
	}
	var body *lang.Block
	switch d := d.(type) {
	case *lang.KernelDecl:
		body = d.Body
	case *lang.GraphDecl:
		body = d.Body
	case *lang.FnDecl:
		body, _ = d.Body.(*lang.Block)
	}
	if body != nil {
		if end := strings.LastIndex(text, body.Span().Text()); end >= 0 {
			text = text[:end]
		}
	}
	return strings.TrimSpace(text)
}

// writeAxes is a table of a kernel's axes.
func writeAxes(b *strings.Builder, k *typed.Kernel) {
	b.WriteString("| axis | is | over | extent |\n|---|---|---|---|\n")
	for _, part := range k.Launches() {
		for _, a := range part.Axes {
			extent := a.Tile
			switch {
			case a.Scalar:
				extent = "one by one"
			case extent != "":
				extent = "`" + extent + "`"
			case a.Extent > 0:
				extent = fmt.Sprint(a.Extent)
			case a.Kind == typed.WholeAxis:
				extent = "all of it"
			}
			if len(a.Choices) > 0 {
				extent += " of " + strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Choices), "[]"), " ", ", ")
			}
			fmt.Fprintf(b, "| `%s` | %s | `%s` | %s |\n", a.Name, [...]string{"grid", "loop", "axis"}[a.Kind], a.Over(), extent)
		}
	}
	b.WriteByte('\n')
}

// testsOf are the tests of a module that call what is declared, at most two.
func testsOf(m *lang.Module, declared string) (tests []*lang.TestDecl) {
	const most = 2
	calls := regexp.MustCompile(`\b` + regexp.QuoteMeta(declared) + `(<[^()]*>)?\(`)
	for _, d := range m.Decls {
		if t, ok := d.(*lang.TestDecl); ok && calls.MatchString(t.Body.Span().Text()) && len(tests) < most {
			tests = append(tests, t)
		}
	}
	return tests
}
