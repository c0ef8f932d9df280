package typecheck_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// TestFixes applies every proposed edit to the program that it is for: the
// result parses, and the error is gone.
func TestFixes(t *testing.T) {
	applied := 0
	for _, text := range sources(t) {
		m, ds := parser.Parse(lang.NewSource("x.tile", text))
		if len(ds) > 0 {
			continue
		}
		_, ds = typecheck.Check(m, nil)
		for _, d := range ds {
			if d.Fix == nil || len(d.Fix.Edits) == 0 {
				continue
			}
			applied++
			fixed := apply(text, d.Fix.Edits)
			m, broken := parser.Parse(lang.NewSource("x.tile", fixed))
			require.Empty(t, broken, "%s: %s\n%s", d, d.Fix.Message, fixed)
			_, after := typecheck.Check(m, nil)
			for _, a := range after {
				same := a.Code == d.Code && a.At.Start == d.At.Start && a.Message == d.Message
				assert.False(t, same, "%s: %s does not help", d, d.Fix.Message)
			}
			assert.Less(t, len(after), len(ds)+1, "%s: %s brings other errors", d, d.Fix.Message)
		}
	}
	assert.Greater(t, applied, 50)
}

func apply(text string, edits []lang.Edit) string {
	sort.Slice(edits, func(i, j int) bool { return edits[i].At.Start > edits[j].At.Start })
	for _, e := range edits {
		text = text[:e.At.Start] + e.New + text[e.At.End:]
	}
	return strings.ToValidUTF8(text, "?")
}
