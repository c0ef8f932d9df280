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
		if w.Family == "linear, weights of 4 bits" { // whose scales are for groups of 128 of the depth
			limit = 128
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
