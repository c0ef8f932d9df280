package parser

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// balance pairs the brackets of a token stream. What has no partner is
// reported, once, and repaired: a closing bracket of no width is put in, or a
// stray one left out. The grammar behind it sees balanced text only, so an
// unbalanced bracket has no second error as its consequence. It works a
// declaration at a time, which keeps a missing `}` from the declarations below.
type balance struct {
	src   *lang.Source
	in    []lexer.Token
	out   []lexer.Token
	open  []int // of in: the brackets that are open
	diags lang.Diagnostics
	// byIndent closes blocks by the indentation of their `}`; the second try
	// at a declaration whose braces do not pair up.
	byIndent bool
	unclosed int
}

func balanceBrackets(src *lang.Source, tokens []lexer.Token) ([]lexer.Token, lang.Diagnostics) {
	b := &balance{src: src, in: tokens, out: make([]lexer.Token, 0, len(tokens)+len(tokens)/8)}
	end := len(tokens) - 1 // EOF
	for from := 0; from < end; {
		to := from + 1
		for to < end && !b.topOfFile(to) {
			to++
		}
		kept, told := len(b.out), len(b.diags)
		if b.declaration(from, to); b.unclosed > 0 {
			plain, plainDiags := slices.Clone(b.out[kept:]), slices.Clone(b.diags[told:])
			b.out, b.diags, b.byIndent = b.out[:kept], b.diags[:told], true
			b.declaration(from, to)
			b.byIndent = false
			if len(b.diags)-told > len(plainDiags) { // the text is not indented as blocks are
				b.out, b.diags = append(b.out[:kept], plain...), append(b.diags[:told], plainDiags...)
			}
		}
		if b.swallowed(from, to) {
			b.diags = b.diags[:told]
		}
		from = to
	}
	b.out = append(b.out, tokens[end])
	return b.out, b.diags
}

// topOfFile reports whether a declaration begins at token i for certain: in the first column.
func (b *balance) topOfFile(i int) bool {
	t := &b.in[i]
	return t.Pos.Column == 1 && (is(t, "@") || beginsDecl(t, &b.in[i+1]))
}

// swallowed reports whether a string that does not end has taken a bracket
// with it: then what is unbalanced is the consequence of another error.
func (b *balance) swallowed(from, to int) bool {
	for i := from; i < to; i++ {
		t := &b.in[i]
		if t.Type == kindString && !closedString(t.Value) && strings.ContainsAny(t.Value, "()[]{}") {
			return true
		}
	}
	return false
}

func (b *balance) firstOnLine(i int) bool {
	return i == 0 || b.in[i-1].Pos.Line != b.in[i].Pos.Line
}

func (b *balance) declaration(from, to int) {
	b.open, b.unclosed = b.open[:0], 0
	for i := from; i < to; i++ {
		t := &b.in[i]
		if t.Type == kindKeyword && t.Value == "let" && b.firstOnLine(i) {
			// A statement never begins inside ( or [.
			for len(b.open) > 0 && b.top() != "{" {
				b.close(i)
			}
		}
		if b.byIndent && b.firstOnLine(i) && openerOf[t.Value] == "" && !continues[t.Value] {
			// Nor does it stand left of the block that it is in.
			for len(b.open) > 0 && b.top() == "{" && b.indent(b.open[len(b.open)-1]) >= t.Pos.Column {
				b.close(i)
			}
		}
		switch {
		case t.Type != kindOp:
		case closerOf[t.Value] != "":
			b.open = append(b.open, i)
		case openerOf[t.Value] != "":
			if !b.closing(i) {
				continue
			}
		}
		b.out = append(b.out, *t)
	}
	for len(b.open) > 0 {
		b.close(to)
	}
}

func (b *balance) top() string { return b.in[b.open[len(b.open)-1]].Value }

// closing pairs the closing bracket at i, and reports whether to keep it.
func (b *balance) closing(i int) bool {
	t := &b.in[i]
	if b.byIndent && t.Value == "}" && b.firstOnLine(i) {
		b.closeDeeper(i)
	}
	want := openerOf[t.Value]
	partner := len(b.open) - 1
	for partner >= 0 && b.in[b.open[partner]].Value != want {
		partner--
	}
	switch {
	case partner >= 0:
		for len(b.open)-1 > partner {
			b.close(i)
		}
		b.open = b.open[:partner]
		return true
	case len(b.open) > 0 && b.top() != "{" && want != "{":
		b.mistaken(i)
		return false
	}
	b.report(i, fmt.Sprintf("`%s` closes nothing", t.Value)).
		Fix = &lang.Fix{Message: fmt.Sprintf("remove it, or add the `%s` that it closes", want), Edits: []lang.Edit{{At: b.span(i)}}}
	return false
}

// closeDeeper closes the blocks whose opening line is indented more than the
// `}` at i, when one is open that fits it.
func (b *balance) closeDeeper(i int) {
	column := b.in[i].Pos.Column
	fits := false
	for _, o := range b.open {
		fits = fits || b.in[o].Value == "{" && b.indent(o) == column
	}
	for fits && len(b.open) > 0 && (b.top() != "{" || b.indent(b.open[len(b.open)-1]) > column) {
		b.close(i)
	}
}

// indent is the column of the first token on the line of token i.
func (b *balance) indent(i int) int {
	for !b.firstOnLine(i) {
		i--
	}
	return b.in[i].Pos.Column
}

// close reports the innermost open bracket and closes it before token i.
func (b *balance) close(i int) {
	o := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	b.unclosed++
	opener := b.in[o].Value
	closer, prev := closerOf[opener], b.span(i-1)
	fix := &lang.Fix{Message: fmt.Sprintf("add `%s`", closer)}
	if b.in[o].Pos.Line == b.in[i-1].Pos.Line {
		b.report(o, fmt.Sprintf("`%s` is never closed", opener)).Fix = fix
	} else {
		// The error is where it should have been closed: that is what was edited last.
		line := b.in[o].Pos.Line
		d := b.report(i-1, fmt.Sprintf("expected `%s` after this: the `%s` of line %d is never closed", closer, opener, line))
		d.Labels = []lang.Label{{At: b.span(o), Text: "never closed"}}
		d.Fix = fix
		if opener == "{" {
			closer = "\n" + strings.Repeat(" ", b.indent(o)-1) + closer
		}
	}
	end := min(prev.End, len(b.src.Text)) // tokens of bytes that are no text are longer than what they stand for
	fix.Edits = []lang.Edit{{At: lang.Span{Source: b.src, Start: end, End: end}, New: closer}}
	b.insert(closerOf[opener], i)
}

// mistaken replaces the closing bracket at i by the one that fits.
func (b *balance) mistaken(i int) {
	o := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	opener, wrong := b.in[o].Value, b.in[i].Value
	d := b.report(o, fmt.Sprintf("`%s` is closed by `%s`", opener, wrong))
	at := b.span(i)
	d.Labels = []lang.Label{{At: at, Text: fmt.Sprintf("`%s` is needed here", closerOf[opener])}}
	d.Fix = &lang.Fix{Message: fmt.Sprintf("write `%s`", closerOf[opener]), Edits: []lang.Edit{{At: at, New: closerOf[opener]}}}
	t := b.in[i]
	t.Value = closerOf[opener]
	b.out = append(b.out, t)
}

// insert puts in a closing bracket that is not in the text, just behind the
// token before i.
func (b *balance) insert(closer string, i int) {
	prev := &b.in[i-1]
	pos := prev.Pos
	pos.Offset = endOf(prev)
	b.out = append(b.out, lexer.Token{Type: kindOp, Value: closer, Pos: pos})
}

func (b *balance) span(i int) lang.Span {
	return lang.Span{Source: b.src, Start: b.in[i].Pos.Offset, End: endOf(&b.in[i])}
}

func (b *balance) report(i int, message string) *lang.Diagnostic {
	d := &lang.Diagnostic{Code: lang.ErrUnbalanced, At: b.span(i), Message: message}
	b.diags = append(b.diags, d)
	return d
}
