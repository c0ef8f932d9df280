package lsp

import (
	"fmt"
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// signature is a declaration up to its body, on as few lines as it has in its file.
func signature(d lang.Decl) string {
	src := d.Span().Source
	from, to := d.Span().Start, d.Span().End
	if n := d.DeclName().Place; n.IsValid() {
		from = n.Start - len(keyword(d)) - 1
		if line := src.Text[:n.Start]; from < 0 || src.Text[from:n.Start-1] != keyword(d) {
			from = strings.LastIndexByte(line, '\n') + 1 // other spaces between them
		}
	}
	switch d := d.(type) {
	case *lang.KernelDecl:
		if d.Body != nil {
			to = d.Body.Span().Start
		}
	case *lang.GraphDecl:
		if d.Body != nil {
			to = d.Body.Span().Start
		}
	case *lang.FnDecl:
		if b, ok := d.Body.(*lang.Block); ok {
			to = b.Span().Start
		}
	}
	return strings.TrimSpace(lang.Span{Source: src, Start: from, End: to}.Text())
}

// keyword is the word that a declaration begins with.
func keyword(d lang.Decl) string {
	switch d.(type) {
	case *lang.ConstDecl:
		return "const"
	case *lang.FnDecl:
		return "fn"
	case *lang.KernelDecl:
		return "kernel"
	case *lang.GraphDecl:
		return "graph"
	case *lang.StructDecl:
		return "struct"
	case *lang.TestDecl:
		return "test"
	}
	return fmt.Sprintf("%T", d)
}

// call is a call that is being written: its function, and the arguments that stand before a place.
type call struct {
	name string
	at   int // where the name stands
	// args are the texts of the arguments up to the place, the last one half written.
	args []string
}

// callAround finds the innermost call whose brackets are open at an offset. The text need not parse.
func callAround(text string, offset int) (call, bool) {
	from := max(0, offset-maxCall)
	depth := 0
	end := offset
	var args []string
	for i := offset - 1; i >= from; i-- {
		switch c := text[i]; c {
		case ')', ']', '}':
			depth++
		case '[', '{':
			if depth--; depth < 0 {
				if c == '{' {
					return call{}, false
				}
				depth, args, end = 0, nil, i // a list or an index among the arguments
			}
		case ',':
			if depth == 0 {
				args = append([]string{text[i+1 : end]}, args...)
				end = i
			}
		case '"':
			for i--; i >= from && text[i] != '"' && text[i] != '\n'; i-- {
			}
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			to := i
			start := to
			for start > 0 && isWord(text[start-1]) {
				start--
			}
			if _, word := find(keywords, text[start:to]); start < to && !word { // `over (i, j)` is no call
				return call{name: text[start:to], at: start, args: append([]string{text[i+1 : end]}, args...)}, true
			}
			depth, args, end = 0, nil, i // a tuple or brackets among the arguments
		}
	}
	return call{}, false
}

// maxCall is how far back the beginning of a call is looked for.
const maxCall = 4000

// argName is the name of a named argument, "" for others.
func argName(text string) string {
	name, _, named := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if named && isName(name) {
		return name
	}
	return ""
}

// callee is what a call can be given: its signature, and the parameters in it by their names and places in the signature.
type callee struct {
	label, doc string
	params     []calleeParam
}

type calleeParam struct {
	name, text string
	from, to   int // in the label, in bytes
	// given by name alone: an element type or a constant between < and >.
	generic bool
}

// callees are what a name can be as a function: a declaration, or operations of the language.
func (a *analysis) callees(text string, offset int) []callee {
	if n, ok := a.resolve(text, offset); ok {
		d, isDecl := n.node.(lang.Decl)
		if !isDecl || n.kind != declName {
			return nil
		}
		generics, params := parametersOf(d)
		if params == nil && generics == nil {
			return nil
		}
		label := strings.Join(strings.Fields(signature(d)), " ")
		out := callee{label: label, doc: d.DocText()}
		at := 0
		add := func(place lang.Span, name string, generic bool) {
			text := strings.Join(strings.Fields(place.Text()), " ")
			if i := strings.Index(label[at:], text); i >= 0 {
				out.params = append(out.params, calleeParam{name, text, at + i, at + i + len(text), generic})
				at += i + len(text)
			}
		}
		for _, g := range generics {
			add(g.Place, g.Name.Name, true)
		}
		for _, p := range params {
			add(p.Place, p.Name.Name, false)
		}
		return []callee{out}
	}
	var all []callee
	for _, op := range operations(text, lang.FormCall, lang.FormReduce) {
		all = append(all, fromText(opSignature(op), op.Row().Doc))
	}
	if w, ok := find(functions, text); ok {
		if parts := strings.SplitN(w.doc, "`", 3); len(parts) == 3 {
			all = append(all, fromText(parts[1], strings.TrimPrefix(parts[2], ": ")))
		}
	}
	return all
}

// parametersOf are the parameters between < and > and in the brackets of a declaration.
func parametersOf(d lang.Decl) ([]*lang.Generic, []*lang.Param) {
	switch d := d.(type) {
	case *lang.FnDecl:
		return d.Generics, d.Params
	case *lang.KernelDecl:
		return d.Generics, d.Params
	case *lang.GraphDecl:
		return d.Generics, d.Params
	}
	return nil, nil
}

// fromText is a callee from how a call of it is written: `sum(x, over k)`.
func fromText(text, doc string) callee {
	out := callee{label: text, doc: doc}
	open := strings.IndexByte(text, '(')
	if open < 0 || !strings.HasSuffix(text, ")") {
		return out
	}
	depth, from := 0, open+1
	for i := open + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(' || c == '[':
			depth++
		case (c == ',' || c == ')') && depth == 0:
			part := strings.TrimSpace(text[from:i])
			start := from + strings.Index(text[from:i], part)
			out.params = append(out.params, calleeParam{name: argName(part), text: part, from: start, to: start + len(part)})
			from = i + 1
		case c == ')' || c == ']':
			depth--
		}
	}
	return out
}

// active is the parameter that the last of some arguments is for; -1 for none.
func (c callee) active(args []string) int {
	last := args[len(args)-1]
	if name := argName(last); name != "" {
		for i, p := range c.params {
			if p.name == name {
				return i
			}
		}
	}
	if strings.HasPrefix(strings.TrimSpace(last)+" ", "over ") {
		for i, p := range c.params {
			if strings.HasPrefix(p.text, "over ") {
				return i
			}
		}
	}
	at := len(args) - 1
	for i, p := range c.params {
		if p.generic {
			continue
		}
		if at == 0 {
			return i
		}
		at--
	}
	return -1
}

// declares reports whether the name behind a text is that of a declaration.
func declares(before string) bool {
	before = strings.TrimRight(before, " \t")
	return endsWithWord(before, "fn") || endsWithWord(before, "kernel") || endsWithWord(before, "graph")
}

// signatureHelp shows how the call around the cursor is written, and which parameter the cursor is at.
func (s *server) signatureHelp(p *protocol.TextDocumentPositionParams) (*signatures, error) {
	a := s.treeOf(p.TextDocument.URI)
	if a == nil {
		return nil, nil
	}
	offset := a.doc.lines.offset(p.Position)
	if inComment(a.module.Source, offset) {
		return nil, nil
	}
	c, ok := callAround(a.doc.lines.text, offset)
	if !ok || declares(a.doc.lines.text[:c.at]) {
		return nil, nil
	}
	help := &signatures{Signatures: []signatureShown{}}
	for _, f := range a.callees(c.name, c.at) {
		x := signatureShown{Label: f.label, Parameters: []parameterShown{}, Documentation: protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: f.doc}}
		l := newLines(f.label)
		for _, q := range f.params {
			x.Parameters = append(x.Parameters, parameterShown{[2]uint32{
				l.position(q.from).Character, l.position(q.to).Character}})
		}
		if at := f.active(c.args); at >= 0 {
			x.ActiveParameter = ref(uint32(at))
		}
		help.Signatures = append(help.Signatures, x)
	}
	if len(help.Signatures) == 0 {
		return nil, nil
	}
	return help, nil
}
