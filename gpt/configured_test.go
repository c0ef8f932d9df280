package gpt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// gpt2Config is a correct config.json of GPT-2 of only what is required, with changes; nil leaves a field out.
func gpt2Config(changes map[string]any) map[string]any {
	fields := map[string]any{"model_type": "gpt2", "n_layer": 2, "n_head": 3, "n_embd": 6, "n_positions": 8, "vocab_size": 1024}
	for field, value := range changes {
		if fields[field] = value; value == nil {
			delete(fields, field)
		}
	}
	return fields
}

// refusal is what a program says of a configuration, before it looks at any tensor.
func refusal(t *testing.T, source string, fields map[string]any) error {
	t.Helper()
	cfg, err := config.Of(fields)
	require.NoError(t, err)
	program, problems := jit.Load("gpt.tile", []byte(source), nil)
	require.Empty(t, problems)
	ckpt := open(t, "nano")
	_, err = gpt.New(program, &gpt.Checkpoint{Config: cfg, Tokenizer: ckpt.Tokenizer, Tensors: ckpt.Tensors}, jit.NewCompiler(jit.OpenCPU(), nil), lang.F32, "")
	require.Error(t, err) // its tensors are those of another shape
	return err
}

// What gpt.tile says of config.json refuses what GPT-2 is not.
func TestConfigsRefused(t *testing.T) {
	for _, c := range []struct {
		field string
		value any
		want  string
	}{
		{"n_layer", nil, "n_layer is missing, required an integer of 1 to 268435456"},
		{"n_layer", 0, "n_layer is 0, required an integer of 1"},
		{"n_head", -1, "n_head is -1, required"},
		{"n_head", 4, "n_embd is 6, n_head is 4, required C % H == 0, by gpt.tile:"},
		{"n_embd", 1.5, "n_embd is 1.5, required an integer"},
		{"n_embd", "6", `n_embd is "6", required an integer`},
		{"n_embd", 3000000000, "n_embd is 3000000000, required an integer of 1 to 268435456"},
		{"n_inner", 0, "n_inner is 0, required"},
		{"n_positions", nil, "n_positions or n_ctx is missing"},
		{"n_ctx", 9, "n_ctx is 9, n_positions is 8, required \"n_ctx\" == P or not \"n_ctx\""},
		{"layer_norm_epsilon", 0, `layer_norm_epsilon is 0, required "layer_norm_epsilon" > 0`},
		{"layer_norm_epsilon", 1, "layer_norm_epsilon is 1, required"},
		{"layer_norm_epsilon", "x", `layer_norm_epsilon is "x", required a number`},
		{"activation_function", "swiglu", `activation_function is "swiglu", required one of gelu_new, gelu_fast, gelu_pytorch_tanh, gelu, gelu_python, quick_gelu, relu, relu2, silu, swish, tanh`},
		{"activation_function", 1, `activation_function is 1, required one of gelu_new,`},
		{"model_type", "llama", `model_type is "llama", required "model_type" == "gpt2"`},
		{"model_type", nil, `model_type is missing, required "model_type" == "gpt2"`},
		{"scale_attn_weights", false, `scale_attn_weights is false, required "scale_attn_weights" != false`},
		{"scale_attn_weights", 1, `scale_attn_weights is 1, required "scale_attn_weights" != false`},
		{"architectures", []string{"GPT2ForSequenceClassification"}, `architectures is ["GPT2ForSequenceClassification"], required "architectures" == "GPT2LMHeadModel" or`},
		{"architectures", []string{"GPT2Model", "GPT2Model"}, `architectures is ["GPT2Model","GPT2Model"], required`},
		{"quantization_config", map[string]any{"load_in_8bit": true}, `quantization_config is {"load_in_8bit":true}, required not "quantization_config"`},
		{"add_cross_attention", true, "add_cross_attention is true, required not"},
		{"pruned_heads", map[string]any{"0": []int{1}}, `pruned_heads is {"0":[1]}, required not`},
		{"rope_theta", 10000, "rope_theta is 10000, required not"},
		{"position_embedding_type", "relative_key", `position_embedding_type is "relative_key", required "position_embedding_type" == "absolute" or`},
		{"sliding_window", 128, "sliding_window is 128, required not"},
		{"num_key_value_heads", 3, "num_key_value_heads is 3, required not"},
		{"is_encoder_decoder", true, "is_encoder_decoder is true, required not"},
		{"scale_attn_by_inverse_layer_idx", true, "scale_attn_by_inverse_layer_idx is true, required not"},
	} {
		err := refusal(t, string(gpt.Source), gpt2Config(map[string]any{c.field: c.value}))
		assert.ErrorContains(t, err, "config.json: "+c.want)
		assert.ErrorContains(t, err, "(graph forward)")
		assert.NotContains(t, err.Error(), "\n", "one mistake gives one problem")
	}
}

// What says that there is nothing of the kind, and what changes no number, is no problem.
func TestConfigsThatChangeNothing(t *testing.T) {
	err := refusal(t, string(gpt.Source), gpt2Config(map[string]any{
		"architectures": []string{"GPT2LMHeadModel"}, "quantization_config": nil, "pruned_heads": map[string]any{}, "is_encoder_decoder": false,
		"position_embedding_type": "absolute", "reorder_and_upcast_attn": true, "torch_dtype": "float16", "n_ctx": 8,
		"attn_pdrop": 0.1, "activation_function": "gelu_pytorch_tanh", "layer_norm_epsilon": 1e-6, "scale_attn_weights": true,
	}))
	assert.ErrorContains(t, err, "and must have [V = 1024, C = 6]")
}

func TestAllProblemsOfAConfig(t *testing.T) {
	err := refusal(t, string(gpt.Source), map[string]any{"model_type": "gpt2", "n_embd": 0, "n_head": 0, "alibi": true})
	var lines []string
	for _, line := range strings.Split(err.Error(), "\n") {
		line, _, _ = strings.Cut(line, ",")
		lines = append(lines, line)
	}
	assert.Equal(t, []string{
		"config.json: n_head is 0", "config.json: n_layer is missing", "config.json: n_positions or n_ctx is missing", "config.json: n_embd is 0",
		"config.json: vocab_size is missing", "config.json: alibi is true",
	}, lines)
}

// A row of @config takes nested keys, words, booleans, numbers, and defaults that other rows tell.
func TestConfigRows(t *testing.T) {
	const program = `
import "std/nn"
struct W { w: f32[A, B2 + C2] @name("x") }
@generate
@config(A = "a.b", C2 = "c" else "d.e" else (A + 1), B2 = one_of("k" else "l.m", two = 2, three = 3) else A, WIDE = "wide" else false, s = "scale" else 0.5)
@require("a.b" < 100 and A != 7, WIDE_OR)
graph g<const WIDE: bool>(tokens: i32[B, S], start: i32[B], inout state: f32[A], w: W, s: f32) -> y: f32[B, A] {
    y = zeros(f32, [B, A])
}
`
	shape := func(fields map[string]any, require string) string {
		return refusal(t, strings.Replace(program, "WIDE_OR", require, 1), fields).Error()
	}
	no := `not "no"`
	// The shape that the weights must have tells what the rows gave: the tensor is not there, so a prefix of nano's is taken.
	for _, c := range []struct {
		fields map[string]any
		want   string
	}{
		{map[string]any{"a": map[string]any{"b": 5}, "no": true}, `no is true, required not "no"`},
		{map[string]any{"a": map[string]any{"b": 7}}, `a.b is 7, required "a.b" < 100 and A != 7`},
		{map[string]any{"a": map[string]any{"b": 5}, "k": "four"}, `k is "four", required one of two, three`},
		{map[string]any{"a": map[string]any{"b": 5}, "wide": "yes"}, `wide is "yes", required true or false`},
		{map[string]any{"a": map[string]any{"b": 5}, "scale": true}, `scale is true, required a number`},
		{map[string]any{"a": map[string]any{"b": 5}, "scale": 1e300}, `scale is 1e+300, required a number`},
		{map[string]any{"a": 5}, `a.b is missing, required an integer`},
		{map[string]any{"a": map[string]any{"b": 5}, "c": 0}, `c is 0, required an integer of 1`},
		{map[string]any{"a": map[string]any{"b": config.MaxDimension}}, `c or d.e is missing, and its default A + 1 is 268435457, required an integer of 1 to 268435456`},
	} {
		assert.Contains(t, shape(c.fields, no), c.want)
	}
	sized := strings.Replace(program, `@name("x")`, `@name("ln_f.weight")`, 1)
	for want, fields := range map[string]map[string]any{
		"[A = 5, B2 + C2 = 11]": {"a": map[string]any{"b": 5}},
		"[A = 5, B2 + C2 = 10]": {"a": map[string]any{"b": 5}, "d": map[string]any{"e": 5}, "c": nil},
		"[A = 5, B2 + C2 = 6]":  {"a": map[string]any{"b": 5}, "c": 4, "l": map[string]any{"m": "two"}},
		"[A = 5, B2 + C2 = 7]":  {"a": map[string]any{"b": 5}, "d": map[string]any{"e": 5}, "c": 4, "k": "three"},
	} {
		fields["n_positions"] = 8
		err := refusal(t, strings.Replace(sized, "WIDE_OR", no, 1), fields)
		assert.ErrorContains(t, err, want)
	}
}

// Each name of an activation is the function that it is elsewhere: logits are those of a float64 model.
func TestActivations(t *testing.T) {
	tokens := oracles(t, "nano")[0].tokens
	for name := range activations {
		fields := map[string]any{"activation_function": name}
		if name == "" {
			fields["activation_function"] = nil
		}
		ckpt := changed(t, fields, nil)
		m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
		require.NoError(t, err)
		got, err := m.Scores(tokens)
		require.NoError(t, err)
		want := newReference(t, ckpt, "exact").logits(tokens)
		largest, _ := difference(got, want)
		// Of another activation than it was trained with, nano makes larger numbers: 1e-4 is for logits below 32.
		size := 32.0
		for _, v := range want {
			size = max(size, v, -v)
		}
		assert.LessOrEqual(t, largest, logitBound(exactPrecisions(t)[0])*size/32, name)
	}
}
