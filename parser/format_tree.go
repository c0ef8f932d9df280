package parser

import (
	"sort"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// This file makes a tree of brackets and statements of the tokens of a text,
// with the comments and blank lines between them. It knows no more of the
// language than it takes to lay a text out.

// remark is a comment, or a blank line before one.
type remark struct {
	text  string
	blank bool // a blank line stands above
}

// leaf is a token with what stands around it.
type leaf struct {
	lexer.Token
	// lead are the comments on lines of their own above the token; blank is
	// whether a blank line stands directly above it.
	lead  []remark
	blank bool
	// trail is the comment behind the token on its line.
	trail string
	// gap is what separates the token from the one before it on the same line.
	gap string
	// angle is set for the `<` and `>` of parameters, binary for an operator between operands.
	angle, binary bool
	// word is set for the `check` that begins a statement of a test.
	word bool
}

// sequence is what stands between two newlines of the grammar: a declaration,
// a statement, a field.
type sequence []piece

// piece is a *leaf, a *enclosed or a *compound.
type piece interface {
	first() *leaf
	last() *leaf
}

// enclosed is a pair of brackets and what stands inside.
type enclosed struct {
	open, close *leaf
	// lines has the statements or fields of a block; list, one sequence, is
	// what stands in brackets of another kind.
	lines   []sequence
	isBlock bool
	// inside is what the layout asks of what is enclosed; nil before.
	inside *held
}

// compound is a `for` or an `if` with its blocks.
type compound struct{ pieces sequence }

func (l *leaf) first() *leaf     { return l }
func (l *leaf) last() *leaf      { return l }
func (b *enclosed) first() *leaf { return b.open }
func (b *enclosed) last() *leaf  { return b.close }
func (c *compound) first() *leaf { return c.pieces[0].first() }
func (c *compound) last() *leaf  { return c.pieces[len(c.pieces)-1].last() }

// leaves are the tokens of a module that parses, with their comments. The last
// one is EOF. Newlines are among them.
func leaves(mod *lang.Module) []*leaf {
	src := mod.Source
	s := scan(src)
	list, _ := layout(s.tokens)
	angles, checks := anglesOf(mod, s.tokens), checksOf(mod)
	all := make([]*leaf, len(list))
	comments := s.comments
	end, line := 0, 0 // of the last token or comment; no line at the start of the text
	blankBefore := func(offset int) bool {
		return end > 0 && strings.Count(src.Text[end:offset], "\n") > 1
	}
	var prev *leaf
	for i := range list {
		l := &leaf{Token: list[i], angle: angles[list[i].Pos.Offset], word: checks[list[i].Pos.Offset]}
		all[i] = l
		if l.Type == kindNewline {
			continue
		}
		for len(comments) > 0 && comments[0].Pos.Offset < l.Pos.Offset {
			c := comments[0]
			comments = comments[1:]
			if prev != nil && prev.trail == "" && c.Pos.Line == line {
				prev.trail = strings.TrimSpace(c.Value)
			} else {
				l.lead = append(l.lead, remark{strings.TrimSpace(c.Value), blankBefore(c.Pos.Offset)})
			}
			end = c.Pos.Offset + len(c.Value)
		}
		if prev != nil && prev.isFloor() && (prev.trail != "" || len(l.lead) > 0) {
			l.lead = moveBefore(all[i-2], prev, l.lead)
		}
		l.blank = blankBefore(l.Pos.Offset)
		end, line, prev = endOf(&l.Token), l.Pos.Line, l
	}
	return all
}

// isFloor reports whether the leaf is a floor division.
func (l *leaf) isFloor() bool { return is(&l.Token, "//") }

// moveBefore puts the comments behind a floor division above the operand
// before it: the other operand must stand on its line.
func moveBefore(operand, floor *leaf, comments []remark) []remark {
	if floor.trail != "" {
		operand.lead = append(operand.lead, remark{text: floor.trail})
		floor.trail = ""
	}
	operand.lead = append(operand.lead, comments...)
	return nil
}

// anglesOf finds the offsets of the `<` and `>` that are brackets.
func anglesOf(mod *lang.Module, tokens []lexer.Token) map[int]bool {
	at := map[int]bool{}
	pair := func(before, last lang.Span) {
		for _, end := range []int{before.End, last.End} {
			i := sort.Search(len(tokens), func(i int) bool { return tokens[i].Pos.Offset >= end })
			at[tokens[i].Pos.Offset] = true
		}
	}
	generics := func(name lang.Ident, gs []*lang.Generic) {
		if len(gs) > 0 {
			pair(name.Place, gs[len(gs)-1].Place)
		}
	}
	for _, d := range mod.Decls {
		lang.Walk(d, func(n lang.Node) bool {
			switch n := n.(type) {
			case *lang.FnDecl:
				generics(n.Name, n.Generics)
			case *lang.KernelDecl:
				generics(n.Name, n.Generics)
			case *lang.StructDecl:
				generics(n.Name, n.Generics)
			case *lang.GraphDecl:
				generics(n.Name, n.Generics)
			case *lang.TypeExpr:
				if len(n.Args) > 0 {
					pair(n.Name.Place, n.Args[len(n.Args)-1].Place)
				}
			}
			return true
		})
	}
	return at
}

// checksOf finds the offsets of the `check` that begin statements.
func checksOf(mod *lang.Module) map[int]bool {
	at := map[int]bool{}
	for _, d := range mod.Decls {
		test, ok := d.(*lang.TestDecl)
		if !ok {
			continue
		}
		lang.Walk(test, func(n lang.Node) bool {
			if s, ok := n.(*lang.ExprStmt); ok {
				if call, ok := s.X.(*lang.CallExpr); ok {
					if name, ok := call.Fn.(*lang.NameExpr); ok && name.Name == "check" {
						at[name.Place.Start] = true
					}
				}
			}
			return true
		})
	}
	return at
}

// forest reads leaves into sequences.
type forest struct {
	rest []*leaf
	prev *leaf
}

func (f *forest) peek() *leaf { return f.rest[0] }

func (f *forest) next() *leaf {
	l := f.rest[0]
	f.rest = f.rest[1:]
	if l.Type != kindNewline {
		f.prev = l
	}
	return l
}

// opens reports whether a leaf opens a bracket, and with what it closes.
func opens(l *leaf) (closer string, ok bool) {
	if l.Type != kindOp {
		return "", false
	}
	if l.angle && l.Value == "<" {
		return ">", true
	}
	closer, ok = closerOf[l.Value]
	return closer, ok
}

// lines reads sequences up to the end of the file, or to a `}`.
func (f *forest) lines() []sequence {
	var all []sequence
	for {
		for f.peek().Type == kindNewline {
			f.next()
		}
		if f.peek().EOF() || is(&f.peek().Token, "}") {
			return all
		}
		all = append(all, f.sequence(""))
	}
}

// sequence reads up to a newline, to the closer, or to the end.
func (f *forest) sequence(closer string) sequence {
	var seq sequence
	for {
		l := f.peek()
		switch {
		case l.EOF(), is(&l.Token, "}"), closer == "" && l.Type == kindNewline:
			return seq
		case closer != "" && is(&l.Token, closer) && (closer != ">" || l.angle):
			return seq
		case l.Type == kindNewline:
			f.next()
			continue
		}
		if _, ok := opens(l); ok {
			seq = append(seq, f.enclosed())
		} else {
			seq = append(seq, f.next())
		}
	}
}

func (f *forest) enclosed() *enclosed {
	isBlock := is(&f.peek().Token, "{") && (f.prev == nil || !is(&f.prev.Token, "in"))
	b := &enclosed{open: f.next(), isBlock: isBlock}
	closer, _ := opens(b.open)
	if b.isBlock {
		b.lines = f.lines()
	} else if list := f.sequence(closer); len(list) > 0 {
		b.lines = []sequence{list}
	}
	b.close = f.next()
	return b
}

// compounds gathers each `for` and `if` with its blocks to one piece.
func compounds(seq sequence) sequence {
	var out sequence
	for len(seq) > 0 {
		var p piece
		p, seq = compoundAt(seq)
		out = append(out, p)
	}
	return out
}

func compoundAt(seq sequence) (piece, sequence) {
	if !begins(seq, "for") && !begins(seq, "if") {
		return seq[0], seq[1:]
	}
	isIf := begins(seq, "if")
	c := &compound{pieces: sequence{seq[0]}}
	seq = seq[1:]
	for len(seq) > 0 {
		if b, ok := seq[0].(*enclosed); ok && b.isBlock {
			c.pieces, seq = append(c.pieces, b), seq[1:]
			break
		}
		var p piece
		p, seq = compoundAt(seq)
		c.pieces = append(c.pieces, p)
	}
	if isIf && begins(seq, "else") {
		c.pieces, seq = append(c.pieces, seq[0]), seq[1:]
		if len(seq) > 0 {
			var p piece
			p, seq = compoundAt(seq)
			if other, ok := p.(*compound); ok {
				c.pieces = append(c.pieces, other.pieces...)
			} else {
				c.pieces = append(c.pieces, p)
			}
		}
	}
	return c, seq
}

// begins reports whether a sequence begins with a word or an operator.
func begins(seq sequence, word string) bool {
	if len(seq) == 0 {
		return false
	}
	l, ok := seq[0].(*leaf)
	return ok && is(&l.Token, word)
}

// Comments gives the places of the comments of a source.
func Comments(src *lang.Source) []lang.Span {
	var all []lang.Span
	for _, c := range scan(src).comments {
		all = append(all, lang.Span{Source: src, Start: c.Pos.Offset, End: c.Pos.Offset + len(c.Value)})
	}
	return all
}
