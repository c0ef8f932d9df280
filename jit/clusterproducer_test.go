package jit

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit/jittest/sweep"
	"tilec/lang"
)

// Blocks of a cluster that share the depth of a product each have a producer for their part, and give what one block gives: with
// factors of few bits every sum is exact.
func TestSplitProductsHaveProducers(t *testing.T) {
	sweep.OnceEmulated(t)
	const source = `
kernel f(x: bf16[M, K], w: bf16[K, N], b: bf16[N]) -> y: bf16[M, N]
    grid i in M by BM, j in N by BN
{
    let acc = for k in K by BK with acc = zeros(f32, i, j) {
        mma(x[i, k], w[k, j], acc)
    }
    y[i, j] = (acc + b[j] as f32) as bf16
}`
	run := func(device string, args Args) []float64 {
		d, err := OpenDevice(device)
		require.NoError(t, err)
		defer d.Close()
		module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		out, err := module.Call("f", args)
		require.NoError(t, err)
		return out["y"].Floats()
	}
	for _, depth := range []int64{584, 640, 1040} {
		args := Args{"x": counting(lang.BF16, 70, depth), "w": counting(lang.BF16, depth, 136), "b": counting(lang.BF16, 136)}
		want := run("cpu", args)
		pins := Args{"BM": 64, "BN": 64, "BK": 64, "warps": 4, "stages": 4}
		for name, n := range pins {
			args[name] = n
		}
		for _, split := range []int{1, 2, 3, 8} {
			args["split"] = split
			assert.Equal(t, want, run(gpu(), args), "depth %d split %d", depth, split)
		}
	}
	program, problems := Load("f.tile", []byte(source), nil)
	require.Empty(t, problems)
	l, err := lowerCase(t, program.Kernels[0], "sm_90a", map[string]int64{"M": 256, "K": 4096, "N": 1024},
		map[string]int64{"BM": 64, "BN": 64, "BK": 128, "warps": 4, "stages": 4, "split": 2})
	require.NoError(t, err)
	text, err := l.PTX()
	require.NoError(t, err)
	assert.Contains(t, text, ".reqnctapercluster 2, 1, 1")
	assert.Contains(t, text, "cp.async.bulk.tensor.2d.shared::cluster", "a producer copies")
}

// A producer comes past no meeting of blocks, be it that these wait for all threads of the cluster or that those of all blocks but the first leave: a loop behind it has none.
func TestNoProducerBehindMeetings(t *testing.T) {
	sweep.OnceEmulated(t)
	const source = `
kernel first(x: bf16[M, K], w: bf16[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    let r = sum(v * v, over k)
    let acc = for l in K by BL with acc = where(index(j) < 0, 1, r) { mma(x[i, l], w[j, l], acc) }
    y[i, j] = acc
}

kernel each(x: bf16[M, K], w: bf16[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    axis l in K
    let v = x[i, k] as f32
    let r = sum(v * v, over k)
    y[i, j] = dot((x[i, l] as f32 - max(r, 0) * 0) as bf16, w[j, l])
}

kernel again(x: bf16[M, K], w: bf16[N, K]) -> y: f32[M, N]
    grid i in M by BM, j in N by BN
{
    axis k in K
    let v = x[i, k] as f32
    let r = sum(v * v, over k)
    y[i, j] = dot((v - max(r, 0) * 0) as bf16, w[j, k])
}`
	run := func(device, kernel string, args Args) []float64 {
		d, err := OpenDevice(device)
		require.NoError(t, err)
		defer d.Close()
		module, err := NewCompiler(d, nil).Load("f.tile", []byte(source))
		require.NoError(t, err)
		out, err := module.Call(kernel, args)
		require.NoError(t, err)
		return out["y"].Floats()
	}
	for _, c := range []struct {
		kernel string
		pins   Args
	}{
		{"first", Args{"BM": 64, "BN": 64, "BL": 64, "k": 64, "warps": 4, "stages": 3, "split": 2}},
		{"first", Args{"BM": 64, "BN": 256, "BL": 64, "k": 64, "warps": 4, "stages": 3, "split": 4}},
		{"each", Args{"BM": 64, "BN": 64, "k": 64, "l": 64, "warps": 4, "stages": 3, "split": 2}},
		{"each", Args{"BM": 64, "BN": 256, "k": 64, "l": 64, "warps": 4, "stages": 3, "split": 2}},
		{"again", Args{"BM": 64, "BN": 256, "k": 64, "warps": 4, "stages": 3, "split": 2}},
	} {
		args := Args{"x": counting(lang.BF16, 70, 640), "w": counting(lang.BF16, 264, 640)}
		want := run("cpu", c.kernel, args)
		maps.Copy(args, c.pins)
		assert.Equal(t, want, run(gpu(), c.kernel, args), "%s %v", c.kernel, c.pins)
	}
}
