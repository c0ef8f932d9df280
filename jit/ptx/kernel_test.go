package ptx

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/ptx/ptxtest"
	"tilec/jit/target"
	"tilec/lang"
)

// example reads one of the IR's example kernels.
func example(t testing.TB, name string) *ir.Func {
	t.Helper()
	f, err := ir.Parse(name, exampleText(t, name))
	require.NoError(t, err)
	return f
}

// exampleText is the text of an example.
func exampleText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "ir", "testdata", name+".tir"))
	require.NoError(t, err)
	return string(text)
}

// compile applies a plan and lowers for a target.
func compile(t testing.TB, f *ir.Func, p *plan.Plan, machine string) *Module {
	t.Helper()
	tg, err := target.Find(machine)
	require.NoError(t, err)
	p.Target = machine
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
	for _, target := range []string{"sm_80", "sm_86", "sm_89", "sm_90a"} {
		for _, e := range examplePlans {
			if (target == "sm_86" || target == "sm_89") && e.name != "linear_gelu" {
				continue // the text differs in its version alone
			}
			t.Run(target+"/"+e.name, func(t *testing.T) {
				t.Parallel()
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
	if _, ok := t.(*testing.T); !ok {
		return ""
	}
	ptxas := ptxtest.Assembler(t)
	in := filepath.Join(t.TempDir(), "k.ptx")
	require.NoError(t, os.WriteFile(in, []byte(text), 0o644))
	out, err := exec.Command(ptxas, "-v", "-arch="+target, "-o", os.DevNull, in).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), ", 0 bytes spill stores", "%s", out)
	return string(out)
}

// Threads of a block take the same way to every instruction that they execute
// together: the only branches that may divide them jump over none of these.
func TestNothingSharedInDivergentCode(t *testing.T) {
	together := regexp.MustCompile(`^(bar\.|shfl\.|ldmatrix|stmatrix|mma\.|cp\.async)`)
	check := func(t *testing.T, f *ir.Func, p plan.Plan) {
		m := compile(t, f, &p, "sm_90a")
		lines := strings.Split(m.Text, "\n")
		label := map[string]int{}
		for i, l := range lines {
			if name, ok := strings.CutSuffix(l, ":"); ok {
				label[name] = i
			}
		}
		for i, l := range lines {
			guard, rest := "", strings.TrimSpace(l)
			if strings.HasPrefix(rest, "@") {
				guard, rest, _ = strings.Cut(rest, " ")
			}
			rest = strings.TrimSpace(rest)
			if guard != "" && !strings.HasPrefix(rest, "cp.async") {
				require.NotRegexp(t, together, rest, "line %d", i+1)
			}
			name, target, _ := strings.Cut(rest, " ")
			if name != "bra" {
				continue
			}
			at, ok := label[strings.Trim(target, " ;")]
			require.True(t, ok, "line %d: %s", i+1, l)
			for _, between := range lines[min(i, at):max(i, at)] {
				require.NotRegexp(t, together, strings.TrimSpace(between), "between line %d and its target", i+1)
			}
		}
	}
	for _, e := range examplePlans {
		t.Run(e.name, func(t *testing.T) { check(t, example(t, e.name), e.plan) })
	}
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) { check(t, parse(t, k.text), k.plan) })
	}
}

func TestKernelsAssemble(t *testing.T) {
	for _, target := range []string{"sm_80", "sm_90a"} {
		for _, k := range kernels {
			t.Run(target+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				p := k.plan
				requireAssembles(t, compile(t, parse(t, k.text), &p, target).Text, target)
			})
		}
		for _, c := range []struct{ d, acc, precision string }{
			{"f32", "f32", ""}, {"f32", "f32", " precision tf32x3"}, {"f32", "f32", " precision ieee"}, {"f64", "f64", ""},
			{"i8", "i32", ""}, {"f8e4m3", "f32", ""}, {"f16", "f32", ""},
		} {
			t.Run(target+"/"+c.d+c.precision, func(t *testing.T) {
				t.Parallel()
				p := plan.Plan{Extents: map[string]int64{"i": 32, "j": 32, "k": 16}, Warps: 4, Stages: 2}
				requireAssembles(t, compile(t, parse(t, productText(c.d, c.acc, c.precision, false)), &p, target).Text, target)
			})
		}
	}
}

// Every operation of the table has a form in this backend.
func TestEveryOperationHasAForm(t *testing.T) {
	for _, op := range lang.Ops() {
		_, ok := structural[op]
		ok = ok || op == lang.OpTopK // written with others before lowering
		require.True(t, ok || op.Row().Elementwise || op.Row().Derived, "operation %s", op)
	}
}

func TestErrors(t *testing.T) {
	sm80, err := target.Find("sm_80")
	require.NoError(t, err)
	f := example(t, "linear_gelu")
	p := &plan.Plan{Extents: map[string]int64{"i": 256, "j": 256, "k": 128}, Warps: 8, Stages: 4}
	require.NoError(t, p.Apply(f))
	_, err = Compile(f, p, sm80)
	require.ErrorContains(t, err, "kernel linear_gelu for sm_80: the plan needs")
	require.ErrorContains(t, err, "stages of %9 takes 262144 bytes")
	_, err = Compile(f, &plan.Plan{Warps: 0}, sm80)
	require.ErrorContains(t, err, "plan has 0 warps, a block has 1 to 32")
	cpu, err := target.Find("cpu")
	require.NoError(t, err)
	_, err = Compile(f, p, cpu)
	require.ErrorContains(t, err, "has no PTX backend")
	_, err = Compile(example(t, "add"), p, sm80)
	require.ErrorContains(t, err, "axis i has no extent")
}

func TestTheSameTextEveryTime(t *testing.T) {
	for _, e := range examplePlans {
		first := compile(t, example(t, e.name), &e.plan, "sm_90a").Text
		for range 5 {
			require.Equal(t, first, compile(t, example(t, e.name), &e.plan, "sm_90a").Text)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	require.Equal(t, "softmax", identifier("softmax"))
	require.Regexp(t, `^k_h_0_w_[0-9a-f]{8}$`, identifier("h.0.w"))
	require.NotEqual(t, identifier("h.0.w"), identifier("h.0_w"))
	require.Regexp(t, `^k_2x_`, identifier("2x"))
}
