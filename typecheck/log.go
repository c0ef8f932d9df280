package typecheck

import (
	"fmt"

	"tilec/lang"
)

// log collects what is said of a program: errors, and warnings of its root file.
type log struct {
	root     *lang.Module
	errors   lang.Diagnostics
	warnings lang.Diagnostics
	said     map[saying]bool
	// muted counts the reasons not to report: checking what is already known to be wrong.
	muted int
	// found counts the errors met, those that were said before too.
	found int
}

// saying tells diagnostics apart: a fn is typed once for itself and once for every call, and what is wrong in all is said once.
type saying struct {
	code    lang.Code
	at      lang.Span
	message string
}

func newLog(root *lang.Module) *log { return &log{root: root, said: map[saying]bool{}} }

// mostSuggested is the number of errors from which names are looked up no more: a file with so many is not
// one of typing errors, and comparing all of its names with all others takes minutes.
const mostSuggested = 100

// many: so many errors have been found that no names are proposed any more.
func (l *log) many() bool { return l.found > mostSuggested }

// Errorf reports an error at a place.
func (l *log) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	d := &lang.Diagnostic{Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	k := saying{code, at, d.Message}
	l.found++
	if l.muted == 0 && !l.said[k] {
		l.said[k] = true
		l.errors = append(l.errors, d)
	}
	return report{d, l.many()}
}

// warnf notes a warning, or a note, of the root file itself. What it imports is checked for its own sake.
func (l *log) warnf(severity lang.Severity, code lang.Code, at lang.Span, format string, args ...any) report {
	d := &lang.Diagnostic{Severity: severity, Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	k := saying{code, at, d.Message}
	if l.muted == 0 && at.Source == l.root.Source && !l.said[k] {
		l.said[k] = true
		l.warnings = append(l.warnings, d)
	}
	return report{d, l.many()}
}

// independent is the warnings that follow from no error: those of declarations that no error is of, and, of the file's
// imports, those of a file without any. An incomplete file lacks something that it imports.
func (l *log) independent(incomplete bool) lang.Diagnostics {
	var kept lang.Diagnostics
	for _, w := range l.warnings {
		d := declAround(l.root, w.At)
		switch {
		case d == nil && (len(l.errors) > 0 || incomplete || len(l.root.Lost) > 0 || anyDamaged(l.root)):
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
func (l *log) concerns(place lang.Span) bool {
	inside := func(at lang.Span) bool {
		return at.Source == place.Source && place.Start <= at.Start && at.Start <= place.End
	}
	for _, d := range l.errors {
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
