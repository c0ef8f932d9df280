package spec

import (
	"fmt"
	"tilec/jit/bug"
)

// About adds what a specialisation tells of a bug.
func (s *Spec) About(e *bug.Error) {
	k := s.Kernel
	if e.Kernel == "" {
		e.Kernel = k.Name
	}
	if at := k.Decl.Name.Span(); at.IsValid() && len(e.Sources) == 0 {
		e.Sources = []bug.Source{{Path: at.Source.Path, Text: at.Source.Text}}
	}
	sizes := map[string]int64{}
	for _, d := range k.Dims {
		sizes[d.Name] = s.Dims[d]
	}
	e.Set("dimensions", "%s", bug.Assignments(sizes))
	types := ""
	for _, p := range k.TypeParams {
		types += fmt.Sprintf(" %s=%s", p.Name, s.Types[p])
	}
	if types != "" {
		e.Set("types", "%s", types[1:])
	}
	if s.Precision != "" {
		e.Set("precision", "%s", s.Precision)
	}
	if len(s.Pins) > 0 {
		e.Set("pins", "%s", bug.Assignments(s.Pins))
	}
}
