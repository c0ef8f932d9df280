package lsp

import (
	"strings"

	"tilec/lang"
)

// symbol is what stands at a place of a text: what hover shows and where its definition is.
type symbol struct {
	at lang.Span
	// source is shown as code, doc as text.
	source, doc string
	// defined is where it is declared; no place for words of the language.
	defined lang.Span
	kind    nameKind
}

// symbolAt finds the symbol around an offset, or the one that ends there.
func (a *analysis) symbolAt(offset int) (symbol, bool) {
	if s, ok := a.symbolOn(offset); ok {
		return s, true
	}
	if offset > 0 {
		return a.symbolOn(offset - 1)
	}
	return symbol{}, false
}

func (a *analysis) symbolOn(offset int) (symbol, bool) {
	return a.symbolIn(a.path(offset), offset)
}

// symbolIn is the symbol at an offset, from the nodes around it.
func (a *analysis) symbolIn(path []lang.Node, offset int) (symbol, bool) {
	if len(path) == 0 {
		return a.wordOn(offset)
	}
	if s, ok := a.inAttribute(path); ok {
		return s, true
	}
	var parent lang.Node
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	switch n := path[len(path)-1].(type) {
	case *lang.Import:
		if m, _ := a.loader.Import(n.Path, a.module, n.Place); m != nil {
			return symbol{at: n.Place, source: n.Place.Text(), doc: fileDoc(m), defined: lang.Span{Source: m.Source}}, true
		}
	case *lang.NameExpr:
		if call, ok := parent.(*lang.CallExpr); ok && call.Fn == lang.Expr(n) {
			if s, ok := a.named(n.Name, n.Place, a.types.text(call.Place)); ok {
				return s, true
			}
			return a.wordOn(offset) // `check`
		}
		return a.named(n.Name, n.Place, a.types.text(n.Place))
	case *lang.Ident:
		return a.identOn(n, path)
	case *lang.BinaryExpr:
		if n.OpAt.Start <= offset && offset < n.OpAt.End {
			return a.operator(n.Op, n.OpAt, n.Place, lang.FormInfix)
		}
	case *lang.UnaryExpr:
		if n.OpAt.Start <= offset && offset < n.OpAt.End {
			return a.operator(n.Op, n.OpAt, n.Place, lang.FormPrefix)
		}
	}
	return a.wordOn(offset)
}

// inAttribute is a name among the arguments of an attribute: `M` in `@sizes(M = 64)`, `k` in `@split(k, 4)`, the field of
// `@scale(w)`. It stands before what it names.
func (a *analysis) inAttribute(path []lang.Node) (symbol, bool) {
	var text string
	var at lang.Span
	switch n := path[len(path)-1].(type) {
	case *lang.NameExpr:
		text, at = n.Name, n.Place
	case *lang.Ident:
		if _, isArg := path[max(len(path)-2, 0)].(*lang.Arg); !isArg {
			return symbol{}, false
		}
		text, at = n.Name, n.Place
	}
	inside := false
	for _, n := range path {
		_, isAttr := n.(*lang.Attr)
		inside = inside || isAttr
	}
	if text == "" || !inside {
		return symbol{}, false
	}
	c := collector{offset: -1, file: a.fileNames()}
	switch d := path[0].(type) {
	case *lang.StructDecl:
		if f := field(d, text); f != nil {
			return symbol{at: at, source: f.Place.Text(), doc: f.Doc, defined: f.Name.Place, kind: fieldName}, true
		}
	case lang.Decl:
		c.decl(d)
		lang.Walk(d, func(n lang.Node) bool {
			if x, ok := n.(*lang.AxisClause); ok && !c.has(x.Name.Name) {
				c.add(axisName, x.Name, x)
			}
			return true
		})
	}
	for _, n := range c.names {
		if n.text == text {
			return a.local(n, at, ""), true
		}
	}
	return symbol{}, false
}

// operator is the operation that an operator stands for, with the type of its result.
func (a *analysis) operator(op string, at, whole lang.Span, form lang.Form) (symbol, bool) {
	ops := operations(op, form)
	if len(ops) == 0 {
		return symbol{}, false
	}
	s := symbol{at: at, doc: opDoc(ops[0])}
	if t := a.types.text(whole); t != "" {
		s.doc += "\n\nhere: `" + t + "`"
	}
	return s, true
}

// identOn is a name that is no expression: what is declared, or a part of something.
func (a *analysis) identOn(id *lang.Ident, path []lang.Node) (symbol, bool) {
	at := id.Place
	var parent, above lang.Node
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	if len(path) > 2 {
		above = path[len(path)-3]
	}
	switch p := parent.(type) {
	case *lang.FieldExpr:
		if f := field(a.structOf(p.X, at.Start), id.Name); f != nil {
			return symbol{at: at, source: f.Place.Text(), doc: f.Doc, defined: f.Name.Place, kind: fieldName}, true
		}
		if s, ok := a.shape(p); ok {
			return s, true
		}
		if t := a.types.text(p.Place); t != "" {
			return symbol{at: at, source: p.Place.Text() + ": " + t, doc: positionDoc[id.Name]}, true
		}
		return symbol{}, false
	case *lang.Field:
		if id == &p.Name {
			return symbol{at: at, source: p.Place.Text(), doc: p.Doc, defined: at, kind: fieldName}, true
		}
	case *lang.Attr:
		if w, ok := find(attributes, id.Name); ok {
			return symbol{at: at, source: "@" + id.Name, doc: w.doc}, true
		}
		return symbol{}, false
	case *lang.Arg:
		if call, ok := above.(*lang.CallExpr); ok {
			return a.argument(call, id)
		}
	case lang.Decl:
		if id.Place == p.DeclName().Place {
			return declared(p, at), true
		}
	}
	return a.named(id.Name, at, a.types.text(at))
}

// shape is `x.shape` of a parameter: the sizes that its declaration names.
func (a *analysis) shape(e *lang.FieldExpr) (symbol, bool) {
	x, ok := e.X.(*lang.NameExpr)
	if !ok || e.Name.Name != "shape" {
		return symbol{}, false
	}
	n, ok := a.resolve(x.Name, x.Place.Start)
	if !ok {
		return symbol{}, false
	}
	p, ok := n.node.(*lang.Param)
	if !ok {
		return symbol{}, false
	}
	return symbol{at: e.Name.Place, source: p.Place.Text(), doc: "the sizes of " + x.Name + ": `" + x.Name + ".shape[0]` is that of its first dimension"}, true
}

// positionDoc is of the positions of an axis.
var positionDoc = map[string]string{
	"start": "first position of the axis in this block",
	"end":   "one past the last position of the axis in this block",
}

// argument is the parameter that a named argument of a call is for.
func (a *analysis) argument(call *lang.CallExpr, id *lang.Ident) (symbol, bool) {
	fn, ok := call.Fn.(*lang.NameExpr)
	if !ok {
		return symbol{}, false
	}
	callee, ok := a.resolve(fn.Name, fn.Place.Start)
	if !ok {
		return symbol{}, false
	}
	var params []*lang.Param
	var generics []*lang.Generic
	switch d := callee.node.(type) {
	case *lang.FnDecl:
		params, generics = d.Params, d.Generics
	case *lang.KernelDecl:
		params, generics = d.Params, d.Generics
	case *lang.GraphDecl:
		params, generics = d.Params, d.Generics
	}
	for _, p := range params {
		if p.Name.Name == id.Name {
			return symbol{at: id.Place, source: p.Place.Text(), doc: "parameter of " + fn.Name, defined: p.Name.Place, kind: paramName}, true
		}
	}
	for _, g := range generics {
		if g.Name.Name == id.Name {
			return symbol{at: id.Place, source: g.Place.Text(), doc: "parameter of " + fn.Name, defined: g.Name.Place, kind: constParamName}, true
		}
	}
	if k, ok := callee.node.(*lang.KernelDecl); ok { // an extent that the call pins
		c := collector{offset: -1, file: a.fileNames()}
		c.decl(k)
		for _, n := range c.names {
			if n.kind == tileName && n.text == id.Name {
				return symbol{at: id.Place, source: n.text, doc: kindText[tileName], defined: n.at, kind: tileName}, true
			}
		}
	}
	return symbol{}, false
}

// declared is a declaration, with its signature and its doc.
func declared(d lang.Decl, at lang.Span) symbol {
	return symbol{at: at, source: signature(d), doc: d.DocText(), defined: d.DeclName().Place, kind: declName}
}

// named is a name in use or where it is declared; typ is the type of the place.
func (a *analysis) named(text string, at lang.Span, typ string) (symbol, bool) {
	n, ok := a.resolve(text, at.Start)
	if !ok || n.kind != declName && n.at.Source == at.Source && n.at.Start > at.Start { // used before it is declared
		if s, declared := a.declaredHere(text, at, typ); declared {
			return s, true
		}
		if path := a.path(at.Start); len(path) > 1 && typ == "" {
			if _, isLet := path[len(path)-2].(*lang.LetStmt); isLet { // of a constant, or with an error in what it binds
				return symbol{at: at, source: "let " + text, doc: kindText[localName], defined: at, kind: localName}, true
			}
		}
		return a.builtin(text, at, typ)
	}
	if s, ok := a.declaredHere(text, at, typ); ok && n.at != at {
		return s, true
	}
	if n.kind == declName {
		s := declared(n.node.(lang.Decl), at)
		if typ != "" {
			s.doc = strings.TrimSpace(s.doc + "\n\nhere: `" + typ + "`")
		}
		return s, true
	}
	return a.local(n, at, typ), true
}

// declaredHere is a name at the very place that declares it, which is not yet
// visible there: the name of a let, of an axis, of what a loop carries.
func (a *analysis) declaredHere(text string, at lang.Span, typ string) (symbol, bool) {
	if axis := a.types.axis(at); axis != "" {
		return symbol{at: at, source: axis, defined: at, kind: axisName}, true
	}
	if _, isIdent := a.last(at.Start).(*lang.Ident); isIdent && len(a.types.of(at)) > 0 {
		return symbol{at: at, source: "let " + text + ": " + typ, doc: a.axesDoc(at), defined: at, kind: localName}, true
	}
	return symbol{}, false
}

func (a *analysis) last(offset int) lang.Node {
	path := a.path(offset)
	if len(path) == 0 {
		return nil
	}
	return path[len(path)-1]
}

// local is a name of a kernel, a graph or a fn.
func (a *analysis) local(n name, at lang.Span, typ string) symbol {
	s := symbol{at: at, defined: n.at, doc: kindText[n.kind], kind: n.kind}
	if typ == "" {
		typ = a.types.text(n.at)
	}
	switch {
	case n.kind == localName && typ != "":
		s.source, s.doc = "let "+n.text+": "+typ, a.axesDoc(n.at)
	case n.kind == localName:
		s.source = "let " + n.text
	case (n.kind == axisName || n.kind == scalarName) && a.types.axis(n.at) != "":
		s.source = a.types.axis(n.at)
	case n.kind == dimName, n.kind == tileName:
		s.source = n.text
	default:
		s.source = n.node.Span().Text()
	}
	if p, ok := n.node.(*lang.Param); ok && n.kind == paramName && p.Mode == lang.Out {
		s.doc = "output"
	}
	return s
}

// axesDoc says what the axes of the types of a place walk.
func (a *analysis) axesDoc(at lang.Span) string {
	var rows []string
	seen := map[string]bool{}
	for _, t := range a.types.of(at) {
		for _, x := range t.axes {
			if row := "- `" + x + "`"; !seen[row] {
				seen[row] = true
				rows = append(rows, row)
			}
		}
	}
	return strings.Join(rows, "\n")
}

// builtin is a name of the language itself.
func (a *analysis) builtin(text string, at lang.Span, typ string) (symbol, bool) {
	var docs []string
	for _, op := range operations(text, lang.FormCall, lang.FormReduce) {
		docs = append(docs, opDoc(op))
	}
	for _, words := range [][]word{functions, constants, bounds} {
		if w, ok := find(words, text); ok {
			docs = append(docs, w.doc)
		}
	}
	if d, ok := lang.ParseDType(text); ok {
		docs = append(docs, "the element type `"+d.String()+"`")
	}
	if len(docs) == 0 {
		return symbol{}, false
	}
	if typ != "" {
		docs = append(docs, "here: `"+typ+"`")
	}
	return symbol{at: at, doc: strings.Join(docs, "\n\n"), kind: builtinName}, true
}

// wordOn is a keyword, or an attribute in a text that does not parse.
func (a *analysis) wordOn(offset int) (symbol, bool) {
	text := a.module.Source.Text
	from, to := offset, offset
	for from > 0 && isWord(text[from-1]) {
		from--
	}
	for to < len(text) && isWord(text[to]) {
		to++
	}
	_, inString := a.last(offset).(*lang.StringLit)
	if from == to || offset >= len(text) || inString || inComment(a.module.Source, offset) {
		return symbol{}, false
	}
	words := keywords
	if from > 0 && text[from-1] == '@' {
		words = attributes
	}
	w, ok := find(words, text[from:to])
	if !ok {
		return symbol{}, false
	}
	return symbol{at: lang.Span{Source: a.module.Source, Start: from, End: to}, doc: w.doc}, true
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// fileDoc is the comment at the top of a file.
func fileDoc(m *lang.Module) string {
	var rows []string
	for _, line := range strings.Split(m.Source.Text, "\n") {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		rows = append(rows, strings.TrimSpace(strings.TrimLeft(text, "/")))
	}
	return strings.Join(rows, "\n")
}
