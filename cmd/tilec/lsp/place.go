package lsp

import (
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// This file is completion that knows the place: what alone can stand at a cursor, or what is most likely there.

// walks reports whether a line ends in the place of a dimension: `grid i in `, `, j in `, `for k in `, `axis d in `.
func walks(line string) bool {
	words := strings.Fields(strings.TrimRight(line, identifier))
	if n := len(words); n < 2 || words[n-1] != "in" || !strings.HasSuffix(strings.TrimRight(line, identifier), " ") {
		return false
	}
	for _, w := range words {
		switch w {
		case "grid", "for", "axis":
			return true
		case "tune":
			return false
		}
	}
	return false
}

// identifier is the letters that a word that is being typed is made of.
const identifier = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// dimensions are what a grid, a loop or an axis can walk: the dimensions of the declaration, counts, and in a graph arrays of structs.
func (c *completion) dimensions(a *analysis, offset int) {
	names := a.namesAt(offset)
	for _, kind := range []nameKind{dimName, constParamName, paramName} {
		for i := len(names) - 1; i >= 0; i-- {
			n := names[i]
			p, isParam := n.node.(*lang.Param)
			array := isParam && p.Type != nil && (p.Type.Count != nil || a.structNamed(p.Type) != nil)
			if n.kind == kind && (kind != paramName || array) {
				c.name(a, n)
			}
		}
	}
	for i := len(names) - 1; i >= 0; i-- {
		if isConst(names[i].node) && names[i].at.Source == a.module.Source { // those of a library are no counts
			c.name(a, names[i])
		}
	}
}

// attributes are what can stand behind the @ at a place: hints behind an access, `@name` and `@scale` behind a field, the
// settings of a declaration elsewhere.
func (c *completion) attributes(a *analysis, at int) {
	where := lang.OnAccess
	switch text := a.doc.lines.text; {
	case strings.TrimSpace(text[strings.LastIndexByte(text[:at], '\n')+1:at]) == "":
		where = lang.OnKernel | lang.OnGraph
	case declarationWord(text[:at]) == "struct":
		where = lang.OnField
	}
	for _, s := range lang.Settings(where) {
		w, _ := find(attributes, s.Name)
		c.add(s.Name, protocol.CompletionItemKindProperty, s.Written, w.doc)
	}
}

// declarationWord is the keyword of the declaration that a text breaks off in; "" between declarations. The text need not parse.
func declarationWord(text string) string {
	for text != "" {
		i := strings.LastIndexByte(text, '\n') + 1
		word, _, _ := strings.Cut(text[i:], " ")
		switch word {
		case "const", "fn", "kernel", "struct", "graph", "test":
			return word
		case "}":
			return ""
		}
		text = text[:max(0, i-1)]
	}
	return ""
}

// arguments are the names that an argument of the call around the cursor can be given by, those not given yet, before all else.
func (c *completion) arguments(a *analysis, offset int) {
	text := a.doc.lines.text
	in, ok := callAround(text, offset)
	if !ok || declares(text[:in.at]) || strings.Trim(in.args[len(in.args)-1], identifier+" \t\n\r") != "" {
		return
	}
	given := map[string]bool{}
	places := 0
	for _, arg := range in.args[:len(in.args)-1] {
		if n := argName(arg); n != "" {
			given[n] = true
		} else {
			places++
		}
	}
	n, _ := a.resolve(in.name, in.at)
	if n.kind != declName {
		return
	}
	for _, f := range a.callees(in.name, in.at) {
		for _, p := range f.params {
			if !p.generic {
				if places--; places >= 0 {
					continue
				}
			}
			if !given[p.name] {
				c.argument(p, in.name)
			}
		}
	}
}

// argument adds `name = `, which an editor sorts before what has no sort text of its own.
func (c *completion) argument(p calleeParam, of string) {
	c.add(p.name+" = ", protocol.CompletionItemKindField, p.text, "parameter of `"+of+"`")
	if n := len(c.items); n > 0 && c.items[n-1].Label == p.name+" = " {
		c.items[n-1].FilterText = p.name
		c.items[n-1].SortText = " " + p.name
	}
}
