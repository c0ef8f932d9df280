// Package reference is what there is to look up: the operations of the language, and what a source declares, with its axes and the tests that show how
// it is used. Who prints it decides how.
package reference

import (
	"fmt"
	"regexp"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// Module is what a source declares.
type Module struct {
	// Name is how it is imported, std/nn, and About the comment at its top.
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Entries []Entry `json:"entries"`
}

// Entry is a declaration.
type Entry struct {
	Name string `json:"name"`
	// Kind is its keyword: kernel, graph, fn, struct.
	Kind string `json:"kind"`
	// Doc is what its comment says, Signature the declaration without its body; of a struct, and of a function of one line, all of it.
	Doc       string `json:"doc"`
	Signature string `json:"signature"`
	// Axes are those of a kernel: along which blocks divide its work, which go step by step, and of which a block has all.
	Axes []Axis `json:"axes,omitempty"`
	// Tests are tests that call it, at most two.
	Tests []Test `json:"tests,omitempty"`
}

// Axis is one of a kernel's axes. Is says whether it is of the grid, a loop or whole (grid, loop, axis); Over is the dimension or range that it walks, Extent how much of that
// is at once: the parameter that a plan chooses and a user may pin, a number, or words.
type Axis struct {
	Name   string `json:"name"`
	Is     string `json:"is"`
	Over   string `json:"over"`
	Extent string `json:"extent"`
	// Chosen: Extent names a parameter. Choices are those that the source allows; nil for any.
	Chosen  bool    `json:"chosen,omitempty"`
	Choices []int64 `json:"choices,omitempty"`
}

// Test is a test of the source.
type Test struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Of describes a checked program's own source, without what it imports.
func Of(program *typed.Program) Module {
	module := program.Modules[len(program.Modules)-1]
	m := Module{Name: strings.TrimSuffix(module.Source.Path, ".tile"), About: opening(module.Source.Text), Entries: []Entry{}}
	kernels := map[lang.Decl]*typed.Kernel{}
	for _, k := range program.Kernels {
		kernels[k.Decl] = k
	}
	for _, d := range module.Decls {
		if _, ok := d.(*lang.TestDecl); ok {
			continue
		}
		e := Entry{Name: d.DeclName().Name, Doc: strings.TrimSpace(d.DocText()), Signature: signature(d), Tests: testsOf(module, d.DeclName().Name)}
		e.Kind, _, _ = strings.Cut(e.Signature, " ")
		if k := kernels[d]; k != nil {
			for _, part := range k.Launches() {
				for _, a := range part.Axes {
					e.Axes = append(e.Axes, axisOf(a))
				}
			}
		}
		m.Entries = append(m.Entries, e)
	}
	return m
}

// Find is the declaration of a name; nil where there is none.
func (m *Module) Find(name string) *Entry {
	for i := range m.Entries {
		if m.Entries[i].Name == name {
			return &m.Entries[i]
		}
	}
	return nil
}

// opening is the comment at the top of a source.
func opening(text string) string {
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		said, ok := strings.CutPrefix(line, "//")
		if !ok || strings.HasPrefix(said, "/") {
			break
		}
		lines = append(lines, strings.TrimPrefix(said, " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
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

// axisOf describes an axis of a kernel.
func axisOf(a *typed.Axis) Axis {
	x := Axis{Name: a.Name, Is: [...]string{"grid", "loop", "axis"}[a.Kind], Over: a.Over(), Extent: a.Tile, Choices: a.Choices}
	switch {
	case a.Scalar:
		x.Extent = "one by one"
	case x.Extent != "":
		x.Chosen = true
	case a.Extent > 0:
		x.Extent = fmt.Sprint(a.Extent)
	case a.Kind == typed.WholeAxis:
		x.Extent = "all of it"
	}
	return x
}

// testsOf are the tests of a module that call what is declared, at most two.
func testsOf(m *lang.Module, declared string) (tests []Test) {
	const most = 2
	calls := regexp.MustCompile(`\b` + regexp.QuoteMeta(declared) + `(<[^()]*>)?\(`)
	for _, d := range m.Decls {
		if t, ok := d.(*lang.TestDecl); ok && calls.MatchString(t.Body.Span().Text()) && len(tests) < most {
			tests = append(tests, Test{t.DeclName().Name, t.Span().Text()})
		}
	}
	return tests
}
