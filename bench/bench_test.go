package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// TestEveryWorkloadRuns runs all workloads, cut to small sizes.
func TestEveryWorkloadRuns(t *testing.T) {
	k, err := bench.NewKernels(jit.NewCompiler(jittest.Device(t), nil), 0)
	require.NoError(t, err)
	done := map[string]bool{}
	for _, w := range bench.Workloads() {
		require.False(t, done[w.Name], "workload %s is there twice", w.Name)
		done[w.Name] = true
		limit := int64(65)
		if len(w.Sizes) > 3 { // images
			limit = 17
		}
		r := k.Run(w.Small(limit), 0)
		assert.Empty(t, r.Error, w.Name)
		assert.Positive(t, r.Micros, w.Name)
		assert.Positive(t, w.Bytes, w.Name)
	}
	assert.NotEmpty(t, k.Run(bench.Workload{Kernel: "no_such"}, 0).Error)
}

func TestModelIsTimed(t *testing.T) {
	r := bench.RunModel(jit.NewCompiler(jittest.Device(t), nil), bench.Model{Name: "mini", DType: lang.F32, Tokens: 4}, time.Now())
	assert.Empty(t, r.Error)
	assert.Equal(t, "mini f32", r.Name)
	assert.Equal(t, 4, r.Tokens)
	assert.Positive(t, r.TokensPerSecond)
	assert.Positive(t, r.FirstTokenMillis)
	assert.Positive(t, r.CompileMillis)
	assert.NotEmpty(t, bench.RunModel(jit.NewCompiler(jittest.Device(t), nil), bench.Model{Name: "/no/such", DType: lang.F32}, time.Now()).Error)
}

func TestReport(t *testing.T) {
	all := bench.Select(bench.Workloads(), []string{"softmax bf16 8192x768", "linear_gelu bf16 8192x768x3072", "gelu_map f32 8192x768"})
	require.Len(t, all, 3)
	var out strings.Builder
	bench.Report(&out, "a device", all,
		[]bench.Result{{Name: "linear_gelu bf16 8192x768x3072", Micros: 100, CompileMillis: 12, Plan: "BM=128"}, {Name: "softmax bf16 8192x768", Error: "no | memory\nat all"}},
		[]bench.Result{{Name: "linear_gelu bf16 8192x768x3072", Micros: 80, Plan: "fused"}, {Name: "softmax bf16 8192x768", Micros: 11}})
	assert.Equal(t, `# Kernels on a device
Medians in µs by the device's clock; the L2 cache is overwritten before each run. The ratio is ours / peer.

| kernel, M×K×N / M×N / b×h×s×d | ours | peer | ratio | ours TFLOP/s | ours GB/s | compile ms | plan | peer's variant |
|---|---|---|---|---|---|---|---|---|
| linear_gelu bf16 8192x768x3072 | 100.0 | 80.0 | 1.25 | 387 | 676 | 12 | BM=128 | fused |
| softmax bf16 8192x768 | failed: no / memory | 11.0 |  |  |  |  |  |  |

Geometric mean of 1 ratios: 1.25
`, out.String())
}

func TestReportModels(t *testing.T) {
	var out strings.Builder
	bench.ReportModels(&out, "a device", []bench.ModelResult{{Name: "mini f32", FirstTokenMillis: 40, CompileMillis: 12}},
		[]bench.ModelResult{{Name: "mini f32", FirstTokenMillis: 30, CompileMillis: 3, PromptMillis: 2.5, TokensPerSecond: 1800}, {Name: "nano f32", TokensPerSecond: 9000}, {Name: "big f32", Error: "no memory"}},
		map[string]float64{"mini f32 eager": 600})
	assert.Contains(t, out.String(), "| mini f32 | 1800 | 600 | not run | 2.50 | 40 | 12 | 30 | 3 |")
	assert.Contains(t, out.String(), "| nano f32 | 9000 | not run | not run | 0.00 | not run |  | 0 | 0 |")
	assert.Contains(t, out.String(), "| big f32 | failed: no memory |")
}

// TestModelShape runs GPT-2's shape with random weights, whose ids the demo tokenizer does not know.
func TestModelShape(t *testing.T) {
	if testing.Short() {
		t.Skip("124 million parameters")
	}
	r := bench.RunModel(jit.NewCompiler(jittest.Device(t), nil), bench.Model{Name: "gpt2", DType: lang.BF16, Tokens: 3}, time.Now())
	assert.Empty(t, r.Error)
	assert.Positive(t, r.TokensPerSecond)
}
