package ptx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// transposition stores columns of what it loads as rows.
const transposition = `kernel @transpose {
  dim M = 128
  dim N = 192
  tensor %%x : in %[1]s[M, N] align 16
  tensor %%y : out %[1]s[N, M] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : %[1]s{i, j}
  store %%y[%%1, %%0] = %%2
}
`

// sumOfBoth adds up a matrix and the transposed one of another.
const sumOfBoth = `kernel @both {
  dim M = 128
  dim N = 192
  tensor %%x : in %[1]s[M, N] align 16
  tensor %%w : in %[1]s[N, M] align 16
  tensor %%y : out %[1]s[M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : %[1]s{i, j}
  %%3 = load %%w[%%1, %%0] : %[1]s{i, j}
  %%4 = add %%2, %%3 : %[1]s{i, j}
  store %%y[%%0, %%1] = %%4
}
`

// What is loaded along one axis and stored along another goes through shared memory: both accesses move whole sectors, and of a transposition
// no two lanes meet in a bank.
func TestTurnedTilesMoveWholeSectors(t *testing.T) {
	for text, times := range map[string]int64{transposition: 1, sumOfBoth: 2} {
		for _, c := range []struct {
			dtype      string
			rows, cols int64
			warps      int
		}{
			{"f32", 32, 32, 4},
			{"f32", 64, 64, 8},
			{"f32", 128, 32, 4},
			{"f32", 32, 64, 4},
			{"f64", 32, 32, 4},
			{"bf16", 64, 64, 4},
			{"bf16", 128, 64, 8},
			{"i8", 64, 64, 4},
			{"i8", 128, 64, 8},
		} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": c.rows, "j": c.cols}, Warps: c.warps}
				report := differ(t, parse(t, fmt.Sprintf(text, c.dtype)), p, nil, 0, 100)
				through := false
				for _, a := range report.Accesses {
					if a.Space == "shared" {
						through = true
						require.LessOrEqual(t, a.Wavefronts, times*a.Ideal, "%s: conflicts of banks", a.Instruction)
						continue
					}
					require.Equal(t, a.Ideal, a.Sectors, a.Instruction)
				}
				require.True(t, through, "a tile that goes through shared memory")
			})
		}
	}
}

// Tiles that are not whole, and those whose rows are shorter than a sector, give what the CPU gives.
func TestTurnedTilesOfAnyExtent(t *testing.T) {
	for _, dtype := range []string{"f32", "bf16", "i8", "f4e2m1"} {
		for _, tile := range [][2]int64{{24, 40}, {16, 64}, {64, 16}, {8, 8}, {4, 128}, {96, 32}} {
			t.Run(fmt.Sprint(dtype, tile), func(t *testing.T) {
				p := plan.Plan{Extents: map[string]int64{"i": tile[0], "j": tile[1]}, Warps: 4}
				differ(t, parse(t, fmt.Sprintf(transposition, dtype)), p, nil, 0, 100)
			})
		}
	}
}
