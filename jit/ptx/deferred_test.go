package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// rowLoop adds up, or finds the greatest of, the elements of rows, in steps.
const rowLoop = `kernel @k {
  dim M = ?
  dim N = ?
  tensor %%x : in %[1]s[M, N] align 16
  tensor %%y : out f32[M] align 16
  axis i : grid M by BM = ?
  axis j : loop N by BN = ?
body:
  %%0 = index i : i32{i}
  %%1 = const 0 : i32
  %%2 = size N : i32
  %%3 = const %[2]s : f32
  %%4 = full %%3 : f32{i}
  %%14 = const 0.5 : f32
  %%5 = for j from %%1 to %%2 with (%%6 = %%4) pos %%7 : (f32{i}) {
    %%8 = index j : i32{j}
    %%9 = load %%x[%%0, %%8] : %[1]s{i, j}
    %%10 = cast %%9 : f32{i, j}
    %%11 = %[3]s %%10 over j : f32{i}
    %%12 = %[4]s : f32{i}
    %%13 = %[5]s : f32{i}
    yield %%13
  }
  store %%y[%%0] = %%5
}
`

// What a loop adds up is joined behind it: its steps exchange nothing between lanes or warps.
func TestDeferredReductions(t *testing.T) {
	for _, c := range []struct {
		name, dtype, start, reduce, before, join string
		deferred                                 bool
	}{
		{"a sum", "f32", "0.0", "sum", "exp %11", "add %6, %11", true},
		{"a rescaled sum", "f32", "0.0", "sum", "mul %6, %14", "add %12, %11", true},
		{"a maximum", "bf16", "-2.0", "reduce_max", "exp %11", "max %6, %11", true},
		{"a minimum", "f32", "inf", "reduce_min", "exp %11", "min %11, %6", true},
		{"a sum that begins with more", "f32", "1.5", "sum", "exp %11", "add %6, %11", false},
		{"a sum that the step needs", "f32", "0.0", "sum", "mul %11, %11", "add %6, %12", false},
		{"a difference", "f32", "0.0", "sum", "exp %11", "sub %6, %11", false},
	} {
		text := fmt.Sprintf(rowLoop, c.dtype, c.start, c.reduce, c.before, c.join)
		if !strings.Contains(c.join, "%12") { // the operation before is none of the chain
			text = strings.Replace(text, "    %12 = "+c.before+" : f32{i}\n", "", 1)
		}
		for _, p := range []plan.Plan{
			{Extents: map[string]int64{"i": 2, "j": 256}, Warps: 4, Stages: 1}, // warps share a row
			{Extents: map[string]int64{"i": 8, "j": 64}, Warps: 4, Stages: 1},
		} {
			for _, n := range []int64{0, 1, 256, 700} {
				t.Run(fmt.Sprint(c.name, p, n), func(t *testing.T) {
					differ(t, parse(t, text), p, map[string]int64{"M": 5, "N": n}, 1e-5, 1)
				})
			}
			exchanges := func(form int64) bool {
				p.Forms = map[string]int64{"deferred": form}
				for _, body := range loopsOf(compile(t, parse(t, text), &p, "sm_90a").Text) {
					if strings.Contains(body, "shfl") || strings.Contains(body, "bar.sync") {
						return true
					}
				}
				return false
			}
			require.True(t, exchanges(1), c.name)
			require.Equal(t, !c.deferred, exchanges(2), "%s, %s", c.name, p)
		}
	}
}
