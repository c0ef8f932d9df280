package lsp

import (
	"strings"

	"tilec/cmd/tilec/lsp/protocol"
	"tilec/lang"
	"tilec/typecheck/load"
)

// library proposes what the standard library has and the file does not import: who takes one imports its file too. Kernels
// and graphs are for graphs and tests, which alone can call them.
func (c *completion) library(a *analysis, offset int) {
	launches := false
	switch a.declAt(offset).(type) {
	case nil:
		return
	case *lang.GraphDecl, *lang.TestDecl:
		launches = true
	}
	load.Library(func(file string, d lang.Decl) {
		text := d.DeclName().Name
		if _, isFn := d.(*lang.FnDecl); c.seen[text] || !isFn && !launches {
			return
		}
		c.add(text, protocol.CompletionItemKindFunction, strings.Join(strings.Fields(signature(d)), " "), "`import \""+file+"\"`\n\n"+d.DocText())
		x := &c.items[len(c.items)-1]
		edit := load.ImportEdit(a.module, file)
		x.SortText = "~" + text // behind what is there
		x.AdditionalTextEdits = []protocol.TextEdit{{Range: a.doc.lines.spanRange(edit.At), NewText: edit.New}}
	})
}
