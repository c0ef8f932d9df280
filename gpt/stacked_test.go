package gpt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// A field that is several tensors of a checkpoint asks for each of them, of one type and one width.
func TestStackedTensorsRefused(t *testing.T) {
	type tensors = []safetensors.Tensor
	const layer = "model.layers.1.self_attn."
	ckpt := llamaCheckpoint(t, llamaConfig(nil))
	for _, c := range []struct {
		name   string
		change func(tensors) tensors
		want   string
	}{
		{"one is missing", func(all tensors) tensors {
			return slices.DeleteFunc(all, func(x safetensors.Tensor) bool { return x.Name == layer+"k_proj.weight" })
		}, `llama: tensor "` + layer + `k_proj.weight" is missing among the 20 there (for w.layers[1].qkv_w)`},
		{"one has another type", func(all tensors) tensors {
			x := named(t, all, layer+"v_proj.weight")
			x.DType, x.Data = lang.BF16, x.Data[:len(x.Data)/2]
			return all
		}, `llama: tensor "` + layer + `q_proj.weight" is f32 and "` + layer + `v_proj.weight" is bf16: those of one field have one type (for w.layers[1].qkv_w)`},
		{"one has another width", func(all tensors) tensors {
			x := named(t, all, layer+"k_proj.weight")
			x.Shape, x.Data = []int{20, 31}, x.Data[:4*20*31]
			return all
		}, `llama: tensor "` + layer + `q_proj.weight" has the shape [40 32] and "` + layer + `k_proj.weight" the shape [20 31]: those of one field differ in the first dimension alone`},
		{"one has too many rows", func(all tensors) tensors {
			x := named(t, all, layer+"k_proj.weight")
			x.Shape, x.Data = []int{21, 32}, append(slices.Clone(x.Data), x.Data[:4*32]...)
			return all
		}, `v_proj.weight" of llama has the shape [81 32] and must have [`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := llamaModel(t, llamaOf(t, ckpt.Config, c.change(tensorsOf(t, ckpt))), jittest.Device(t), gpt.Options{DType: lang.F32})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := llamaModel(t, stored(t, ckpt, lang.I8, func(all tensors) tensors {
		return slices.DeleteFunc(all, func(x safetensors.Tensor) bool { return x.Name == layer+"v_proj.weight_scale" })
	}), jittest.Device(t), gpt.Options{DType: lang.F32})
	require.ErrorContains(t, err, "llama has scales for some of "+layer+"q_proj.weight + "+layer+"k_proj.weight + "+layer+"v_proj.weight and none for others")
}

// Of tensors that stand one behind the other, one may have a scale for each row and another one for all.
func TestStackedScales(t *testing.T) {
	tokens := text(9)
	ckpt := llamaCheckpoint(t, llamaConfig(nil))
	scores := func(one bool) []float32 {
		c := stored(t, ckpt, lang.I8, func(all []safetensors.Tensor) []safetensors.Tensor {
			for i, x := range all {
				if strings.HasSuffix(x.Name, "k_proj.weight_scale") {
					values := make([]float32, 20)
					for r := range values {
						values[r] = 0.015
					}
					if one {
						values = values[:1]
					}
					all[i].Shape, all[i].Data = []int{len(values)}, slices.Clone(jit.Bytes(values))
				}
			}
			return all
		})
		got, err := mustLlama(t, c, gpt.Options{DType: lang.F32}).Scores(tokens)
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, scores(false), scores(true))
}
