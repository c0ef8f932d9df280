package config

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestCheckpoints(t *testing.T) {
	nano, err := FromDir("../../testdata/models/nano")
	require.NoError(t, err)
	require.Equal(t, Config{NLayer: 3, NHead: 3, NEmbd: 48, NInner: 192, NPositions: 256, VocabSize: 1024,
		LayerNormEpsilon: 1e-5, EOSTokenIDs: []int{0}, BOSTokenID: 0, TieWordEmbeddings: true}, nano)
	require.Equal(t, 16, nano.HeadSize())
	mini, err := FromFS(os.DirFS("../mini"))
	require.NoError(t, err)
	require.Equal(t, 6, mini.NLayer)
	require.Equal(t, 32, mini.HeadSize())
}

// small is a correct file of only what is required, with changes: a JSON
// value a field, "" to leave it out.
func small(changes map[string]string) []byte {
	fields := map[string]json.RawMessage{"model_type": json.RawMessage(`"gpt2"`)}
	for field, value := range map[string]string{"n_layer": "2", "n_head": "3", "n_embd": "6", "n_positions": "8", "vocab_size": "10"} {
		fields[field] = json.RawMessage(value)
	}
	for field, value := range changes {
		fields[field] = json.RawMessage(value)
		if value == "" {
			delete(fields, field)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

func TestDefaults(t *testing.T) {
	c, err := Parse("config.json", small(map[string]string{"n_inner": "null", "eos_token_id": "null", "unknown": `{"a":1}`}))
	require.NoError(t, err)
	require.Equal(t, Config{NLayer: 2, NHead: 3, NEmbd: 6, NInner: 24, NPositions: 8, VocabSize: 10,
		LayerNormEpsilon: 1e-5, BOSTokenID: -1, TieWordEmbeddings: true}, c)
}

func TestGivenValues(t *testing.T) {
	c, err := Parse("config.json", small(map[string]string{
		"n_inner": "7", "eos_token_id": "9", "layer_norm_epsilon": "1e-6", "tie_word_embeddings": "false",
		"n_positions": "", "n_ctx": "5", "activation_function": `"gelu_new"`, "scale_attn_weights": "true",
	}))
	require.NoError(t, err)
	require.Equal(t, Config{NLayer: 2, NHead: 3, NEmbd: 6, NInner: 7, NPositions: 5, VocabSize: 10,
		LayerNormEpsilon: 1e-6, EOSTokenIDs: []int{9}, BOSTokenID: -1, TieWordEmbeddings: false}, c)
}

// What says that there is nothing of the kind, and what changes no number, is no problem.
func TestFieldsThatChangeNothing(t *testing.T) {
	c, err := Parse("config.json", small(map[string]string{
		"architectures": `["GPT2LMHeadModel"]`, "quantization_config": "null", "pruned_heads": "{}", "is_encoder_decoder": "false",
		"rope_theta": "null", "position_embedding_type": `"absolute"`, "reorder_and_upcast_attn": "true", "torch_dtype": `"float16"`,
		"attn_pdrop": "0.1", "activation_function": `"gelu_pytorch_tanh"`, "eos_token_id": "[3, 9]", "bos_token_id": "4",
	}))
	require.NoError(t, err)
	require.Equal(t, []int{3, 9}, c.EOSTokenIDs)
	require.Equal(t, 4, c.BOSTokenID)
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{"n_layer", "", "n_layer is missing, required an integer of 1 to 268435456"},
		{"n_layer", "null", "n_layer is missing"},
		{"n_layer", "0", "n_layer is 0, required an integer of 1"},
		{"n_head", "-1", "n_head is -1, required"},
		{"n_head", "4", "n_embd is 6, required a multiple of n_head, which is 4"},
		{"n_embd", "1.5", "n_embd is 1.5, required an integer"},
		{"n_embd", `"6"`, `n_embd is "6", required an integer`},
		{"n_embd", "3000000000", "n_embd is 3000000000, required an integer of 1 to 268435456"},
		{"n_embd", "99999999999999999999", "n_embd is 99999999999999999999, required"},
		{"n_inner", "0", "n_inner is 0, required"},
		{"n_positions", "", "n_positions is missing"},
		{"n_ctx", "9", "n_ctx is 9, required 8 as n_positions says"},
		{"vocab_size", "[1,\n2]", "vocab_size is [1,2], required an integer"},
		{"eos_token_id", "10", "eos_token_id is 10, required an integer of 0 to 9"},
		{"eos_token_id", "-1", "eos_token_id is -1"},
		{"layer_norm_epsilon", "0", "layer_norm_epsilon is 0, required a number above 0 and below 1"},
		{"layer_norm_epsilon", "1", "layer_norm_epsilon is 1, required"},
		{"layer_norm_epsilon", `"x"`, `layer_norm_epsilon is "x", required a number`},
		{"tie_word_embeddings", "1", "tie_word_embeddings is 1, required true or false"},
		{"activation_function", `"relu"`, `activation_function is "relu", required one of ["gelu_new" "gelu_pytorch_tanh"]`},
		{"model_type", `"llama"`, `model_type is "llama", required "gpt2"`},
		{"model_type", "", `model_type is missing, required "gpt2"`},
		{"model_type", `["` + strings.Repeat("x", 100) + `"]`, `model_type is ["` + strings.Repeat("x", 38) + `..., required "gpt2"`},
		{"scale_attn_weights", "false", "scale_attn_weights is false, required true, the only one that is supported"},
		{"eos_token_id", "[1, 10]", "eos_token_id is 10, required integers of 0 to 9"},
		{"eos_token_id", `[1, "x"]`, `eos_token_id is [1,"x"], required integers`},
		{"bos_token_id", "10", "bos_token_id is 10, required an integer of 0 to 9"},
		{"activation_function", `"gelu"`, `activation_function is "gelu", required one of ["gelu_new" "gelu_pytorch_tanh"]`},
		{"architectures", `["GPT2ForSequenceClassification"]`, `architectures is "GPT2ForSequenceClassification", required one of GPT2LMHeadModel, GPT2Model`},
		{"architectures", `"GPT2LMHeadModel"`, `architectures is "GPT2LMHeadModel", required a list of one of`},
		{"quantization_config", `{"load_in_8bit": true}`, `quantization_config is {"load_in_8bit":true}, required weights in f32, bf16 or f16: save the model after dequantizing it`},
		{"add_cross_attention", "true", "add_cross_attention is true, required false"},
		{"reorder_and_upcast_attn", "1", "reorder_and_upcast_attn is 1, required true or false"},
		{"pruned_heads", `{"0": [1]}`, `pruned_heads is {"0":[1]}, required all heads`},
		{"rope_theta", "10000", "rope_theta is 10000, required the learned positions"},
		{"position_embedding_type", `"relative_key"`, `position_embedding_type is "relative_key", required the learned positions`},
		{"sliding_window", "128", "sliding_window is 128, required attention to all earlier positions"},
		{"is_encoder_decoder", "true", "is_encoder_decoder is true, required a decoder"},
		{"scale_attn_by_inverse_layer_idx", "true", "scale_attn_by_inverse_layer_idx is true, required false"},
	} {
		_, err := Parse("dir/config.json", small(map[string]string{c.field: c.value}))
		require.ErrorContains(t, err, "dir/config.json: "+strings.Split(c.want, " ")[0])
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n", "one mistake gives one problem")
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	_, err := Parse("config.json", []byte(`{"model_type": "gpt2", "n_embd": 0, "n_head": 0}`))
	require.Equal(t, `config.json: n_layer is missing, required an integer of 1 to 268435456
config.json: n_head is 0, required an integer of 1 to 268435456
config.json: n_embd is 0, required an integer of 1 to 268435456
config.json: n_positions is missing, required an integer of 1 to 268435456
config.json: vocab_size is missing, required an integer of 1 to 268435456`, err.Error())
}

func TestBrokenFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "config.json: the JSON text ends early",
		"[]":                         "config.json: JSON [ where an object is required",
		`{"n_layer": 1,}`:            "config.json: not JSON",
		`{"n_head": 1, "n_head": 2}`: `config.json: "n_head" occurs twice`,
	} {
		_, err := Parse("config.json", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestMissingFile(t *testing.T) {
	dir := t.TempDir()
	_, err := FromDir(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, filepath.Join(dir, "config.json")+": ")
	_, err = FromFS(fstest.MapFS{})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
