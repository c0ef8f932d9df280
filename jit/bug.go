package jit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/lang"
)

// Bug is a failure of the compiler itself: where, with the stack and what it takes to see it again. bug.Bundle saves that.
type Bug = bug.Error

// NewBug makes a Bug of what recover gave; it must be called by the deferred function that recovered.
func NewBug(value any) *Bug { return bug.Recovered("", value) }

// about adds what a specialisation tells of a bug.
func (s *Spec) about(e *Bug) {
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
	e.Set("dimensions", "%s", assignments(sizes))
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
		e.Set("pins", "%s", assignments(s.Pins))
	}
}

// irSizes are the sizes of the dimensions of IR that only a launch knows, as far as they are known.
func irSizes(f *ir.Func, size func(*ir.Dim) (int64, error)) string {
	known := map[string]int64{}
	for _, d := range f.Dims {
		if n, err := size(d); !d.Known() && err == nil {
			known[d.Name] = n
		}
	}
	return assignments(known)
}

// planPins are the pins that say what a plan has beside the extents.
func planPins(p *plan.Plan) string {
	pins := map[string]int64{}
	for _, name := range lang.PlanSettings() {
		if n := p.Setting(name); n > 0 {
			pins[name] = n
		}
	}
	return assignments(pins)
}

// assignments writes numbers by name, sorted: `BM=64 warps=4`. A name that is no word is quoted.
func assignments(m map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := m[name]
		if strings.ContainsAny(name, " =\"") {
			name = fmt.Sprintf("%q", name)
		}
		parts = append(parts, fmt.Sprintf("%s=%d", name, n))
	}
	return strings.Join(parts, " ")
}

// ParseAssignments reads what assignments writes.
func ParseAssignments(text string) (map[string]int64, error) {
	out := map[string]int64{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name := ""
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			if name, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
			text = text[len(quoted):]
		} else if n := strings.IndexByte(text, '='); n > 0 && text[0] != '"' {
			name, text = text[:n], text[n:]
		}
		value, rest, _ := strings.Cut(strings.TrimPrefix(text, "="), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || name == "" || text[0] != '=' {
			return nil, fmt.Errorf("%q is no list of NAME=NUMBER", text)
		}
		out[name], text = n, rest
	}
	return out, nil
}

// textOf is the IR's text; "" where it is so broken that it has none.
func textOf(f *ir.Func) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	if f == nil {
		return ""
	}
	return f.String()
}
