package site

import (
	"fmt"
	"slices"
	"strings"

	"tilec/cmd/tilec/reference"
	"tilec/lang"
)

// This file has the pages that tilec knows by itself, and those of sources.

// makers make the pages, in Markdown, by names.
var makers = map[string]func(Sources) string{
	"operations": func(Sources) string { return OperationsPage("") },
	"library":    libraryPage,
	"errors":     func(Sources) string { return errorsPage() },
	"commands":   commandsPage,
}

// madeNames are how contents call them.
func madeNames() (names []string) {
	for name := range makers {
		names = append(names, madeScheme+name)
	}
	slices.Sort(names)
	return names
}

// OperationsPage describes the operations of the language; origin, where it is not empty, says first where the page comes from.
func OperationsPage(origin string) string {
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + cell(s) + "`"
	}
	var b strings.Builder
	b.WriteString("# Operations\n" + origin + `Operands of an elementwise operation broadcast by the names of their axes. The accumulator of f32 and of every
narrower float is f32, that of integers below 32 bits is i32, and any other type is its own; a product that feeds a sum
is computed in it. *ulp* is the
largest error in f32, in units of the last place, that any backend may make; 0 is correctly rounded.
`)
	for _, chapter := range reference.Operations() {
		fmt.Fprintf(&b, "\n## %s\n| written | is | takes; gives | ulp | in the IR | CUDA Tile |\n|---|---|---|---|---|---|\n", chapter.Title)
		for _, o := range chapter.Operations {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", code(o.Written), cell(o.Doc), o.Types, o.Ulp, code(o.IR), code(o.CuTile))
		}
	}
	return b.String()
}

// libraryPage describes the standard library: what each file declares, with its signature, its axes, and the tests that use it.
func libraryPage(of Sources) string {
	var b strings.Builder
	b.WriteString("# The standard library\nWhat `import \"std/nn\"` and the like bring. " + aboutAxes)
	for _, m := range of.Library {
		writeModule(&b, m)
	}
	return b.String()
}

// modulePage describes a source.
func modulePage(title string, m reference.Module) string {
	var b strings.Builder
	b.WriteString("# " + title + "\n" + aboutAxes)
	writeModule(&b, m)
	return b.String()
}

const aboutAxes = "A kernel's axes are those along which blocks divide its work (`grid`), go step by step\n" +
	"(`loop`) or have whole (`axis`); an extent that has a name, as `BM`, can be pinned.\n\n"

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

// errorsPage has each code with what it means, a program that gives it, and one that does not.
func errorsPage() string {
	var b strings.Builder
	b.WriteString("# Errors and warnings\nWhat `tilec explain CODE` prints of each code.\n\n")
	for _, c := range lang.Codes() {
		row, _ := lang.CodeInfo(c)
		fmt.Fprintf(&b, "## %s\n**%s**\n\n%s\n\n", c, row.Title, strings.TrimSpace(row.Doc))
		for _, example := range [][2]string{{"This fails", row.Fails}, {"This works", row.Works}} {
			if title, text := example[0], example[1]; text != "" {
				if title == "This fails" && c[0] == 'W' {
					title = "This is warned of"
				}
				fmt.Fprintf(&b, "%s:\n%s\n", title, fenced("tile", shortened(text)))
			}
		}
	}
	return b.String()
}

// shortened cuts lines that are too long for a page; the example of deep nesting has one.
func shortened(text string) string {
	const most = 160
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if runes := []rune(line); len(runes) > most {
			lines[i] = string(runes[:most/2]) + " ... " + string(runes[len(runes)-most/2:])
		}
	}
	return strings.Join(lines, "\n")
}

// commandsPage has the help of each command.
func commandsPage(of Sources) string {
	var b strings.Builder
	b.WriteString("# The command line\n")
	var add func(c Command, level int)
	add = func(c Command, level int) {
		if level > 1 {
			fmt.Fprintf(&b, "%s %s\n", strings.Repeat("#", level), c.Name)
		}
		b.WriteString(fenced("text", c.Help) + "\n")
		for _, inner := range c.Commands {
			add(inner, level+1)
		}
	}
	add(of.Tilec, 1)
	return b.String()
}
