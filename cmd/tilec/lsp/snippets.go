package lsp

import (
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
)

// snippets are what a keyword begins, with places to fill in, for editors that have such.
var snippets = []struct {
	keyword, body, doc string
	// inside: it stands in the body of a declaration, and not outside of all.
	inside bool
}{
	{"kernel", "kernel ${1:name}(${2:x}: f32[${3:N}]) -> ${4:y}: f32[${3:N}]\n    grid ${5:i} in ${3:N} by ${6:B}\n{\n    ${4:y}[${5:i}] = ${0:${2:x}[${5:i}]}\n}", "a kernel with a grid", false},
	{"fn", "fn ${1:name}(${2:x}) = ${0:${2:x}}", "a function", false},
	{"graph", "graph ${1:name}(${2:x}: f32[${3:N}]) -> ${4:y}: f32[${3:N}] {\n    ${4:y} = ${0:${2:x}}\n}", "a graph", false},
	{"struct", "struct ${1:Name}<T: float> {\n    ${2:field}: T[${3:N}]$0\n}", "a struct of tensors", false},
	{"test", "test \"${1:name}\" {\n    check ${2:a} == ${0:b}\n}", "a test", false},
	{"for", "for ${1:k} in ${2:K} by ${3:BK} with ${4:total} = ${5:0.0} {\n    ${4:total}$0\n}", "a loop that carries a value", true},
	{"axis", "axis ${1:j} in ${0:N}", "a whole dimension", true},
}

// snippets proposes what keywords begin; the plain keywords are proposed besides.
func (c *completion) snippets(a *analysis, offset int) {
	_, inside := a.declAt(offset).(lang.Decl)
	for _, x := range snippets {
		if x.inside != inside {
			continue
		}
		c.items = append(c.items, item{Label: x.keyword + " ...", Kind: protocol.CompletionItemKindSnippet, Detail: x.doc, FilterText: x.keyword,
			SortText: x.keyword + " ", InsertText: x.body, InsertTextFormat: protocol.InsertTextFormatSnippet,
			Documentation: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: code(plain(x.body))}})
	}
}

// plain is a snippet with its first proposals filled in.
func plain(body string) string {
	var b strings.Builder
	for body != "" {
		switch {
		case strings.HasPrefix(body, "$0"):
			body = body[2:]
		case strings.HasPrefix(body, "${"):
			body = body[strings.IndexByte(body, ':')+1:]
			depth, end := 1, 0
			for depth > 0 {
				switch {
				case strings.HasPrefix(body[end:], "${"):
					depth++
				case body[end] == '}':
					depth--
				}
				end++
			}
			b.WriteString(plain(body[:end-1]))
			body = body[end:]
		default:
			b.WriteByte(body[0])
			body = body[1:]
		}
	}
	return b.String()
}
