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
	before := newEarlier()
	for _, d := range ds {
		for len(tops) > 0 && tops[0] <= d.At.Start {
			before, tops = newEarlier(), tops[1:]
		}
		if !before.cause(d) {
			out = append(out, d)
		}
		before.add(d)
	}
	return out
}

// earlier is what the errors before one in its declaration can have caused.
type earlier struct {
	any    bool
	last   int          // where the last of them begins
	lines  map[int]bool // on which they are
	syntax map[int]bool // the lines of those of the grammar
	opener map[int]bool // the lines of those at a `{`
	block  int          // the last line on which a block was expected
}

func newEarlier() *earlier {
	return &earlier{lines: map[int]bool{}, syntax: map[int]bool{}, opener: map[int]bool{}, block: -2}
}

// add takes note of the next error.
func (e *earlier) add(d *lang.Diagnostic) {
	line := lineOf(d)
	e.any, e.last, e.lines[line] = true, d.At.Start, true
	e.syntax[line] = e.syntax[line] || d.Code == lang.ErrSyntax
	e.opener[line] = e.opener[line] || d.Code == lang.ErrUnbalanced && d.At.Text() == "{"
	if strings.HasPrefix(d.Message, "expected a block") {
		e.block = line
	}
}

// cause reports whether an error is the consequence of one of those before it.
func (e *earlier) cause(d *lang.Diagnostic) bool {
	line := lineOf(d)
	switch {
	case !e.any:
		return false
	case d.Code == lang.ErrUnbalanced && len(d.Labels) > 0 && strings.HasPrefix(d.Message, "expected "):
		// What is inside an open bracket does not read as what it is.
		if opener := d.Labels[0].At; opener.Text() == "{" {
			return e.lines[lineOfOffset(opener.Source, opener.Start)]
		} else {
			return e.last >= opener.Start
		}
	case d.Code == lang.ErrUnbalanced && strings.HasSuffix(d.Message, "closes nothing"):
		return e.lines[line] || e.syntax[line-1] || d.At.Text() == "}" // its partner is where the other error is
	case d.Code == lang.ErrSyntax && e.opener[line]:
		return true // what the block took into it
	case d.Code == lang.ErrSyntax && d.Fix == nil && strings.HasPrefix(d.Message, "expected a declaration"):
		return e.block >= line-2 // the rest of a declaration that was cut off
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
