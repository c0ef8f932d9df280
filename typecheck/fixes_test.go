package typecheck_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// TestFixes applies every proposed edit to the program that it is for: the
// result parses, and the error is gone.
func TestFixes(t *testing.T) {
	applied := 0
	check := func(text string) lang.Diagnostics {
		m, ds := parser.Parse(lang.NewSource("x.tile", text))
		_, more := typecheck.Check(m, nil)
		return append(ds, more...).Sort()
	}
	for _, text := range sources(t) {
		ds := check(text)
		for _, d := range ds {
			if d.Fix == nil || len(d.Fix.Edits) == 0 {
				continue
			}
			applied++
			fixed := apply(text, d.Fix.Edits)
			after := check(fixed)
			for _, a := range after {
				same := a.Code == d.Code && a.At.Start == d.At.Start && a.Message == d.Message
				if d.Code == lang.ErrUnbalanced { // of several open brackets the innermost is closed
					same = same && len(after) >= len(ds)
				}
				assert.False(t, same, "%s: %s does not help", d, d.Fix.Message)
			}
			if d.Code >= lang.ErrUnknownName && d.Code != lang.ErrAttribute { // a syntax error or a wrong attribute may have kept others from being found
				assert.LessOrEqual(t, len(after), len(ds), "%s: %s brings other errors", d, d.Fix.Message)
			}
		}
	}
	assert.Greater(t, applied, 120)
}

func apply(text string, edits []lang.Edit) string {
	sort.Slice(edits, func(i, j int) bool { return edits[i].At.Start > edits[j].At.Start })
	for _, e := range edits {
		text = text[:e.At.Start] + e.New + text[e.At.End:]
	}
	return strings.ToValidUTF8(text, "?")
}
