// Package docs_test keeps the generated pages of the documentation in step
// with the tables that they are made from.
package docs_test

import (
	"flag"
	"os"
	"testing"

	"tilec/cmd/tilec/site"
)

var update = flag.Bool("update", false, "write the generated pages")

func operationsPage() string {
	return site.OperationsPage("This page is made from the operation table (`lang/ops.go`) by `go test ./docs -update`; a test fails when the two differ.\n\n") + measuredErrors()
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
