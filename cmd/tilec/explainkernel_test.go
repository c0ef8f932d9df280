package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/stdlib"
	"tilec/typecheck/typed"
)

// loadNN is the program of std/nn.
func loadNN(t *testing.T) *typed.Program {
	text, err := stdlib.FS.ReadFile("nn.tile")
	require.NoError(t, err)
	program, problems := jit.Load("std/nn.tile", text, nil)
	require.Empty(t, problems)
	return program
}

// Every value that can be pinned is planned anew; the picture is XML, whatever bounds the kernel.
func TestExplainKernel(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	program := loadNN(t)
	var pages []*kernelPage
	for _, name := range []string{"softmax", "linear_bias"} {
		for _, k := range program.Kernels {
			if k.Name != name {
				continue
			}
			s, err := jit.Specialise(k, jit.Options{Types: map[string]lang.DType{"T": lang.BF16}})
			require.NoError(t, err)
			e, err := compile.Explain(s, machine)
			require.NoError(t, err)
			planned := map[string]int{}
			for _, p := range e.Pins {
				if p.Planned {
					planned[p.Name]++
					assert.Equal(t, e.Plan.Time, p.Seconds, p.Name)
				}
				assert.True(t, (p.Seconds > 0) != (p.Refused != ""), "%s=%d: %v, %s", p.Name, p.Value, p.Seconds, p.Refused)
			}
			assert.Equal(t, 1, planned["BM"])
			assert.Equal(t, 1, planned["warps"])
			// The estimate is that of the plan, and its longest term with what comes on top is all of it, but for what makes code long.
			longest, rest := 0.0, 0.0
			for _, term := range e.Plan.Estimate.Terms {
				if term.Name == "latency" || term.Name == "launch" {
					rest += term.Seconds
				} else {
					longest = max(longest, term.Seconds)
				}
			}
			assert.InEpsilon(t, e.Plan.Time, longest+rest, 0.3)
			assert.Equal(t, e.Plan.Time, e.Plan.Estimate.Seconds)
			p, err := kernelPageOf(e, machine)
			require.NoError(t, err)
			p.For = `a < b & "c"`
			pages = append(pages, p)
			var out bytes.Buffer
			p.write(&out)
			assert.Contains(t, out.String(), "roofline: ")
		}
	}
	require.Len(t, pages, 2)
	assert.Equal(t, "memory", pages[0].Roofline.Bound)
	assert.Equal(t, "arithmetic", pages[1].Roofline.Bound)
	for d := xml.NewDecoder(bytes.NewReader(explanationSVG(pages))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

// Where blocks share the steps of causal attention, a plan's time counts that not all blocks have as many; among the costs of pins it does not, as that of no
// other plan does.
func TestPinsAreHeldAgainstEachOther(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	for _, k := range loadNN(t).Kernels {
		if k.Name != "attention" {
			continue
		}
		options := jit.Options{Types: map[string]lang.DType{"T": lang.BF16}}
		s, err := jit.Specialise(k, options)
		require.NoError(t, err)
		e, err := compile.Explain(s, machine)
		require.NoError(t, err)
		options.Pins = map[string]int64{"split": 2}
		s, err = jit.Specialise(k, options)
		require.NoError(t, err)
		shared, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		require.True(t, shared.Plan.Estimate.SharesSteps)
		require.Positive(t, shared.Plan.Estimate.Shorter)
		found := false
		for _, p := range e.Pins {
			if p.Name == "split" && p.Value == 2 {
				found = true
				assert.InDelta(t, shared.Plan.Time+shared.Plan.Estimate.Shorter, p.Seconds, 1e-12)
				assert.Greater(t, p.Seconds, 0.9*e.Plan.Time)
			}
		}
		assert.True(t, found)
	}
}

// A kernel that is cut in two launches is explained as these, and a sum of products of three factors says what is faster.
func TestExplainSaysWhatRuns(t *testing.T) {
	machine, err := target.Find("sm_90a")
	require.NoError(t, err)
	program, problems := jit.Load("said.tile", []byte(`
kernel prefix(x: i32[N]) -> y: i32[N]
    grid g in 1
{
    axis i in N
    y[i] = cumsum(x[i], over i)
}

kernel gains(x: bf16[M, K], g: bf16[K], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * g[k] * w[j, k], over k) }

kernel scaled(x: bf16[M, K], s: bf16[M], w: bf16[N, K]) -> y: f32[M, N] { y[i, j] = sum(x[i, k] * s[i] * w[j, k], over k) }

kernel weights(x: f32[P, K], dy: f32[P, N]) -> dw: f32[N, K] { dw[n, k] = sum(dy[p, n] * x[p, k], over p) }
`), nil)
	require.Empty(t, problems)
	said := map[string][]string{}
	for i, dims := range []map[string]int64{{"N": 1 << 24}, {"M": 512, "N": 512, "K": 512}, {"M": 512, "N": 512, "K": 512}, {"P": 8192, "N": 1024, "K": 4096}} {
		s, err := jit.Specialise(program.Kernels[i], jit.Options{Dims: dims})
		require.NoError(t, err)
		pages, err := launchPages(s, machine)
		require.NoError(t, err)
		for _, p := range pages {
			said[p.Kernel] = append(said[p.Kernel], p.Said...)
		}
	}
	require.Len(t, said["prefix"], 2)
	assert.Contains(t, said["prefix"][0], "the first of the two launches in which it is cut, with i32[1 1024] between them")
	require.Len(t, said["gains"], 1)
	assert.Contains(t, said["gains"][0], "multiplied in two parts")
	assert.Empty(t, said["scaled"])
	assert.Contains(t, said["relayout"][0], "lays out an operand of weights anew")
	assert.Contains(t, said["weights"][0], "behind a launch that lays out an operand anew")
}
