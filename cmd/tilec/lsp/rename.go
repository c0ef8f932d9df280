package lsp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/parser"
)

// requestFailed is the protocol's code for a request that is in order and cannot be met.
const requestFailed = -32803

func refused(format string, args ...any) error {
	return jsonrpc2.NewError(requestFailed, fmt.Sprintf(format, args...))
}

// renameParams is what we need of the protocol's RenameParams.
type renameParams struct {
	TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
	Position     protocol.Position               `json:"position"`
	NewName      string                          `json:"newName"`
}

// prepared is the name that a rename is about.
type prepared struct {
	Range       protocol.Range `json:"range"`
	Placeholder string         `json:"placeholder"`
}

// prepareRename says whether the name under the cursor can be renamed, before the editor asks for the new one.
func (s *server) prepareRename(p *protocol.TextDocumentPositionParams) (*prepared, error) {
	a := s.of(p.TextDocument.URI)
	if a == nil {
		return nil, refused("%s is not open", p.TextDocument.URI)
	}
	x, err := s.renamed(a, p.Position)
	if err != nil {
		return nil, err
	}
	return &prepared{a.doc.lines.spanRange(x.at), x.text}, nil
}

// renamed is the name at a position, where it is one that can be renamed.
func (s *server) renamed(a *analysis, p protocol.Position) (occurrence, error) {
	x, ok := a.occurrenceAt(a.doc.lines.offset(p))
	switch {
	case !ok:
		return x, refused("no name stands here")
	case !x.defined.IsValid():
		return x, refused("%s is a name of the language", x.text)
	case s.inLibrary(x.defined.Source.Path):
		return x, refused("%s is declared in the standard library (%s), which is not yours to change", x.text, filepath.Base(x.defined.Source.Path))
	}
	if _, test := x.decl.(*lang.TestDecl); test {
		return x, refused("the name of a test is a text: edit it where it stands")
	}
	return x, nil
}

// inLibrary reports a file of the standard library, or a copy of one for the editor.
func (s *server) inLibrary(path string) bool {
	return strings.HasPrefix(path, "std/") || s.opts.LibraryDir != "" && strings.HasPrefix(path, filepath.Join(s.opts.LibraryDir, "std")+string(filepath.Separator))
}

// rename gives the edits that call something by another name everywhere. It is refused where any name of the workspace
// would then stand for something else, or a file have an error that it does not have.
func (s *server) rename(p *renameParams) (*edited, error) {
	a := s.of(p.TextDocument.URI)
	if a == nil {
		return nil, refused("%s is not open", p.TextDocument.URI)
	}
	x, err := s.renamed(a, p.Position)
	if err != nil {
		return nil, err
	}
	if !isName(p.NewName) {
		return nil, refused("%q cannot be a name: a name begins with a letter or _, and is no word of the language", p.NewName)
	}
	if p.NewName == x.text {
		return &edited{Changes: map[uri.URI][]protocol.TextEdit{}}, nil
	}
	c := renaming{s: s, from: x, to: p.NewName, edits: map[string][]lang.Span{}}
	edit := &edited{Changes: map[uri.URI][]protocol.TextEdit{}}
	for _, b := range s.filesNaming(a, x) {
		for _, y := range b.occurrencesOf(x) {
			at, ok := s.location(b, y.at)
			switch {
			case !ok:
				return nil, refused("%s is named in %s, which the editor cannot open", x.text, b.doc.path)
			case s.inLibrary(b.doc.path):
				return nil, refused("%s is named in the standard library", x.text)
			}
			c.edits[b.doc.path] = append(c.edits[b.doc.path], y.at)
			edit.Changes[at.URI] = append(edit.Changes[at.URI], protocol.TextEdit{Range: at.Range, NewText: p.NewName})
		}
	}
	if err := c.check(a); err != nil {
		return nil, err
	}
	return edit, nil
}

// isName reports a text that the parser takes as the name of a declaration.
func isName(text string) bool {
	m, ds := parser.Parse(lang.NewSource("", "const "+text+" = 1\n"))
	return len(ds) == 0 && len(m.Decls) == 1 && m.Decls[0].DeclName().Name == text
}

// renaming is a rename that is being judged.
type renaming struct {
	s    *server
	from occurrence
	to   string
	// edits are the places of the name in each file, in order.
	edits map[string][]lang.Span
}

// check compares every file that could see the rename as it is with what it becomes.
func (c *renaming) check(a *analysis) error {
	if err := c.boundByName(a); err != nil {
		return err
	}
	texts := c.s.texts()
	for path := range c.edits {
		if _, ok := texts[path]; !ok {
			texts[path] = c.edits[path][0].Source.Text
		}
	}
	after := newServer(c.s.opts)
	changed := map[string]string{}
	for path, text := range texts {
		changed[path] = c.applied(path, text)
		after.docs[uri.URI(path)] = &document{uri: uri.URI(path), path: path, lines: newLines(changed[path])}
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		// A file without either name has no name that could stand for another thing now.
		if !strings.Contains(texts[path], c.from.text) && !strings.Contains(texts[path], c.to) {
			continue
		}
		before := c.s.analyse(&document{path: path, lines: newLines(texts[path])})
		now := after.analyse(&document{path: path, lines: newLines(changed[path])})
		if err := c.compare(before, now); err != nil {
			return err
		}
	}
	return nil
}

// boundByName refuses dimensions that structs have: a graph and the structs among its parameters have those of one name in common.
func (c *renaming) boundByName(a *analysis) error {
	if c.from.kind != dimName {
		return nil
	}
	b := c.s.parse(&document{path: c.from.defined.Source.Path, lines: newLines(c.from.defined.Source.Text)})
	switch d := b.declAt(c.from.defined.Start).(type) {
	case *lang.StructDecl:
		return refused("%s is a dimension of the struct %s, and the same in every graph that takes one: rename it there too, by hand", c.from.text, d.Name.Name)
	case *lang.GraphDecl:
		for _, p := range append(slices.Clone(d.Params), d.Outputs...) {
			dims := map[string]bool{}
			b.structDims(p.Type, dims, 0)
			for _, n := range []string{c.from.text, c.to} {
				if dims[n] {
					return refused("%s is a dimension of the structs that %s: %s is made of, and the same there", n, p.Name.Name, p.Type.Place.Text())
				}
			}
		}
	}
	return nil
}

// structDims collects the names in the shapes of a struct and of those in it.
func (a *analysis) structDims(t *lang.TypeExpr, dims map[string]bool, depth int) {
	st := a.structNamed(t)
	if st == nil || depth > 50 {
		return
	}
	for _, f := range st.Fields {
		if f.Type == nil {
			continue
		}
		for _, dim := range append([]lang.Expr{f.Type.Count}, f.Type.Shape...) {
			if dim != nil {
				lang.Walk(dim, func(n lang.Node) bool {
					if x, ok := n.(*lang.NameExpr); ok {
						dims[x.Name] = true
					}
					return true
				})
			}
		}
		a.structDims(f.Type, dims, depth+1)
	}
}

// applied is a text with the new name in it.
func (c *renaming) applied(path, text string) string {
	var b strings.Builder
	at := 0
	for _, e := range c.edits[path] {
		b.WriteString(text[at:e.Start] + c.to)
		at = e.End
	}
	return b.String() + text[at:]
}

// moved is where a place of a text is once the name is another.
func (c *renaming) moved(p declPlace) declPlace {
	shift := func(offset int) int {
		n := 0
		for _, e := range c.edits[p.path] {
			if e.End <= offset {
				n += len(c.to) - len(c.from.text)
			}
		}
		return offset + n
	}
	return declPlace{p.path, shift(p.start), shift(p.end)}
}

// compare says what is not as it was in a file: a name that stands for another thing, or an error.
func (c *renaming) compare(before, now *analysis) error {
	was, is := before.occurrences(), now.occurrences()
	for i, x := range was {
		if i < len(is) && placeIn(is[i].at) == c.moved(placeIn(x.at)) && placeIn(is[i].defined) == c.moved(placeIn(x.defined)) && (is[i].kind == x.kind || is[i].defined.IsValid()) {
			continue
		}
		return refused("with the name %s for %s, %s at %s would mean something else", c.to, c.from.text, x.text, before.spelledPlace(x.at))
	}
	codes := map[lang.Code]int{}
	for _, d := range before.diags {
		codes[d.Code]++
	}
	for _, d := range now.diags {
		if codes[d.Code]--; codes[d.Code] < 0 && d.Severity == lang.SeverityError {
			return refused("with the name %s for %s there would be an error at %s: %s", c.to, c.from.text, now.spelledPlace(d.At), d.Message)
		}
	}
	if len(is) != len(was) {
		return refused("with the name %s for %s, a name of %s would mean something else", c.to, c.from.text, filepath.Base(before.doc.path))
	}
	return nil
}

// spelledPlace is a place as one says it: file, line and column from 1.
func (a *analysis) spelledPlace(at lang.Span) string {
	if !at.IsValid() {
		return filepath.Base(a.doc.path)
	}
	p := a.lines(at.Source).position(at.Start)
	return fmt.Sprintf("%s:%d:%d", filepath.Base(at.Source.Path), p.Line+1, p.Character+1)
}
