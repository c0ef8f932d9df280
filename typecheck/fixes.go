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

// inBrackets is the text of an operand, in brackets where precedence may need them.
func inBrackets(at lang.Span) string {
	text := at.Text()
	if simple.MatchString(text) {
		return text
	}
	return "(" + text + ")"
}

// castAt proposes to convert the value at a place, as help says.
func (r report) castAt(at lang.Span, d typed.DType, format string, args ...any) report {
	return r.rewrite(at, " as "+d.String(), format, args...)
}

// rewrite proposes to write a text behind the value at a place.
func (r report) rewrite(at lang.Span, suffix, format string, args ...any) report {
	if !at.IsValid() || strings.Contains(at.Text(), "\n") {
		return r.help(format, args...)
	}
	return r.replace(at, inBrackets(at)+suffix, format, args...)
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
