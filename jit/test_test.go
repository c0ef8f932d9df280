package jit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/backend/cpu"
	"tilec/jit/jittest"
)

// TestPrograms runs the test blocks of the programs in testdata/tests and testdata/examples on the device under test.
func TestPrograms(t *testing.T) {
	paths, err := filepath.Glob("../testdata/tests/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	examples, err := filepath.Glob("../testdata/examples/*.tile")
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	paths = append(paths, examples...)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		program, ds := jit.Load(path, text, nil)
		require.Empty(t, ds)
		require.NotEmpty(t, program.Tests, path)
		compiler := jit.NewCompiler(jittest.Device(t), nil)
		for _, test := range program.Tests {
			t.Run(filepath.Base(path)+"/"+test.Name, func(t *testing.T) {
				failures, err := compiler.RunTest(test, jit.Options{})
				require.NoError(t, err)
				for _, f := range failures {
					line, _ := f.Check.At.Position()
					t.Errorf("line %d: %s\n%s", line, f.Check.At.Text(), strings.Join(f.Text(), "\n"))
				}
			})
		}
	}
}

// TestCheckFailure: what a failing check says of elements of every kind.
func TestCheckFailure(t *testing.T) {
	for _, c := range []struct{ check, want string }{
		{`[1.0, 2.0] == [1.0, 2.5]`, "the first difference is at [1]:\n    got   2\n    want  2.5   (2097152 ulps away)\n1 of 2 elements of f32[2] differ; the largest difference is 0.5, at [1]"},
		{`[1.0] as f16 == [1.001]`, "the first difference is at [0]:\n    got   1\n    want  1.0009766   (1 ulp away; allowed: none, `close(a, b, rel = 1e-4)` allows some)"},
		{`[-0.0] as bf16 == [1e-40]`, "the first difference is at [0]:\n    got   -0\n    want  9.1835e-41   (1 ulp away)"},
		{`[nan, 1.0] == [0.0, inf]`, "the first difference is at [0]:\n    got   nan\n    want  0\n2 of 2 elements of f32[2] differ; the largest difference is inf, at [0]"},
		{`[3, 200] as u8 == [4, 100]`, "the first difference is at [0]:\n    got   3\n    want  4\n2 of 2 elements of u8[2] differ; the largest difference is 100, at [1]"},
		{`[true, false]`, "it is false at [1], at 1 of 2 elements"},
		{`[inf] == [-inf]`, "the first difference is at [0]:\n    got   inf\n    want  -inf   (4278190080 ulps away)"},
		{`1 > 2`, "it does not hold:\n    left   1\n    right  2"},
		{`close([1.0, 2.0, 4.0], [1.0, 2.1, 4.3], abs = 0.01, rel = 0.02)`,
			"the first difference is at [1]:\n    got   2\n    want  2.1   (419430 ulps away; allowed: 0.01 + 0.02 of the value)\n2 of 3 elements of f32[3] differ; the largest difference is 0.3, at [2]"},
	} {
		program, ds := jit.Load("t.tile", []byte("test \"t\" {\n    check "+c.check+"\n}\n"), nil)
		require.Empty(t, ds, c.check)
		failures, err := jit.NewCompiler(cpu.Open(), nil).RunTest(program.Tests[0], jit.Options{})
		require.NoError(t, err, c.check)
		require.Len(t, failures, 1, c.check)
		require.Equal(t, c.want, strings.Join(failures[0].Text(), "\n"), c.check)
	}
}

// TestCheckNamesAxes: a check tells places by the axes that the kernel stores by, wherever the store stands.
func TestCheckNamesAxes(t *testing.T) {
	for _, kernel := range []string{
		"kernel k(x: f32[N]) -> y: f32[N] grid i in N by 4 { y[i] = x[i] }",
		"kernel k(x: f32[N]) -> y: f32[N] grid g in 1 { for i in N by 4 { y[i] = x[i] } }",
		"kernel k(x: f32[N], n: i32 = 1) -> y: f32[N] grid i in N by 4 { if n > 0 { y[i] = x[i] } else { y[i] = 0 } }",
		"kernel k(x: f32[N]) -> y: f32[N] { y[i] = x[i] }",
		"kernel k(x: f32[N], inout s: f32[]) -> y: f32[N] {\n    s[] = sum(x[j], over j)\n    y[i] = x[i] + 0 * s[]\n}", // in parts
	} {
		call := "check k([1.0, 2.0]) == [1.0, 3.0]"
		if strings.Contains(kernel, "inout") {
			call = "inout s = full(f32, 0, [])\n    check k([1.0, 2.0], s) == [1.0, 3.0]"
		}
		program, ds := jit.Load("t.tile", []byte(kernel+"\ntest \"t\" {\n    "+call+"\n}\n"), nil)
		require.Empty(t, ds, kernel)
		failures, err := jit.NewCompiler(jit.OpenCPU(), nil).RunTest(program.Tests[0], jit.Options{})
		require.NoError(t, err, kernel)
		require.Len(t, failures, 1, kernel)
		require.Contains(t, strings.Join(failures[0].Text(), "\n"), "the first difference is at i = 1:", kernel)
	}
}
