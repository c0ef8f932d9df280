package plan_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/plan"
)

// Whatever kernel verifies, planning it does not panic, and the plan applies.
func FuzzChoose(f *testing.F) {
	files, err := filepath.Glob("../ir/testdata/*.tir")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text), int64(1000), int64(64))
	}
	for _, p := range pass.Passes() {
		f.Add(p.Before, int64(1000), int64(64))
	}
	f.Fuzz(func(t *testing.T, text string, size, pin int64) {
		k, err := ir.Parse("fuzz", text)
		if err != nil || len(k.Axes) > 8 {
			return
		}
		for _, name := range []string{"cpu", "sm_90a"} {
			for _, pins := range []map[string]int64{nil, {"BM": pin}} {
				c := ir.Clone(k)
				p, err := plan.Choose(c, on(t, name), func(*ir.Dim) int64 { return size }, pins)
				if err != nil {
					continue
				}
				if err := pass.Run(c, pass.Options{Verify: true, Chunks: p.Chunks}); err != nil {
					continue // what the passes refuse is theirs to test
				}
				require.NoError(t, p.Apply(c))
			}
		}
	})
}
