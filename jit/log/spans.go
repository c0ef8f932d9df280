package log

import (
	"slices"
	"time"
)

// This file keeps when work began and ended, for a trace.

// Span is a stretch of work that was measured.
type Span struct {
	// Path names the work from the whole to the part, as that of [Logs.Spent].
	Path []string
	// Began is by the host's clock.
	Began time.Time
	Took  time.Duration
	// Watch is the number of the stopwatch whose lap the span is; 0 for work that was measured by itself.
	Watch int
}

// KeepSpans has the logs keep what is measured from now on, for [Logs.Spans]: what is loaded and compiled and, where launches is true, each launch of a CPU.
func (l *Logs) KeepSpans(launches bool) {
	if l != nil {
		l.keeps, l.keepsLaunches = true, launches
	}
}

// Spans gives what was measured since KeepSpans, in the order in which it ended.
func (l *Logs) Spans() []Span {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.spans)
}

// measures reports that work is measured: the stage time is on, or spans are kept.
func (l *Logs) measures() bool { return l.On(Time) || l != nil && l.keeps }

// MeasuresLaunches reports that each launch is measured by the host's clock, and waited for. A GPU's are where the stage time is on alone: in a trace, they
// leave their times themselves.
func (l *Logs) MeasuresLaunches(gpu bool) bool {
	return l.On(Time) || l != nil && l.keepsLaunches && !gpu
}
