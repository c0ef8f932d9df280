package pass

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// Two axes stay two where they go over other positions, where a tile has both, where no load of one is a load of the other, and where a loop or a block
// has a part of one.
func TestAlike(t *testing.T) {
	// Tensors more, for the changes below to name.
	const tensor = "  tensor %y : out f32[M, N]\n"
	text := strings.Replace(alike.Before, tensor, "  tensor %w : in f32[M, N]\n"+tensor+"  tensor %z : out f32[M, N, N]\n", 1)
	run := func(text string) bool {
		f, err := ir.Parse("alike", text)
		require.NoError(t, err)
		f.Settle()
		require.NoError(t, verify(f))
		changed, err := alike.Run(f, &Options{})
		require.NoError(t, err)
		require.NoError(t, verify(f))
		return changed
	}
	assert.True(t, run(text))
	for name, change := range map[string][2]string{
		"other positions":   {"axis k : whole N[0 .. 64]", "axis k : whole N[1 .. 64]"},
		"a tile with both":  {"  store %y[%0, %4] = %6\n", "  %7 = mul %2, %5 : f32{i, j, k}\n  store %z[%0, %1, %4] = %7\n"},
		"another tensor":    {"load %x[%0, %4]", "load %w[%0, %4]"},
		"parts of a block":  {"axis j : whole N[0 .. 64]\n  axis k : whole N[0 .. 64]", "axis k : grid N by BK = 64\n  axis j : whole N[0 .. 64]"},
		"elements of other": {"load %x[%0, %1] : f32{i, j}", "load %x[%1, %0] : f32{j, i}"},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		require.NotEqual(t, text, changed)
		if name == "elements of other" {
			changed = strings.Replace(changed, "dim M = 100", "dim M = 64", 1)
		}
		assert.False(t, run(changed), name)
	}
}
