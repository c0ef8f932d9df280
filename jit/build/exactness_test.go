package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
)

// marked gives the names of the values that ExactnessOf finds the coarse form good enough for, of a body over x, f32 by i and j.
func marked(t *testing.T, body string) string {
	t.Helper()
	f, err := ir.Parse("test", `kernel @k {
  dim M = 64
  dim N = 768
  tensor %x : in f32[M, N]
  tensor %y : out bf16[M, N]
  tensor %h : out f16[M, N]
  tensor %z : out f32[M, N]
  tensor %s : out f32[M]
  axis i : grid M by BM = ?
  axis j : whole N[0 .. 768]
  axis k : loop N by BK = ?
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = const 0 : f32
  %4 = const 1 : f32
  %5 = const 0 : i32
  %6 = const 768 : i32
`+body+"}\n")
	require.NoError(t, err)
	x := ExactnessOf(f, nil)
	var names []string
	f.Walk(func(op *ir.Op) bool {
		if x.Fits(op) {
			names = append(names, op.Result().Name)
		}
		return true
	})
	return strings.Join(names, " ")
}

func TestWhatIsRoundedIsCoarse(t *testing.T) {
	const store = "\n  %90 = cast %80 : bf16{i, j}\n  store %y[%0, %1] = %90\n"
	for name, c := range map[string]struct{ body, want string }{
		"softmax":                         {"  %10 e = exp %2 : f32{i, j}\n  %11 = sum %10 over j : f32{i}\n  %80 q = div %10, %11 : f32{i, j}" + store, "e q"},
		"f16 has too many digits for exp": {"  %10 e = exp %2 : f32{i, j}\n  %11 = sum %10 over j : f32{i}\n  %80 q = div %10, %11 : f32{i, j}\n  %90 = cast %80 : f16{i, j}\n  store %h[%0, %1] = %90\n", "q"},
		"stored in f32":                   {"  %80 e = exp %2 : f32{i, j}\n  store %z[%0, %1] = %80\n", ""},
		"stored in both":                  {"  %80 e = exp %2 : f32{i, j}\n  store %z[%0, %1] = %80" + store, ""},
		"in memory by an atomic":          {"  %10 e = exp %2 : f32{i, j}\n  %80 was = atomic_xchg %z[%0, %1] = %10 : f32{i, j}\n", ""},
		"by an atomic, and rounded":       {"  %10 e = exp %2 : f32{i, j}\n  atomic_add %z[%0, %1] = %10\n  %80 = mul %10, %10 : f32{i, j}" + store, ""},
		"an argument":                     {"  %10 e = exp %2 : f32{i, j}\n  %80 s = sigmoid %10 : f32{i, j}" + store, "s"},
		"what may cancel":                 {"  %10 e = exp %2 : f32{i, j}\n  %80 = sub %4, %10 : f32{i, j}" + store, ""},
		"a sum of one sign":               {"  %10 e = exp %2 : f32{i, j}\n  %11 = add %4, %10 : f32{i, j}\n  %80 q = div %4, %11 : f32{i, j}" + store, "e q"},
		"a sum with what has a sign":      {"  %10 e = exp %2 : f32{i, j}\n  %80 = add %2, %10 : f32{i, j}" + store, ""},
		"a choice":                        {"  %10 e = exp %2 : f32{i, j}\n  %11 = lt %2, %3 : bool{i, j}\n  %80 = where %11, %10, %2 : f32{i, j}" + store, "e"},
		"what decides":                    {"  %10 e = exp %2 : f32{i, j}\n  %11 = lt %10, %3 : bool{i, j}\n  %80 = where %11, %10, %2 : f32{i, j}" + store, ""},
		"three exps are more than a rounding allows": {"  %10 a = exp %2 : f32{i, j}\n  %11 b = exp %10 : f32{i, j}\n  %12 c = exp %11 : f32{i, j}\n  %13 d = mul %10, %11 : f32{i, j}\n  %14 = mul %13, %12 : f32{i, j}\n  %15 = mul %14, %14 : f32{i, j}\n  %16 = mul %15, %15 : f32{i, j}\n  %80 = mul %16, %16 : f32{i, j}" + store, ""},
		"a sum that a loop carries, and its factor": {`  %10 = full %3 : f32{i}
  %11 l = for k from %5 to %6 with (%12 l = %10) pos %13 : (f32{i}) {
    %14 = index k : i32{k}
    %15 = load %x[%0, %14] : f32{i, k}
    %16 p = exp %15 : f32{i, k}
    %17 = sum %16 over k : f32{i}
    %18 = reduce_max %15 over k : f32{i}
    %19 r = exp %18 : f32{i}
    %20 = mul %12, %19 : f32{i}
    %21 = add %20, %17 : f32{i}
    yield %21
  }
  %80 q = div %2, %11 : f32{i, j}` + store, "p q"},
		"a sum that a loop carries from below 0": {`  %7 = const -1 : f32
  %10 = full %7 : f32{i}
  %11 l = for k from %5 to %6 with (%12 l = %10) pos %13 : (f32{i}) {
    %14 = index k : i32{k}
    %15 = load %x[%0, %14] : f32{i, k}
    %16 p = exp %15 : f32{i, k}
    %17 = sum %16 over k : f32{i}
    %21 = add %12, %17 : f32{i}
    yield %21
  }
  %80 q = div %2, %11 : f32{i, j}` + store, "q"},
		"a quotient that a loop carries": {`  %10 = full %4 : f32{i, j}
  %80 l = for k from %5 to %6 with (%12 l = %10) pos %13 : (f32{i, j}) {
    %14 q = div %12, %2 : f32{i, j}
    yield %14
  }` + store, ""},
	} {
		require.Equal(t, c.want, marked(t, c.body), name)
	}
}
