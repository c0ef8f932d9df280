package block

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Shared memory is a loop's from the start where nothing before the loop needs it: a reduction of a row that every warp has does not, one of a row that warps
// share does.
func TestShortReductionsNeedNoSharedMemory(t *testing.T) {
	source, err := os.ReadFile("testdata/parts.tir")
	require.NoError(t, err)
	for n, free := range map[int64]bool{64: true, 512: false} {
		text := strings.NewReplacer( // the scores are scaled by a row's sum as well
			"  tensor %o :", "  tensor %r : in f32[F] align 16\n  tensor %o :",
			"  dim P = 1024\n", fmt.Sprintf("  dim P = 1024\n  dim F = %d\n", n),
			"  axis j : loop", fmt.Sprintf("  axis f : whole F[0 .. %d]\n  axis j : loop", n),
			"  %8 = start c", "  %90 = index f : i32{f}\n  %91 = load %r[%90] : f32{f}\n  %92 = sum %91 over f : f32\n  %93 = mul %7, %92 : f32\n  %8 = start c",
			"mul %40, %7 ", "mul %40, %93 ",
		).Replace(string(source))
		p := decided(t, text, map[string]int64{"j": 128}, Settings{Warps: 8, Stages: 4}, "sm_90a")
		require.Len(t, p.Pipelines, 1)
		for _, x := range p.Pipelines {
			assert.Equal(t, free, p.freeBefore(x.Op), "a row of %d", n)
		}
	}
}
