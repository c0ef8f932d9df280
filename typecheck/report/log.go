package report

import (
	"fmt"

	"tilec/lang"
)

// Log collects what is said of a program: errors, and warnings of its root file.
type Log struct {
	root     *lang.Module
	Errors   lang.Diagnostics
	warnings lang.Diagnostics
	said     map[saying]bool
	// Muted counts the reasons not to report: checking what is already known to be wrong.
	Muted int
	// Found counts the errors met, those that were said before too.
	Found int
}

// saying tells diagnostics apart: a fn is typed once for itself and once for every call, and what is wrong in all is said once.
type saying struct {
	code    lang.Code
	at      lang.Span
	message string
}

// NewLog is the log of checking a file, with nothing said.
func NewLog(root *lang.Module) *Log { return &Log{root: root, said: map[saying]bool{}} }

// mostSuggested is the number of errors from which names are looked up no more: a file with so many is not
// one of typing errors, and comparing all of its names with all others takes minutes.
const mostSuggested = 100

// Many: so many errors have been found that no names are proposed any more.
func (l *Log) Many() bool { return l.Found > mostSuggested }

// Errorf reports an error at a place.
func (l *Log) Errorf(code lang.Code, at lang.Span, format string, args ...any) Draft {
	d := &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	k := saying{code, at, d.Message}
	l.Found++
	if l.Muted == 0 && !l.said[k] {
		l.said[k] = true
		l.Errors = append(l.Errors, d)
	}
	return Draft{d, l.Many()}
}

// Warnf notes a warning, or a note, of the root file itself. What it imports is checked for its own sake.
func (l *Log) Warnf(severity lang.Severity, code lang.Code, at lang.Span, format string, args ...any) Draft {
	d := &lang.Diagnostic{Severity: severity, Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	k := saying{code, at, d.Message}
	if l.Muted == 0 && at.Source == l.root.Source && !l.said[k] {
		l.said[k] = true
		l.warnings = append(l.warnings, d)
	}
	return Draft{d, l.Many()}
}

// Independent is the warnings that follow from no error: those of declarations that no error is of, and, of the file's
// imports, those of a file without any. An incomplete file lacks something that it imports.
func (l *Log) Independent(incomplete bool) lang.Diagnostics {
	var kept lang.Diagnostics
	for _, w := range l.warnings {
		d := declAround(l.root, w.At)
		switch {
		case d == nil && (len(l.Errors) > 0 || incomplete || len(l.root.Lost) > 0 || anyDamaged(l.root)):
		case d != nil && (d.SyntaxErrors() != lang.Intact || l.concerns(d.Span())):
		default:
			kept = append(kept, w)
		}
	}
	return kept.Sort()
}

func declAround(m *lang.Module, at lang.Span) lang.Decl {
	for _, d := range m.Decls {
		if place := d.Span(); place.Start <= at.Start && at.Start < place.End {
			return d
		}
	}
	return nil
}

func anyDamaged(m *lang.Module) bool {
	for _, d := range m.Decls {
		if d.SyntaxErrors() != lang.Intact {
			return true
		}
	}
	return false
}

// concerns reports a place that some error is of, or mentions.
func (l *Log) concerns(place lang.Span) bool {
	inside := func(at lang.Span) bool {
		return at.Source == place.Source && place.Start <= at.Start && at.Start <= place.End
	}
	for _, d := range l.Errors {
		if inside(d.At) {
			return true
		}
		for _, l := range d.Labels {
			if inside(l.At) {
				return true
			}
		}
	}
	return false
}
