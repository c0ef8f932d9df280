package ptx

import (
	"strings"
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

// corners are kernels that take one rule of addresses, vectors or reductions to its edge.
var corners = []struct {
	name, text string
	plan       plan.Plan
	sizes      map[string]int64
}{
	{"a stride known in part at launch", `kernel @k {
  dim A = ?
  dim M = ?
  dim P = 3
  dim Q = 4
  tensor %x : in f32[A, M, P, Q] align 16
  tensor %y : out f32[A, M] align 16
  axis a : grid A by BA = ?
  axis i : grid M by BM = ?
body:
  %0 = index a : i32{a}
  %1 = index i : i32{i}
  %2 = const 2 : i32
  %3 = load %x[%0, %1, %2, %2] : f32{a, i}
  store %y[%0, %1] = %3
}`, plan.Plan{Extents: map[string]int64{"a": 2, "i": 8}, Warps: 1}, map[string]int64{"A": 3, "M": 5}},
	{"a diagonal", `kernel @k {
  dim N = 64
  tensor %x : in f32[N, N] align 16
  tensor %y : out f32[N] align 16
  axis i : grid N by BN = ?
body:
  %0 = index i : i32{i}
  %1 = load %x[%0, %0] : f32{i}
  store %y[%0] = %1
}`, plan.Plan{Extents: map[string]int64{"i": 64}, Warps: 1}, nil},
	{"an index moved by a scalar that divides nothing", `kernel @k {
  dim M = ?
  dim N = 512
  tensor %x : in f32[M, N] align 16
  tensor %s : in i32[M] align 16
  tensor %y : out f32[M, N] align 16
  axis m : grid scalar M
  axis i : whole N[0 .. 512]
body:
  %0 = start m : i32
  %1 = load %s[%0] : i32
  %2 = index i : i32{i}
  %3 = add %2, %1 : i32{i}
  %4 = const 0 : f32
  %5 = load %x[%0, ?%3] else %4 : f32{i}
  %6 = const 1 : i32
  %7 = add %1, %6 : i32
  %8 = sub %3, %1 : i32{i}
  store %y[%0, %8] = %5
}`, plan.Plan{Extents: map[string]int64{}, Warps: 1}, map[string]int64{"M": 3}},
	{"an argmax of the least values, from a later position", `kernel @k {
  dim M = ?
  dim N = 50
  tensor %x : in i32[M, N] align 16
  tensor %y : out i32[M] align 16
  axis i : grid M by BM = ?
  axis j : whole N[7 .. 48]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : i32{i, j}
  %3 = const -2147483648 : i32
  %4 = min %2, %3 : i32{i, j}
  %5 = argmax %4 over j : i32{i}
  store %y[%0] = %5
}`, plan.Plan{Extents: map[string]int64{"i": 2}, Warps: 2}, map[string]int64{"M": 3}},
	{"a maximum over two axes that warps divide", `kernel @k {
  dim M = 16
  dim N = 64
  tensor %x : in i32[M, N] align 16
  tensor %y : out i32[] align 16
  axis i : whole M[0 .. 16]
  axis j : whole N[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : i32{i, j}
  %3 = reduce_max %2 over i, j : i32
  store %y[] = %3
}`, plan.Plan{Extents: map[string]int64{}, Warps: 32}, nil},
	{"a loop that starts between two vectors", `kernel @k {
  dim N = 512
  tensor %x : in f32[N] align 16
  tensor %y : out f32[N] align 16
  axis i : loop N by 256
body:
  %0 = const 3 : i32
  %1 = const 512 : i32
  for i from %0 to %1 pos %2 {
    %3 = index i : i32{i}
    %4 = load %x[%3] : f32{i}
    store %y[%3] = %4
  }
}`, plan.Plan{Extents: map[string]int64{"i": 256}, Warps: 1}, nil},
	{"a loop that ends between two vectors", `kernel @k {
  dim N = 512
  tensor %x : in f32[N] align 16
  tensor %y : out f32[N] align 16
  axis i : loop N by 256
body:
  %0 = const 0 : i32
  %1 = const 301 : i32
  for i from %0 to %1 pos %2 {
    %3 = index i : i32{i}
    %4 = load %x[%3] : f32{i}
    store %y[%3] = %4
  }
}`, plan.Plan{Extents: map[string]int64{"i": 256}, Warps: 1}, nil},
	{"bounds that are sums", `kernel @k {
  dim M = ?
  dim N = 512
  tensor %x : in f32[N] align 16
  tensor %y : out f32[M, N] align 16
  axis m : grid scalar M
  axis i : loop N by 256
body:
  %0 = start m : i32
  %1 = const 256 : i32
  %2 = const 3 : i32
  %3 = add %1, %2 : i32
  for i from %2 to %3 pos %4 {
    %5 = index i : i32{i}
    %6 = load %x[%5] : f32{i}
    store %y[%0, %5] = %6
  }
}`, plan.Plan{Extents: map[string]int64{"i": 256}, Warps: 1}, map[string]int64{"M": 2}},
}

func TestCorners(t *testing.T) {
	for _, c := range corners {
		t.Run(c.name, func(t *testing.T) { differ(t, parse(t, c.text), c.plan, c.sizes, 0, 10) })
	}
}

// An accumulator narrower than what the products are summed in rounds at every step.
func TestNarrowAccumulatorRoundsEachStep(t *testing.T) {
	text := `kernel @k {
  dim M = 16
  dim N = 16
  dim K = 64
  tensor %a : in f16[M, K] align 16
  tensor %y : out f16[M, N] align 16
  axis i : grid M by 16
  axis j : grid N by 16
  axis k : loop K by 16
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = const 64 : i32
  %4 = const 2048 : f16
  %5 = full %4 : f16{i, j}
  %6 = const 0.0625 : f16
  %7 = for k from %2 to %3 with (%8 = %5) pos %9 : (f16{i, j}) {
    %10 = index k : i32{k}
    %11 = load %a[%0, %10] : f16{i, k}
    %12 = mul %11, %2c : f16{i, k}
    %13 = add %12, %6 : f16{i, k}
    %14 = full %4c : f16{k, j}
    %15 = mma %13, %14, %8 over k : f16{i, j}
    yield %15
  }
  store %y[%0, %1] = %7
}`
	text = strings.NewReplacer("%2c", "%20", "%4c", "%21", "  %7 = for", "  %20 = const 0 : f16\n  %21 = const 1 : f16\n  %7 = for").Replace(text)
	differ(t, parse(t, text), plan.Plan{Extents: map[string]int64{"i": 16, "j": 16, "k": 16}, Warps: 1}, nil, 0, 10)
}
