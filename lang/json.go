package lang

import "encoding/json"

type jsonPlace struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
}

type jsonDiagnostic struct {
	*jsonPlace
	Severity string      `json:"severity"`
	Code     Code        `json:"code,omitempty"`
	Message  string      `json:"message"`
	Label    string      `json:"label,omitempty"`
	Labels   []jsonLabel `json:"labels,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
	Fix      *jsonFix    `json:"fix,omitempty"`
}

type jsonLabel struct {
	*jsonPlace
	Text string `json:"text"`
}

type jsonFix struct {
	Message string     `json:"message"`
	Edits   []jsonEdit `json:"edits,omitempty"`
}

type jsonEdit struct {
	*jsonPlace
	New string `json:"new"`
}

// JSON gives diagnostics for programs: an array with an object each. Lines and
// columns count from 1, columns in code points; the end is one past the last
// character. A diagnostic without a place has none of these fields, and one that is of
// no source, such as a file that cannot be read, has no code. docs/json.md is for users.
func JSON(ds Diagnostics) ([]byte, error) {
	all := make([]jsonDiagnostic, len(ds))
	for i, d := range ds {
		j := jsonDiagnostic{jsonPlace: placeOf(d.At), Severity: d.Severity.String(), Code: d.Code, Message: d.Message, Label: d.Label, Notes: d.Notes}
		for _, l := range d.Labels {
			j.Labels = append(j.Labels, jsonLabel{placeOf(l.At), l.Text})
		}
		if d.Fix != nil {
			j.Fix = &jsonFix{Message: d.Fix.Message}
			for _, e := range d.Fix.Edits {
				j.Fix.Edits = append(j.Fix.Edits, jsonEdit{placeOf(e.At), e.New})
			}
		}
		all[i] = j
	}
	return json.MarshalIndent(all, "", "  ")
}

func placeOf(s Span) *jsonPlace {
	if !s.IsValid() {
		return nil
	}
	p := &jsonPlace{File: s.Source.Path}
	p.Line, p.Column = s.Source.Position(s.Start)
	p.EndLine, p.EndColumn = s.Source.Position(s.End)
	return p
}
