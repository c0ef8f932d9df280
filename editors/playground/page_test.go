package playground

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
)

// maxTransfer is how many bytes of the compiler may come over the wire.
const maxTransfer = 5_000_000

// node runs a script of testdata over a folder of the page.
func node(t *testing.T, script, folder string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node to run the page's modules")
	}
	out, err := exec.Command("node", filepath.Join("testdata", script), folder).CombinedOutput()
	assert.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "ok\n")
}

// asModules copies the page to where Node takes its files for modules.
func asModules(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type": "module"}`), 0o666))
}

// TestPageWithoutTheCompiler tests what the page computes by itself.
func TestPageWithoutTheCompiler(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("page")))
	asModules(t, dir)
	node(t, "pure.mjs", dir)
}

// TestPageWithTheCompiler builds the compiler as WebAssembly, weighs it, and drives it as the page does.
func TestPageWithTheCompiler(t *testing.T) {
	sweep.NeedThorough(t, "it builds the compiler once more, as WebAssembly, and compresses that")
	for _, tool := range []string{"bash", "go", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s to build the page with", tool)
		}
	}
	dir := t.TempDir()
	build := exec.Command("bash", "build.sh", dir)
	build.Env = append(os.Environ(), "QUALITY=10") // some 4 % more bytes than the 11 of a page that is served, in half the time
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	info, err := os.Stat(filepath.Join(dir, "tilec.wasm.br"))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(maxTransfer), "the compiler is too large for a page: leave something out where cmd/tilec asks for inPage")
	asModules(t, dir)
	node(t, "drive.mjs", dir)
}
