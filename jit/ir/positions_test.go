package ir

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

// The bounds of a loop tell how many positions it has at most, where they follow from one another.
func TestMostPositions(t *testing.T) {
	for _, c := range []struct {
		bounds string
		most   int64
		known  bool
	}{
		{"from %0 to %3", 1000, true},
		{"from %3 to %0", 0, false}, // what a dimension of any size is below is not said
		{"from %4 to %5", 128, true},
		{"from %6 to %5", 128, true},
		{"from %6 to %7", 128, true},
		{"from %4 to %7", 128, true},
		{"from %0 to %7", 1000, true},
		{"from %4 to %3", 0, false},
		{"from %0 to %5", 0, false},
	} {
		f, err := Parse("loop", `
kernel @loop {
  dim C = ?
  dim N = 1000
  tensor %x : in f32[N] align 16
  tensor %y : out f32[C] align 16
  axis c : grid scalar C
  axis j : loop N by BN = ?
body:
  %0 zero = const 0 : i32
  %1 = const 128 : i32
  %2 = start c : i32
  %3 n = size N : i32
  %4 begin = mul %2, %1 : i32
  %5 end = add %1, %4 : i32
  %6 floor = max %4, %0 : i32
  %7 least = min %3, %5 : i32
  %8 = const 0 : f32
  %9 = for j `+c.bounds+` with (%10 = %8) pos %11 : (f32) {
    %12 = index j : i32{j}
    %13 = load %x[%12] : f32{j}
    %14 = sum %13 over j : f32
    %15 = add %10, %14 : f32
    yield %15
  }
  store %y[%2] = %9
}
`)
		require.NoError(t, err, c.bounds)
		f.Walk(func(op *Op) bool {
			if op.Code == lang.OpFor {
				most, known := op.MostPositions()
				assert.Equal(t, c.known, known, c.bounds)
				if known {
					assert.Equal(t, c.most, most, c.bounds)
				}
			}
			return true
		})
	}
}
