package jit

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/emu"
	"tilec/jit/jittest/sweep"
	"tilec/lang"
	"tilec/stdlib"
)

// Blocks of a cluster that share a row each keep their part of it: memory is read once, whether the row's parts are alike or the last are shorter,
// or there are none, and wherever the row begins in a word. The results are those of blocks that share a row and read it again, to the bit.
func TestSharedRowsAreReadOnce(t *testing.T) {
	sweep.Once(t)
	text, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	for _, c := range []struct {
		kernel      string
		d           lang.DType
		n           int64
		split, step int
		rows        int // of a block
	}{
		{"softmax", lang.F32, 16384, 4, 1024, 1}, {"layernorm", lang.F32, 17000, 2, 1024, 1}, {"layernorm", lang.BF16, 16649, 8, 512, 1},
		{"layernorm", lang.F32, 16650, 4, 512, 1}, {"softmax", lang.BF16, 17408, 8, 2048, 2}, {"layernorm", lang.BF16, 9217, 4, 2048, 1},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.kernel, c.d, c.n), func(t *testing.T) {
			const rows = 6
			var report emu.Report
			module := reporting(t, &report, text)
			r := rand.New(rand.NewPCG(1, 2))
			values := normal(r, rows*c.n)
			args := Args{"x": Converted(c.d, values, rows, c.n), "split": c.split, "BM": c.rows, "warps": 8, "j": c.step}
			gains := int64(0)
			if c.kernel == "layernorm" {
				args["g"], args["b"], gains = Converted(c.d, values[:c.n], c.n), Converted(c.d, values[1:c.n+1], c.n), 2
			}
			call := func(kept int) []float64 {
				given := maps.Clone(args)
				given["kept"] = kept
				out, err := module.Call(c.kernel, given)
				require.NoError(t, err)
				return out["y"].Floats()
			}
			want := call(1)
			assert.Equal(t, rows*c.split/c.rows, report.Blocks)
			bytes := rows * c.n * int64(c.d.Size())
			assert.Greater(t, report.GlobalRead, bytes*3/2)
			assert.Equal(t, want, call(2))
			least, most := bytes+gains*bytes/int64(c.rows), bytes+gains*bytes/int64(c.rows)
			if c.n*int64(c.d.Size())%16 != 0 { // words that rows and parts share, and of the gains two words where one would do
				most += rows*16*int64(c.split+1) + gains*bytes
			}
			assert.GreaterOrEqual(t, report.GlobalRead, least)
			assert.LessOrEqual(t, report.GlobalRead, most)
			assert.Equal(t, bytes, report.GlobalWritten)
			for i, v := range want {
				require.False(t, math.IsNaN(v), "%d", i)
			}
		})
	}
}
