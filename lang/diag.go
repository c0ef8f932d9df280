package lang

import (
	"fmt"
	"sort"
	"strings"
)

// Diagnostic is one error in a source, or a warning of one, as data; Render makes text of it.
type Diagnostic struct {
	Severity Severity
	Code     Code
	// At is the place that the error is about.
	At Span
	// Message says what is wrong, in lower case, with the actual and the required thing.
	Message string
	// Label is the text beside the carets; "" for none.
	Label string
	// Labels are other places involved.
	Labels []Label
	// Notes say more, a sentence each.
	Notes []string
	// Fix is what to do about it; nil when there is no one answer.
	Fix *Fix
}

// Label is a place that a diagnostic mentions, with what to say of it.
type Label struct {
	At   Span
	Text string
}

// Fix is a change that removes an error.
type Fix struct {
	// Message tells a person what to do: "convert with `as f32`".
	Message string
	// Edits do it; empty when it takes a person to write it.
	Edits []Edit
}

// Edit replaces a span by a text.
type Edit struct {
	At  Span
	New string
}

// Error is the one-line form `path:line:column: error[E0312]: message`.
func (d *Diagnostic) Error() string {
	if !d.At.IsValid() {
		return fmt.Sprintf("%s[%s]: %s", d.Severity, d.Code, d.Message)
	}
	line, col := d.At.Position()
	return fmt.Sprintf("%s:%d:%d: %s[%s]: %s", d.At.Source.Path, line, col, d.Severity, d.Code, d.Message)
}

// Diagnostics is every error of a run. As an error it prints one line each.
type Diagnostics []*Diagnostic

// Error joins the one-line forms.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is ds as an error, nil when it is empty.
func (ds Diagnostics) Err() error {
	if len(ds) == 0 {
		return nil
	}
	return ds
}

// Sort orders by file, then by place, and drops exact repetitions.
func (ds Diagnostics) Sort() Diagnostics {
	path := func(d *Diagnostic) string {
		if d.At.Source == nil {
			return ""
		}
		return d.At.Source.Path
	}
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := ds[i], ds[j]
		if pa, pb := path(a), path(b); pa != pb {
			return pa < pb
		}
		if a.At.Start != b.At.Start {
			return a.At.Start < b.At.Start
		}
		return a.Code < b.Code
	})
	out := ds[:0]
	for i, d := range ds {
		if i > 0 && d.Code == ds[i-1].Code && d.At == ds[i-1].At && d.Message == ds[i-1].Message {
			continue
		}
		out = append(out, d)
	}
	return out
}
