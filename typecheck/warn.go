package typecheck

import (
	"fmt"

	"tilec/lang"
)

// This file says what is no error: what Program.Warnings holds.

// warnf notes a warning, or a note, of the file itself. What it imports is checked for its own sake. A fn is typed for
// itself and for every call: what is said of all is said once.
func (c *checker) warnf(severity lang.Severity, code lang.Code, at lang.Span, format string, args ...any) report {
	d := &lang.Diagnostic{Severity: severity, Code: code, At: at, Message: fmt.Sprintf(format, args...)}
	key := errorKey{code, at, d.Message}
	if root := c.order[len(c.order)-1]; c.muted == 0 && at.Source == root.tree.Source && !c.reported[key] {
		c.reported[key] = true
		c.prog.Warnings = append(c.prog.Warnings, d)
	}
	return report{d}
}

// causes keeps the warnings that follow from no error: those of declarations that no error is of, and, of a file's
// imports, those of a file without any.
func (c *checker) causes(warnings lang.Diagnostics) lang.Diagnostics {
	root := c.order[len(c.order)-1]
	var kept lang.Diagnostics
	for _, w := range warnings {
		d := declAround(root.tree, w.At)
		switch {
		case d == nil && (len(c.diags) > 0 || root.incomplete || len(root.tree.Lost) > 0 || anyDamaged(root.tree)):
		case d != nil && (d.SyntaxErrors() != lang.Intact || c.concerns(d.Span())):
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
func (c *checker) concerns(place lang.Span) bool {
	inside := func(at lang.Span) bool {
		return at.Source == place.Source && place.Start <= at.Start && at.Start <= place.End
	}
	for _, d := range c.diags {
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
