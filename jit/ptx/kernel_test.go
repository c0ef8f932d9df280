package ptx

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
)

// example reads one of the IR's example kernels.
func example(t testing.TB, name string) *ir.Func {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "ir", "testdata", name+".tir"))
	require.NoError(t, err)
	f, err := ir.Parse(name, string(text))
	require.NoError(t, err)
	return f
}

// compile applies a plan and lowers for a target.
func compile(t testing.TB, f *ir.Func, p *plan.Plan, target string) *Module {
	t.Helper()
	tg, err := plan.FindTarget(target)
	require.NoError(t, err)
	p.Target = target
	require.NoError(t, p.Apply(f))
	m, err := Compile(f, p, tg)
	require.NoError(t, err)
	return m
}

var examplePlans = []struct {
	name string
	plan plan.Plan
}{
	{"add", plan.Plan{Extents: map[string]int64{"i": 1024}, Warps: 4, Stages: 1}},
	{"softmax", plan.Plan{Extents: map[string]int64{"i": 4}, Warps: 4, Stages: 1}},
	{"layernorm", plan.Plan{Extents: map[string]int64{"i": 2}, Warps: 4, Stages: 1}},
	{"embed", plan.Plan{Extents: map[string]int64{"s": 4, "c": 256}, Warps: 4, Stages: 1}},
	{"linear_gelu", plan.Plan{Extents: map[string]int64{"i": 64, "j": 64, "k": 32}, Warps: 4, Stages: 3}},
	{"attention", plan.Plan{Extents: map[string]int64{"i": 64, "j": 64}, Warps: 4, Stages: 2}},
}

func TestExamplesAssemble(t *testing.T) {
	for _, target := range []string{"sm_80", "sm_90a"} {
		for _, e := range examplePlans {
			t.Run(target+"/"+e.name, func(t *testing.T) {
				m := compile(t, example(t, e.name), &e.plan, target)
				if dir := os.Getenv("PTX_DUMP"); dir != "" {
					require.NoError(t, os.WriteFile(filepath.Join(dir, e.name+"."+target+".ptx"), []byte(m.Text), 0o644))
				}
				requireAssembles(t, m.Text, target)
			})
		}
	}
}

// requireAssembles runs ptxas and requires that it takes the text without a spill. It gives ptxas's report.
func requireAssembles(t testing.TB, text, target string) string {
	t.Helper()
	tt, ok := t.(*testing.T)
	if !ok {
		return ""
	}
	ptxas := findPtxas(tt)
	in := filepath.Join(t.TempDir(), "k.ptx")
	require.NoError(t, os.WriteFile(in, []byte(text), 0o644))
	out, err := exec.Command(ptxas, "-v", "-arch="+target, "-o", os.DevNull, in).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "0 bytes spill stores", "%s", out)
	return string(out)
}
