package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

func parse(t testing.TB, text string) *ir.Func {
	t.Helper()
	f, err := ir.Parse("test", text)
	require.NoError(t, err)
	return f
}

// product is c = a b over k, in steps of a loop; transposed says how b is stored.
func productText(d, acc, precision string, transposed bool) string {
	b, index := "K, N", "%8, %1"
	if transposed {
		b, index = "N, K", "%1, %8"
	}
	return fmt.Sprintf(`kernel @product {
  dim M = ?
  dim K = ?
  dim N = ?
  tensor %%a : in %[1]s[M, K] align 16
  tensor %%b : in %[1]s[%[3]s] align 16
  tensor %%c : out %[2]s[M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis k : loop K by BK = ?
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = const 0 : i32
  %%3 = size K : i32
  %%4 = const 0 : %[2]s
  %%5 = full %%4 : %[2]s{i, j}
  %%12 = for k from %%2 to %%3 with (%%6 = %%5) pos %%7 : (%[2]s{i, j}) {
    %%8 = index k : i32{k}
    %%9 = load %%a[%%0, %%8] : %[1]s{i, k}
    %%10 = load %%b[%[4]s] : %[1]s{%[6]s}
    %%11 = mma %%9, %%10, %%6 over k%[5]s : %[2]s{i, j}
    yield %%11
  }
  store %%c[%%0, %%1] = %%12
}
`, d, acc, b, index, precision, map[bool]string{false: "k, j", true: "j, k"}[transposed])
}

func TestProducts(t *testing.T) {
	for _, c := range []struct {
		d, acc, precision string
		tolerance         float64
	}{
		{"bf16", "f32", "", 1e-4},
		{"f16", "f32", "", 1e-4},
		{"f32", "f32", "", 1e-2},
		{"f32", "f32", " precision tf32x3", 1e-5},
		{"f32", "f32", " precision ieee", 1e-5},
		{"f64", "f64", "", 1e-12},
		{"i32", "i32", "", 0},
		{"i64", "i64", "", 0},
		{"i8", "i32", "", 0},
		{"u8", "i32", "", 0},
		{"f8e4m3", "f32", "", 1e-4},
		{"f8e5m2", "f32", "", 1e-4},
	} {
		for _, transposed := range []bool{false, true} {
			for _, s := range []struct {
				m, n, k int64
				tile    [3]int64
				warps   int
			}{
				{33, 40, 48, [3]int64{32, 32, 32}, 4},
				{17, 19, 23, [3]int64{16, 24, 16}, 2},
				{5, 50, 70, [3]int64{1, 64, 32}, 4},
				{70, 9, 10, [3]int64{48, 5, 7}, 1},
			} {
				name := fmt.Sprintf("%s%s/transposed=%v/%dx%dx%d", c.d, c.precision, transposed, s.m, s.n, s.k)
				t.Run(name, func(t *testing.T) {
					p := plan.Plan{Extents: map[string]int64{"i": s.tile[0], "j": s.tile[1], "k": s.tile[2]}, Warps: s.warps, Stages: 2}
					f := parse(t, productText(c.d, c.acc, c.precision, transposed))
					if s.n%8 == 0 && s.k%8 == 0 {
						aligned(f) // so that loads may run ahead
					}
					differ(t, f, p, map[string]int64{"M": s.m, "N": s.n, "K": s.k}, c.tolerance, 100)
				})
			}
		}
	}
}

// Doubles take tensor cores where those are faster than the others, in the shapes that a target has.
func TestProductsOfDoubles(t *testing.T) {
	p := plan.Plan{Extents: map[string]int64{"i": 32, "j": 64, "k": 16}, Warps: 4, Stages: 2}
	for target, name := range map[string]string{
		"sm_80":  "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
		"sm_89":  "fma.rn.f64",
		"sm_90a": "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64",
	} {
		text := compile(t, parse(t, productText("f64", "f64", "", false)), &p, target).Text
		require.Contains(t, text, name)
		require.Equal(t, target != "sm_89", strings.Contains(text, "mma.sync"))
		requireAssembles(t, text, target)
	}
}

// features are small kernels, each for one thing, over x[M, N] and y[M, N] in a
// grid over rows; DTYPE and N vary.
var features = []struct {
	name, body string
	dtypes     string
	out        string // type of y, that of x when empty
}{
	{"reduce over rows", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = reduce_max %2 over j : T{i}
  %4 = reduce_min %2 over j : T{i}
  %5 = sub %3, %4 : T{i}
  %6 = add %2, %5 : T{i, j}
  store %y[%0, %1] = %6`, "f16 bf16 f32 f64 i8 u8 i16 i32 u32 i64 u64", ""},
	{"reduce over columns", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = reduce_max %2 over i : T{j}
  %4 = sub %2, %3 : T{i, j}
  store %y[%0, %1] = %4`, "f32 i32 f64", ""},
	{"reduce to a scalar", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = reduce_max %2 over i, j : T
  %4 = sub %2, %3 : T{i, j}
  store %y[%0, %1] = %4`, "f32 i32 f16", ""},
	{"argmax", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = argmax %2 over j : i32{i}
  %4 = argmin %2 over j : i32{i}
  %5 = sub %3, %4 : i32{i}
  store %y[%0, %1] = %5`, "f32 i32 f64 u8 f16", "i32"},
	{"sum and mean", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = mean %2 over j : f32{i}
  %4 = sum %2 over j : f32{i}
  %5 = add %3, %4 : f32{i}
  store %y[%0, %1] = %5`, "f16 bf16 f32", "f32"},
	{"any and all", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = any %2 over j : bool{i}
  %4 = all %2 over j : bool{i}
  %5 = logic_and %3, %2 : bool{i, j}
  %6 = logic_or %4, %5 : bool{i, j}
  store %y[%0, %1] = %6`, "bool", ""},
	{"prod", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = prod %2 over j : T{i}
  store %y[%0, %1] = %3`, "i32 i64", ""},
	{"shift", `
  %2 = const 1 : i32
  %3 = add %1, %2 : i32{j}
  %4 = const 3 : T
  %5 = load %x[%0, ?%3] else %4 : T{i, j}
  store %y[%0, %1] = %5`, "f32 bf16 i8", ""},
	{"gather and scatter", `
  %2 = size N : i32
  %3 = const 1 : i32
  %4 = sub %2, %3 : i32
  %5 = sub %4, %1 : i32{j}
  %6 = const 7 : T
  %7 = mul %5, %5 : i32{j}
  %8 = load %x[%0, ?%7] else %6 : T{i, j}
  store %y[%0, ?%5] = %8`, "f32 bf16 i8 f64", ""},
	{"two layouts", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = sum %2 over i : f32{j}
  %4 = sum %2 over j : f32{i}
  %5 = mul %3, %4 : f32{i, j}
  %6 = sum %5 over i, j : f32
  %7 = add %5, %6 : f32{i, j}
  store %y[%0, %1] = %7`, "f32 bf16", "f32"},
	{"scalar loop", `
  %2 = const 0 : i32
  %3 = const 5 : i32
  %4 = load %x[%0, %1] : T{i, j}
  %5 = const 1 : T
  %9, %14 = for from %2 to %3 with (%6 = %4, %7 = %5) pos %8 : (T{i, j}, T) {
    %10 = add %6, %7 : T{i, j}
    %11 = cast %8 : T
    %12 = add %7, %11 : T
    yield %10, %12
  }
  %13 = add %9, %14 : T{i, j}
  store %y[%0, %1] = %13`, "f32 i32", ""},
	{"swapping loop", `
  %2 = const 0 : i32
  %3 = const 3 : i32
  %4 = load %x[%0, %1] : T{i, j}
  %5 = neg %4 : T{i, j}
  %9, %10 = for from %2 to %3 with (%6 = %4, %7 = %5) pos %8 : (T{i, j}, T{i, j}) {
    yield %7, %6
  }
  store %y[%0, %1] = %9`, "f32", ""},
	{"branch", `
  %2 = start i : i32
  %3 = const 4 : i32
  %4 = lt %2, %3 : bool
  %5 = load %x[%0, %1] : T{i, j}
  %6 = if %4 : (T{i, j}) {
    %7 = neg %5 : T{i, j}
    yield %7
  } else {
    %8 = sum %5 over j : T{i}
    %9 = add %5, %8 : T{i, j}
    yield %9
  }
  store %y[%0, %1] = %6`, "f32", ""},
	{"nan does not leak into a contraction", `
  %2 = load %x[%0, %1] : T{i, j}
  %4 = div %2, %2 : T{i, j}
  %5 = rename %2 from j to r : T{i, r}
  %6 = dot %4, %5 over i : f32{j, r}
  %7 = sum %6 over r : f32{j}
  store %y[%0, %1] = %7`, "f32 bf16", "f32"},
	{"renamed contraction", `
  %2 = load %x[%0, %1] : T{i, j}
  %4 = rename %2 from j to r : T{i, r}
  %5 = dot %2, %4 over i : f32{j, r}
  %6 = sum %5 over r : f32{j}
  store %y[%0, %1] = %6`, "f32 bf16", "f32"},
	{"contraction of computed values", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = mul %2, %2 : T{i, j}
  %4 = neg %3 : T{i, j}
  %7 = rename %4 from j to r : T{i, r}
  %5 = dot %3, %7 over i : f32{j, r}
  %6 = reduce_max %5 over j : f32{r}
  %8 = sum %6 over r : f32
  store %y[%0, %1] = %8`, "f32 bf16 f16", "f32"},
	{"elements taken in another order", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = reduce_max %2 over j : T{i}
  %4 = sub %2, %3 : T{i, j}
  %5 = index r : i32{r}
  %6 = const 0 : i32
  %7 = sub %6, %5 : i32{r}
  %8 = end r : i32
  %9 = add %8, %7 : i32{r}
  %10 = const 1 : i32
  %11 = sub %9, %10 : i32{r}
  %12 = take %4[j = %11] : T{i, r}
  %13 = rename %12 from r to j : T{i, j}
  %14 = add %13, %4 : T{i, j}
  store %y[%0, %1] = %14`, "f32 f64 bf16 i8 u16 i64", ""},
	{"contraction of what is taken", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = mul %2, %2 : T{i, j}
  %4 = index r : i32{r}
  %7 = take %3[j = %4] : T{i, r}
  %5 = dot %3, %7 over i : f32{j, r}
  %6 = reduce_max %5 over j : f32{r}
  %8 = sum %6 over r : f32
  store %y[%0, %1] = %8`, "f32 bf16 f16", "f32"},
	{"contraction of a contraction", `
  %2 = load %x[%0, %1] : T{i, j}
  %3 = rename %2 from j to r : T{i, r}
  %4 = dot %2, %3 over i : f32{j, r}
  %6 = sin %4 : f32{j, r}
  %7 = cast %6 : T{j, r}
  %8 = dot %7, %3 over r : f32{i, j}
  store %y[%0, %1] = %8`, "f32 bf16 f16", "f32"},
}

func TestFeatures(t *testing.T) {
	for _, f := range features {
		for _, d := range strings.Fields(f.dtypes) {
			for _, s := range []struct {
				m, n, rows int64
				warps      int
			}{{7, 33, 4, 4}, {3, 128, 2, 4}, {9, 5, 3, 2}, {2, 200, 1, 8}} {
				t.Run(fmt.Sprintf("%s/%s/%dx%d", f.name, d, s.m, s.n), func(t *testing.T) {
					out := f.out
					if out == "" {
						out = d
					}
					body := strings.NewReplacer("T{", d+"{", ": T\n", ": "+d+"\n", "(T{", "("+d+"{", ", T)", ", "+d+")").Replace(f.body + "\n")
					text := fmt.Sprintf(`kernel @feature {
  dim M = ?
  dim N = %d
  tensor %%x : in %s[M, N] align 16
  tensor %%y : out %s[M, N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. %d]
  axis r : whole N[0 .. %d]
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}%s}
`, s.n, d, out, s.n, s.n, body)
					p := plan.Plan{Extents: map[string]int64{"i": s.rows}, Warps: s.warps}
					tolerance := 1e-3
					if d == "f32" && strings.Contains(body, "dot") {
						tolerance = 0.05 // tf32 keeps 11 bits
					}
					differ(t, parse(t, text), p, map[string]int64{"M": s.m}, tolerance, 120)
				})
			}
		}
	}
}

// kernels are whole kernels in the text form.
var kernels = []struct {
	name, text string
	plan       plan.Plan
	sizes      map[string]int64
	tolerance  float64
	limit      int
}{
	{"batched product with two depth axes", `kernel @batched {
  dim H = 3
  dim M = ?
  dim N = ?
  dim P = 5
  dim Q = 24
  tensor %a : in bf16[H, M, P, Q] align 16
  tensor %b : in bf16[H, P, Q, N] align 16
  tensor %c : out f32[H, M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
  axis h : whole H[0 .. 3]
  axis p : whole P[0 .. 5]
  axis q : whole Q[0 .. 24]
body:
  %0 = index h : i32{h}
  %1 = index i : i32{i}
  %2 = index j : i32{j}
  %3 = index p : i32{p}
  %4 = index q : i32{q}
  %5 = load %a[%0, %1, %3, %4] : bf16{h, i, p, q}
  %6 = load %b[%0, %3, %4, %2] : bf16{h, p, q, j}
  %7 = dot %5, %6 over p, q : f32{h, i, j}
  store %c[%0, %1, %2] = %7
}`, plan.Plan{Extents: map[string]int64{"i": 17, "j": 20}, Warps: 4}, map[string]int64{"M": 19, "N": 40}, 1e-4, 0},
	{"product with two row axes", `kernel @rows {
  dim A = 3
  dim B = 10
  dim K = 40
  dim N = ?
  tensor %a : in f16[A, B, K] align 16
  tensor %b : in f16[K, N] align 16
  tensor %c : out f32[A, B, N] align 16
  axis j : grid N by BN = ?
  axis s : whole A[0 .. 3]
  axis t : whole B[2 .. 9]
  axis k : whole K[0 .. 40]
body:
  %0 = index s : i32{s}
  %1 = index t : i32{t}
  %2 = index j : i32{j}
  %3 = index k : i32{k}
  %5 = load %a[%0, %1, %3] : f16{s, t, k}
  %6 = load %b[%3, %2] : f16{k, j}
  %7 = dot %5, %6 over k : f32{s, t, j}
  store %c[%0, %1, %2] = %7
}`, plan.Plan{Extents: map[string]int64{"j": 32}, Warps: 4}, map[string]int64{"N": 40}, 1e-4, 0},
	{"vector times matrix", `kernel @gemv {
  dim K = ?
  dim N = ?
  tensor %a : in bf16[K] align 16
  tensor %b : in bf16[K, N] align 16
  tensor %c : out f32[N] align 16
  axis j : grid N by BN = ?
  axis k : loop K by BK = ?
body:
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = size K : i32
  %4 = const 0 : f32
  %5 = full %4 : f32{j}
  %12 = for k from %2 to %3 with (%6 = %5) pos %7 : (f32{j}) {
    %8 = index k : i32{k}
    %9 = load %a[%8] : bf16{k}
    %10 = load %b[%8, %1] : bf16{k, j}
    %11 = mma %9, %10, %6 over k : f32{j}
    yield %11
  }
  store %c[%1] = %12
}`, plan.Plan{Extents: map[string]int64{"j": 64, "k": 32}, Warps: 4, Stages: 3}, map[string]int64{"K": 77, "N": 100}, 1e-4, 0},
	{"in place, read after write", `kernel @inplace {
  dim M = ?
  dim N = 40
  tensor %x : inout f32[M, N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 40]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = add %2, %2 : f32{i, j}
  store %x[%0, %1] = %3
  %4 = const 39 : i32
  %5 = sub %4, %1 : i32{j}
  %6 = const 0 : f32
  %7 = load %x[%0, ?%5] else %6 : f32{i, j}
  %8 = sum %7 over j : f32{i}
  %9 = add %7, %8 : f32{i, j}
  store %x[%0, %1] = %9
}`, plan.Plan{Extents: map[string]int64{"i": 3}, Warps: 4}, map[string]int64{"M": 7}, 1e-4, 0},
	{"atomics", `kernel @atomics {
  dim M = ?
  dim N = 40
  tensor %x : in i32[M, N] align 16
  tensor %y : inout i32[N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 40]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : i32{i, j}
  %3 = sum %2 over i : i32{j}
  atomic_add %y[%1] = %3
}`, plan.Plan{Extents: map[string]int64{"i": 3}, Warps: 4}, map[string]int64{"M": 7}, 0, 100},
	{"strides", `kernel @strided {
  dim M = ?
  dim N = ?
  dim S = ?
  tensor %x : in bf16[M, N] strides [S, 1] align 16
  tensor %y : out bf16[M, N] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : bf16{i, j}
  store %y[%0, %1] = %2
}`, plan.Plan{Extents: map[string]int64{"i": 3, "j": 32}, Warps: 2}, map[string]int64{"M": 7, "N": 40, "S": 40}, 0, 0},
	{"transpose", `kernel @transpose {
  dim M = ?
  dim N = 72
  tensor %x : in bf16[M, N] align 16
  tensor %y : out bf16[N, M] align 16
  axis i : grid M by BM = ?
  axis j : grid N by BN = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : bf16{i, j}
  store %y[%1, %0] = %2
}`, plan.Plan{Extents: map[string]int64{"i": 32, "j": 64}, Warps: 4}, map[string]int64{"M": 40}, 0, 0},
	{"nothing along an axis", `kernel @nothing {
  dim M = ?
  dim N = 0
  tensor %x : in f32[M, N] align 16
  tensor %s : out f32[M] align 16
  tensor %y : out f32[M] align 16
  tensor %z : out i32[M] align 16
  tensor %d : out f32[M] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 0]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  store %s[%0] = %3
  %4 = reduce_max %2 over j : f32{i}
  store %y[%0] = %4
  %6 = load %x[%0, %1] : f32{i, j}
  %7 = sum %6 over i : f32{j}
  %8 = dot %2, %7 over j : f32{i}
  store %d[%0] = %8
  %9 = argmax %2 over j : i32{i}
  %10 = const 0 : i32
  %11 = mul %9, %10 : i32{i}
  store %z[%0] = %11
}`, plan.Plan{Extents: map[string]int64{"i": 3}, Warps: 2}, map[string]int64{"M": 7}, 0, 0},
	{"an index that wraps around", `kernel @wraps {
  dim M = ?
  dim N = 16
  tensor %x : in f32[N] align 16
  tensor %y : out f32[M] align 16
  axis i : grid M by BM = ?
body:
  %0 = index i : i32{i}
  %1 = const 1073741824 : i32
  %2 = mul %0, %1 : i32{i}
  %3 = const 0.5 : f32
  %4 = load %x[?%2] else %3 : f32{i}
  %5 = const -2147483645 : i32
  %6 = sub %5, %0 : i32{i}
  %7 = load %x[?%6] else %3 : f32{i}
  %8 = add %4, %7 : f32{i}
  store %y[%0] = %8
}`, plan.Plan{Extents: map[string]int64{"i": 32}, Warps: 1}, map[string]int64{"M": 40}, 0, 0},
	{"64-bit gather", `kernel @gather64 {
  dim M = ?
  dim V = ?
  dim N = 16
  tensor %ids : in i64[M] align 8
  tensor %x : in f32[V, N] align 16
  tensor %y : out f32[M, N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 16]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %ids[%0] : i64{i}
  %3 = const 0.5 : f32
  %4 = load %x[?%2, %1] else %3 : f32{i, j}
  store %y[%0, %1] = %4
}`, plan.Plan{Extents: map[string]int64{"i": 5}, Warps: 1}, map[string]int64{"M": 12, "V": 9}, 0, 12},
}

// Atomics on types without an instruction of their own swap the word around the
// element; blocks run one after the other here, so every sum has one order.
func TestAtomics(t *testing.T) {
	for _, d := range []string{"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"} {
		t.Run(d, func(t *testing.T) {
			text := fmt.Sprintf(`kernel @atomics {
  dim M = ?
  dim N = 12
  tensor %%x : in %[1]s[M, N] align 16
  tensor %%y : inout %[1]s[N] align 16
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 12]
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %%2 = load %%x[%%0, %%1] : %[1]s{i, j}
  atomic_add %%y[%%1] = %%2
}`, d)
			if _, err := ir.Parse("test", text); err != nil {
				// An atomic must not broadcast: one row a block then.
				text = strings.NewReplacer("axis i : grid M by BM = ?", "axis i : grid scalar M", "index i : i32{i}", "start i : i32", "{i, j}", "{j}").Replace(text)
			}
			p := plan.Plan{Extents: map[string]int64{"i": 1}, Warps: 2}
			f := parse(t, text)
			differ(t, f, p, map[string]int64{"M": 3}, 1e-3, 10)
			requireAssembles(t, compile(t, f, &p, "sm_80").Text, "sm_80")
		})
	}
}

func TestKernels(t *testing.T) {
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) {
			differ(t, parse(t, k.text), k.plan, k.sizes, k.tolerance, max(k.limit, 10))
		})
	}
}

func TestScalarParameters(t *testing.T) {
	for _, c := range []struct {
		d    string
		bits uint64
	}{
		{"bool", 1}, {"i8", 0x85}, {"u8", 0x85}, {"i16", 0x8005}, {"u16", 0x8005}, {"i32", 0x80000005}, {"u32", 0x80000005},
		{"i64", 1<<63 + 5}, {"u64", 1<<63 + 5}, {"f16", 0x3e00}, {"bf16", 0x3fc0}, {"f32", 0x3fc00000}, {"f64", 0x3ff8000000000000},
		{"f8e4m3", 0x3c}, {"f8e5m2", 0x3e},
	} {
		t.Run(c.d, func(t *testing.T) {
			text := fmt.Sprintf(`kernel @scalar {
  dim M = ?
  tensor %%y : out %[1]s[M] align 16
  scalar %%0 s : %[1]s
  axis i : grid M by BM = ?
body:
  %%1 = index i : i32{i}
  %%2 = full %%0 : %[1]s{i}
  store %%y[%%1] = %%2
}`, c.d)
			p := plan.Plan{Extents: map[string]int64{"i": 64}, Warps: 1}
			f := parse(t, text)
			differ(t, f, p, map[string]int64{"M": 70}, 0, 1, c.bits)
			requireAssembles(t, compile(t, f, &p, "sm_80").Text, "sm_80")
		})
	}
}
