package parser

import "github.com/alecthomas/participle/v2/lexer"

// continues are the words that, first on a line, go on with the header above.
var continues = set("{ -> tune grid with")

// layout gives balanced tokens their newlines: one where a line ends a
// statement. depths has the number of brackets around each token.
//
// A line ends a statement as in Go: it ends with a token that an operand can
// end with, and not inside ( or [. No newline is kept before `}`, nor is a
// comma before a closing bracket: both say nothing.
func layout(in []lexer.Token) (out []lexer.Token, depths []int32) {
	out = make([]lexer.Token, 0, len(in)+len(in)/6)
	depths = make([]int32, 0, cap(out))
	var open []string
	add := func(t lexer.Token) {
		out = append(out, t)
		depths = append(depths, int32(len(open)))
	}
	for i := range in {
		t := &in[i]
		closes := t.Type == kindOp && openerOf[t.Value] != ""
		if i > 0 {
			prev := &in[i-1]
			significant := len(open) == 0 || open[len(open)-1] == "{"
			if prev.Pos.Line != t.Pos.Line && significant && (canEnd(prev) || endsType(in[:i])) && !closes && !(t.Type != kindString && continues[t.Value]) {
				pos := prev.Pos
				pos.Offset = endOf(prev)
				add(lexer.Token{Type: kindNewline, Value: "\n", Pos: pos})
			}
		}
		switch {
		case is(t, ",") && i > 0 && i+1 < len(in) && endsList(t, &in[i+1]) && canEnd(&in[i-1]):
		case closes:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
			add(*t)
		case t.Type == kindOp && closerOf[t.Value] != "":
			add(*t)
			open = append(open, t.Value)
		default:
			add(*t)
		}
	}
	return out, depths
}

// endsList reports whether a comma before a closing bracket says nothing. In
// `[M, ]` something is missing; a comma at the end of a line of a list is not.
func endsList(comma, closer *lexer.Token) bool {
	return closer.Type == kindOp && openerOf[closer.Value] != "" && (closer.Value != "]" || closer.Pos.Line != comma.Pos.Line)
}

// endsType reports whether the last of the tokens is the `>` of a type such as
// `[L]Block<T>`, and not a comparison. What stands before a type tells: `:`,
// `->` or `]`, none of which an operand can follow in an expression.
func endsType(in []lexer.Token) bool {
	i := len(in) - 1
	if !is(&in[i], ">") {
		return false
	}
	for open := 0; i > 1; i-- {
		switch t := &in[i]; {
		case is(t, ">"):
			open++
		case is(t, "<"):
			if open--; open == 0 {
				before := &in[i-2]
				return in[i-1].Type == kindIdent && (is(before, ":") || is(before, "->") || is(before, "]"))
			}
		case t.Type != kindIdent && !is(t, ","):
			return false
		}
	}
	return false
}
