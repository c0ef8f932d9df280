package typecheck_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"tilec/lang"
)

// TestCodePages compiles the examples of every code of the Checker: the one that
// fails gives exactly that code, the one that works gives no error and no warning.
func TestCodePages(t *testing.T) {
	n := 0
	for _, code := range lang.Codes() {
		if code < "E0200" || "E0800" <= code && code < "E1000" {
			continue
		}
		n++
		t.Run(string(code), func(t *testing.T) {
			row, _ := lang.CodeInfo(code)
			assert.NotEmpty(t, row.Title)
			assert.NotEmpty(t, row.Doc)
			said := func(text string) lang.Diagnostics {
				p, ds := check(t, text)
				return append(ds, p.Warnings...)
			}
			ds := said(row.Fails)
			if assert.NotEmpty(t, ds, "the failing example has no error") {
				assert.Len(t, ds, 1, "%v", ds)
				assert.Equal(t, code, ds[0].Code, "%v", ds)
				assert.Equal(t, code[0] == 'W', ds[0].Severity != lang.SeverityError)
				assert.True(t, ds[0].At.IsValid())
				assert.False(t, strings.HasSuffix(ds[0].Message, "."), ds[0].Message)
			}
			assert.Empty(t, said(row.Works))
		})
	}
	assert.Greater(t, n, 50)
}
