package ir

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
)

func kernelFiles(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.tir")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func readFile(t testing.TB, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

var comments = regexp.MustCompile(`(?m)^\s*//.*\n`)

// The files of testdata are in the printer's own form, so printing gives them back, comments aside.
func TestTextRoundTrip(t *testing.T) {
	for _, file := range kernelFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := readFile(t, file)
			f, err := Parse(file, text)
			require.NoError(t, err)
			assert.Equal(t, comments.ReplaceAllString(text, ""), f.String())
		})
	}
}

// Everything that the text form can say and the kernels above do not.
const everything = `kernel @"odd name" {
  dim N = ? % 16
  dim 3 = 3
  dim "2 * N" = ?
  dim scalar = 8
  stride S = ? % 4
  tensor %x : in f32[N, 3] strides [S, 1] align 16
  tensor %"1" : inout f32[3, 3] strides ["3", 1]
  tensor %h.0.w : out i32[]
  tensor %starts : in i32[N]
  tensor %rows : out i32[N]
  tensor %"1 r" : out i8[N, 3]
  tensor %kept : scratch f32[3, scalar] align 256
  scalar %0 "a b" : f32
  scalar %1 : bool
  axis g : grid scalar "scalar"
  axis i : grid N by 128 over ranges of g from %starts[0] to ? zero outside in %rows, %"1 r"
  axis from : loop N by ? in {16, 32}
  axis p : loop N by "7" = 4
  axis q : loop N by ? split 3
  axis d : whole 3[0 .. 3]
  axis r : whole [0 .. 3]
  axis e : whole [0 .. 6] edges of 70
  axis u : whole 3[1 .. 2] by T in {1}
  hint stages = 2
  hint warps = 8
  approx
  spill
body:
  %2 = const 0 : i32
  %3 = const 8 : i32
  %4 = const -0 : f32
  %5 = const nan : f32
  %6 = const nan_7ff8000000000002 : f64
  %7 = const 0.1 : f32
  %8 = const 0x1.999999999999ap-04 : f32
  %9 = const 0.1 : f64
  %10 = const -inf : bf16
  %11 = const 1e-45 : f32
  print "nothing"
  %12 = const true : bool
  print "{} and {}" (%2, %3)
  assert "no {}" at p, q (%12, %2, %3, %7)
  %13 = const -9223372036854775808 : i64
  for "from" from %2 to %3 pos %14 {
    %15 = index from : i32{from}
    for from %2 to %3 pos %16 {
    }
  }
  %17 = full %4 : f32{d, r}
  %18 = rename %17 from r to u : f32{d, u}
  %19, %20 = if %1 : (f32, f32{d, r}) {
    yield %4, %17
  } else {
    yield %5, %17
  }
  %21 = dot %17, %17 over r, d precision ieee : f32
  %22 = index r : i32{r}
  %23 = take %17[d = %2, r = %22] : f32{r}
  store %"1"[%2, ?%3] = %21
  %24, %25 = reduce %17, %4 from %4, %4 using %12 over d by (%26 a, %27, %28 reverse, %29, %30) : (f32{r}, f32{r}) {
    %31 = where %30, %26, %28 : f32
    yield %31, %29
  }
  %32 = scan %17 from %4 over r reverse by (%33, %34) : (f32{d, r}) {
    %35 = add %33, %34 : f32
    yield %35
  }
  %36, %37 = join %17, %17 of q from %2 to %3 using %12 by (%38, %39, %40, %41, %42) : (f32{d, r}, f32{d, r}) {
    %43 = where %42, %38, %40 : f32
    yield %43, %39
  }
  %44, %45 = join %32 of q from %2 to %3 exclusive reverse by (%46, %47) : (f32{d, r}, bool) {
    %48 = add %46, %47 : f32
    yield %48
  }
}
`

func TestEverythingRoundTrips(t *testing.T) {
	f, err := parse("t", everything)
	require.NoError(t, err)
	assert.Equal(t, everything, f.String())
}

func TestConstantsAreExact(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 0.1, float64(float32(0.1)), math.Inf(1), math.Inf(-1), math.NaN(),
		math.Float64frombits(0xfff0000000000001), math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, 1e-45, 65504, 1.0 / 3}
	for _, d := range lang.DTypes() {
		for _, v := range values {
			if !d.IsFloat() {
				continue
			}
			text := fmt.Sprintf("kernel @c {\nbody:\n  %%0 = const %s : %s\n}\n", literal(Const{Float: v}, d), d)
			f, err := Parse("c", text)
			require.NoError(t, err, text)
			got := f.Body.Ops[0].Const.Float
			assert.Equal(t, math.Float64bits(v), math.Float64bits(got), text)
		}
	}
}

func TestParseErrors(t *testing.T) {
	head := "kernel @k {\n  dim N = ?\n  tensor %x : in f32[N]\n  axis i : grid N by 4\nbody:\n"
	for text, want := range map[string]string{
		"":                                           "t:1:1: end of text where kernel belongs",
		"kernel @k {\n  dm N = ?":                    "t:2:3: dm where a declaration",
		"kernel @k {\n  dim N = -2":                  "t:2:11: -2 where a size belongs",
		"kernel @k {\n  dim N = ?\n  dim N = ?":      "t:3:7: dimension N is declared twice",
		"kernel @k {\n  tensor %x : in f32[N]":       "t:2:22: dimension N is not declared",
		"kernel @k {\n  tensor %x : in f33[]":        "t:2:18: f33 where an element type belongs",
		"kernel @k {\n  axis i : whole [3 .. 2]":     "t:2:24: range ends before its start",
		head + "  %1 = frob %0 : f32":                "t:6:8: frob where an operation belongs",
		head + "  %1 = neg %0 : f32":                 "t:6:12: %0 is not defined",
		head + "  %1 = index q : i32{i}":             "t:6:14: axis q is not declared",
		head + "  %1 = load %y[] : f32":              "t:6:13: tensor y is not declared",
		head + "  %1 = load %x[] : f32":              "t:6:13: 0 indices of x, which has 1 dimensions",
		head + "  %1 = const 1.5 : i32":              "t:6:14: 1.5 is not a 64-bit integer",
		head + "  %1 = const x : f32":                "t:6:14: x is not a number",
		head + "  %1 = const 1 : i32\n  %1 = size N": "t:7:3: %1 is defined twice",
		head + "  %1 = const 1 : i32\n} x":           "t:7:3: x after the kernel",
		head + "  \x00":                              "t:6:3: unexpected character",
		head + "  %1 = \"abc":                        "t:6:8: string does not end",
		head + "  %99999999999 = size N : i32":       "t:6:3: %99999999999 is not a value's number",
	} {
		_, err := Parse("t", text)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everything)
	for _, file := range kernelFiles(f) {
		f.Add(readFile(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := parse("t", text)
		if err != nil {
			return
		}
		_ = Verify(k) // must not panic whatever the kernel
		once := k.String()
		again, err := parse("t", once)
		require.NoError(t, err, once)
		require.Equal(t, once, again.String())
	})
}

// A name behind the position is not taken for the word `reverse`, nor the word for a name.
func TestReversedLoopsRoundTrip(t *testing.T) {
	const text = `kernel @k {
  dim N = ?
  axis k : loop N by B = ?
body:
  %0 = const 0 : i32
  %1 = size N : i32
  %2 = for k from %0 to %1 reverse with (%3 = %0) pos %4 reverse : (i32) {
    yield %4
  }
}
`
	f, err := Parse("t", text)
	require.NoError(t, err)
	require.True(t, f.Body.Ops[2].Reverse)
	require.Equal(t, "reverse", f.Body.Ops[2].Blocks[0].Params[0].Name)
	require.Equal(t, text, f.String())
}
