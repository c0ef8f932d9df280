package jit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// reductionsOfTwoAxes are stores over whole axes i and j of one tile, which need loops in either order.
var reductionsOfTwoAxes = []string{
	"[i] = sum(x[i, j], over j)", "[j] = sum(x[i, j], over i)",
	"[i, j] = x[i, j] - max(x[i, j], over i) + min(x[i, j], over j)",
	"[i] = max(x[i, j] - sum(x[i, j], over i), over j)", "[j] = sum(x[i, j] * max(x[i, j], over j), over i)",
	"[0] = sum(x[i, j], over (i, j))", "[0] = max(sum(x[i, j], over j), over i)",
	"[i] = argmax(x[i, j], over j) as f32", "[j] = argmin(x[i, j], over i) as f32",
	"[j, i] = x[i, j] + sum(x[i, j], over j)", "[0] = argmax(sum(x[i, j], over i), over j) as f32",
	"[i] = sum(where(x[i, j] == max(x[i, j], over i), 1.0, 0.0), over j)",
}

// However two whole axes are cut, and whatever is reduced over which, the results are those of axes that are not.
func TestTwoAxesAreCut(t *testing.T) {
	sweep.Once(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		var stores, outputs []string
		for k := range 1 + r.IntN(3) {
			s := reductionsOfTwoAxes[r.IntN(len(reductionsOfTwoAxes))]
			shape := strings.NewReplacer("i", "M", "j", "N", "0", "1").Replace(s[:strings.Index(s, "]")+1])
			outputs = append(outputs, fmt.Sprintf("y%d: f32%s", k, shape))
			stores = append(stores, fmt.Sprintf("    y%d%s", k, s))
		}
		source := fmt.Sprintf("kernel f(x: f32[M, N]) -> (%s)\n    grid b in 1\n{\n    axis i in M\n    axis j in N\n%s\n}\n",
			strings.Join(outputs, ", "), strings.Join(stores, "\n"))
		m, n := int64(1+r.IntN(20)), int64(1+r.IntN(20))
		values := make([]float64, m*n)
		for i := range values {
			values[i] = float64(r.IntN(7) - 3)
		}
		x := Converted(lang.F32, values, m, n)
		run := func(device string, args Args) map[string]*Array {
			d, err := OpenDevice(device)
			require.NoError(t, err)
			defer d.Close()
			module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
			require.NoError(t, err, source)
			out, err := module.Call("f", args)
			require.NoError(t, err, source)
			return out
		}
		want := run("cpu", Args{"x": x})
		cut := Args{"x": x, "i": 1 + r.IntN(9), "j": 1 + r.IntN(9)}
		for _, device := range []string{"cpu", "emu"} {
			for name, got := range run(device, cut) {
				assert.Equal(t, want[name].Floats(), got.Floats(), "%s on %s by %v and %v of\n%s", name, device, cut["i"], cut["j"], source)
			}
		}
	}
}
