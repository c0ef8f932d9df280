package jit_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// Keys of pages that are copied for a step to come are those of its own pages, whatever the steps.
func TestPagesOfStepsToCome(t *testing.T) {
	source, err := os.ReadFile("../testdata/tests/pages.tile")
	require.NoError(t, err)
	k, onCPU := jittest.Load(t, "pages.tile", string(source)), loadOnCPU(t, "pages.tile", string(source))
	table := jittest.NewArray(lang.I32, 2, 12)
	for i := range table.Len() {
		table.SetFloat(i, float64(i*7%24))
	}
	length := jittest.NewArray(lang.I32, 2)
	length.SetFloat(0, 192)
	length.SetFloat(1, 150)
	// Each key weighs the same, so that sums are exact: of 0 queries, and values that are small integers.
	q, keys, values := jittest.NewArray(lang.BF16, 2, 16, 64), odd(lang.BF16, 3, 1, 24, 16, 64), odd(lang.BF16, 3, 2, 24, 16, 64)
	want, err := onCPU.Call("paged", jit.Args{"q": q, "k": keys, "v": values, "table": table, "length": length})
	require.NoError(t, err)
	for _, pins := range []map[string]int64{{"p": 16, "warps": 4, "stages": 3}, {"p": 32, "warps": 4, "stages": 2}, {"p": 64, "warps": 8, "stages": 4}} {
		got := k.Run(t, "paged", jit.Options{Pins: pins}, q, keys, values, table, length)[0]
		jittest.Same(t, got, want["o"].Float)
	}
}
