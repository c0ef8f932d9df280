package report

import (
	"fmt"

	"tilec/lang"
)

// Draft is a diagnostic under construction.
type Draft struct {
	*lang.Diagnostic
	// many: so many errors have been found that no names are proposed any more.
	many bool
}

// LabelAt says something of another place.
func (r Draft) LabelAt(at lang.Span, format string, args ...any) Draft {
	if at.IsValid() {
		r.Labels = append(r.Labels, lang.Label{At: at, Text: fmt.Sprintf(format, args...)})
	}
	return r
}

// Here is the text beside the carets.
func (r Draft) Here(format string, args ...any) Draft {
	r.Label = fmt.Sprintf(format, args...)
	return r
}

// Note adds what a reader should know besides.
func (r Draft) Note(format string, args ...any) Draft {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	return r
}

// Help says what to do where it takes a person to do it. It is called, not copied to hundreds of places: the binary is smaller.
//
//go:noinline
func (r Draft) Help(format string, args ...any) Draft {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...)}
	return r
}

// Replace proposes an edit: the span becomes the text.
func (r Draft) Replace(at lang.Span, text, format string, args ...any) Draft {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...), Edits: []lang.Edit{{At: at, New: text}}}
	return r
}

// InsertAfter proposes to write text behind a span.
func (r Draft) InsertAfter(at lang.Span, text, format string, args ...any) Draft {
	return r.Replace(lang.Span{Source: at.Source, Start: at.End, End: at.End}, text, format, args...)
}

// Suggest adds "did you mean" when a name is close.
func (r Draft) Suggest(at lang.Span, name string, candidates []string) Draft {
	if r.many {
		return r
	}
	if n := lang.Nearest(name, candidates); n != "" {
		return r.Replace(at, n, "did you mean `%s`?", n)
	}
	return r
}

// OrHelp is help where nothing better was found.
func (r Draft) OrHelp(format string, args ...any) Draft {
	if r.Fix != nil {
		return r
	}
	return r.Help(format, args...)
}

// Plural is "1 argument", "2 arguments".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "index" {
		return fmt.Sprintf("%d indices", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
