package typecheck_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/parser"
	"tilec/typecheck"
)

// TestWarnings says what is warned of and what is not: each program with the codes of its warnings and where they begin.
func TestWarnings(t *testing.T) {
	const head = "kernel k(x: f32[N], inout s: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    s[i] = x[i]\n"
	body := func(lines string) string { return head + lines + "\n}\n" }
	for _, test := range []struct{ name, text, want string }{
		{"a let", body("    let a = x[i]\n    y[i] = 1"), "W0201 a"},
		{"bound again: the first is not used", body("    let a = x[i]\n    let a = 2.0\n    y[i] = a"), "W0201 a"},
		{"bound again by itself", body("    let a = x[i]\n    let a = a * 2\n    y[i] = a"), ""},
		{"one of a chain", body("    let a = x[i]\n    let b = a\n    y[i] = 1"), "W0201 b"},
		{"an underscore is meant", body("    let _a = x[i]\n    let _ = 2\n    y[i] = 1"), ""},
		{"an axis", body("    axis r in 4\n    axis _s in 4\n    y[i] = 1"), "W0202 r"},
		{"a loop in parts", body("    y[i] = for k in N by BK with acc = zeros(f32, i) { acc + 1 }"), "W0202 k"},
		{"a loop that counts", body("    y[i] = for n in 3 with acc = zeros(f32, i) { acc + x[i] }"), ""},
		{"a carried value", body("    y[i] = for k in N by BK with acc = zeros(f32, i) { x[i] + sum(x[k], over k) }"), "W0201 acc"},
		{"inside a lambda", body("    axis k in N\n    y[i] = reduce(x[k], over k, 0.0, (p, q) => p)"), "W0203 q"},
		{"inside an if", body("    if i.start == 0 {\n        let a = 1\n    }\n    y[i] = 1"), "W0201 a"},
		{"used in a type, an extent or an over", "kernel k<T: float, const C: int = 4>(x: T[M, N]) -> y: T[M]\n    grid i in M by 8\n{\n    axis j in N\n    let z = C as T\n    y[i] = (sum(x[i, j], over j) as T) + z\n}\n", ""},
		{"kernel parameters", "kernel k<const C: int>(x: f32[N], z: f32[N], s: f32, _t: f32) -> y: f32[N] {\n    y[i] = x[i]\n}\n", "W0203 C, W0203 z, W0203 s"},
		{"a tensor that tells a size", "kernel k(like: f32[N]) -> y: f32[N] {\n    y[i] = 1\n}\n", ""},
		{"a tensor that tells a size of nothing", "kernel k(x: f32[N], like: f32[Q]) -> y: f32[N] {\n    y[i] = x[i]\n}\n", "W0203 like"},
		{"a dimension as a number", "kernel k(x: f32[N], like: f32[Q]) -> y: f32[N] {\n    y[i] = x[i] * Q\n}\n", ""},
		{"functions", "fn f(a, b, axis j) = a\nfn g(a, _b) = a\n", "W0203 b, W0203 j"},
		{"graphs", "graph g(x: f32[N], z: f32[N]) -> y: f32[N] {\n    let a = x * 2\n    let b = 3\n    y = a\n}\n", "W0203 z, W0201 b"},
		{"an import", "import \"std/math\"\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = x[i]\n}\n", "W0204 import \"std/math\""},
		{"an import that is used", "import \"std/math\"\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = relu(x[i])\n}\n", ""},

		{"nan", body("    y[i] = where(x[i] == nan or x[i] < -nan, 1.0, 2.0)"), "W0302 x[i] == nan, W0302 x[i] < -nan"},
		{"nan of a constant, once for all calls", "const BAD = nan\nfn f(x) = x != BAD\nkernel k(x: f32[N], z: f64[N]) -> y: bool[N] {\n    y[i] = f(x[i]) and f(z[i])\n}\n", "W0302 x != BAD"},
		{"a check of nan", "test \"t\" {\n    check [nan] == [nan]\n}\n", ""},

		{"an integer in f32", body("    y[i] = x[i] + 16777217 + 16777216 + 33554432"), "W0301 16777217"},
		{"as one writes it", body("    y[i] = x[i] + 16777217.0 + 1e11 + 3e38 + 0.1 + 16777217.5"), "W0301 16777217.0"},
		{"what becomes 0", body("    y[i] = x[i] + 1e-50 + 1e-40 + 0.0"), "W0301 1e-50"},
		{"half precision", "kernel k(x: f16[N], z: bf16[N], q: f8e4m3[N]) -> (a: f16[N], b: bf16[N], c: f8e4m3[N]) {\n    a[i] = x[i] * 2049 + 1e-9\n    b[i] = z[i] * 257 + 256 + 1000\n    c[i] = q[i] + 1000 + 0.3\n}\n",
			"W0301 2049, W0301 1e-9, W0301 257, W0301 1000"},
		{"of any type", "kernel k<T: float>(x: T[N]) -> y: T[N] {\n    y[i] = x[i] * 2049 + 16777217\n}\n", "W0301 16777217"},
		{"double precision", "kernel k(x: f64[N]) -> y: f64[N] {\n    y[i] = x[i] * 16777217 + 9007199254740993\n}\n", "W0301 9007199254740993"},
		{"a default", "kernel k(x: f32[N], eps: f32 = 1e-60) -> y: f32[N] {\n    y[i] = x[i] + eps\n}\n", "W0301 1e-60"},

		{"stored over", body("    y[i] = 1\n    y[i] = 2"), "W0602 y[i] = 1"},
		{"in a branch", body("    if i.start == 0 {\n        y[i] = 1\n    }\n    y[i] = 2"), "W0602 y[i] = 1"},
		{"by a branch, perhaps", body("    y[i] = 1\n    if i.start == 0 {\n        y[i] = 2\n    }"), ""},
		{"in a loop", body("    for n in 3 {\n        y[i] = n as f32\n    }\n    y[i] = 2"), "W0602 y[i] = n as f32"},
		{"read between", body("    s[i] = s[i] * 2\n    s[i] = s[i] + 1\n    y[i] = 1"), ""},
		{"read in a branch", body("    if i.start == 0 {\n        s[i] = s[i] * 2\n    }\n    s[i] = 3\n    y[i] = 1"), "W0602 s[i] = s[i] * 2"},
		{"by a part", "kernel k(x: f32[M, N], inout s: f32[M, N])\n    grid i in M by B\n{\n    axis j in N[.. N / 2]\n    s[i, N - 1] = 1\n    s[i, j] = x[i, j]\n}\n", ""},
		{"by a whole axis", "kernel k(x: f32[M, N]) -> y: f32[M, N]\n    grid i in M by B\n{\n    axis j in N\n    y[i, 0] = 1\n    y[i, j] = x[i, j]\n}\n", "W0602 y[i, 0] = 1"},
		{"a part, then the whole is set right", "kernel k(x: f32[M, N]) -> y: f32[M, N]\n    grid i in M by B\n{\n    axis j in N\n    y[i, j] = x[i, j]\n    y[i, 0] = 1\n}\n", ""},
		{"an atomic between", "kernel k(x: f32[N], inout s: f32[N])\n    grid i in N by B\n{\n    s[i] = 0\n    atomic_add(s[i], x[i])\n    s[i] = 1\n}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, ds := check(t, test.text)
			require.Empty(t, ds)
			var got []string
			for _, w := range p.Warnings {
				assert.Equal(t, lang.SeverityWarning, w.Severity)
				got = append(got, string(w.Code)+" "+w.At.Text())
			}
			assert.Equal(t, test.want, strings.Join(got, ", "))
		})
	}
}

// What follows from an error is not warned of, nor what an error may hide the use of.
func TestNoWarningBesideItsError(t *testing.T) {
	for text, want := range map[string]string{
		"kernel k(x: f32[N]) -> y: f32[N] {\n    let scaled = x[i]\n    y[i] = scalde\n}\n":                  "",
		"kernel k(x: f32[N]) -> y: f32[N] {\n    let a = x[i]\n    y[i] = (x[i]\n}\n":                        "",
		"import \"std/math\"\nkernel k(x: f32[N]) -> y: f32[N] {\n    y[i] = relo(x[i])\n}\n":                "",
		"kernel a(x: f32[N]) -> y: f32[N] {\n    y[i] = q\n}\nfn f(a, b) = a\n":                              "W0203 b",
		"fn f(v) = v + 1.5\nkernel k(x: i32[N]) -> y: i32[N] {\n    let unused = 1\n    y[i] = f(x[i])\n}\n": "",
	} {
		p, ds := warningsAndErrors(t, text)
		require.NotEmpty(t, ds, text)
		var got []string
		for _, w := range p {
			got = append(got, string(w.Code)+" "+w.At.Text())
		}
		assert.Equal(t, want, strings.Join(got, ", "), text)
	}
}

// TestWarningFixes applies the edits: the warning is gone, and no error comes.
func TestWarningFixes(t *testing.T) {
	applied := 0
	for _, code := range lang.Codes() {
		row, _ := lang.CodeInfo(code)
		if code[0] != 'W' || code == "W0601" {
			continue
		}
		p, _ := check(t, row.Fails)
		require.Len(t, p.Warnings, 1, code)
		fix := p.Warnings[0].Fix
		require.NotNil(t, fix, code)
		if len(fix.Edits) == 0 {
			continue
		}
		applied++
		p, ds := check(t, apply(row.Fails, fix.Edits))
		assert.Empty(t, ds, code)
		assert.Empty(t, p.Warnings, code)
	}
	assert.Equal(t, 4, applied)
}

// TestNothingIsWarnedOf checks the library, the language model, and the programs that we show and test by.
func TestNothingIsWarnedOf(t *testing.T) {
	found := 0
	for _, root := range []string{"../stdlib", "../gpt", "../docs", "../testdata/examples", "../testdata/tests"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".tile" {
				return err
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			found++
			warnings, ds := warningsAndErrors(t, string(text))
			if len(ds) == 0 { // one may have parts that are wrong on purpose
				assert.Empty(t, warnings, path)
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Greater(t, found, 30)
}

// warningsAndErrors is the warnings and the errors of a text that may not parse.
func warningsAndErrors(t *testing.T, text string) (warnings, errors lang.Diagnostics) {
	m, ds := parser.Parse(lang.NewSource("x.tile", text))
	p, more := typecheck.Check(m, library(t))
	return p.Warnings, append(ds, more...)
}

// library loads the standard library.
func library(t *testing.T) typecheck.Loader {
	return func(path string, _ *lang.Module, _ lang.Span) (*lang.Module, lang.Diagnostics) {
		file, isLibrary := strings.CutPrefix(path, "std/")
		if !isLibrary {
			return nil, nil
		}
		text, err := os.ReadFile(filepath.Join("..", "stdlib", file+".tile"))
		require.NoError(t, err)
		return parser.Parse(lang.NewSource("std/"+file+".tile", string(text)))
	}
}
