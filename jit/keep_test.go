package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/backend/emulator"
	"tilec/jit/emu"
	"tilec/lang"
	"tilec/stdlib"
)

// Rows that are too long for registers and fit the block's shared memory are read once, though loops go through them several times, and no
// bank of shared memory is asked twice at once. With so many blocks on a multiprocessor that they do not fit, they are read each time, and the results have the same bits.
func TestLongRowsAreReadOnce(t *testing.T) {
	const rows = 2
	for _, c := range []struct {
		kernel       string
		d            lang.DType
		n, occupancy int64
		beside       int64 // rows that are read beside
	}{
		{"softmax", lang.F32, 50304, 2, 0}, {"softmax", lang.BF16, 50304, 3, 0}, {"softmax", lang.BF16, 50257, 3, 0}, {"layernorm", lang.F32, 50257, 2, 2},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.kernel, c.d, c.n), func(t *testing.T) {
			device, err := emulator.Open("sm_90a")
			require.NoError(t, err)
			defer device.Close()
			var report *emu.Report
			device.OnLaunch = func(_ string, r *emu.Report) { report = r }
			text, err := stdlib.FS.ReadFile("nn.tile")
			require.NoError(t, err)
			module, err := NewCompiler(device, nil).Load("nn.tile", text)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			values := make([]float64, rows*c.n)
			for i := range values {
				values[i] = r.NormFloat64()
			}
			args := Args{"x": Converted(c.d, values, rows, c.n), "split": 1, "warps": 8, "j": 4096} // a block a row, as where there are many
			if c.beside > 0 {
				args["g"], args["b"] = Converted(c.d, values[:c.n], c.n), Converted(c.d, values[1:c.n+1], c.n)
			}
			out, err := module.Call(c.kernel, args)
			require.NoError(t, err)
			once, kept := report, out["y"].Floats()
			row := c.n * int64(c.d.Size())
			assert.Equal(t, rows*row*(1+c.beside), once.GlobalRead)
			assert.Equal(t, rows*row, once.GlobalWritten)
			for _, a := range once.Accesses {
				if a.Space == "shared" {
					assert.LessOrEqual(t, a.Wavefronts, a.Ideal, a.Instruction)
				}
			}
			args["occupancy"] = c.occupancy
			out, err = module.Call(c.kernel, args)
			require.NoError(t, err)
			assert.Greater(t, report.GlobalRead, once.GlobalRead, "rows are kept with occupancy=%d too", c.occupancy)
			assert.Equal(t, kept, out["y"].Floats())
		})
	}
}
