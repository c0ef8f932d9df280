// Package bindings tests what other languages use: the C library, and the Python package on it.
package bindings

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "tilec/jit" // what the library is of: go test's cache then knows that it depends on that
	"tilec/jit/jittest/sweep"
)

// built is the folder with the library, made once.
var built struct {
	once   sync.Once
	dir    string
	failed string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// compiler is the C compiler; without one, or without go, the test is skipped.
func compiler(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go to build the library with: ", err)
	}
	name := os.Getenv("CC")
	if name == "" {
		name = "gcc"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("there is no C compiler, without which Go builds no C library: ", err)
	}
	return path
}

// library builds libtilec.so.
func library(t *testing.T) string {
	t.Helper()
	sweep.NeedThorough(t, "it builds the compiler once more, as a shared library")
	cc := compiler(t)
	// What a process reads by itself, go test's cache knows; what the commands below read, it does not.
	for _, pattern := range []string{"c/*", "testdata/*", "python/*/*.py", "../docs/side-by-side.md"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			_, _ = os.ReadFile(path)
		}
	}
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "libtilec-")
		require.NoError(t, err)
		built.dir = dir
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "libtilec.so"), "./c")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+cc)
		if out, err := cmd.CombinedOutput(); err != nil {
			built.failed = err.Error() + "\n" + string(out)
		}
	})
	require.Empty(t, built.failed)
	return filepath.Join(built.dir, "libtilec.so")
}

// The header says what the library does, to C and to C++.
func TestC(t *testing.T) {
	cc := compiler(t)
	lib := library(t)
	program := filepath.Join(t.TempDir(), "launch")
	out, err := exec.Command(cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Ic", "-o", program, "testdata/launch.c", lib, "-Wl,-rpath,"+filepath.Dir(lib)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ok\n", string(out))
	out, err = exec.Command(cc, "-std=c++11", "-Wall", "-Werror", "-x", "c++", "-fsyntax-only", "c/tilec.h").CombinedOutput()
	if err != nil && strings.Contains(string(out), "cc1plus") {
		t.Log("no C++ compiler reads the header: ", string(out))
		return
	}
	require.NoError(t, err, "%s", out)
}

// driver builds the stand-in for the CUDA driver, and gives the folder that it is in.
func driver(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command(compiler(t), "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/driver.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// withDriver is the environment of a program that finds the driver's stand-in, even where there is a driver.
func withDriver(dir string) []string {
	return append(os.Environ(), "LD_LIBRARY_PATH="+dir, "TILEC_CACHE=off")
}

// Launches on a GPU, each of which C makes without Go: what arrives at the driver, what is refused, threads, closing.
func TestCOnStandIn(t *testing.T) {
	cc := compiler(t)
	lib := library(t)
	program := filepath.Join(t.TempDir(), "launch")
	out, err := exec.Command(cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-pthread", "-Ic", "-o", program, "testdata/launch_gpu.c", lib, "-ldl", "-Wl,-rpath,"+filepath.Dir(lib)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program)
	cmd.Env = withDriver(driver(t))
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "ok\n", string(out))
}

// python is a Python that the package runs in; without one the test is skipped.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python: ", err)
	}
	if out, err := exec.Command(path, "-c", "import sys, ctypes; sys.exit(sys.version_info < (3, 8))").CombinedOutput(); err != nil {
		t.Skipf("python3 is older than 3.8 or has no ctypes: %v %s", err, out)
	}
	return path
}

// runPython runs tests of the package.
func runPython(t *testing.T, environment []string, arguments ...string) {
	t.Helper()
	cmd := exec.Command(python(t), append([]string{"-m", "unittest"}, arguments...)...)
	cmd.Dir, cmd.WaitDelay = "python", time.Minute
	cmd.Env = append(environment, "TILEC_LIBRARY="+library(t), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.NotContains(t, string(out), "Ran 0 tests")
	t.Logf("%s", out)
}

// The Python package's own tests.
func TestPython(t *testing.T) { runPython(t, os.Environ(), "discover", "-s", "tests", "-t", ".") }

// Calls on PyTorch's tensors, where neither PyTorch nor a GPU need be.
func TestPythonOnStandIn(t *testing.T) { runPython(t, withDriver(driver(t)), "tests.on_standin") }
