package block

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// loopUpTo is a kernel with a loop between two bounds, by the operations that compute them.
const loopUpTo = `kernel @k {
  dim H = ?
  dim S = ?
  tensor %%start : in i32[H]
  tensor %%y : out f32[H, S]
  axis h : grid scalar H
  axis i : grid S by BM = 64
  axis j : loop S by BN = 64
body:
  %%1 = start h : i32
  %%2 first = load %%start[%%1] : i32
  %%3 = const 0 : i32
  %%4 = size S : i32
  %%5 = end i : i32
  %%6 = start i : i32
  %%7 = const 128 : i32
%s  %%40 = const 0 : f32
  %%41 = full %%40 : f32{i}
  %%42 = for j from %%%d to %%%d with (%%43 = %%41) pos %%44 : (f32{i}) {
    %%45 = exp %%43 : f32{i}
    yield %%45
  }
  %%46 = index i : i32{i}
  store %%y[%%1, %%46] = %%42
}
`

// A loop that ends where the block does, or where a span around it does, gets longer along the block's axis.
func TestLengthening(t *testing.T) {
	for _, c := range []struct {
		name, compute string
		from, to      int
		longer        bool
	}{
		{"up to the block's end", "", 3, 5, true},
		{"up to its beginning", "", 3, 6, true},
		{"from where a sequence begins", "  %8 = add %2, %5 : i32\n  %9 = min %8, %4 : i32\n", 3, 9, true},
		{"up to the end of a span", "  %8 = const 127 : i32\n  %9 = and %6, %8 : i32\n  %10 = sub %6, %9 : i32\n  %11 = sub %4, %10 : i32\n  %12 = min %11, %7 : i32\n  %13 = add %10, %12 : i32\n", 3, 13, true},
		{"over all", "", 3, 4, false},
		{"from the block on", "", 6, 4, false},
		{"a window", "  %8 = sub %6, %7 : i32\n", 8, 5, false},
		{"what is left", "  %8 = sub %4, %6 : i32\n", 3, 8, false},
	} {
		f, err := ir.Parse(c.name, fmt.Sprintf(loopUpTo, c.compute, c.from, c.to))
		require.NoError(t, err, c.name)
		if c.longer {
			require.Equal(t, f.Axis("i"), Lengthening(f), c.name)
		} else {
			require.Nil(t, Lengthening(f), c.name)
		}
	}
	alone, err := ir.Parse("alone", strings.NewReplacer("  axis h : grid scalar H\n", "", "%1 = start h : i32", "%1 = const 0 : i32").Replace(fmt.Sprintf(loopUpTo, "", 3, 5)))
	require.NoError(t, err)
	require.Nil(t, Lengthening(alone), "there are no other blocks")
}
