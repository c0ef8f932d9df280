package bench_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/bench"
	"tilec/jit/target"
)

// What the L2 is told to be read once is what was seen to be faster so: large tensors that launches read and write little beside.
func TestReadOnce(t *testing.T) {
	program, err := bench.Program()
	require.NoError(t, err)
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for name, want := range map[string][]string{
		"linear bf16 1x8192x8192":               {"w"},
		"linear bf16 64x8192x8192":              {"w"},
		"int8_matmul bf16 64x8192x8192":         {"w"},
		"head bf16 32x768x50257":                {"w"},
		"linear_bias bf16 256x768x50304":        {"w"},
		"linear_bias bf16 1024x768x50304":       nil, // of eight tiles of rows each reads them
		"linear_bias bf16 256x1024x4096":        nil, // small
		"linear bf16 8192x8192x8192":            nil,
		"attention bf16 4x16x4096x64":           nil,
		"softmax f32 8192x4096":                 nil, // as much is written
		"squares_of_rows f32 8192x4096":         {"x"},
		"csr_product f32 8192x512x8192":         {"value", "column"},
		"squared_error f32 32768x32768":         nil, // far more than the L2 holds
		"grouped_linear bf16 256x64x4096x4096":  nil,
		"prefix_sum_columns f32 1048576x16":     nil,
		"segment_sum f32 65536x128x16":          {"x"},
		"gather_rows bf16 1048576x128x262144":   nil,
		"conv3x3_last bf16 8x28x28x128x128x3x3": nil,
	} {
		all := bench.Select(bench.Workloads(), []string{name})
		require.Len(t, all, 1, name)
		launches, err := all[0].Launches(program, machine)
		require.NoError(t, err)
		assert.Equal(t, want, launches[0].Plan.Once, name)
	}
}
