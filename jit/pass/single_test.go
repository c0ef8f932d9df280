package pass

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// Where a block ends is where its position does; where a run of several positions ends, a position does not tell.
func TestSingleOfAxesWithRuns(t *testing.T) {
	for run, scalar := range map[int]bool{1: true, 64: false} {
		text := strings.Replace(single.Before, "  %0 = index n : i32{n}\n", fmt.Sprintf("  %%0 = index n : i32{n}\n  %%7 = end n span %d : i32\n  %%8 = cast %%7 : f32\n", run), 1)
		text = strings.Replace(text, "  store %y[%0, %1, %4] = %6\n", "  %9 = add %6, %8 : f32{n, i, j}\n  store %y[%0, %1, %4] = %9\n", 1)
		f, err := ir.Parse("single", text)
		require.NoError(t, err)
		f.Settle()
		require.NoError(t, verify(f))
		changed, err := single.Run(f, &Options{})
		require.NoError(t, err)
		require.NoError(t, verify(f))
		assert.Equal(t, scalar, changed, run)
		assert.Equal(t, scalar, f.Axes[0].Scalar, run)
	}
}
