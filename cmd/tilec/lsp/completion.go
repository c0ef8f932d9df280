package lsp

import (
	"os"
	"path/filepath"
	"sort"
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/parser"
)

// completion lists what can stand at the cursor. The editor filters by what is
// typed already.
func (s *server) completion(p *protocol.TextDocumentPositionParams) ([]item, error) {
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return []item{}, nil
	}
	text, offset := a.doc.lines.text, a.doc.lines.offset(p.Position)
	from := offset
	for from > 0 && isWord(text[from-1]) {
		from--
	}
	line := text[strings.LastIndexByte(text[:offset], '\n')+1 : offset]
	c := &completion{items: []item{}}
	switch before := strings.TrimRight(text[:from], " \t"); {
	case importPrefix(line) != nil:
		c.files(a.doc.path, *importPrefix(line))
	case inComment(a.module.Source, offset), inString(line):
	case strings.HasSuffix(text[:from], "@"):
		c.attributes(a, from-1)
	case strings.HasSuffix(text[:from], ".") && !strings.HasSuffix(text[:from], ".."):
		c.fields(a, text[:from-1], offset)
	case endsWithWord(before, "as"):
		c.types(a, offset, false)
	case strings.HasSuffix(before, ":"):
		c.types(a, offset, true)
	case endsWithWord(before, "over"):
		c.axes(a, offset)
	case walks(line):
		c.dimensions(a, offset)
	default:
		c.arguments(a, offset)
		c.all(a, offset)
		c.library(a, offset)
		if s.snippets {
			c.snippets(a, from)
		}
	}
	return c.items, nil
}

// completion collects items, each label once: what is nearer comes first.
type completion struct {
	items []item
	seen  map[string]bool
}

func (c *completion) add(label string, kind protocol.CompletionItemKind, detail, doc string) {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	if c.seen[label] || label == "" {
		return
	}
	c.seen[label] = true
	x := item{Label: label, Kind: kind, Detail: detail}
	if doc != "" {
		x.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: doc}
	}
	c.items = append(c.items, x)
}

func (c *completion) words(ws []word, kind protocol.CompletionItemKind) {
	for _, w := range ws {
		c.add(w.text, kind, "", w.doc)
	}
}

// itemKinds is how an editor shows the kinds of name.
var itemKinds = [...]protocol.CompletionItemKind{
	localName: protocol.CompletionItemKindVariable, paramName: protocol.CompletionItemKindVariable,
	axisName: protocol.CompletionItemKindReference, scalarName: protocol.CompletionItemKindReference,
	dimName: protocol.CompletionItemKindConstant, constParamName: protocol.CompletionItemKindConstant,
	typeParamName: protocol.CompletionItemKindTypeParameter, tileName: protocol.CompletionItemKindConstant,
}

func (c *completion) name(a *analysis, n name) {
	if n.kind != declName {
		x := a.local(n, n.at, "")
		c.add(n.text, itemKinds[n.kind], x.source, "")
		return
	}
	d := n.node.(lang.Decl)
	kind := protocol.CompletionItemKindFunction
	switch d.(type) {
	case *lang.ConstDecl:
		kind = protocol.CompletionItemKindConstant
	case *lang.StructDecl:
		kind = protocol.CompletionItemKindStruct
	}
	c.add(n.text, kind, strings.Join(strings.Fields(signature(d)), " "), d.DocText())
}

// all is everything that an expression or a statement can begin with.
func (c *completion) all(a *analysis, offset int) {
	names := a.namesAt(offset)
	for i := len(names) - 1; i >= 0; i-- {
		c.name(a, names[i])
	}
	for _, op := range lang.Ops() {
		if r := op.Row(); r.Form == lang.FormCall || r.Form == lang.FormReduce {
			c.add(r.Spelling, protocol.CompletionItemKindFunction, opSignature(op), opDoc(op))
		}
	}
	c.words(functions, protocol.CompletionItemKindFunction)
	c.words(constants, protocol.CompletionItemKindConstant)
	c.dtypes()
	c.words(keywords, protocol.CompletionItemKindKeyword)
}

func (c *completion) dtypes() {
	for _, d := range lang.DTypes() {
		c.add(d.String(), protocol.CompletionItemKindTypeParameter, "", "")
	}
}

// types is the element types, and with structs everything that a parameter can be.
func (c *completion) types(a *analysis, offset int, structs bool) {
	names := a.namesAt(offset)
	for i := len(names) - 1; i >= 0; i-- {
		_, isStruct := names[i].node.(*lang.StructDecl)
		if names[i].kind == typeParamName || structs && isStruct {
			c.name(a, names[i])
		}
	}
	c.dtypes()
	if structs {
		c.words(bounds, protocol.CompletionItemKindKeyword)
	}
}

func (c *completion) axes(a *analysis, offset int) {
	names := a.namesAt(offset)
	for i := len(names) - 1; i >= 0; i-- {
		if names[i].kind == axisName {
			c.name(a, names[i])
		}
	}
}

// fields is what can stand behind the dot of an expression, which is the end
// of a text: `w.blocks[n]`.
func (c *completion) fields(a *analysis, text string, offset int) {
	e := chain(text)
	if e == nil {
		return
	}
	if st := a.structOf(e, offset); st != nil {
		for _, f := range st.Fields {
			if f.Type != nil {
				c.add(f.Name.Name, protocol.CompletionItemKindField, f.Type.Place.Text(), f.Doc)
			}
		}
		return
	}
	n, ok := e.(*lang.NameExpr)
	if !ok {
		return
	}
	found, ok := a.resolve(n.Name, offset)
	switch p, isParam := found.node.(*lang.Param); {
	case !ok:
	case found.kind == axisName:
		c.add("start", protocol.CompletionItemKindProperty, "i32", positionDoc["start"])
		c.add("end", protocol.CompletionItemKindProperty, "i32", positionDoc["end"])
	case isParam && p.Type != nil && p.Type.HasShape:
		c.add("shape", protocol.CompletionItemKindProperty, p.Type.Place.Text(), "the sizes of "+n.Name+", by number: `"+n.Name+".shape[0]`")
	}
}

// chain reads the names, fields and indexes that a text ends with. The text
// need not parse: indexes are skipped by their brackets.
func chain(text string) lang.Expr {
	text = strings.TrimRight(text, " \t")
	if strings.HasSuffix(text, "]") {
		depth := 0
		for i := len(text) - 1; i >= 0; i-- {
			switch text[i] {
			case ']':
				depth++
			case '[':
				if depth--; depth == 0 {
					return chain(text[:i])
				}
			case '\n':
				return nil
			}
		}
		return nil
	}
	from := len(text)
	for from > 0 && isWord(text[from-1]) {
		from--
	}
	word := text[from:]
	if word == "" || word[0] >= '0' && word[0] <= '9' {
		return nil
	}
	if !strings.HasSuffix(text[:from], ".") {
		return &lang.NameExpr{Name: word}
	}
	x := chain(text[:from-1])
	if x == nil {
		return nil
	}
	return &lang.FieldExpr{X: x, Name: lang.Ident{Name: word}}
}

// files is what can be imported: the standard library, and the files near the document.
func (c *completion) files(doc, typed string) {
	for _, n := range libraryNames() {
		c.add(n, protocol.CompletionItemKindModule, "", "")
	}
	dir := filepath.Join(filepath.Dir(doc), filepath.FromSlash(typed[:strings.LastIndexByte(typed, '/')+1]))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // a document without a folder
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		switch n := e.Name(); {
		case strings.HasPrefix(n, "."), filepath.Join(dir, n) == doc:
		case e.IsDir():
			c.add(n, protocol.CompletionItemKindFolder, "", "")
		case filepath.Ext(n) == ".tile":
			c.add(strings.TrimSuffix(n, ".tile"), protocol.CompletionItemKindFile, "", "")
		}
	}
}

// importPrefix is what stands in the string of an import that the line ends with; nil when it is none.
func importPrefix(line string) *string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "import")
	if !ok {
		return nil
	}
	path, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t"), "\"")
	if !ok || strings.Contains(path, "\"") {
		return nil
	}
	return &path
}

// inString reports whether a line ends inside a string.
func inString(line string) bool {
	in := false
	for i := 0; i < len(line); i++ {
		switch {
		case in && line[i] == '\\':
			i++
		case line[i] == '"':
			in = !in
		}
	}
	return in
}

// inComment reports whether an offset is behind the `//` of a comment on its line.
func inComment(src *lang.Source, offset int) bool {
	from := strings.LastIndexByte(src.Text[:offset], '\n') + 1
	line := src.Text[from:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	for _, c := range parser.Comments(lang.NewSource("", line)) { // a line tells by itself what is a comment in it
		if c.Start < offset-from && offset-from <= c.End {
			return true
		}
	}
	return false
}

func endsWithWord(text, word string) bool {
	rest, ok := strings.CutSuffix(text, word)
	return ok && (rest == "" || !isWord(rest[len(rest)-1]))
}
