package typecheck

import (
	"fmt"

	"tilec/lang"
)

// report is a diagnostic under construction.
type report struct {
	*lang.Diagnostic
	// many: so many errors have been found that no names are proposed any more.
	many bool
}

// label says something of another place.
func (r report) label(at lang.Span, format string, args ...any) report {
	if at.IsValid() {
		r.Labels = append(r.Labels, lang.Label{At: at, Text: fmt.Sprintf(format, args...)})
	}
	return r
}

// here is the text beside the carets.
func (r report) here(format string, args ...any) report {
	r.Label = fmt.Sprintf(format, args...)
	return r
}

func (r report) note(format string, args ...any) report {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
	return r
}

// help says what to do where it takes a person to do it.
func (r report) help(format string, args ...any) report {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...)}
	return r
}

// replace proposes an edit: the span becomes the text.
func (r report) replace(at lang.Span, text, format string, args ...any) report {
	r.Fix = &lang.Fix{Message: fmt.Sprintf(format, args...), Edits: []lang.Edit{{At: at, New: text}}}
	return r
}

// insertAfter proposes to write text behind a span.
func (r report) insertAfter(at lang.Span, text, format string, args ...any) report {
	return r.replace(lang.Span{Source: at.Source, Start: at.End, End: at.End}, text, format, args...)
}

// suggest adds "did you mean" when a name is close.
func (r report) suggest(at lang.Span, name string, candidates []string) report {
	if r.many {
		return r
	}
	if n := lang.Nearest(name, candidates); n != "" {
		return r.replace(at, n, "did you mean `%s`?", n)
	}
	return r
}

// orHelp is help where nothing better was found.
func (r report) orHelp(format string, args ...any) report {
	if r.Fix != nil {
		return r
	}
	return r.help(format, args...)
}

// plural is "1 argument", "2 arguments".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "index" {
		return fmt.Sprintf("%d indices", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
