package jit_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/jittest"
	"tilec/jit/target"
	"tilec/lang"
)

// Sums of products over several axes, as gradients of weights are.
const gradientsSource = `
kernel layer(x: bf16[B, S, K], dy: bf16[B, S, N]) -> dw: f32[N, K]
    grid n in N by BN, k in K by BK
{
    axis b in B
    axis s in S
    dw[n, k] = sum(dy[b, s, n] * x[b, s, k], over (b, s))
}

kernel wide(x: f32[B, S, K], dy: f32[B, S, N]) -> dw: f32[N, K]
    grid n in N by BN, k in K by BK
{
    axis b in B
    axis s in S
    dw[n, k] = sum(dy[b, s, n] * x[b, s, k], over (b, s))
}

kernel pointwise(x: bf16[B, H, W, C], dy: bf16[B, H, W, O]) -> dw: f32[O, C]
    grid o in O by BO, c in C by BC
{
    axis b in B
    axis h in H
    axis v in W
    dw[o, c] = sum(x[b, h, v, c] * dy[b, h, v, o], over (v, b, h))
}

kernel window(x: bf16[B, H, W, C], dy: bf16[B, H, W, O]) -> dw: f32[O, 3, 3, C]
    grid o in O by BO, c in C by BC
{
    axis r in 3
    axis s in 3
    axis n in B
    axis h in H
    axis v in W
    dw[o, r, s, c] = sum((x[n, h + r - 1, v + s - 1, c] else 0) * dy[n, h, v, o], over (n, h, v))
}

kernel halved(x: bf16[B, 2 * H, 2 * W, C], dy: bf16[B, H, W, O]) -> dw: f32[O, 3, 3, C]
    grid o in O by BO, r in 3, s in 3, c in C by BC
{
    axis n in B
    axis h in H
    axis v in W
    dw[o, r, s, c] = sum((x[n, 2 * h + r - 1, 2 * v + s - 1, c] else 0) * dy[n, h, v, o], over (n, h, v))
}

kernel first(x: bf16[B, C, H, W], dy: bf16[B, O, H, W]) -> dw: f32[O, C, 3, 3]
    grid o in O by BO, c in C by BC
{
    axis r in 3
    axis s in 3
    axis n in B
    axis h in H
    axis v in W
    dw[o, c, r, s] = sum((x[n, c, h + r - 1, v + s - 1] else 0) * dy[n, o, h, v], over (n, h, v))
}
`

// Products over several axes give what one block after the other would, by plans that take the positions of several axes in a step, and by blocks that share them.
func TestSumsOverSeveralAxes(t *testing.T) {
	k, onCPU := jittest.Load(t, "gradients.tile", gradientsSource), loadOnCPU(t, "gradients.tile", gradientsSource)
	type pins = map[string]int64
	for _, c := range []struct {
		kernel string
		x, dy  []int64
		pins   []pins
	}{
		{"layer", []int64{3, 77, 72}, []int64{3, 77, 64}, []pins{{}, {"BN": 64, "BK": 64, "warps": 4, "stages": 3}, {"BN": 64, "BK": 64, "b": 1, "s": 32, "warps": 4, "stages": 2}}},
		{"layer", []int64{1, 5, 8}, []int64{1, 5, 16}, []pins{{}}},
		{"pointwise", []int64{2, 5, 7, 64}, []int64{2, 5, 7, 72}, []pins{{}, {"BO": 64, "BC": 64, "warps": 4, "stages": 3, "wgmma": 2}}},
		{"window", []int64{8, 4, 6, 64}, []int64{8, 4, 6, 64}, []pins{
			{}, {"BO": 64, "BC": 64, "v": 2, "h": 4, "n": 2, "warps": 4, "stages": 3}, {"BO": 64, "BC": 64, "v": 6, "h": 1, "n": 1, "warps": 4, "stages": 3, "wgmma": 2},
			{"BO": 64, "BC": 64, "v": 2, "h": 2, "n": 4, "warps": 4, "stages": 2, "split": 2}, {"BO": 64, "BC": 64, "v": 4, "h": 4, "n": 1, "warps": 4, "stages": 2},
		}},
		{"window", []int64{3, 3, 5, 16}, []int64{3, 3, 5, 24}, []pins{{}}},
		{"halved", []int64{2, 8, 12, 64}, []int64{2, 4, 6, 64}, []pins{{}, {"BO": 64, "BC": 64, "v": 2, "h": 4, "n": 2, "warps": 4, "stages": 3}}},
		{"first", []int64{2, 16, 4, 8}, []int64{2, 16, 4, 8}, []pins{{}, {"BO": 16, "BC": 16, "v": 8, "h": 2, "n": 1, "warps": 4, "stages": 3}}},
	} {
		x, dy := odd(lang.BF16, 3, 1, c.x...), odd(lang.BF16, 3, 2, c.dy...)
		want, err := onCPU.Call(c.kernel, jit.Args{"x": x, "dy": dy})
		require.NoError(t, err)
		for _, p := range c.pins {
			t.Run(fmt.Sprint(c.kernel, c.x, p), func(t *testing.T) {
				if m := k.Compiler.Device.Target(); m.IsGPU() && !m.Has(target.Clusters) {
					delete(p, "split")
				}
				jittest.Same(t, k.Run(t, c.kernel, jit.Options{Pins: p}, x, dy)[0], want["dw"].Float)
			})
		}
	}
}

// Images with their channels first are laid out anew for that, where 16 bytes of channels are neighbours then, and of f32 one of two operands that lie across the depth; with the same results.
func TestGradientsLaidAnew(t *testing.T) {
	onCPU := loadOnCPU(t, "gradients.tile", gradientsSource)
	module, err := jit.NewCompiler(jittest.Device(t), nil).Load("gradients.tile", []byte(gradientsSource))
	require.NoError(t, err)
	for _, c := range []struct {
		kernel string
		d      lang.DType
		x, dy  []int64
		pins   jit.Args
	}{
		{"first", lang.BF16, []int64{4, 64, 4, 6}, []int64{4, 64, 4, 6}, jit.Args{"relayout": 2}},
		{"first", lang.BF16, []int64{4, 64, 4, 6}, []int64{4, 64, 4, 6}, jit.Args{"relayout": 2, "BO": 64, "BC": 64, "v": 2, "h": 4, "n": 2, "warps": 4, "stages": 3}},
		{"first", lang.BF16, []int64{2, 3, 4, 6}, []int64{2, 8, 4, 6}, jit.Args{"relayout": 2}},
		{"wide", lang.F32, []int64{2, 76, 128}, []int64{2, 76, 64}, jit.Args{"relayout": 2}},
		{"wide", lang.F32, []int64{2, 80, 128}, []int64{2, 80, 64}, jit.Args{"relayout": 2, "BN": 64, "BK": 64, "warps": 4, "stages": 3}},
		{"wide", lang.F32, []int64{2, 77, 16}, []int64{2, 77, 64}, jit.Args{"relayout": 2}},
	} {
		args := jit.Args{"x": odd(c.d, 3, 1, c.x...), "dy": odd(c.d, 3, 2, c.dy...)}
		want, err := onCPU.Call(c.kernel, args)
		require.NoError(t, err)
		maps.Copy(args, c.pins)
		got, err := module.Call(c.kernel, args)
		require.NoError(t, err)
		assert.Equal(t, want["dw"].Floats(), got["dw"].Floats(), "%s %v %v", c.kernel, c.x, c.pins)
	}
}

// Axes that are neighbours in both operands are one; each place of a window is the grid's; and what is contiguous in neither operand is the depth of wgmma, in whose loop copies of
// boxes run ahead, and which the blocks of a cluster share.
func TestFormsOfSumsOverSeveralAxes(t *testing.T) {
	program, problems := jit.Load("gradients.tile", []byte(gradientsSource), nil)
	require.Empty(t, problems)
	machine, err := target.Find(target.Default)
	require.NoError(t, err)
	blockOf := func(kernel int, dims map[string]int64) string {
		s, err := jit.Specialise(program.Kernels[kernel], jit.Options{Dims: dims})
		require.NoError(t, err)
		l, err := compile.Lower(s, machine, nil)
		require.NoError(t, err)
		text, err := l.Block()
		require.NoError(t, err)
		return text
	}
	layer := blockOf(0, map[string]int64{"B": 32, "S": 196, "K": 768, "N": 768})
	assert.Contains(t, layer, "for b_s from")
	assert.Contains(t, layer, "@product by wgmma")
	assert.Equal(t, 2, strings.Count(layer, " vector 8 box map_"))
	pointwise := blockOf(2, map[string]int64{"B": 32, "H": 28, "W": 28, "C": 128, "O": 128})
	assert.Contains(t, pointwise, "for b_h_v from")
	window := blockOf(3, map[string]int64{"B": 32, "H": 28, "W": 28, "C": 128, "O": 128})
	assert.Contains(t, window, "axis r : grid scalar")
	assert.Contains(t, window, "for n_h_v from")
	assert.Contains(t, window, "of n_h_v from")
	assert.Contains(t, window, "@product by wgmma")
	assert.Equal(t, 2, strings.Count(window, " vector 8 box map_"))
	assert.Contains(t, window, "produced overlapped")
}
