package bench

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampleRun is a run with all that a row may have.
func sampleRun() *Run {
	return &Run{
		Device: "NVIDIA H200", Version: "1", Date: "2026-11-22", Peers: map[string]string{"torch": "PyTorch 9"},
		Results: []Result{
			{Name: "linear_gelu bf16 8x8x8", Family: "products", Micros: 100, Runs: 7, FLOPs: 4e10, Bytes: 5e7, CompileMillis: 12, Plan: "BM=128",
				Beside: []Beside{{Peer: "torch", Micros: 120, Way: "fused"}, {Peer: "cupy", Micros: 90, Way: "operations", Difference: 1, Differs: true}}},
			{Name: "softmax bf16 8x8", Family: "rows", Error: "no | memory\nat all", Beside: []Beside{{Peer: "torch", Error: "no"}}},
			{Name: "gelu_map f32 8x8", Family: "rows", Micros: 10, Runs: 5, Profile: map[string]string{"sm__inst_executed.sum": "12 inst"}},
		},
	}
}

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	sampleRun().Markdown(&out)
	assert.Equal(t, `# Kernels on NVIDIA H200
Medians in us by the device's clock; on a GPU, what the caches held is overwritten before each run. The ratio is the fastest peer's time / ours.
Peer: PyTorch 9.

| workload | ours | peer | ratio | TFLOP/s | GB/s | compile ms | plan | the peer's way |
|---|---|---|---|---|---|---|---|---|
| linear_gelu bf16 8x8x8 | 100.0 | 120.0 | 1.20 | 400.0 | 500 | 12 | BM=128 | torch: fused |
| softmax bf16 8x8 | failed: no / memory |  |  |  |  |  |  | torch: no |
| gelu_map f32 8x8 | 10.0 |  |  |  |  |  |  |  |

| gelu_map f32 8x8 | |
|---|---|
| sm__inst_executed.sum | 12 inst |

| family | workloads | geometric mean of the ratios | least |
|---|---|---|---|
| products | 1 | 1.20 | 1.20 |
| all | 1 | 1.20 | 1.20 |
`, out.String())
}

func TestGoFormatIsReadBack(t *testing.T) {
	var out strings.Builder
	run := sampleRun()
	run.Go(&out)
	assert.Contains(t, out.String(), "Benchmark/linear_gelu/bf16/8x8x8 7 100000.0 ns/op 500.0 GB/s 400.00 TFLOP/s\nBenchmark/linear_gelu/bf16/8x8x8/peer=torch 1 120000.0 ns/op\n")
	run.Results[0].Micros = 80
	run.Go(&out)
	run.Results[0].Micros = 300
	run.Go(&out)
	again, err := ReadRun([]byte(out.String()))
	require.NoError(t, err)
	assert.Equal(t, "NVIDIA H200", again.Device)
	x, ok := again.Find("linear_gelu bf16 8x8x8")
	require.True(t, ok)
	assert.Equal(t, 100.0, x.Micros, "the median of three")
	assert.Len(t, again.Results, 2)

	for text, problem := range map[string]string{
		"":                      "it is neither JSON nor Go's benchmark format",
		`{"results":[]}`:        "the JSON has no results",
		"Benchmark/f 1 x ns/op": `the time is "x"`,
		"Benchmark/f 1 2 B/op":  "has no ns/op",
	} {
		_, err := ReadRun([]byte(text))
		assert.ErrorContains(t, err, problem, text)
	}
}

func TestCompare(t *testing.T) {
	before, after := sampleRun(), sampleRun()
	after.Results[0].Micros, after.Results[2].Micros = 50, 11
	var out strings.Builder
	assert.Equal(t, 1, Compare(&out, before, after, 0.03))
	assert.Contains(t, out.String(), "| linear_gelu bf16 8x8x8 | 100.0 | 50.0 | 2.000 | faster |\n| gelu_map f32 8x8 | 10.0 | 11.0 | 0.909 | slower |\n")
	assert.Contains(t, out.String(), "2 workloads: geometric mean 1.348, least 0.909; 1 slower by more than 3 %.")
	assert.Zero(t, Compare(&out, before, after, 0.2))
}

func TestExpectations(t *testing.T) {
	assert.Equal(t, "expectations_h200.json", ExpectationsFile("NVIDIA H200"))
	assert.Equal(t, "expectations_geforce_rtx_5090.json", ExpectationsFile("NVIDIA GeForce RTX 5090"))
	known, err := Expect("NVIDIA H200")
	require.NoError(t, err)
	for name := range known.Workloads {
		assert.Len(t, Select(Workloads(), []string{name}), 1, "%s is no workload", name)
	}
	_, err = Expect("NVIDIA A100")
	assert.ErrorContains(t, err, "nothing is expected of NVIDIA A100")

	run := sampleRun()
	var e Expectations
	require.NoError(t, e.Update(run, "a run"))
	assert.Equal(t, Expected{Micros: 100, Peer: 120}, e.Workloads["linear_gelu bf16 8x8x8"])
	assert.Len(t, e.Workloads, 2)
	text, err := e.Text()
	require.NoError(t, err)
	again, err := ReadExpectations(text)
	require.NoError(t, err)
	assert.Equal(t, &e, again)

	run.Results[0].Micros, run.Results[2].Micros = 104, 10.6
	problems, held, err := again.Verify(run)
	require.NoError(t, err)
	assert.Equal(t, 2, held)
	assert.Equal(t, []string{
		"linear_gelu bf16 8x8x8: the result of cupy differs by 1 of its size",
		"softmax bf16 8x8: no / memory",
		"gelu_map f32 8x8: 10.6 us, at most 10.5 is expected: 10.0 and 5 %",
	}, problems)
	run.Device = "another"
	_, _, err = again.Verify(run)
	assert.Error(t, err)
	assert.Error(t, again.Update(run, ""))
	for _, text := range []string{"", "{}", `{"device":"a","provenance":"b","tolerance":2,"workloads":{"f":{"us":1}}}`, `{"device":"a","provenance":"b","tolerance":0.1,"workloads":{"f":{"us":0}}}`} {
		_, err := ReadExpectations([]byte(text))
		assert.Error(t, err, text)
	}
}

func TestDifference(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	assert.Zero(t, Difference([]float64{1, inf, nan}, []float64{1, inf, nan}))
	assert.InDelta(t, 0.1, Difference([]float64{1.1, 1.1}, []float64{1, 1}), 1e-12)
	for _, c := range [][2][]float64{{{1}, {1, 2}}, {{nan}, {1}}, {{inf}, {1}}, {{1}, {0}}} {
		assert.True(t, math.IsInf(Difference(c[0], c[1]), 1), "%v", c)
	}
	assert.True(t, math.IsInf(worst([][]float64{{1}}, nil), 1))
}

func TestPinsAreRead(t *testing.T) {
	p, err := ParsePins(" BM=128  warps=8 precision=tf32 ")
	require.NoError(t, err)
	assert.Equal(t, Pins{Text: "BM=128 warps=8 precision=tf32", Numbers: map[string]int64{"BM": 128, "warps": 8}}, p)
	for _, text := range []string{"", "BM", "BM=many", "=3", "BM=1 BM=2", "precision=high"} {
		_, err := ParsePins(text)
		assert.Error(t, err, text)
	}
	all := Workloads()
	trials, err := ReadTrials([]byte("# all\n\nsoftmax bf16 8192x768 : BM=1 : BM=2 # two\n"), all)
	require.NoError(t, err)
	require.Len(t, trials, 1)
	assert.Len(t, trials[0].Workloads, 1)
	assert.Len(t, trials[0].Pins, 2)
	for text, problem := range map[string]string{"": "no trials", "softmax": "line 1: give words", "\nnone such: a=1": "line 2: no workload", "softmax: a=": "line 1: a is pinned"} {
		_, err := ReadTrials([]byte(text), all)
		assert.ErrorContains(t, err, problem, text)
	}
	text, err := os.ReadFile("trials.txt")
	require.NoError(t, err)
	_, err = ReadTrials(text, all)
	assert.NoError(t, err)
}

func TestProfileIsRead(t *testing.T) {
	const table = `==PROF== Connected
"ID","Kernel Name","sm__inst_executed.sum","other"
"","","inst","%"
"0","f","1,234","3"
`
	found, err := readProfile(table)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"sm__inst_executed.sum": "1,234 inst"}, found)
	found, err = readProfile(table + `"1","g","5","3"` + "\n")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"f: sm__inst_executed.sum": "1,234 inst", "g: sm__inst_executed.sum": "5 inst"}, found)
	for _, text := range []string{"==ERROR== no permission", "\"ID\",\"a\"\n", "\"ID\",\"a\"\n\"\",\"\"\n\"0\",\"1\"\n"} {
		_, err := readProfile(text)
		assert.Error(t, err, text)
	}
}

// PyTorch has a way to compute every workload.
func TestPyTorchKnowsEveryKernel(t *testing.T) {
	script, err := peerScripts.ReadFile("peers/torch_peer.py")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)KERNELS = \[(.*?)\]`).FindSubmatch(script)
	require.NotNil(t, list)
	known := map[string]bool{}
	for _, name := range regexp.MustCompile(`\w+`).FindAllString(string(list[1]), -1) {
		known[name] = true
		assert.Contains(t, string(script), "\ndef "+name+"(a):")
	}
	for _, w := range Workloads() {
		assert.True(t, known[w.Kernel], "bench/peers/torch_peer.py has no %s", w.Kernel)
	}
}

// A script reads what to time and says what it took, as Peer.Time understands it; without its library it says that. Python is asked for real.
func TestScriptsConverse(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	all := Select(Workloads(), []string{"softmax bf16 8192x768", "linear bf16 1000x1000x1000", "top50 f32 4096x4096"})
	program, err := Program()
	require.NoError(t, err)
	dir := t.TempDir()
	input, err := Peer{Name: "plain", Device: "cpu", Budget: 1, Within: 1 << 40}.input(dir, program, all)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plain_peer.py"), []byte(`
import array, conversation

class Plain:
    name = "plain Python"
    kernels = {
        "softmax": lambda a: {"fails": lambda: 1 / 0, "one": lambda: [a["x"][:3]], "compiled": lambda: [a["x"][:3]]},
        "linear": lambda a: {"two": lambda: [[float("nan"), float("inf")], a["w"][:2]]},
    }

    def __init__(self, job):
        with open(job["normals"], "rb") as f:
            self.normals = array.array("f", f.read())
        self.offset = job["offset"]

    def arguments(self, described):
        return {a["name"]: self.normals[a["number"] * self.offset:] for a in described}

    def reset(self, described, arguments):
        pass

    def samples(self, result):
        return [list(s) for s in result]

    def median(self, f):
        return 12.5, ", here"

    def forget(self):
        pass

conversation.converse(Plain)
`), 0o666))
	cmd := exec.Command(python, "plain_peer.py")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(string(input))
	out, err := cmd.Output()
	require.NoError(t, err)

	x, w := normals()[:3], normals()[offset:offset+2]
	r := &Run{Results: []Result{
		{Name: all[0].Name, Samples: [][]float64{{float64(x[0]), float64(x[1]), float64(x[2])}}},
		{Name: all[1].Name, Samples: [][]float64{{math.NaN(), math.Inf(1)}, {float64(w[0]), 2 * float64(w[1])}}},
		{Name: all[2].Name},
	}}
	if all[0].Kernel != "softmax" { // the order of the list
		r.Results[0].Samples, r.Results[1].Samples = r.Results[1].Samples, r.Results[0].Samples
	}
	told := 0
	require.NoError(t, Peer{Name: "plain"}.read(strings.NewReader(string(out)), all, r, func() { told++ }))
	assert.Equal(t, 3, told)
	assert.Equal(t, map[string]string{"plain": "plain Python"}, r.Peers)
	for _, x := range r.Results {
		require.Len(t, x.Beside, 1, x.Name)
		b := x.Beside[0]
		switch {
		case strings.HasPrefix(x.Name, "softmax"):
			assert.Equal(t, Beside{Peer: "plain", Micros: 12.5, Way: "one, here"}, b)
		case strings.HasPrefix(x.Name, "linear"):
			assert.True(t, b.Differs, "an element is twice as large")
		default:
			assert.Contains(t, b.Error, "has no way to compute top50")
		}
	}
}
