package parser

import (
	"sort"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file notes what a tree lacks, so that the type checker can go on with
// the rest and report nothing that follows from a syntax error.

// damaged is a declaration that takes note of its syntax errors.
type damaged interface{ MarkDamage(lang.Damage) }

// lose notes the name of the declaration at a token, which could not be parsed.
func (g *grammar) lose(i lexer.RawCursor) {
	gone := loss{offset: g.list[i].Pos.Offset}
	if g.beginsDeclaration(i) {
		g.lost = append(g.lost, g.list[i].Pos.Offset)
	}
	for is(&g.list[i], "@") { // attributes
		for !g.list[i].EOF() && g.list[i].Type != kindNewline && !beginsDecl(&g.list[i], &g.list[i+1]) {
			i++
		}
		for g.list[i].Type == kindNewline {
			i++
		}
	}
	// The keyword may be what is wrong, or missing: either of the first two words may be the name.
	for n := 0; n < 2 && !g.list[i].EOF() && g.list[i].Type != kindNewline; i, n = i+1, n+1 {
		if t := &g.list[i]; t.Type == kindIdent {
			gone.names = append(gone.names, t.Value)
		}
	}
	g.losses = append(g.losses, gone)
}

// markDamage notes in each declaration which part of it has errors; lost is where those begin that have no tree.
func markDamage(mod *lang.Module, ds lang.Diagnostics, lost []int) {
	for _, d := range ds {
		// What is wrong behind a declaration may be what a stray `}` cut off from it, unless a declaration that has no tree
		// begins between the two.
		decl := declBefore(mod, d.At.Start)
		if decl == nil {
			continue
		}
		if n := sort.SearchInts(lost, d.At.Start+1); n > 0 && lost[n-1] > decl.Span().Start {
			continue
		}
		part := lang.DamagedHeader
		if body := bodyOf(decl); body != nil && d.At.Start > body.Place.Start {
			part = lang.DamagedBody
		}
		decl.(damaged).MarkDamage(part)
	}
}

// declBefore is the last declaration that begins at an offset or before it, nil when there is none.
func declBefore(mod *lang.Module, offset int) lang.Decl {
	i := sort.Search(len(mod.Decls), func(i int) bool { return mod.Decls[i].Span().Start > offset })
	if i == 0 {
		return nil
	}
	return mod.Decls[i-1]
}

// bodyOf is the block of a kernel, a graph or a test.
func bodyOf(d lang.Decl) *lang.Block {
	switch d := d.(type) {
	case *lang.KernelDecl:
		return d.Body
	case *lang.GraphDecl:
		return d.Body
	case *lang.TestDecl:
		return d.Body
	}
	return nil
}
