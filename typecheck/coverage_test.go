package typecheck_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/stdlib"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

// stored are kernels, a line each with ; for its ends, and which of their outputs launches fill, because nothing proves that
// all of them is stored.
var stored = []struct{ about, kernel, fills string }{
	{"axes of the grid", `kernel k(x: f32[M, N]) -> y: f32[N, M] grid i in M by B, j in N by C { y[j, i] = x[i, j] }`, ""},
	{"scalars of the grid", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M, j in N { y[i, j] = x[i, j] }`, ""},
	{"a whole axis", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { axis j in N; y[i, j] = x[i, j] }`, ""},
	{"a free axis", `kernel k(x: f32[M]) -> y: f32[M, 4] grid i in M by B { axis j in 4; y[i, j] = x[i] }`, ""},
	{"a loop over an axis", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { for j in N by B { y[i, j] = x[i, j] } }`, ""},
	{"a scalar loop", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { for j in N { y[i, j] = x[i, j] } }`, ""},
	{"a loop that carries", `kernel k(x: f32[M, N]) -> (y: f32[M, N], z: f32[M]) grid i in M { z[i] = for j in N with s = 0.0 { y[i, j] = s; s + x[i, j] } }`, ""},
	{"loops in loops", `kernel k(x: f32[L, M, N]) -> y: f32[L, M, N] grid i in L { for j in M { for l in N by B { y[i, j, l] = x[i, j, l] } } }`, ""},
	{"constants side by side", `kernel k(x: f32[N]) -> y: f32[N, 3] grid i in N by B { y[i, 2] = 1; y[i, 0] = x[i]; y[i, 1] = 0 }`, ""},
	{"constants in two dimensions", `kernel k(x: f32[N]) -> y: f32[2, N, 2] grid i in N by B { y[0, i, 0] = 1; y[1, i, 1] = x[i]; y[1, i, 0] = 0; y[0, i, 1] = 0 }`, ""},
	{"every second, and the others", `kernel k(x: f32[N]) -> y: f32[2 * N] grid i in N by B { y[2 * i] = x[i]; y[2 * i + 1] = 0 }`, ""},
	{"backwards", `kernel k(x: f32[N]) -> y: f32[N] grid i in N by B { y[N - 1 - i] = x[i] }`, ""},
	{"heads of a group", `kernel k<const G: int>(x: f32[KV, N]) -> y: f32[G * KV, N] grid n in KV, g in G, i in N by B { y[n * G + g, i] = x[n, i] }`, ""},
	{"two axes as one", `kernel k(x: f32[M, N]) -> y: f32[M * N] grid i in M, j in N by B { y[i * N + j] = x[i, j] }`, ""},
	{"a choice in a loop", `kernel k(x: f32[M]) -> y: f32[M, M] grid i in M by B { for j in M by C { if i.start > 3 { y[i, j] = 1 } else { y[i, index(j)] = 2 } } }`, ""},
	{"halves", `kernel k(x: f32[N]) -> y: f32[2 * N] grid i in N by B { y[index(i)] = x[i]; y[N + i] = x[i] }`, ""},
	{"thirds, in any order", `kernel k(x: f32[N]) -> y: f32[3 * N] grid i in N by B { y[2 * N + i] = 0; y[index(i)] = x[i]; y[N + i] = x[i] }`, ""},
	{"parts of whole axes", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { assume(N >= 8); axis a in N[.. 8]; axis b in N[8 .. N]; y[i, a] = 0; y[i, b] = x[i, b] }`, ""},
	{"halves of an even dimension", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { assume(N % 2 == 0); axis p in N[.. N / 2]; y[i, p] = 0; y[i, p + N / 2] = x[i, p] }`, ""},
	{"a part that an assumption makes the whole", `kernel k(x: f32[N, M]) -> y: f32[M] grid i in N[.. M] by B { assume(N == M); y[index(i)] = x[i, 0] }`, ""},
	{"parts of the grid", `kernel k(x: f32[6]) -> y: f32[6] grid i in 6[.. 3] by 2 { y[i] = x[i]; y[i + 3] = 0 - x[i] }`, ""},
	{"a part that is shifted to the whole", `kernel k(x: f32[N]) -> y: f32[N - 2] grid i in N[1 .. N - 1] by B { y[i - 1] = x[i] }`, ""},
	{"more than is there", `kernel k(x: f32[N]) -> y: f32[N - 1] grid i in N by B { y[i - 1] = x[i] }`, ""},
	{"both branches", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { axis j in N; if x[i, 0] > 0 { y[i, j] = 1 } else { y[i, j] = 2 } }`, ""},
	{"both branches, by other means", `kernel k(x: f32[M]) -> y: f32[M, 2] grid i in M { if x[i] > 0 { y[i, 1] = 1; y[i, 0] = 2 } else { for j in 2 { y[i, j] = 2 } } }`, ""},
	{"more in one branch", `kernel k(x: f32[M]) -> y: f32[M] grid i in M { if x[i] > 0 { y[i] = 1; y[i] = 2 } else { y[i] = 2 } }`, ""},
	{"a branch of a branch", `kernel k(x: f32[M]) -> y: f32[M] grid i in M { if x[i] > 0 { if x[i] > 1 { y[i] = 1 } else { y[i] = 3 } } else { y[i] = 2 } }`, ""},
	{"a choice of the specialisation", `kernel k<const C: bool>(x: f32[M]) -> y: f32[M] grid i in M by B { if C { y[i] = x[i] } else { y[i] = 0 } }`, ""},
	{"a branch besides", `kernel k(x: f32[M]) -> y: f32[M] grid i in M { y[i] = 0; if x[i] > 0 { y[i] = 1 } }`, ""},
	{"a scalar that is one element", `kernel k(x: f32[N]) -> y: f32[1] { y[0] = sum(x[i], over i) }`, ""},
	{"no dimension", `kernel k(x: f32[N]) -> y: f32[] { y[] = sum(x[i], over i) }`, ""},
	{"a loop again and again", `kernel k(x: f32[N]) -> y: f32[N] grid i in N by B { for n in 3 { y[i] = x[i] } }`, ""},
	{"a loop over what has an element", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { for n in N { for j in N by B { y[i, j] = x[i, j] } } }`, ""},
	{"a formula", `kernel k(x: f32[M, N]) -> y: f32[N, M] { y[j, i] = x[i, j] }`, ""},
	{"a formula in parts", `kernel k(x: f32[M, N]) -> (r: f32[M], c: f32[N]) { r[i] = sum(x[i, j], over j); c[j] = sum(x[i, j], over i) }`, ""},
	{"a formula whose parts share an output", `kernel k(x: f32[N, N]) -> y: f32[2, N] { y[0, i] = sum(x[i, j], over j); y[1, j] = sum(x[i, j], over i) }`, ""},
	{"a formula that reads what is stored", `kernel k(x: f32[M, N]) -> (s: f32[N], y: f32[M, N]) { s[j] = sum(x[i, j], over i); y[i, j] = x[i, j] / s[j] }`, ""},

	{"every second", `kernel k(x: f32[N]) -> y: f32[2 * N] grid i in N by B { y[2 * i] = x[i] }`, "y"},
	{"every third twice", `kernel k(x: f32[N]) -> y: f32[3 * N] grid i in N by B { y[3 * i] = x[i]; y[3 * i + 2] = 0 }`, "y"},
	{"every second of an odd number", `kernel k(x: f32[N]) -> y: f32[2 * N - 1] grid i in N by B { y[2 * i] = x[i] }`, "y"},
	{"an atomic before a store", `kernel k(x: f32[M]) -> y: f32[M] grid i in M by B { atomic_add(y[i], x[i]); y[i] = 0 }`, "y"},
	{"a loop that may end one short", `kernel k(x: f32[M, K]) -> y: f32[M, K] grid i in M by B { for j in K[.. K + M - 2] by C { y[i, j] = x[i, j] } }`, "y"},
	{"a shift", `kernel k(x: f32[N], s: i32) -> y: f32[N] grid i in N by B { y[i + s] = x[i] }`, "y"},
	{"a shift by one", `kernel k(x: f32[N]) -> y: f32[N] grid i in N by B { y[i + 1] = x[i] }`, "y"},
	{"one column", `kernel k(x: f32[N]) -> y: f32[N, 4] grid i in N by B { y[i, 1] = x[i] }`, "y"},
	{"all columns but one", `kernel k(x: f32[N]) -> y: f32[N, 4] grid i in N by B { y[i, 0] = x[i]; y[i, 1] = 0; y[i, 3] = 0 }`, "y"},
	{"a condition", `kernel k(x: f32[N], n: i32) -> y: f32[N] grid i in N by B { if n > 0 { y[i] = x[i] } }`, "y"},
	{"branches that store elsewhere", `kernel k(x: f32[N]) -> y: f32[N, 2] grid i in N { if x[i] > 0 { y[i, 0] = 1 } else { y[i, 1] = 2 } }`, "y"},
	{"a branch that stores less", `kernel k(x: f32[N]) -> y: f32[N, 2] grid i in N { if x[i] > 0 { y[i, 0] = 1; y[i, 1] = 2 } else { y[i, 0] = 2 } }`, "y"},
	{"a scatter", `kernel k(x: i32[N]) -> y: f32[N, 4] grid i in N { y[i, x[i]] = 1 }`, "y"},
	{"one more than is walked", `kernel k(x: f32[M, N]) -> y: f32[N, M + 1] grid i in M by B, j in N by C { y[j, index(i)] = x[i, j] }`, "y"},
	{"an atomic", `kernel k(x: f32[M, N]) -> y: f32[M] grid i in M by B, j in N by C { atomic_add(y[i], sum(x[i, j], over j)) }`, "y"},
	{"an atomic in what is asserted", `kernel k(x: f32[N], n: i32) -> y: f32[N] grid i in N by B { assert(if n > 0 { any(atomic_add(y[i], 1.0) < 5.0, over i) } else { true }); y[i] = x[i] }`, "y"},
	{"an atomic besides a store", `kernel k(x: f32[M]) -> (y: f32[M], z: f32[M]) grid i in M by B { let old = atomic_add(y[i], x[i]); z[i] = old }`, "y"},
	{"one of many", `kernel k(x: f32[N]) -> y: f32[N] { y[0] = sum(x[i], over i) }`, "y"},
	{"the channels that groups leave", `kernel k<const G: int>(x: f32[C]) -> y: f32[C] grid g in G { axis c in C / G; y[g * (C / G) + index(c)] = 1 }`, "y"},
	{"a loop that may be empty", `kernel k(x: f32[N, K]) -> y: f32[N] grid i in N by B { for j in K { y[i] = x[i, j] } }`, "y"},
	{"a loop to a value", `kernel k(x: f32[N, K], n: i32) -> y: f32[N, K] grid i in N by B { for j in K[.. n] by C { y[i, j] = x[i, j] } }`, "y"},
	{"a count that is a value", `kernel k(x: f32[N, K], n: i32) -> y: f32[N, K] grid i in N by B { for j in n { y[i, j] = 0 } }`, "y"},
	{"a triangle", `kernel k(x: f32[N]) -> y: f32[N, N] grid i in N { for j in N[.. i + 1] by B { y[i, j] = 0 } }`, "y"},
	{"a diagonal", `kernel k(x: f32[N]) -> y: f32[N, N] grid i in N by B { y[i, i] = x[i] }`, "y"},
	{"a part of the grid", `kernel k(x: f32[N]) -> y: f32[N] grid i in N[1 .. N - 1] by B { y[i] = x[i] }`, "y"},
	{"a part that values decide", `kernel k(x: f32[N], n: i32) -> y: f32[N] grid i in N[n ..] by B { y[i] = x[i] }`, "y"},
	{"halves of a dimension", `kernel k(x: f32[M, N]) -> y: f32[M, N] grid i in M { axis p in N[.. N / 2]; y[i, p] = 0; y[i, p + N / 2] = x[i, p] }`, "y"},
	{"parts with a gap", `kernel k(x: f32[8]) -> y: f32[8] grid i in 8[.. 3] by 4 { y[i] = x[i]; y[i + 4] = x[i] }`, "y"},
	{"one of two outputs", `kernel k(x: f32[N]) -> (y: f32[N], z: f32[N + 1]) grid i in N by B { y[i] = x[i]; z[index(i)] = 0 }`, "z"},
	{"parts of a formula", `kernel k(x: f32[N, N]) -> y: f32[3, N] { y[0, i] = sum(x[i, j], over j); y[1, j] = sum(x[i, j], over i) }`, "y"},
	{"what is read before it is stored", `kernel k(x: f32[N]) -> (y: f32[2, N], z: f32[N]) { y[0, i] = x[i]; z[i] = y[1, i] + sum(x[j], over j) }`, "y"},
}

func TestStoredAsAWhole(t *testing.T) {
	for _, c := range stored {
		t.Run(c.about, func(t *testing.T) {
			p, ds := check(t, strings.ReplaceAll(c.kernel, "; ", "\n"))
			require.Empty(t, ds)
			require.Equal(t, c.fills, strings.Join(filled(p.Kernels[0]), " "), "%v", p.Warnings)
			fills := slices.DeleteFunc(slices.Clone(p.Warnings), func(d *lang.Diagnostic) bool { return d.Code != lang.WarnFilled })
			require.Len(t, fills, len(filled(p.Kernels[0])))
		})
	}
}

// The warning names what stands in the way of the proof, and what is stored where nothing does.
func TestReasonsForFilling(t *testing.T) {
	for _, c := range []struct{ about, kernel, why string }{
		{"a diagonal", `kernel k(x: f32[N]) -> y: f32[N, N] grid i in N by B { y[i, i] = x[i] }`, "not every position along i is one of y"},
		{"a diagonal of a loop", `kernel k(x: f32[N]) -> y: f32[2, N, N] grid g in 2 { for j in N { y[g, j, j] = x[j] } }`, "not every position along j is one of y"},
		{"a loop that may be empty", `kernel k(x: f32[N, K]) -> y: f32[N] grid i in N by B { for j in K { y[i] = x[i, j] } }`, "the range of j may be empty"},
		{"less than all", `kernel k(x: f32[N]) -> y: f32[N + 1] grid i in N by B { y[index(i)] = x[i] }`, "stored is y[0 .. N]"},
	} {
		t.Run(c.about, func(t *testing.T) {
			p, ds := check(t, strings.ReplaceAll(c.kernel, "; ", "\n"))
			require.Empty(t, ds)
			require.Len(t, p.Warnings, 1)
			why := p.Warnings[0].Notes
			for _, l := range p.Warnings[0].Labels {
				why = append(why, l.Text)
			}
			assert.Equal(t, []string{c.why}, why)
		})
	}
}

func filled(k *typed.Kernel) []string {
	var names []string
	for _, o := range k.Outputs {
		if o.Fill {
			names = append(names, o.Name)
		}
	}
	return names
}

// TestNothingIsFilledInTheLibrary: every kernel that we ship is proven to store all of its outputs.
func TestNothingIsFilledInTheLibrary(t *testing.T) {
	read := func(path string) *lang.Module {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		m, ds := parser.Parse(lang.NewSource(path, string(text)))
		require.Empty(t, ds)
		return m
	}
	load := func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		return read(filepath.Join("..", "stdlib", strings.TrimPrefix(path, "std/")+".tile")), nil
	}
	files, err := stdlib.FS.ReadDir(".")
	require.NoError(t, err)
	paths := []string{"../gpt/gpt.tile"}
	for _, f := range files {
		paths = append(paths, "../stdlib/"+f.Name())
	}
	n := 0
	for _, path := range paths {
		p, ds := typecheck.Check(read(path), load)
		require.Empty(t, ds)
		assert.Empty(t, p.Warnings)
		for _, k := range p.Kernels {
			n++
			assert.Emptyf(t, filled(k), "%s: %s", path, k.Name)
		}
	}
	require.Greater(t, n, 30)
}
