package plan_test

import (
	"testing"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

const permute = `kernel @permute {
  dim A = ?
  dim B = ?
  dim C = ?
  dim D = ?
  tensor %x : in f32[A, B, C, D]
  tensor %y : out f32[D, A, C, B]
  axis a : grid A by ?
  axis b : grid B by ?
  axis c : grid C by ?
  axis d : grid D by ?
body:
  %0 = index a : i32{a}
  %1 = index b : i32{b}
  %2 = index c : i32{c}
  %3 = index d : i32{d}
  %4 = load %x[%0, %1, %2, %3] : f32{a, b, c, d}
  store %y[%3, %0, %2, %1] = %4
}`

func BenchmarkChoose(b *testing.B) {
	f, err := ir.Parse("permute", permute)
	if err != nil {
		b.Fatal(err)
	}
	for name, k := range map[string]*ir.Func{"permute": f, "linear": kernel(b, "linear_gelu"), "attention": kernel(b, "attention")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := plan.Choose(k, on(b, "sm_90a"), nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
