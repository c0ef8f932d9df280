package pass

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/lang"
)

// The tests of this file notice faults that bench/mutate put into the passes and nothing else saw.

// computesTheSame runs the passes and compares the kernel before and after.
func computesTheSame(t *testing.T, text string, sizes map[string]int64, o Options) *ir.Func {
	t.Helper()
	f := parse(t, text)
	require.NoError(t, ir.Verify(f))
	before := execute(t, f, sizes, data{seed: 1})
	o.Verify = true
	require.NoError(t, Run(f, o))
	assert.Equal(t, before, execute(t, f, sizes, data{seed: 1}), f.String())
	return f
}

// Each carried value goes with its own start.
func TestDroppedCarriedValueTakesItsStart(t *testing.T) {
	f := computesTheSame(t, `kernel @k {
  dim N = ?
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis k : loop N by B = ?
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = const 5 : f32
  %3 = const 7 : f32
  %4, %5 = for k from %0 to %1 with (%6 = %2, %7 = %3) pos %8 : (f32, f32) {
    %9 = index k : i32{k}
    %10 = load %x[%9] : f32{k}
    %11 = sum %10 over k : f32
    %12 = add %6, %11 : f32
    %13 = sub %7, %11 : f32
    yield %12, %13
  }
  store %y[] = %4
}
`, map[string]int64{"N": 20}, Options{})
	f.Walk(func(op *ir.Op) bool {
		if isLoop(op) {
			assert.Len(t, op.Results, 1, "what the loop carries for nothing is dropped")
		}
		return true
	})
}

// Products of narrow integers wrap; a contraction's do not.
func TestWrappingProductsAreNoContraction(t *testing.T) {
	for _, d := range []string{"i8", "u8", "i16", "u16"} {
		f := parse(t, `kernel @k {
  dim N = 8
  tensor %x : in `+d+`[N, N]
  tensor %z : in `+d+`[N, N]
  tensor %y : out i32[N, N]
  axis i : grid N by 8
  axis j : grid N by 8
  axis k : whole N[0 .. 8]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : `+d+`{i, k}
  %4 = load %z[%2, %1] : `+d+`{k, j}
  %5 = mul %3, %4 : `+d+`{i, k, j}
  %6 = sum %5 over k : i32{i, j}
  store %y[%0, %1] = %6
}
`)
		require.NoError(t, Run(f, Options{Verify: true}))
		f.Walk(func(op *ir.Op) bool {
			assert.NotEqual(t, "dot", op.Code.String(), d)
			return true
		})
	}
}

// Bytes widened without loss are multiplied as bytes, also where one has a sign and the other none.
func TestContractionsOfWidenedBytes(t *testing.T) {
	for _, c := range []struct {
		x, z, wide string
		bytes      bool
	}{
		{"u8", "i8", "i16", true}, {"i8", "u8", "i32", true}, {"i8", "i8", "i16", true}, {"u8", "u8", "u16", true},
		{"i8", "u8", "u16", false}, // -1 would be 65535
		{"u8", "i16", "i32", false}, {"u8", "i8", "i64", false}, {"u8", "u8", "u32", false}, {"i8", "i8", "f32", false},
	} {
		for _, mma := range []bool{false, true} {
			d, _ := lang.ParseDType(c.wide)
			sum := d.Accumulator().String()
			product := "%8 = dot %5, %6 over k : " + sum + "{i, j}"
			if mma {
				product = "%8 = mma %5, %6, %9 over k : " + sum + "{i, j}"
			}
			f := computesTheSame(t, `kernel @k {
  dim N = 8
  tensor %x : in `+c.x+`[N, N]
  tensor %z : in `+c.z+`[N, N]
  tensor %y : out `+sum+`[N, N]
  axis i : grid N by 8
  axis j : grid N by 8
  axis k : whole N[0 .. 8]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : `+c.x+`{i, k}
  %4 = load %z[%2, %1] : `+c.z+`{k, j}
  %5 = cast %3 : `+c.wide+`{i, k}
  %6 = cast %4 : `+c.wide+`{k, j}
  %7 = add %0, %1 : i32{i, j}
  %9 = cast %7 : `+sum+`{i, j}
  `+product+`
  store %y[%0, %1] = %8
}
`, nil, Options{})
			f.Walk(func(op *ir.Op) bool {
				if op.Code.Row().Group == lang.GroupContract {
					got := op.Args[0].Type.DType.Bits() == 8 && op.Args[0].Type.DType.IsInt() && op.Args[1].Type.DType.Bits() == 8
					assert.Equal(t, c.bytes, got, "%v", c)
				}
				return true
			})
		}
	}
}

// Reductions of one tile over different axes are different.
func TestReductionsOverDifferentAxesAreNotEqual(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 8
  tensor %x : in f32[N, N]
  tensor %y : out f32[N]
  tensor %z : out f32[N]
  axis i : whole N[0 .. 8]
  axis j : whole N[0 .. 8]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = load %x[%0, %1] : f32{i, j}
  %3 = sum %2 over j : f32{i}
  %4 = sum %2 over i : f32{j}
  store %y[%0] = %3
  store %z[%1] = %4
}
`, nil, Options{})
}

// a - b is not b - a.
func TestOperandsKeepTheirOrder(t *testing.T) {
	for _, op := range []string{"sub", "div", "pow"} {
		computesTheSame(t, `kernel @k {
  dim N = 8
  tensor %x : in f32[N]
  tensor %z : in f32[N]
  tensor %y : out f32[N]
  axis i : grid N by 8
body:
  %0 = index i : i32{i}
  %1 = load %x[%0] : f32{i}
  %2 = load %z[%0] : f32{i}
  %3 = exp %1 : f32{i}
  %4 = exp %2 : f32{i}
  %5 = `+op+` %3, %4 : f32{i}
  %6 = `+op+` %4, %3 : f32{i}
  %7 = const 3 : f32
  %8 = mul %5, %7 : f32{i}
  %9 = add %8, %6 : f32{i}
  store %y[%0] = %9
}
`, nil, Options{})
	}
}

// Each chunk of a contraction is computed in the precision of the whole.
func TestChunksKeepThePrecision(t *testing.T) {
	f := parse(t, `kernel @k {
  dim N = 64
  tensor %x : in f32[N, N]
  tensor %z : in f32[N, N]
  tensor %y : out f32[N, N]
  axis i : grid N by 8
  axis j : grid N by 8
  axis k : whole N[0 .. 64]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = index k : i32{k}
  %3 = load %x[%0, %2] : f32{i, k}
  %4 = load %z[%2, %1] : f32{k, j}
  %5 = dot %3, %4 over k precision ieee : f32{i, j}
  store %y[%0, %1] = %5
}
`)
	require.NoError(t, Run(f, Options{Verify: true, Chunks: map[string]int64{"k": 16}}))
	n := 0
	f.Walk(func(op *ir.Op) bool {
		if op.Code.String() == "mma" {
			assert.Equal(t, "ieee", op.Precision)
			n++
		}
		return true
	})
	assert.Equal(t, 1, n, f.String())
}

// A loop that also reduces each chunk is more than a contraction.
func TestLoopThatReducesItsChunksStays(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 16
  tensor %x : in f32[N, N]
  tensor %z : in f32[N, N]
  tensor %y : out f32[N, N]
  axis i : grid N by 8
  axis j : grid N by 8
  axis k : loop N by 8
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = const 16 : i32
  %4 = const 0 : f32
  %5 = full %4 : f32{i, j}
  %6 = for k from %2 to %3 with (%7 = %5) pos %8 : (f32{i, j}) {
    %9 = index k : i32{k}
    %10 = load %x[%0, %9] : f32{i, k}
    %11 = load %z[%9, %1] : f32{k, j}
    %12 = reduce_max %10 over k : f32{i}
    %13 = sub %10, %12 : f32{i, k}
    %14 = mma %13, %11, %7 over k : f32{i, j}
    yield %14
  }
  store %y[%0, %1] = %6
}
`, nil, Options{})
}

// Products of f32 stay a contraction: tensor cores round its factors, and a step of decoding gives what a prompt gives.
func TestMatvecOfShortFormatsOnly(t *testing.T) {
	i := slices.IndexFunc(Passes(), func(p Pass) bool { return p.Name == "matvec" })
	p := Passes()[i]
	for d, rewritten := range map[string]bool{"bf16": true, "f16": true, "f32": false, "f64": false, "i8": false} {
		text := strings.ReplaceAll(p.Before, "bf16", d)
		if d == "f64" || d == "i8" {
			text = strings.ReplaceAll(text, "f32", map[string]string{"f64": "f64", "i8": "i32"}[d])
		}
		f, err := ir.Parse("k", text)
		require.NoError(t, err, d)
		changed, err := p.Run(f, &Options{Few: p.Few, Ranges: p.Ranges, Matrix: p.Matrix, Online: p.Online})
		require.NoError(t, err, d)
		assert.Equal(t, rewritten, changed, d)
	}
}

// Of f32, a contraction of few rows is computed by products and sums where a factor is made of narrower numbers, but no IEEE one.
func TestMatvecOfNarrowFactors(t *testing.T) {
	i := slices.IndexFunc(Passes(), func(p Pass) bool { return p.Name == "matvec" })
	p := Passes()[i]
	narrow := strings.NewReplacer("%a : in bf16", "%a : in f32", "%b : in bf16", "%b : in i8", "bf16{i, k}", "f32{i, k}", "bf16{k, j}", "i8{k, j}",
		"  %5 = dot %3, %4 over k : f32{i, j}\n", "  %7 = cast %4 : f32{k, j}\n  %5 = dot %3, %7 over k : f32{i, j}\n").Replace(p.Before)
	for text, rewritten := range map[string]bool{narrow: true, strings.NewReplacer("i8", "bf16").Replace(narrow): true, strings.NewReplacer("i8", "i32").Replace(narrow): false, strings.ReplaceAll(narrow, "over k", "over k precision ieee"): false} {
		f, err := ir.Parse("k", text)
		require.NoError(t, err, text)
		changed, err := p.Run(f, &Options{Few: p.Few, Ranges: p.Ranges, Matrix: p.Matrix, Online: p.Online})
		require.NoError(t, err)
		assert.Equal(t, rewritten, changed, text)
	}
}

// A part of a matrix is stored twice with one element between: the loops over the part stay on their sides of the element.
func TestStoresKeepTheirOrder(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 30
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis j : whole N[0 .. 30]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  store %y[%0] = %1
  %2 = const 3 : i32
  %3 = const 1000 : f32
  store %y[%2] = %3
  %4 = mul %1, %1 : f32{j}
  store %y[%0] = %4
}
`, nil, Options{Chunks: map[string]int64{"j": 8}})
}

// What is taken of a part of an axis that has another name, and begins elsewhere, is of the same elements.
func TestTakesOfRenamedParts(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 12
  tensor %x : in f32[N]
  tensor %y : out f32[N]
  axis e : whole N[5 .. 9]
  axis f : whole N[2 .. 6]
  axis h : whole N[0 .. 4]
body:
  %0 = index e : i32{e}
  %1 = load %x[%0] : f32{e}
  %2 = mul %1, %1 : f32{e}
  %3 = rename %2 from e to f : f32{f}
  %4 = index h : i32{h}
  %5 = const 5 : i32
  %6 = sub %5, %4 : i32{h}
  %7 = take %3[f = %6] : f32{h}
  store %y[%4] = %7
}
`, nil, Options{})
}

// Rows and columns at the same positions are not the same.
func TestTakesAlongDifferentAxes(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 6
  dim H = 5
  dim G = 4
  tensor %x : in f32[N, N]
  tensor %y : out f32[H, G]
  tensor %z : out f32[N, N]
  axis a : whole N[0 .. 6]
  axis b : whole N[0 .. 6]
  axis h : whole H[0 .. 5]
  axis g : whole G[0 .. 4]
body:
  %0 = index a : i32{a}
  %1 = index b : i32{b}
  %2 = load %x[%0, %1] : f32{a, b}
  %3 = mul %2, %2 : f32{a, b}
  %4 = index h : i32{h}
  %5 = index g : i32{g}
  %6 = take %3[b = %4] : f32{a, h}
  %7 = take %3[a = %4] : f32{h, b}
  %8 = add %6, %7 : f32{a, h, b}
  %9 = take %8[a = %5, b = %5] : f32{g, h}
  store %y[%4, %5] = %9
  store %z[%0, %1] = %3
}
`, nil, Options{})
}

// A product of few rows by products and sums starts from what it started from, and is over all its axes.
func TestMatvecIsTheContraction(t *testing.T) {
	text := `kernel @k {
  dim M = 3
  dim K = 16
  dim L = 5
  dim N = 8
  tensor %a : in bf16[M, K, L]
  tensor %b : in bf16[K, L, N]
  tensor %z : in f32[M, N]
  tensor %c : out f32[M, N]
  axis i : grid M by 2
  axis j : grid N by 4
  axis k : loop K by 4
  axis l : whole L[0 .. 5]
body:
  %0 = index i : i32{i}
  %1 = index j : i32{j}
  %2 = const 0 : i32
  %3 = const 16 : i32
  %4 = load %z[%0, %1] : f32{i, j}
  %5 = index l : i32{l}
  %6 = for k from %2 to %3 with (%7 = %4) pos %8 : (f32{i, j}) {
    %9 = index k : i32{k}
    %10 = load %a[%0, %9, %5] : bf16{i, k, l}
    %11 = load %b[%9, %5, %1] : bf16{k, l, j}
    %12 = mma %10, %11, %7 over k, l : f32{i, j}
    yield %12
  }
  store %c[%0, %1] = %6
}
`
	f := computesTheSame(t, text, nil, Options{Few: func(a *ir.Axis) bool { return a.Name == "i" }})
	f.Walk(func(op *ir.Op) bool {
		assert.NotEqual(t, lang.OpMma, op.Code, f.String())
		return true
	})
}

// The greatest of numbers below 0 is below 0, in chunks too.
func TestMaximumOfNegativeChunks(t *testing.T) {
	computesTheSame(t, `kernel @k {
  dim N = 30
  tensor %x : in f32[N]
  tensor %y : out f32[]
  axis j : whole N[0 .. 30]
body:
  %0 = index j : i32{j}
  %1 = load %x[%0] : f32{j}
  %2 = abs %1 : f32{j}
  %3 = const -1 : f32
  %4 = sub %3, %2 : f32{j}
  %5 = reduce_max %4 over j : f32
  store %y[] = %5
}
`, nil, Options{Chunks: map[string]int64{"j": 8}})
}
