package docs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// The table under Numbers says of each operation with a coarse form how far off that may be.
func TestNumbersTellHowCoarse(t *testing.T) {
	text, err := os.ReadFile("language.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| in f32 | off by at most, where the rule allows it |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	told := map[string]string{}
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		for _, name := range strings.Split(cells[1], ",") {
			bound, _, _ := strings.Cut(strings.TrimSpace(cells[2]), " ")
			told[strings.Trim(name, " `")] = bound
		}
	}
	want := map[string]string{}
	for _, op := range lang.Ops() {
		if n := op.Row().Coarse; n > 0 {
			want[op.Row().Spelling] = fmt.Sprintf("2^-%d", n)
		}
	}
	require.Equal(t, want, told)
}
