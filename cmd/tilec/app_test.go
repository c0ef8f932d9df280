package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/cache"
)

// invoke runs a command line and gives its exit code and output.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		return f
	}
	out, errs := open("stdout"), open("stderr")
	code = run(args, out, errs, time.Now())
	read := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return string(data)
	}
	return code, read(out), read(errs)
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"fine", []string{"version"}, exitOK},
		{"unknown code", []string{"explain", "E9999"}, exitError},
		{"missing file", []string{"check", "missing.tile"}, exitError},
		{"missing model", []string{"run", "gpt.tile", "--model", "missing", "--device", "cpu"}, exitError},
		{"unknown kernel", []string{"run", "std/nn.tile", "nothing"}, exitError},
		{"unknown command", []string{"nothing"}, exitUsage},
		{"unknown flag", []string{"run", "--nothing"}, exitUsage},
		{"no argument", []string{"run"}, exitUsage},
		{"bad value of a flag", []string{"run", "gpt.tile", "--temperature", "-1"}, exitUsage},
		{"bad argument", []string{"run", "std/nn.tile", "softmax", "x"}, exitUsage},
		{"unknown stage", []string{"build", "--emit=nothing", "std/nn.tile"}, exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := invoke(t, c.args...)
			assert.Equal(t, c.want, code, stderr)
		})
	}
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "stdout")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	readOnly, err := os.Open(path)
	require.NoError(t, err)
	defer readOnly.Close()
	for _, args := range [][]string{{"version"}, {"build", "--emit=ir", "std/math.tile"}, {"run", "std/math.tile", "add", "--device", "cpu", "M=2", "N=2"}} {
		stderr, err := os.Create(filepath.Join(dir, "stderr"))
		require.NoError(t, err)
		assert.Equal(t, exitError, run(args, readOnly, stderr, time.Now()), args)
		text, err := os.ReadFile(stderr.Name())
		require.NoError(t, err)
		assert.Contains(t, string(text), "tilec: writing the output: ")
		require.NoError(t, stderr.Close())
	}
}

func TestCompilerBugLeavesAReport(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	a := &app{stderr: stderr, args: []string{"run", "x.tile"}, sources: map[string][]byte{"x.tile": []byte("kernel x")}}
	var bug error
	func() {
		defer func() { bug = jit.NewBug(recover()) }()
		panic("impossible layout")
	}()
	assert.Equal(t, exitError, a.report(a.root(), bug))
	text, err := os.ReadFile(stderr.Name())
	require.NoError(t, err)
	assert.Contains(t, string(text), "compiler bug: impossible layout")
	assert.Contains(t, string(text), "a bug in the compiler, not in your program")
	path := regexp.MustCompile(`saved in (\S+):`).FindSubmatch(text)
	require.NotNil(t, path, "%s", text)
	report, err := os.ReadFile(filepath.Join(string(path[1]), "report.txt"))
	require.NoError(t, err)
	for _, want := range []string{`args        ["run" "x.tile"]`, "impossible layout", "app_test.go", "source      x.tile is sources/x.tile", "tilec       " + jit.Version, "build       " + cache.Build()} {
		assert.Contains(t, string(report), want)
	}
	source, err := os.ReadFile(filepath.Join(string(path[1]), "sources", "x.tile"))
	require.NoError(t, err)
	assert.Equal(t, "kernel x", string(source))
}
