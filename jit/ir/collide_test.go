package ir

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A store's positions may have one element in common unless the indices tell them apart: each axis has a dimension, or is a digit of an index, which those of smaller multiples
// do not reach.
func TestCollides(t *testing.T) {
	const both = "%3 = mul %2, %0 : i32{i}\n  %4 = add %3, %1 : i32{i, j}\n"
	for _, c := range []struct {
		about, rows, columns string // grid i over N, whole j over so many
		code                 string
		index                string
		collides             bool
	}{
		{"an axis each", "?", "8", "%2 = const 8 : i32\n", "%0, %1", false},
		{"digits", "?", "8", "%2 = const 8 : i32\n  " + both, "%4, %2", false},
		{"digits with a gap", "?", "7", "%2 = const 8 : i32\n  " + both, "%4, %2", false},
		{"digits that reach the next", "?", "9", "%2 = const 8 : i32\n  " + both, "%4, %2", true},
		{"a multiple of nothing", "?", "8", "%2 = const 0 : i32\n  " + both, "%4, %2", true},
		{"as far apart", "?", "8", "%2 = const 1 : i32\n  " + both, "%4, %2", true},
		{"as far apart, where one is told", "?", "8", "%2 = const 1 : i32\n  " + both, "%4, %0", false},
		{"backwards", "?", "8", "%2 = const -8 : i32\n  " + both, "%4, %2", false},
		{"a difference", "?", "8", "%2 = const 8 : i32\n  %3 = mul %0, %2 : i32{i}\n  %4 = sub %3, %1 : i32{i, j}\n", "%4, %2", false},
		{"the longer is the smaller digit, and nobody knows how long", "?", "3", "%2 = const 3 : i32\n  %3 = mul %1, %2 : i32{j}\n  %4 = add %3, %0 : i32{j, i}\n", "%4, %2", true},
		{"and somebody does", "3", "8", "%2 = const 3 : i32\n  %3 = mul %1, %2 : i32{j}\n  %4 = add %3, %0 : i32{j, i}\n", "%4, %2", false},
		{"quotient and remainder", "?", "8", "%2 = const 8 : i32\n  " + both + "  %5 = div %4, %2 : i32{i, j}\n  %6 = mod %4, %2 : i32{i, j}\n", "%5, %6", false},
		{"by bits", "?", "8", "%2 = const 8 : i32\n  " + both + "  %8 = const 4 : i32\n  %9 = const 15 : i32\n  %5 = shr %4, %8 : i32{i, j}\n  %6 = and %4, %9 : i32{i, j}\n", "%5, %6", false},
		{"by fewer bits", "?", "8", "%2 = const 8 : i32\n  " + both + "  %8 = const 4 : i32\n  %9 = const 7 : i32\n  %5 = shr %4, %8 : i32{i, j}\n  %6 = and %4, %9 : i32{i, j}\n", "%5, %6", true},
		{"remainders alone", "?", "8", "%2 = const 8 : i32\n  " + both + "  %6 = mod %4, %2 : i32{i, j}\n", "%6, %6", true},
		{"as far apart, of which one has one position", "?", "1", "%2 = const 1 : i32\n  " + both + "", "%4, %2", false},
		{"a product of positions", "?", "8", "%2 = const 8 : i32\n  %4 = mul %0, %1 : i32{i, j}\n", "%4, %2", true},
	} {
		f, err := Parse("k", fmt.Sprintf(`kernel @k {
  dim N = %s
  dim A = ?
  dim B = ?
  tensor %%y : out i32[A, B]
  axis i : grid N by BN = 4
  axis j : whole [0 .. %s]
body:
  %%0 = index i : i32{i}
  %%1 = index j : i32{j}
  %s  %%7 = full %%2 : i32{i, j}
  store %%y[%s] = %%7
}
`, c.rows, c.columns, c.code, c.index))
		require.NoError(t, err, c.about)
		assert.Equal(t, c.collides, f.Body.Ops[len(f.Body.Ops)-1].Collides(), c.about)
	}
}

// A loop does several steps at a time where that is worth something: what it loads does not depend on the step before, nor is written, and it neither multiplies nor has loops in it.
func TestUnroll(t *testing.T) {
	const text = `kernel @k {
  dim L = ?
  dim D = ?
  tensor %%x : %s f32[L, D]
  tensor %%y : out f32[L, D]
  axis d : grid D by BD = 256
body:
  %%0 = const 0 : i32
  %%1 = size L : i32
  %%2 = const 0 : f32
  %%3 = full %%2 : f32{d}
  %%4 = index d : i32{d}
  %%9 = const %d : i32
  %%10 = for from %s to %s with (%%5 = %%3) pos %%6 : (f32{d}) {
    %%8 = load %%x[%s, %%4] : f32{d}
    %%7 = add %%5, %%8 : f32{d}
    store %%y[%%6, %%4] = %%7
    yield %%7
  }
}
`
	for _, c := range []struct {
		about          string
		mode           string
		steps          int64
		from, to, load string
		threads, want  int64
	}{
		{"of any length", "in", 9, "%0", "%1", "%6", 128, 16}, // two elements of a thread a step
		{"more threads", "in", 9, "%0", "%1", "%6", 256, 32},
		{"few threads", "in", 9, "%0", "%1", "%6", 8, 1},
		{"twelve steps", "in", 12, "%0", "%9", "%6", 128, 4},
		{"three steps", "in", 3, "%0", "%9", "%6", 128, 1},
		{"from where nobody knows", "in", 9, "%1", "%9", "%6", 128, 1},
		{"what is written", "inout", 9, "%0", "%1", "%6", 128, 1},
		{"no threads, as on a CPU", "in", 9, "%0", "%1", "%6", 0, 1},
	} {
		f, err := Parse("k", fmt.Sprintf(text, c.mode, c.steps, c.from, c.to, c.load))
		require.NoError(t, err, c.about)
		loop := f.Body.Ops[len(f.Body.Ops)-1]
		steps := int64(0)
		if n, known := loop.Args[1].IsConst(); known {
			steps = n.Int
		}
		assert.Equal(t, c.want, loop.Unroll(c.threads, func(a *Axis) int64 { return a.Extent }, steps), c.about)
	}
}
