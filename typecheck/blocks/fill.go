package blocks

import (
	"fmt"
	"slices"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file says of outputs that launches fill, what Program.Warnings holds.

// mostGaps is of how many stores a warning says why they are not enough.
const mostGaps = 4

// warnFilled says that launches fill an output, and why.
func warnFilled(l *report.Log, p *typed.Param, early bool, gaps []gap, stored []reach) {
	severity := lang.SeverityWarning
	if len(gaps) > 0 && !slices.ContainsFunc(gaps, func(g gap) bool { return !g.meant }) {
		severity = lang.SeverityNote
	}
	why := "nothing proves that all of it is stored"
	if early {
		why = "elements are used as they are before all of it is stored"
	}
	r := l.Warnf(severity, lang.WarnFilled, p.At, "%s is filled with zeros before the kernel runs: %s", p.Name, why).
		Here("%s", typed.ShapeText(p.DType, p.Shape))
	for _, g := range gaps[:min(len(gaps), mostGaps)] {
		r.LabelAt(g.at, "%s", g.why)
	}
	if len(gaps) == 0 {
		r.Note("stored is %s", reachText(p, stored))
	}
	if severity == lang.SeverityWarning {
		r.Help("store the other elements too, if only a 0; where sizes decide that there are none, say so: `assume(...)`")
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
