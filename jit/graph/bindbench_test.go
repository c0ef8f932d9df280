package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/graph"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// A step of a model of 12 layers, bound for a GPU and for the CPU.
func BenchmarkBind(b *testing.B) {
	program, problems := jit.Load("gpt.tile", []byte(gptSource(b)), nil)
	require.Empty(b, problems)
	var g *typed.Graph
	for _, h := range program.Graphs {
		if h.Name == "forward" {
			g = h
		}
	}
	gpu, err := jit.OpenDevice("emu:sm_90a")
	require.NoError(b, err)
	for name, device := range map[string]jit.Device{"cpu": jit.OpenCPU(), "gpu": gpu} {
		for _, separate := range []bool{false, true} {
			b.Run(name+map[bool]string{true: " separate"}[separate], func(b *testing.B) {
				for b.Loop() {
					_, err = graph.BindSizes(&jit.NewCompiler(device, nil).Compiler, g, graph.Options{
						Dims:     map[string]int64{"B": 1, "S": 1, "L": 12, "C": 48, "H": 3, "F": 192, "V": 512, "P": 1024, "R": 1024},
						Types:    map[string]lang.DType{"T": lang.BF16},
						Separate: separate,
					})
					require.NoError(b, err)
				}
			})
		}
	}
}
