package lang

// Severity says how much a diagnostic matters. An error stops; the others only say something.
type Severity uint8

// The severities, the gravest first. A warning is of what may not be what was meant, and has a way to say that it
// was; a note tells what a program costs or does, of one that can mean nothing else.
const (
	SeverityError Severity = iota
	SeverityWarning
	SeverityNote
)

// String is the word that stands before a diagnostic's code.
func (s Severity) String() string { return [...]string{"error", "warning", "note"}[s] }

// Errors are those of the diagnostics that are errors.
func (ds Diagnostics) Errors() Diagnostics { return ds.of(SeverityError) }

// Warnings are those that are warnings; notes are none.
func (ds Diagnostics) Warnings() Diagnostics { return ds.of(SeverityWarning) }

func (ds Diagnostics) of(s Severity) Diagnostics {
	var out Diagnostics
	for _, d := range ds {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}
