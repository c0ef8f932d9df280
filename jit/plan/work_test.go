package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
)

// The work of a launch is what its program says, whatever its blocks are.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		name, kernel string
		flop, bytes  int64
		// time is in seconds on sm_90a, of what takes the longest.
		time func(m target.Machine) float64
	}{
		{"a product of bf16 with a bias, the grid ragged", `kernel @k {
  dim M = 1000
  dim K = 4096
  dim N = 3000
  tensor %x : in bf16[M, K]
  tensor %w : in bf16[K, N]
  tensor %b : in f32[N]
  tensor %y : out f32[M, N]
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 4096] by BK
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : bf16{i, k}
  %4 = load %w[%2, %1] : bf16{k, j}
  %5 = dot %3, %4 over k : f32{i, j}
  %6 = load %b[%1] : f32{j}
  %7 = add %5, %6 : f32{i, j}
  store %y[%0, %1] = %7
}
`, 2*1000*4096*3000 + 1000*3000, 2*(1000*4096+4096*3000) + 4*(3000+1000*3000), func(m target.Machine) float64 { return 2 * 1000 * 4096 * 3000 / m.Tensor16 }},
		{"a product in groups of rows, each of which is of one group", `kernel @k {
  dim M = 1000
  dim K = 4096
  dim N = 3000
  dim E = 8
  tensor %x : in bf16[M, K]
  tensor %w : in bf16[E, K, N]
  tensor %ends : in i32[E]
  tensor %y : out f32[M, N]
  axis e : grid scalar E
  axis i : grid M by BM = ? over ranges of e from ? to %ends[0]
  axis j : grid N by BN = ?
  axis k : whole K[0 .. 4096] by BK
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : bf16{i, k}
  %8 = start e : i32
  %4 = load %w[%8, %2, %1] : bf16{k, j}
  %5 = dot %3, %4 over k : f32{i, j}
  store %y[%0, %1] = %5
}
`, 2 * 1000 * 4096 * 3000, 2*(1000*4096+8*4096*3000) + 4*1000*3000, func(m target.Machine) float64 {
			return (2*(1000*4096+8*4096*3000) + 4*1000*3000) / m.DRAM
		}},
		{"a few rows of a table, whose other rows are not read", `kernel @k {
  dim V = 50000
  dim C = 768
  dim S = 6
  tensor %t : in f32[V, C]
  tensor %ids : in i32[S]
  tensor %y : out f32[S, C]
  axis s : grid S by BS = ?
  axis c : grid C by BC = ?
body:
  %0 = index s : i32{s}
  %1 = index c : i32{c}
  %2 = load %ids[%0] : i32{s}
  %3 = load %t[%2, %1] : f32{s, c}
  store %y[%0, %1] = %3
}
`, 0, 4*6*768*2 + 4*6, func(m target.Machine) float64 { return (4*6*768*2 + 4*6) / m.DRAM }},
		{"sums of a row that every block computes for itself, and a part of a row that is stored", `kernel @k {
  dim N = 4096
  dim M = 64
  tensor %x : in f32[N]
  tensor %y : inout f32[M]
  axis m : grid M by BM = ?
  axis n : whole N[0 .. 4096] by BN
body:
  %0 = index n : i32{n}
  %1 = load %x[%0] : f32{n}
  %2 = mul %1, %1 : f32{n}
  %3 = sum %2 over n : f32
  %4 = index m : i32{m}
  %5 = load %y[%4] : f32{m}
  %6 = exp %5 : f32{m}
  %7 = mul %6, %3 : f32{m}
  store %y[%4] = %7
}
`, 2*4096 + 2*64, 4 * (4096 + 2*64), func(m target.Machine) float64 { return 4 * (4096 + 2*64) / m.DRAM }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := ir.Parse("work", c.kernel)
			require.NoError(t, err)
			m, err := target.Find("sm_90a")
			require.NoError(t, err)
			sizes := func(d *ir.Dim) int64 { return d.Value }
			for _, pins := range []map[string]int64{nil, {"BM": 32}} {
				if f.Axis("s") != nil {
					pins = nil
				}
				p, err := plan.Choose(f, m, sizes, pins)
				require.NoError(t, err)
				w := plan.WorkOf(f, m, sizes, p)
				assert.Equal(t, c.flop, w.FLOP, p)
				assert.Equal(t, c.bytes, w.Bytes, p)
				assert.InEpsilon(t, c.time(m), w.Time, 1e-12, p)
			}
		})
	}
}

// A loop that ends with the block, as causal attention's, takes the steps that it takes.
func TestWorkOfLoopThatEndsEarly(t *testing.T) {
	f, err := ir.Parse("work", `kernel @k {
  dim N = 4096
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by B = ?
  axis k : loop N by B = ?
body:
  %0 = index i : i32{i}
  %1 = end i : i32
  %2 = const 0 : i32
  %13 = const 0 : f32
  %3 = full %13 : f32{i}
  %4 = for k from %2 to %1 with (%5 = %3) pos %6 : (f32{i}) {
    %7 = index k : i32{k}
    %8 = load %x[%7] : f32{k}
    %9 = load %x[%0] : f32{i}
    %10 = mul %8, %9 : f32{i, k}
    %11 = sum %10 over k : f32{i}
    %12 = add %5, %11 : f32{i}
    yield %12
  }
  store %y[%0] = %4
}
`)
	require.NoError(t, err)
	m, err := target.Find("sm_90a")
	require.NoError(t, err)
	sizes := func(d *ir.Dim) int64 { return d.Value }
	p, err := plan.Choose(f, m, sizes, map[string]int64{"B": 64})
	require.NoError(t, err)
	w := plan.WorkOf(f, m, sizes, p)
	const n, b = 4096, 64
	blocks := int64(n / b)
	steps := blocks * (blocks + 1) / 2
	assert.InEpsilon(t, steps*(2*b*b+b), w.FLOP, 0.02)
	assert.Equal(t, int64(2*4*n), w.Bytes)
}
