package gpt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// A step of one text whose rows are wider than those of the small checkpoints, so that heads project what they attend to and the parts are added up where
// they are read: in f32 its logits are the CPU's, within the bound that those of the checkpoints keep; in bf16 they err no more than half as much again as
// those of the CPU.
func TestAStepOfAWideNetwork(t *testing.T) {
	const layers, heads, size, room, vocabulary, context = 2, 5, 64, 64, 96, 64
	const width = heads * size
	step := func(d jit.Device, dtype lang.DType) []float64 {
		random := rand.New(rand.NewPCG(1, 2))
		array := func(mean, deviation float64, shape ...int64) *jit.Array {
			values := make([]float64, jit.Elements(shape))
			for i := range values {
				values[i] = mean + deviation*random.NormFloat64()
			}
			return jit.Converted(dtype, jit.Converted(lang.BF16, values, shape...).Floats(), shape...)
		}
		matrix := func(out, in int64) *jit.Array { return array(0, 1/math.Sqrt(float64(in)), out, in) }
		blocks := make([]jit.Args, layers)
		for n := range blocks {
			blocks[n] = jit.Args{
				"ln_1_g": array(1, 0.1, width), "ln_1_b": array(0, 0.1, width),
				"attn_w": matrix(3*width, width), "attn_b": array(0, 0.1, 3*width),
				"proj_w": matrix(width, width), "proj_b": array(0, 0.1, width),
				"ln_2_g": array(1, 0.1, width), "ln_2_b": array(0, 0.1, width),
				"fc_w": matrix(4*width, width), "fc_b": array(0, 0.1, 4*width),
				"out_w": matrix(width, 4*width), "out_b": array(0, 0.1, width),
			}
		}
		args := jit.Args{
			"@precision": "ieee", "tokens": jittest.Ints([]int32{7}, 1, 1), "start": jittest.Ints([]int32{41}, 1), "eps": 1e-5,
			"cache": jit.Args{"k": array(0, 1, layers, 1, heads, room, size), "v": array(0, 1, layers, 1, heads, room, size)},
			"w": jit.Args{
				"wte": array(0, 1, vocabulary, width), "lm_head": matrix(vocabulary, width), "wpe": array(0, 1, context, width),
				"blocks": blocks, "ln_f_g": array(1, 0.1, width), "ln_f_b": array(0, 0.1, width),
			},
		}
		module, err := jit.NewCompiler(d, nil).Load("gpt.tile", gpt.Source)
		require.NoError(t, err)
		out, err := module.Call("forward", args)
		require.NoError(t, err)
		return out["logits"].Floats()
	}
	exact := step(jit.OpenCPU(), lang.F32)
	largest, _ := difference(step(jittest.Device(t), lang.F32), exact)
	assert.LessOrEqual(t, largest, 2*logitBound("ieee"), "each is as near to the exact logits")
	_, may := difference(step(jit.OpenCPU(), lang.BF16), exact)
	_, rms := difference(step(jittest.Device(t), lang.BF16), exact)
	t.Logf("in f32 off by %.2g; in bf16 a root mean square error of %.4g, on the CPU %.4g", largest, rms, may)
	assert.LessOrEqual(t, rms, 1.5*may)
}
