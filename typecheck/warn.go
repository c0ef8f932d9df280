package typecheck

import (
	"fmt"
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
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
	return report{d, c.found > mostSuggested}
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

// mostGaps is of how many stores a warning says why they are not enough.
const mostGaps = 4

// warnFilled says that launches fill an output, and why.
func (c *checker) warnFilled(p *typed.Param, early bool, gaps []gap, stored []reach) {
	severity := lang.SeverityWarning
	if len(gaps) > 0 && !slices.ContainsFunc(gaps, func(g gap) bool { return !g.meant }) {
		severity = lang.SeverityNote
	}
	why := "nothing proves that all of it is stored"
	if early {
		why = "elements are used as they are before all of it is stored"
	}
	r := c.warnf(severity, lang.WarnFilled, p.At, "%s is filled with zeros before the kernel runs: %s", p.Name, why).
		here("%s", typed.ShapeText(p.DType, p.Shape))
	for _, g := range gaps[:min(len(gaps), mostGaps)] {
		r.label(g.at, "%s", g.why)
	}
	if len(gaps) == 0 {
		r.note("stored is %s", reachText(p, stored))
	}
	if severity == lang.SeverityWarning {
		r.help("store the other elements too, if only a 0; where sizes decide that there are none, say so: `assume(...)`")
	}
}

// reachText says what stores are proven to reach.
func reachText(p *typed.Param, stored []reach) string {
	text := ""
	for i, r := range stored[:min(len(stored), mostGaps)] {
		if i > 0 {
			text += " and "
		}
		text += p.Name + "["
		for d, s := range r {
			if d > 0 {
				text += ", "
			}
			if s.width.Equal(size.Const(1)) {
				text += s.first.String()
			} else {
				text += s.first.String() + " .. " + s.end().String()
			}
			for _, t := range s.steps {
				text += fmt.Sprintf(", %s times every %s", t.count, t.stride)
			}
		}
		text += "]"
	}
	if len(stored) > mostGaps {
		text += " and more"
	}
	return text
}
