package ptx

import (
	"testing"

	"tilec/jit/plan"
)

// The tests of this file notice faults that bench/mutate put into this package and nothing else saw.

// What a thread writes, another has read before, or reads after: both need a barrier between.
func TestBlockReadsAndWritesOneTensor(t *testing.T) {
	p := plan.Plan{Extents: map[string]int64{"i": 2}, Warps: 4}
	for name, body := range map[string]string{
		"read, then write": `
  %7 = load %x[%0, ?%5] else %6 : f32{i, j}
  store %x[%0, %1] = %7`,
		"write, then read": `
  %7 = cast %1 : f32{j}
  store %x[%0, %1] = %7
  %8 = load %x[%0, ?%5] else %6 : f32{i, j}
  store %y[%0, %1] = %8`,
	} {
		t.Run(name, func(t *testing.T) {
			differ(t, parse(t, `kernel @mirror {
  dim M = ?
  dim N = 200
  tensor %x : inout f32[M, N] align 16
  tensor %y : out f32[M, N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 200]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %4 = const 199 : i32
  %5 = sub %4, %1 : i32{j}
  %6 = const 0 : f32`+body+`
}`), p, map[string]int64{"M": 3}, 0, 10)
		})
	}
}
