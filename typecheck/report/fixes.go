package report

import (
	"regexp"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes the edits of fixes, which an editor can apply.

// simple is an operand that binds tighter than everything that a fix writes around it.
var simple = regexp.MustCompile(`^-?[\w.]+(\[[^\[\]]*\]|\([^()]*\))?$`)

// InBrackets is the text of an operand, in brackets where what a fix writes beside it would take a part of it.
func InBrackets(at lang.Span) string {
	text := at.Text()
	if simple.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

// Held is a text for a place, in brackets where what stands beside the place would take a part of the text: the text is
// an operand with something looser than a postfix behind it, as in `x as f32`.
func Held(at lang.Span, text string) string {
	if takenBefore(at.Source.Text[:at.Start]) || TakenBehind(at.Source.Text[at.End:]) {
		return "(" + text + ")"
	}
	return text
}

// TakenBehind reports a text that begins with what binds an operand before it: a power, an index, a call, a field.
func TakenBehind(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return strings.HasPrefix(text, "**") || strings.HasPrefix(text, "[") || strings.HasPrefix(text, "(") ||
		strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "..")
}

// takenBefore reports a text that ends with what binds an operand behind it: a power, a sign, an `else`.
func takenBefore(text string) bool {
	trimmed := strings.TrimRight(text, " \t\r\n")
	sign := strings.HasSuffix(trimmed, "~") || strings.HasSuffix(text, "-") // a minus with a space behind it is a difference
	return sign || strings.HasSuffix(trimmed, "**") || elseAtEnd.MatchString(trimmed)
}

var elseAtEnd = regexp.MustCompile(`\belse$`)

// CastFix proposes to convert an operand: `x as d`.
func (r Draft) CastFix(x lang.Expr, d typed.DType) Draft {
	if x == nil || !x.Span().IsValid() {
		return r
	}
	at, what := x.Span(), "as "+d.String()
	if text := InBrackets(at) + " " + what; Held(at, text) != text && len(text) < 20 {
		what = Held(at, text)
	}
	return r.CastAt(at, d, "convert with `%s`", what)
}

// CastAt proposes to convert the value at a place, as help says.
func (r Draft) CastAt(at lang.Span, d typed.DType, format string, args ...any) Draft {
	return r.Rewrite(at, " as "+d.String(), format, args...)
}

// Rewrite proposes to write an operator, and what stands right of it, behind the value at a place.
func (r Draft) Rewrite(at lang.Span, operator, format string, args ...any) Draft {
	if !at.IsValid() {
		return r.Help(format, args...)
	}
	return r.Replace(at, Held(at, InBrackets(at)+operator), format, args...)
}

// AddElse proposes to say what an access reads outside.
func (r Draft) AddElse(access lang.Span, format string, args ...any) Draft {
	if TakenBehind(access.Source.Text[access.End:]) {
		return r.Replace(access, "("+access.Text()+" else 0)", format, args...)
	}
	return r.InsertAfter(access, " else 0", format, args...)
}

// RemoveElse proposes to leave out the `else` with its value.
func (r Draft) RemoveElse(value lang.Span) Draft {
	src := value.Source
	start := strings.LastIndex(src.Text[:value.Start], "else")
	if start < 0 {
		return r.Help("remove the `else`")
	}
	for start > 0 && src.Text[start-1] == ' ' {
		start--
	}
	return r.Replace(lang.Span{Source: src, Start: start, End: value.End}, "", "remove the `else`")
}

// Before proposes to write a text before a place.
func (r Draft) Before(at lang.Span, text, format string, args ...any) Draft {
	return r.Replace(lang.Span{Source: at.Source, Start: at.Start, End: at.Start}, text, format, args...)
}

// RemoveBefore proposes to leave out a word that stands before a place.
func (r Draft) RemoveBefore(at lang.Span, word, format string, args ...any) Draft {
	before := at.Source.Text[:at.Start]
	trimmed := strings.TrimRight(before, " ")
	if !strings.HasSuffix(trimmed, word) {
		return r.Help(format, args...)
	}
	return r.Replace(lang.Span{Source: at.Source, Start: len(trimmed) - len(word), End: at.Start}, "", format, args...)
}

// RemoveArgs proposes to leave out the arguments of an attribute.
func (r Draft) RemoveArgs(a *lang.Attr) Draft {
	return r.Replace(lang.Span{Source: a.Place.Source, Start: a.Name.Place.End, End: a.Place.End}, "", "write `@%s`", a.Name.Name)
}

// CastBoth proposes to convert both operands, of which neither type holds the values of the other.
func (r Draft) CastBoth(a, b lang.Expr, d typed.DType) {
	r.Help("neither type holds all values of the other: convert both with `as %s`", d)
	for _, x := range []lang.Expr{a, b} {
		if x == nil || !x.Span().IsValid() {
			r.Fix.Edits = nil
			return
		}
		r.Fix.Edits = append(r.Fix.Edits, lang.Edit{At: x.Span(), New: Held(x.Span(), InBrackets(x.Span())+" as "+d.String())})
	}
}
