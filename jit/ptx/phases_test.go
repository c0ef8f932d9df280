package ptx

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// maskedProduct multiplies what lies on one side of a diagonal, which a scalar moves.
const maskedProduct = `kernel @k {
  dim M = ?
  dim P = ?
  dim E = 64
  tensor %%a : in bf16[M, P] align 16
  tensor %%b : in bf16[P, E] align 16
  tensor %%y : out f32[M, E] align 16
  scalar %%0 shift : i32
  axis i : grid M by BM = ?
  axis e : whole E[0 .. 64]
  axis j : loop P by BN = ?
body:
  %%1 = index i : i32{i}
  %%2 = index e : i32{e}
  %%3 = const 0 : i32
  %%4 = size P : i32
  %%5 = const 0.0 : f32
  %%6 = full %%5 : f32{i, e}
  %%7 = add %%0, %%1 : i32{i}
  %%8 = for j from %%3 to %%4 with (%%9 = %%6) pos %%10 : (f32{i, e}) {
    %%11 = index j : i32{j}
    %%12 = load %%a[%%1, %%11] : bf16{i, j}
    %%13 = cast %%12 : f32{i, j}
    %%14 = %s : bool{i, j}
    %%15 = where %%14, %%13, %%5 : f32{i, j}
    %%16 = cast %%15 : bf16{i, j}
    %%17 = load %%b[%%11, %%2] : bf16{j, e}
    %%18 = mma %%16, %%17, %%9 over j : f32{i, e}
    yield %%18
  }
  store %%y[%%1, %%2] = %%8
}
`

// The steps before the diagonal have code without the mask, wherever the diagonal is: also where what limits it wraps around.
func TestPhases(t *testing.T) {
	p := plan.Plan{Extents: map[string]int64{"i": 32, "j": 32}, Warps: 4, Stages: 2}
	for _, comparison := range []string{"le %11, %7", "lt %11, %7", "ge %7, %11", "gt %7, %11"} {
		text := fmt.Sprintf(maskedProduct, comparison)
		for _, shift := range []int32{0, -40, 31, 32, 33, 100, math.MaxInt32, math.MaxInt32 - 40, math.MaxInt32 - 63, math.MinInt32, math.MinInt32 + 1} {
			t.Run(fmt.Sprint(comparison, " moved by ", shift), func(t *testing.T) {
				differ(t, parse(t, text), p, map[string]int64{"M": 70, "P": 150}, 1e-5, 100, uint64(uint32(shift)))
			})
		}
	}
	choices := regexp.MustCompile(`selp\.f32`)
	loops := func(form int64) (masked, plain int) {
		p.Forms = map[string]int64{"phases": form}
		for _, body := range loopsOf(compile(t, parse(t, fmt.Sprintf(maskedProduct, "le %11, %7")), &p, "sm_90a").Text) {
			switch {
			case !strings.Contains(body, "mma"):
			case choices.MatchString(body):
				masked++
			default:
				plain++
			}
		}
		return masked, plain
	}
	masked, plain := loops(1)
	require.Equal(t, []int{1, 0}, []int{masked, plain})
	masked, plain = loops(2)
	require.Equal(t, []int{1, 1}, []int{masked, plain})
}
