package typecheck

import (
	"regexp"
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes the edits of fixes, which an editor can apply.

// simple is an operand that binds tighter than everything that a fix writes around it.
var simple = regexp.MustCompile(`^-?[\w.]+(\[[^\[\]]*\]|\([^()]*\))?$`)

// inBrackets is the text of an operand, in brackets where what a fix writes beside it would take a part of it.
func inBrackets(at lang.Span) string {
	text := at.Text()
	if simple.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

// held is a text for a place, in brackets where what stands beside the place would take a part of the text: the text is
// an operand with something looser than a postfix behind it, as in `x as f32`.
func held(at lang.Span, text string) string {
	if takenBefore(at.Source.Text[:at.Start]) || takenBehind(at.Source.Text[at.End:]) {
		return "(" + text + ")"
	}
	return text
}

// takenBehind reports a text that begins with what binds an operand before it: a power, an index, a call, a field.
func takenBehind(text string) bool {
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

// castFix proposes to convert an operand: `x as d`.
func (r report) castFix(x lang.Expr, d typed.DType) report {
	if x == nil || !x.Span().IsValid() {
		return r
	}
	at, what := x.Span(), "as "+d.String()
	if text := inBrackets(at) + " " + what; held(at, text) != text && len(text) < 20 {
		what = held(at, text)
	}
	return r.castAt(at, d, "convert with `%s`", what)
}

// castAt proposes to convert the value at a place, as help says.
func (r report) castAt(at lang.Span, d typed.DType, format string, args ...any) report {
	return r.rewrite(at, " as "+d.String(), format, args...)
}

// rewrite proposes to write an operator, and what stands right of it, behind the value at a place.
func (r report) rewrite(at lang.Span, operator, format string, args ...any) report {
	if !at.IsValid() {
		return r.help(format, args...)
	}
	return r.replace(at, held(at, inBrackets(at)+operator), format, args...)
}

// addElse proposes to say what an access reads outside.
func (r report) addElse(access lang.Span, format string, args ...any) report {
	if takenBehind(access.Source.Text[access.End:]) {
		return r.replace(access, "("+access.Text()+" else 0)", format, args...)
	}
	return r.insertAfter(access, " else 0", format, args...)
}

// removeElse proposes to leave out the `else` with its value.
func (r report) removeElse(value lang.Span) report {
	src := value.Source
	start := strings.LastIndex(src.Text[:value.Start], "else")
	if start < 0 {
		return r.help("remove the `else`")
	}
	for start > 0 && src.Text[start-1] == ' ' {
		start--
	}
	return r.replace(lang.Span{Source: src, Start: start, End: value.End}, "", "remove the `else`")
}

// before proposes to write a text before a place.
func (r report) before(at lang.Span, text, format string, args ...any) report {
	return r.replace(lang.Span{Source: at.Source, Start: at.Start, End: at.Start}, text, format, args...)
}

// removeBefore proposes to leave out a word that stands before a place.
func (r report) removeBefore(at lang.Span, word, format string, args ...any) report {
	before := at.Source.Text[:at.Start]
	trimmed := strings.TrimRight(before, " ")
	if !strings.HasSuffix(trimmed, word) {
		return r.help(format, args...)
	}
	return r.replace(lang.Span{Source: at.Source, Start: len(trimmed) - len(word), End: at.Start}, "", format, args...)
}

// removeArgs proposes to leave out the arguments of an attribute.
func (r report) removeArgs(a *lang.Attr) report {
	return r.replace(lang.Span{Source: a.Place.Source, Start: a.Name.Place.End, End: a.Place.End}, "", "write `@%s`", a.Name.Name)
}

// castBoth proposes to convert both operands, of which neither type holds the values of the other.
func (r report) castBoth(a, b lang.Expr, d typed.DType) {
	r.help("neither type holds all values of the other: convert both with `as %s`", d)
	for _, x := range []lang.Expr{a, b} {
		if x == nil || !x.Span().IsValid() {
			r.Fix.Edits = nil
			return
		}
		r.Fix.Edits = append(r.Fix.Edits, lang.Edit{At: x.Span(), New: held(x.Span(), inBrackets(x.Span())+" as "+d.String())})
	}
}
