package report

import (
	"tilec/lang"
)

// This file takes what is said while a part of a program is checked, so that it can be said again when that part is as it was.

// Part is what checking a part of a program says.
type Part struct {
	Errors, Warnings lang.Diagnostics
	// found counts the errors met, those too that were not reported; many is whether there were many before the part and behind.
	found      int
	manyBefore bool
	manyBehind bool
}

// Part checks a part of a program. The log keeps what is said there, unless it was said before.
func (l *Log) Part(check func()) Part {
	errors, warnings, said := l.Errors, l.warnings, l.said
	l.Errors, l.warnings, l.said = nil, nil, map[saying]bool{}
	p := Part{found: -l.Found, manyBefore: l.Many()}
	check()
	p.Errors, p.Warnings, p.manyBehind = l.Errors, l.warnings, l.Many()
	p.found += l.Found
	l.Errors, l.warnings, l.said = errors, warnings, said
	l.say(&p)
	return p
}

// Again says what a part said before, as if it were checked. It reports whether that is the same now: names are proposed
// only until many errors have been found.
func (l *Log) Again(p *Part) bool {
	if p.found > 0 && (p.manyBefore != p.manyBehind || l.Many() != p.manyBefore || l.Found+p.found > mostSuggested != p.manyBehind) {
		return false
	}
	l.Found += p.found
	l.say(p)
	return true
}

// Silent reports a part in which no error was met.
func (p *Part) Silent() bool { return p.found == 0 }

// say adds what a part says to the log.
func (l *Log) say(p *Part) {
	for _, d := range p.Errors {
		if k := (saying{d.Code, d.At, d.Message}); !l.said[k] {
			l.said[k] = true
			l.Errors = append(l.Errors, d)
		}
	}
	for _, d := range p.Warnings {
		if k := (saying{d.Code, d.At, d.Message}); !l.said[k] {
			l.said[k] = true
			l.warnings = append(l.warnings, d)
		}
	}
}
