package pass

import (
	"testing"

	"tilec/jit/ir"
)

// Whatever kernel verifies, the passes neither panic on it nor break it.
func FuzzRun(f *testing.F) {
	for _, text := range kernels(f) {
		f.Add(text, int64(8))
	}
	for _, p := range Passes() {
		f.Add(p.Before, int64(8))
	}
	for _, k := range streamKernels {
		f.Add(k.text, int64(5))
	}
	f.Fuzz(func(t *testing.T, text string, chunk int64) {
		k, err := ir.Parse("fuzz", text)
		if err != nil {
			return
		}
		if err := Run(k, Options{Verify: true}); err != nil {
			t.Fatal(err)
		}
		chunks := map[string]int64{}
		for _, a := range k.Axes {
			chunks[a.Name] = chunk
		}
		c := ir.Clone(k)
		if err := Run(c, Options{Chunks: chunks}); err == nil { // it may refuse
			if err := ir.Verify(c); err != nil {
				t.Fatalf("%v\n%s\n%s", err, k, c)
			}
		}
	})
}
