package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// The sums of the rows of x from first[v] to first[v + 1].
const segments = `kernel @segments {
  dim R = ?
  dim C = ?
  dim V1 = ?
  dim V = ?
  tensor %x : in f32[R, C] align 16
  tensor %first : in i32[V1] align 16
  tensor %y : out f32[V, C] align 16
  axis v : grid scalar V
  axis c : grid C by BC = ?
  axis r : loop R by BR = ?
body:
  %0 = start v : i32
  %1 = load %first[%0] : i32
  %3 = const 1 : i32
  %4 = add %0, %3 : i32
  %5 = load %first[%4] : i32
  %7 = index c : i32{c}
  %12 = const 0 : f32
  %13 = full %12 : f32{c}
  %21 = for r from %1 to %5 with (%15 = %13) pos %14 : (f32{c}) {
    %16 = index r : i32{r}
    %18 = load %x[%16, %7] : f32{r, c}
    %19 = sum %18 over r : f32{c}
    %20 = add %15, %19 : f32{c}
    yield %20
  }
  store %y[%0, %7] = %21
}
`

// Steps are as long as a range is on average, and go along whole lines of memory.
func TestStepsOfRanges(t *testing.T) {
	for _, c := range []struct {
		rows, columns, each int64
		most                float64 // microseconds predicted
	}{{65536, 128, 16, 15}, {1 << 20, 64, 64, 80}, {8192, 1024, 4, 15}} {
		f, err := ir.Parse("ranges", segments)
		require.NoError(t, err)
		n := c.rows / c.each
		size := sizes(map[string]int64{"R": c.rows, "C": c.columns, "V1": n + 1, "V": n})
		m := on(t, "sm_90a")
		p, err := plan.Choose(f, m, size, nil)
		require.NoError(t, err)
		assert.LessOrEqual(t, p.Extents["r"], max(2*c.each, 16), p)
		assert.GreaterOrEqual(t, p.Extents["c"], int64(32), p)
		assert.Less(t, p.Time, c.most*1e-6, p)
		assert.Equal(t, 4*(c.rows*c.columns+n*c.columns+n+1), plan.WorkOf(f, m, size, p).Bytes, "the ranges make up the rows together")
	}
}
