package typecheck_test

import (
	"fmt"
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

// all is every diagnostic of a text, of its syntax and its types.
func all(text string) lang.Diagnostics {
	m, ds := parser.Parse(lang.NewSource("x.tile", text))
	_, more := typecheck.Check(m, nil)
	return append(ds, more...).Sort()
}

// inKernel is a kernel with the names that the forms of the table have.
func inKernel(lines string) string {
	return `kernel k(x: f32[M, N], t: f32[M, N], v: f32[N], ids: i32[M, N], seed: i32, inout s: f32[M, N], inout counts: i32[N]) -> y: f32[M, N]
    grid i in M by BM
{
    axis j in N
    let (a, b) = (x[i, j], t[i, j])
    let (n, m) = (ids[i, j], ids[i, j] + 1)
    let c = a > b
    s[i, j] = a
    atomic_add(counts[n], m)
` + lines + `
}
`
}

// inGraph is a graph with those names that whole tensors have.
func inGraph(lines string) string {
	return `graph g(x: f32[M, N], a: f32[M, N], b: f32[M, N], n: i32[M, N], m: i32[M, N], c: bool[M, N]) -> y: f32[M, N] {
` + lines + `
    y = x
}
`
}

// uses are programs with a word of the table, each with this one error.
func uses(n *lang.Neighbour) []string {
	if n.Use != "" {
		return []string{n.Use}
	}
	switch n.Place {
	case lang.AsCall:
		programs := []string{
			inKernel("    let r = tl." + n.Word + "(x + 3, mask=c)\n    y[i, j] = a"),
			inKernel("    let r = a." + n.Word + "(1, 2)\n    y[i, j] = a"),
			inGraph("    let r = np." + n.Word + "(x, axis=0)"),
		}
		programs[0] = strings.ReplaceAll(programs[0], "mask=c", "mask = c")
		programs[2] = strings.ReplaceAll(programs[2], "axis=0", "dim = 0")
		if ds := all(inKernel("    let r = " + n.Word + "(a)\n    y[i, j] = a")); len(ds) > 0 && ds[0].Code == lang.ErrUnknownName {
			programs = append(programs, inKernel("    let r = "+n.Word+"(x, 3)\n    y[i, j] = a"))
		}
		return programs
	case lang.AsArgument:
		return []string{inKernel("    y[i, j] = max(a, over j, " + n.Word + " = true)")}
	case lang.AsAttribute:
		return []string{inKernel("    let r = x." + n.Word + "\n    y[i, j] = a"), inGraph("    let r = x." + n.Word)}
	case lang.AsValue:
		if n.Word == "tune" || n.Word == "slice" { // words of the language too
			return []string{inKernel("    let r = tl." + n.Word + "\n    y[i, j] = a"), inGraph("    let r = ct." + n.Word)}
		}
		return []string{inKernel("    let r = " + n.Word + "\n    y[i, j] = a"), inKernel("    let r = tl." + n.Word + "\n    y[i, j] = a"), inGraph("    let r = ct." + n.Word)}
	case lang.AsType:
		if n.Word == "const" {
			return nil // a word of the language
		}
		return []string{inKernel("    y[i, j] = a as " + n.Word), inKernel("    y[i, j] = zeros(" + n.Word + ", i, j)"), inKernel("    y[i, j] = zeros(tl." + n.Word + ", i, j)")}
	case lang.AsStatement:
		return []string{"kernel k(x: f32[N]) -> y: f32[N] {\n    " + n.Word + " x\n    y[i] = x[i]\n}\n"}
	}
	if len([]rune(n.Word)) == 1 {
		return []string{"fn f(x) = x " + n.Word + " 2\n"}
	}
	return []string{"fn f(x) {\n    x " + n.Word + " 2\n}\n"}
}

// TestNeighbours uses every word of the table, which gives one error, whose help names our form.
func TestNeighbours(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range lang.Neighbours() {
		key := fmt.Sprintf("%d %s", n.Place, n.Word)
		assert.False(t, seen[key], "%s stands twice in the table", n.Word)
		seen[key] = true
		for _, text := range uses(n) {
			ds := all(text)
			if !assert.Len(t, ds, 1, "%s:\n%s\n%v", n.Word, text, ds) || !assert.NotNil(t, ds[0].Fix, "%s: no help\n%s\n%v", n.Word, text, ds) {
				continue
			}
			ours := n.Ours
			if strings.HasPrefix(text, "graph") && n.Graph != "" && n.Graph != lang.InKernel || strings.HasPrefix(text, "test") {
				ours = n.Graph
			}
			assert.Contains(t, ds[0].Fix.Message, ours, "%s\n%s", n.Word, text)
			assert.NotEmpty(t, ds[0].Fix.Message, n.Word)
		}
	}
}

// TestOurForms compiles every form that the table proposes.
func TestOurForms(t *testing.T) {
	fits := func(texts ...string) bool {
		for _, text := range texts {
			if len(all(text)) == 0 {
				return true
			}
		}
		return false
	}
	for _, n := range lang.Neighbours() {
		kernelToo := n.Ours == "" || n.Example != "" ||
			fits(inKernel("    let form = "+n.Ours+"\n    y[i, j] = a"), inKernel("    "+n.Ours+"\n    y[i, j] = a"), inKernel("    "+n.Ours))
		assert.True(t, kernelToo, "%s: `%s` does not compile in a kernel: %v", n.Word, n.Ours, all(inKernel("    let form = "+n.Ours+"\n    y[i, j] = a")))
		if n.Example != "" {
			assert.Empty(t, all(n.Example), n.Word)
			continue
		}
		if n.Graph == "" {
			assert.True(t, n.Ours == "" || n.Place == lang.AsSign || n.Place == lang.AsStatement || fits(inGraph("    let form = "+n.Ours)), "%s: `%s` does not compile in a graph: %v", n.Word, n.Ours, all(inGraph("    let form = "+n.Ours)))
		} else if n.Graph != lang.InKernel && n.Place != lang.AsStatement {
			text := inGraph("    let form = " + n.Graph)
			if out, ok := strings.CutPrefix(n.Graph, "["); ok {
				text = inGraph("    let form = [" + out + " as f32")
			}
			assert.True(t, fits(text, strings.Replace(inGraph(""), "y = x", n.Graph, 1)), "%s: `%s` does not compile in a graph: %v", n.Word, n.Graph, all(text))
		}
	}
}

// TestNeighboursHaveEveryName finds each name of the languages beside ours in the table, and tries it: behind the
// name of its module, called and read, it gives one error, with a help.
func TestNeighboursHaveEveryName(t *testing.T) {
	paths, err := filepath.Glob("testdata/neighbours/*")
	require.NoError(t, err)
	require.Len(t, paths, 3)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		names := strings.Fields(string(text))
		require.Greater(t, len(names), 100)
		for _, name := range names {
			n := lang.FindNeighbour(name, lang.AsCall, lang.AsValue, lang.AsType, lang.AsAttribute)
			if name == "compiler_timeout" {
				n = lang.FindNeighbour(name, lang.AsCall)
			}
			if !assert.NotNil(t, n, "%s has %s", path, name) {
				continue
			}
			for _, text := range []string{
				inKernel("    let r = m0." + name + "(x, 3)\n    y[i, j] = a"),
				inKernel("    let r = m0." + name + "\n    y[i, j] = a"),
				inGraph("    let r = m0." + name + "(x, 3)"),
			} {
				ds := all(text)
				if assert.Len(t, ds, 1, "%s\n%v", text, ds) && assert.NotNil(t, ds[0].Fix, text) {
					assert.NotEmpty(t, ds[0].Fix.Message)
				}
			}
		}
	}
}
