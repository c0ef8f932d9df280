package ptx

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/plan"
)

// lastStepText adds up, over rows in a loop, what comes of two tensors, of which the second is loaded behind a reduction.
const lastStepText = `kernel @f {
  dim M = ?
  dim N = 64
  tensor %x : in f32[M, N] align 16
  tensor %z : in f32[M, N] align 16
  tensor %y : out f32[N] align 16
  axis n : whole N[0 .. 64]
  axis m : loop M by BM = ?
body:
  %0 = index n : i32{n}
  %1 = const 0 : i32
  %2 = size M : i32
  %3 = const 0 : f32
  %4 = full %3 : f32{n}
  %5 = for m from %1 to %2 with (%6 = %4) pos %7 : (f32{n}) {
    %8 = index m : i32{m}
    %9 = load %x[%8, %0] : f32{m, n}
    %10 = reduce_max %9 over m, n : f32
    %11 = load %z[%8, %0] : f32{m, n}
    %12 = mul %10, %11 : f32{m, n}
    %13 = sum %12 over m : f32{n}
    %14 = add %6, %13 : f32{n}
    yield %14
  }
  store %y[%0] = %5
}
`

// The loads of a loop's last step, of which some positions do not exist, go out together as those of the other steps do: no load has a
// predicate, and those whose addresses are known stand before the first barrier.
func TestLoadsOfTheLastStep(t *testing.T) {
	p := plan.Plan{Extents: map[string]int64{"m": 64}, Warps: 4, Stages: 1}
	f := parse(t, lastStepText)
	text := compile(t, f, &p, "sm_90a").Text
	require.NotRegexp(t, regexp.MustCompile(`@%p\d+ +ld\.global`), text)
	order := regexp.MustCompile(`= load [xz]|bar\.sync`).FindAllString(text, -1)
	for i, what := range order {
		if what == "= load x" {
			require.Positive(t, i, "z is loaded behind x")
			require.Equal(t, "= load z", order[i-1], "z is loaded behind what x is reduced by")
		}
	}
	require.Equal(t, 2, strings.Count(text, "= load z"))
	require.NotContains(t, text, "mul.f32", "what is added up is multiplied in the same instruction")
	require.Regexp(t, regexp.MustCompile(`@%p\d+ +fma\.rn\.f32`), text, "what does not exist is left out by the instruction")
	requireAssembles(t, text, "sm_90a")
	for _, rows := range []int64{1, 63, 64, 65, 100, 192} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			differ(t, parse(t, lastStepText), p, map[string]int64{"M": rows}, 1e-5, 1)
		})
	}
}
