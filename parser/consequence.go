package parser

import (
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file leaves out syntax errors that follow from others: a bracket that is
// missing or too many, and what the grammar makes of the same text.

// causesOnly keeps the errors, sorted by place, that are not the consequence of
// another. Errors of one declaration alone may belong together.
func (g *grammar) causesOnly(ds lang.Diagnostics) lang.Diagnostics {
	var out lang.Diagnostics
	var tops []int // where declarations begin, by the first column
	for i := range g.list {
		if t := &g.list[i]; t.Pos.Column == 1 && !t.EOF() && g.beginsDeclaration(lexer.RawCursor(i)) {
			tops = append(tops, t.Pos.Offset)
		}
	}
	first := 0 // of the errors of the declaration
	for i, d := range ds {
		for len(tops) > 0 && tops[0] <= d.At.Start {
			first, tops = i, tops[1:]
		}
		if !follows(d, ds[first:i]) {
			out = append(out, d)
		}
	}
	return out
}

// follows reports whether an error is the consequence of one before it in its declaration.
func follows(d *lang.Diagnostic, before lang.Diagnostics) bool {
	line := lineOf(d)
	opener := ""
	if d.Code == lang.ErrUnbalanced && len(d.Labels) > 0 && strings.HasPrefix(d.Message, "expected ") {
		opener = d.Labels[0].At.Text()
	}
	for _, other := range before {
		switch {
		case opener == "{" && lineOf(other) == lineOfOffset(d.At.Source, d.Labels[0].At.Start),
			opener != "" && opener != "{" && other.At.Start >= d.Labels[0].At.Start:
			return true // what is inside an open bracket does not read as what it is
		case d.Code == lang.ErrUnbalanced && strings.HasSuffix(d.Message, "closes nothing") && (line == lineOf(other) || line == lineOf(other)+1 && other.Code == lang.ErrSyntax || d.At.Text() == "}"):
			return true // its partner is where the other error is
		case d.Code == lang.ErrSyntax && other.Code == lang.ErrUnbalanced && other.At.Text() == "{" && lineOf(other) == line:
			return true // what the block took into it
		case d.Code == lang.ErrSyntax && d.Fix == nil && strings.HasPrefix(d.Message, "expected a declaration") && strings.HasPrefix(other.Message, "expected a block") && line <= lineOf(other)+2:
			return true // the rest of a declaration that was cut off
		}
	}
	return false
}

func lineOf(d *lang.Diagnostic) int {
	line, _ := d.At.Position()
	return line
}

func lineOfOffset(src *lang.Source, offset int) int {
	line, _ := src.Position(offset)
	return line
}
