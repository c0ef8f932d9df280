package parser

import (
	"strings"
	"unicode/utf8"
)

// This file lays out a document: text with places where a line may break. A
// group is printed on one line when it fits, and otherwise broken at its own
// breaks; the groups inside it decide for themselves (Wadler, "A prettier
// printer"; Lindig, "Strictly pretty").

// doc is one of the types below.
type doc interface {
	// hard reports whether a line must break inside.
	hard() bool
}

type (
	// textDoc is text without a line break.
	textDoc string

	// breakDoc is a place where a broken group begins a new line, indented by
	// indent more than its surroundings; on one line it is flat.
	breakDoc struct {
		flat   string
		indent int
	}

	// newlineDoc is a line break in any case; blank makes it two.
	newlineDoc struct {
		blank  bool
		indent int
	}

	// commentDoc is a comment. A newline follows it, and it takes no width:
	// a long comment breaks no code.
	commentDoc string

	// floorDoc is a floor division, which is spaced only where it would not
	// begin a comment: in brackets that are on one line (see scanner.divides).
	floorDoc struct{}

	concatDoc struct {
		parts []doc
		forced
	}

	// nestDoc indents the lines that begin inside it.
	nestDoc struct {
		indent int
		inner  doc
	}

	groupDoc struct {
		inner doc
		// brackets: the group is round or square brackets, with no bracket in a string inside.
		brackets bool
		// rigid groups are never broken, short as they are, unless a line must break inside.
		rigid bool
	}
)

// forced is whether a line must break inside a document.
type forced bool

func (f forced) hard() bool    { return bool(f) }
func (textDoc) hard() bool     { return false }
func (commentDoc) hard() bool  { return false }
func (breakDoc) hard() bool    { return false }
func (newlineDoc) hard() bool  { return true }
func (floorDoc) hard() bool    { return false }
func (d *nestDoc) hard() bool  { return d.inner.hard() }
func (d *groupDoc) hard() bool { return d.inner.hard() }

func nest(n int, inner doc) doc { return &nestDoc{n, inner} }
func group(inner ...doc) doc    { return &groupDoc{inner: concat(inner...)} }

func concat(parts ...doc) doc {
	if len(parts) == 1 {
		return parts[0]
	}
	c := &concatDoc{parts: parts}
	for _, p := range parts {
		c.forced = c.forced || forced(p.hard())
	}
	return c
}

// mode is how a document is printed: broken, on one line, or on one line
// inside brackets that are on that line as a whole.
type mode uint8

const (
	broken mode = iota
	flat
	flatInBrackets
)

// command is a document still to be printed.
type command struct {
	indent int
	mode   mode
	doc    doc
}

// layouter prints documents.
type layouter struct {
	out    strings.Builder
	column int
	// todo is a stack, the next command last.
	todo  []command
	probe []command
}

// printDoc lays out a document in lines of at most width columns, where it can be broken so.
func printDoc(d doc, width int) string {
	l := &layouter{todo: []command{{0, broken, d}}}
	for len(l.todo) > 0 {
		c := l.todo[len(l.todo)-1]
		l.todo = l.todo[:len(l.todo)-1]
		switch d := c.doc.(type) {
		case textDoc:
			l.write(string(d))
		case commentDoc:
			l.write(string(d))
		case floorDoc:
			l.write(floorText(c.mode))
		case newlineDoc:
			if d.blank {
				l.out.WriteByte('\n')
			}
			l.newline(c.indent + d.indent)
		case breakDoc:
			if c.mode == broken {
				l.newline(c.indent + d.indent)
			} else {
				l.write(d.flat)
			}
		case *concatDoc:
			for i := len(d.parts) - 1; i >= 0; i-- {
				l.todo = append(l.todo, command{c.indent, c.mode, d.parts[i]})
			}
		case *nestDoc:
			l.todo = append(l.todo, command{c.indent + d.indent, c.mode, d.inner})
		case *groupDoc:
			inside := command{c.indent, onOneLine(d, c.mode), d.inner}
			if c.mode == broken && (d.hard() || !d.rigid && !l.fits(inside, width)) {
				inside.mode = broken
			}
			l.todo = append(l.todo, inside)
		}
	}
	return trimLines(l.out.String())
}

func floorText(m mode) string {
	if m == flatInBrackets {
		return " // "
	}
	return "//"
}

// onOneLine is the mode of a group on one line, inside a mode.
func onOneLine(g *groupDoc, outer mode) mode {
	if g.brackets {
		return flatInBrackets
	}
	return max(outer, flat)
}

func (l *layouter) write(text string) {
	l.out.WriteString(text)
	l.column += utf8.RuneCountInString(text)
}

func (l *layouter) newline(indent int) {
	l.out.WriteByte('\n')
	l.out.WriteString(strings.Repeat(" ", indent))
	l.column = indent
}

// fits reports whether a command, and what follows it up to the first place
// where the line may break, fits in the rest of the line.
func (l *layouter) fits(c command, width int) bool {
	left := width - l.column
	stack := append(l.probe[:0], c)
	defer func() { l.probe = stack[:0] }()
	for rest := len(l.todo); left >= 0; {
		if len(stack) == 0 {
			if rest == 0 {
				return true
			}
			rest--
			stack = append(stack, l.todo[rest])
		}
		c := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch d := c.doc.(type) {
		case textDoc:
			left -= utf8.RuneCountInString(string(d))
		case floorDoc:
			left -= len(floorText(c.mode))
		case newlineDoc, commentDoc:
			return true
		case breakDoc:
			if c.mode == broken {
				return true
			}
			left -= len(d.flat)
		case *concatDoc:
			for i := len(d.parts) - 1; i >= 0; i-- {
				stack = append(stack, command{c.indent, c.mode, d.parts[i]})
			}
		case *nestDoc:
			stack = append(stack, command{c.indent, c.mode, d.inner})
		case *groupDoc:
			if c.mode != broken || d.rigid && !d.hard() {
				c.mode = onOneLine(d, c.mode)
			}
			stack = append(stack, command{c.indent, c.mode, d.inner})
		}
	}
	return false
}

// leftOf is what a document on one line leaves of so many columns; less than 0, whatever it is, where it takes more. It looks at
// no more of the document than takes so many.
func leftOf(columns int, d doc) int {
	if columns < 0 {
		return columns
	}
	switch d := d.(type) {
	case textDoc:
		columns -= utf8.RuneCountInString(string(d))
	case floorDoc:
		columns -= len(floorText(flatInBrackets))
	case breakDoc:
		columns -= len(d.flat)
	case *concatDoc:
		for i := 0; i < len(d.parts) && columns >= 0; i++ {
			columns = leftOf(columns, d.parts[i])
		}
	case *nestDoc:
		return leftOf(columns, d.inner)
	case *groupDoc:
		return leftOf(columns, d.inner)
	}
	return columns
}

// trimLines removes the spaces at the ends of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Join(lines, "\n")
}
