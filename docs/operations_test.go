// Package docs_test keeps the generated pages of the documentation in step
// with the tables that they are made from.
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tilec/cmd/tilec/reference"
)

var update = flag.Bool("update", false, "write the generated pages")

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

func operationsPage() string {
	var b strings.Builder
	b.WriteString(`# Operations
This page is made from the operation table (` + "`lang/ops.go`" + `) by ` + "`go test ./docs -update`" + `; a test fails when the two differ.

Operands of an elementwise operation broadcast by the names of their axes. The accumulator of f32 and of every
narrower float is f32, that of integers below 32 bits is i32, and any other type is its own; a product that feeds a sum
is computed in it. *ulp* is the
largest error in f32, in units of the last place, that any backend may make; 0 is correctly rounded.
`)
	for _, chapter := range reference.Operations() {
		fmt.Fprintf(&b, "\n## %s\n| written | is | takes; gives | ulp | in the IR | CUDA Tile |\n|---|---|---|---|---|---|\n", chapter.Title)
		for _, o := range chapter.Operations {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", code(o.Written), cell(o.Doc), o.Types, o.Ulp, code(o.IR), code(o.CuTile))
		}
	}
	b.WriteString(measuredErrors())
	return b.String()
}

func TestOperationsPage(t *testing.T) {
	const path = "operations.md"
	want := operationsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run go test ./docs -update", path)
	}
}
