package gpt_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// eights are the types of 8 bits, with the largest number of each.
var eights = map[lang.DType]float64{lang.I8: 127, lang.F8E4M3: 448, lang.F8E5M2: 57344}

// codes is a row in an 8-bit type, and its scale: the nearest numbers of the type, found by looking at all of them.
func codes(row []float64, d lang.DType) (numbers []float64, bits []byte, scale float64) {
	most := 0.0
	for _, v := range row {
		most = max(most, math.Abs(v))
	}
	if scale = float64(float32(most / eights[d])); scale == 0 {
		scale = 1
	}
	for _, v := range row {
		best, at := math.Inf(1), byte(0)
		for b := range 256 {
			x := float64(int8(b))
			if d.IsFloat() {
				x = d.FloatValue(uint64(b))
			}
			// Of two that are as near, the one with the even code; -128 is none.
			near, nearest := math.Abs(v/scale-x), math.Abs(v/scale-best)
			if x >= -eights[d] && x <= eights[d] && (near < nearest || near == nearest && b%2 == 0 && x != best) {
				best, at = x, byte(b)
			}
		}
		numbers, bits = append(numbers, best), append(bits, at)
	}
	return numbers, bits, scale
}

// isMatrix reports the tensors of a Llama that have the type W.
func isMatrix(name string) bool { return strings.HasSuffix(name, "_proj.weight") }

// eachRow visits the rows of the matrices of a checkpoint.
func eachRow(t *testing.T, ckpt *gpt.Checkpoint, visit func(name string, i int, row []float64)) {
	t.Helper()
	for _, tensor := range tensorsOf(t, ckpt) {
		if !isMatrix(tensor.Name) {
			continue
		}
		values, err := tensor.Float32s()
		require.NoError(t, err)
		n := tensor.Shape[1]
		for i := range tensor.Shape[0] {
			row := make([]float64, n)
			for k := range row {
				row[k] = float64(values[i*n+k])
			}
			visit(tensor.Name, i, row)
		}
	}
}

// dequantised is a float64 model whose matrices are what a type has of them.
func dequantised(t *testing.T, ckpt *gpt.Checkpoint, d lang.DType, round, each func(float64) float64) *llama {
	l := newLlama(t, ckpt, round, each)
	eachRow(t, ckpt, func(name string, i int, row []float64) {
		to := l.weights[name][i*len(row):][:len(row)]
		if d.Bits() > 8 {
			copy(to, rounded(row, roundTo(d)))
			return
		}
		numbers, _, scale := codes(row, d)
		for k, v := range numbers {
			to[k] = v * scale
		}
	})
	return l
}

// Matrices in types of their own: logits err as rounding does, against a float64 model of the very weights.
func TestWeightsInTypesOfTheirOwn(t *testing.T) {
	tokens := text(24)
	ckpt := llamaCheckpoint(t, llamaConfig(nil))
	full := newLlama(t, ckpt, same, same).logits(tokens)
	for _, weights := range []lang.DType{lang.I8, lang.F8E4M3, lang.F8E5M2, lang.BF16} {
		exact := dequantised(t, ckpt, weights, same, same).logits(tokens)
		lost, _ := difference(exact, full)
		assert.Greater(t, lost, 0.01, "weights of %s are other weights", weights)
		for _, d := range []lang.DType{lang.F32, lang.BF16} {
			m := mustLlama(t, ckpt, gpt.Options{DType: d, Weights: weights})
			got, err := m.Scores(tokens)
			require.NoError(t, err)
			rounding := dequantised(t, ckpt, weights, roundTo(d), roundTo(lang.F32)).logits(tokens)
			assertRounded(t, weights.String()+" for "+d.String(), got, rounding, exact)
		}
	}
}

// stored is a checkpoint whose matrices lie in 8 bits, with the scales of each in a tensor beside it.
func stored(t *testing.T, ckpt *gpt.Checkpoint, d lang.DType, change func([]safetensors.Tensor) []safetensors.Tensor) *gpt.Checkpoint {
	t.Helper()
	bits, scales := map[string][]byte{}, map[string][]float32{}
	eachRow(t, ckpt, func(name string, _ int, row []float64) {
		_, b, scale := codes(row, d)
		bits[name], scales[name] = append(bits[name], b...), append(scales[name], float32(scale))
	})
	var tensors []safetensors.Tensor
	for _, x := range tensorsOf(t, ckpt) {
		if isMatrix(x.Name) {
			n := len(scales[x.Name])
			tensors = append(tensors, safetensors.Tensor{Name: x.Name + "_scale", DType: lang.F32, Shape: []int{n, 1}, Data: slices.Clone(jit.Bytes(scales[x.Name]))})
			x.DType, x.Data = d, bits[x.Name]
		}
		tensors = append(tensors, x)
	}
	if change != nil {
		tensors = change(tensors)
	}
	return llamaOf(t, ckpt.Config, tensors)
}

// A checkpoint may have its weights in 8 bits: the logits have the bits of those that are made when it is read.
func TestCheckpointsInEightBits(t *testing.T) {
	tokens := text(12)
	ckpt := llamaCheckpoint(t, llamaConfig(map[string]any{"quantization_config": map[string]any{"quant_method": "fbgemm_fp8"}}))
	for d := range eights {
		want, err := mustLlama(t, ckpt, gpt.Options{DType: lang.F32, Weights: d}).Scores(tokens)
		require.NoError(t, err)
		for _, weights := range []lang.DType{lang.Invalid, d, lang.F32} {
			got, err := mustLlama(t, stored(t, ckpt, d, nil), gpt.Options{DType: lang.F32, Weights: weights}).Scores(tokens)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s as %s", d, weights)
		}
	}
	// One scale for a whole matrix.
	one := stored(t, ckpt, lang.I8, func(all []safetensors.Tensor) []safetensors.Tensor {
		for i, x := range all {
			if strings.HasSuffix(x.Name, "_scale") {
				all[i].Shape, all[i].Data = []int{1}, slices.Clone(jit.Bytes([]float32{0.01}))
			}
		}
		return all
	})
	exact := newLlama(t, llamaOf(t, ckpt.Config, func() []safetensors.Tensor {
		var all []safetensors.Tensor
		for _, x := range tensorsOf(t, one) {
			if strings.HasSuffix(x.Name, "_scale") {
				continue
			}
			if isMatrix(x.Name) {
				values := make([]float32, len(x.Data))
				for i, b := range x.Data {
					values[i] = float32(float64(int8(b)) * float64(float32(0.01)))
				}
				x.DType, x.Data = lang.F32, slices.Clone(jit.Bytes(values))
			}
			all = append(all, x)
		}
		return all
	}()), same, same)
	got, err := mustLlama(t, one, gpt.Options{DType: lang.F32}).Scores(tokens)
	require.NoError(t, err)
	rounding := *exact
	rounding.round, rounding.each = roundTo(lang.F32), roundTo(lang.F32)
	assertRounded(t, "one scale", got, rounding.logits(tokens), exact.logits(tokens))
}

func TestWeightsRefused(t *testing.T) {
	type tensors = []safetensors.Tensor
	ckpt := llamaCheckpoint(t, llamaConfig(nil))
	for _, c := range []struct {
		name    string
		weights lang.DType
		change  func(tensors) tensors
		want    string
	}{
		{"another type of 8 bits", lang.F8E4M3, nil, `w.layers[0].qkv_w: tensor "model.layers.0.self_attn.q_proj.weight + model.layers.0.self_attn.k_proj.weight + model.layers.0.self_attn.v_proj.weight" of llama is i8, and cannot be f8e4m3: leave --weights out, or give a type of 16 bits or more`},
		{"no scales", lang.Invalid, func(all tensors) tensors {
			return slices.DeleteFunc(all, func(x safetensors.Tensor) bool { return strings.HasSuffix(x.Name, "_scale") })
		}, `is i8, and the file has no tensor "model.layers.0.self_attn.q_proj.weight_scale + model.layers.0.self_attn.k_proj.weight_scale + model.layers.0.self_attn.v_proj.weight_scale" of its scales`},
		{"scales of another shape", lang.Invalid, func(all tensors) tensors {
			x := named(t, all, "model.layers.1.mlp.up_proj.weight_scale")
			x.Shape, x.Data = []int{47}, x.Data[:4*47]
			return all
		}, `w.layers[1].up_s: tensor "model.layers.1.mlp.up_proj.weight_scale" of llama has the shape [47] and must have [F = 48]`},
		{"a scale that is no number", lang.Invalid, func(all tensors) tensors {
			x := named(t, all, "model.layers.1.mlp.up_proj.weight_scale")
			x.Shape = []int{48}
			*x = wideF32(t, *x, 3, math.NaN())
			return all
		}, `tensor "model.layers.1.mlp.up_proj.weight_scale": element [3] is NaN`},
		{"8 bits without a field for scales", lang.Invalid, func(all tensors) tensors {
			x := named(t, all, "model.norm.weight")
			x.DType, x.Data = lang.I8, x.Data[:32]
			return all
		}, `w.norm: tensor "model.norm.weight" of llama is i8, to be f32, and the program has no scales for it: add a field`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := llamaModel(t, stored(t, ckpt, lang.I8, c.change), jittest.Device(t), gpt.Options{DType: lang.F32, Weights: c.weights})
			require.ErrorContains(t, err, c.want)
		})
	}
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	_, err := gpt.NewWith(program, open(t, "nano"), jit.NewCompiler(jittest.Device(t), nil), gpt.Options{DType: lang.F32, Weights: lang.I8})
	require.ErrorContains(t, err, "graph forward: its weights have no type of their own, for --weights i8")
}

// What llama.tile says of config.json refuses what it would compute wrongly.
func TestLlamaConfigsRefused(t *testing.T) {
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"model_type", "gpt2", `model_type is "gpt2", required "model_type" == "llama" or`},
		{"num_key_value_heads", 3, "num_attention_heads is 4, num_key_value_heads is 3, required H % KV == 0"},
		{"head_dim", 9, "head_dim is 9, required D % 2 == 0"},
		{"hidden_act", "gelu", `hidden_act is "gelu", required`},
		{"rope_scaling", map[string]any{"type": "linear", "factor": 2.0}, "rope_scaling.rope_type is missing, rope_scaling is {"},
		{"sliding_window", 4096, "sliding_window is 4096, required not"},
		{"attention_bias", true, "attention_bias is true, required not"},
		{"quantization_config", map[string]any{"quant_method": "gptq"}, `quantization_config.quant_method is "gptq", required`},
		{"num_key_value_heads", 0, "num_key_value_heads is 0, required an integer of 1"},
		{"num_attention_heads", 0, "num_attention_heads is 0, required H >= 1"},
		{"num_hidden_layers", 1 << 28, `tensor "model.embed_tokens.weight" is missing`},
		{"max_position_embeddings", nil, "has no n_positions, no max_position_embeddings and no n_ctx: how long may a text be?"},
		{"num_hidden_layers", nil, "num_hidden_layers is missing, required an integer"},
	} {
		cfg, err := config.Of(llamaConfig(map[string]any{c.field: c.value}))
		require.NoError(t, err)
		_, err = llamaModel(t, llamaOf(t, cfg, nil), jittest.Device(t), gpt.Options{DType: lang.F32})
		assert.ErrorContains(t, err, c.want)
	}
}
