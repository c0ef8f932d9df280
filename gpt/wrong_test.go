package gpt_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/jittest"
	"tilec/lang"
)

// This file has checkpoints in which something is wrong: each must be an error
// that says what, or compute what it says.

// changed is the nano checkpoint with other fields in its config.json and other tensors.
func changed(t *testing.T, fields map[string]any, change func([]safetensors.Tensor) []safetensors.Tensor) *gpt.Checkpoint {
	t.Helper()
	ckpt, err := gpt.OpenFS(changedFiles(t, fields, change))
	require.NoError(t, err)
	return ckpt
}

func changedFiles(t *testing.T, fields map[string]any, change func([]safetensors.Tensor) []safetensors.Tensor) fs.FS {
	t.Helper()
	dir := jittest.Path(t, "testdata/models/nano")
	files := fstest.MapFS{}
	for _, name := range []string{"config.json", "vocab.json", "merges.txt"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: data}
	}
	config := map[string]any{}
	require.NoError(t, json.Unmarshal(files["config.json"].Data, &config))
	for name, value := range fields {
		config[name] = value
	}
	text, err := json.Marshal(config)
	require.NoError(t, err)
	files["config.json"].Data = text
	tensors := tensorsOf(t, open(t, "nano"))
	if change != nil {
		tensors = change(tensors)
	}
	var file bytes.Buffer
	require.NoError(t, safetensors.Encode(&file, tensors, nil))
	files["model.safetensors"] = &fstest.MapFile{Data: file.Bytes()}
	return files
}

func newModel(t *testing.T, ckpt *gpt.Checkpoint, d jit.Device, dtype lang.DType) (*gpt.Model, error) {
	t.Helper()
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	require.Empty(t, problems)
	m, err := gpt.New(program, ckpt, jit.NewCompiler(d, nil), dtype, exactPrecisions(t)[0])
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

// named finds a tensor among others.
func named(t *testing.T, tensors []safetensors.Tensor, name string) *safetensors.Tensor {
	t.Helper()
	i := slices.IndexFunc(tensors, func(x safetensors.Tensor) bool { return x.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return &tensors[i]
}

// reversed is a bf16 matrix with its rows in the other order.
func reversed(t safetensors.Tensor, name string) safetensors.Tensor {
	t.Name = name
	row := 2 * t.Shape[1]
	var data []byte
	for at := len(t.Data) - row; at >= 0; at -= row {
		data = append(data, t.Data[at:at+row]...)
	}
	t.Data = data
	return t
}

// wideF32 is a tensor in f32 with one element changed.
func wideF32(t *testing.T, x safetensors.Tensor, i int, to float64) safetensors.Tensor {
	t.Helper()
	values, err := x.Float32s()
	require.NoError(t, err)
	values[i] = float32(to)
	x.DType, x.Data = lang.F32, jit.Bytes(values)
	return x
}

// A head of its own, of a model that does not tie its embeddings, gives the logits.
func TestUntiedHead(t *testing.T) {
	ckpt := changed(t, map[string]any{"tie_word_embeddings": false}, func(all []safetensors.Tensor) []safetensors.Tensor {
		return append(all, reversed(*named(t, all, "transformer.wte.weight"), "lm_head.weight"))
	})
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	tokens := oracles(t, "nano")[0].tokens
	got, err := m.Scores(tokens)
	require.NoError(t, err)
	want := newReference(t, ckpt, "exact").logits(tokens)
	largest, _ := difference(got, want)
	assert.LessOrEqual(t, largest, logitBound(exactPrecisions(t)[0]))
	tied := newReference(t, open(t, "nano"), "exact").logits(tokens)
	largest, _ = difference(want, tied)
	assert.Greater(t, largest, 1.0, "the two heads differ")
}

// A copy of the embedding under the head's name, as many exports have, is a tied head, and so are the masks of old exports no weights.
func TestTensorsThatComputeNothing(t *testing.T) {
	ckpt := changed(t, nil, func(all []safetensors.Tensor) []safetensors.Tensor {
		head := *named(t, all, "transformer.wte.weight")
		head.Name = "lm_head.weight"
		mask := safetensors.Tensor{DType: lang.U8, Shape: []int{1, 1, 2, 2}, Data: []byte{1, 0, 1, 1}}
		for _, name := range []string{"transformer.h.0.attn.bias", "transformer.h.2.attn.masked_bias"} {
			mask.Name = name
			all = append(all, mask)
		}
		return append(all, head)
	})
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	got, err := m.Forward([]int32{1, 2, 3}, 0)
	require.NoError(t, err)
	want, err := model(t, "nano", lang.F32, exactPrecisions(t)[0]).Forward([]int32{1, 2, 3}, 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestCheckpointsRefused(t *testing.T) {
	type tensors = []safetensors.Tensor
	for _, c := range []struct {
		name   string
		fields map[string]any
		change func(tensors) tensors
		dtype  lang.DType
		want   string
	}{
		{"an untied head is missing", map[string]any{"tie_word_embeddings": false}, nil, lang.F32,
			`tensor "lm_head.weight" is missing among the 40 there; tie_word_embeddings of config.json is false, so the head is a tensor of its own`},
		{"a tied head differs", nil, func(all tensors) tensors {
			return append(all, reversed(*named(t, all, "transformer.wte.weight"), "lm_head.weight"))
		}, lang.F32, `tensor "lm_head.weight" differs from "transformer.wte.weight", and tie_word_embeddings of config.json says that they are one: set it to false`},
		{"layers are left out", map[string]any{"n_layer": 1}, nil, lang.F32,
			"has tensors that graph forward leaves out: transformer.h.1.attn.c_attn.bias, transformer.h.1.attn.c_attn.weight, transformer.h.1.attn.c_proj.bias and 21 more: is n_layer = 1 of config.json right"},
		{"a tensor of another network", nil, func(all tensors) tensors {
			return append(all, safetensors.Tensor{Name: "transformer.h.0.crossattention.q_attn.bias", DType: lang.BF16, Shape: []int{1}, Data: []byte{0, 0}})
		}, lang.F32, "leaves out: transformer.h.0.crossattention.q_attn.bias: "},
		{"two exports in one file", nil, func(all tensors) tensors {
			x := *named(t, all, "transformer.wpe.weight")
			x.Name = "wpe.weight"
			return append(all, x)
		}, lang.F32, "leaves out: wpe.weight: "},
		{"another inner width", map[string]any{"n_inner": 100}, nil, lang.F32,
			`w.blocks[0].fc_w: tensor "h.0.mlp.c_fc.weight" of model.safetensors has the shape [48 192] and must have [C = 48, F = 100]`},
		{"too large for f16", nil, func(all tensors) tensors {
			x := named(t, all, "transformer.h.1.mlp.c_fc.weight")
			*x = wideF32(t, *x, 192*3+17, -65520)
			return all
		}, lang.F16, `model.safetensors: tensor "transformer.h.1.mlp.c_fc.weight": element [3, 17] is -65520, which f16 cannot hold, at most 65504: use --dtype bf16 or f32`},
		{"too large for bf16", nil, func(all tensors) tensors {
			x := named(t, all, "transformer.ln_f.bias")
			*x = wideF32(t, *x, 5, math.MaxFloat32)
			return all
		}, lang.BF16, `tensor "transformer.ln_f.bias": element [5] is 3.4028234663852886e+38, which bf16 cannot hold`},
		{"NaN", nil, func(all tensors) tensors {
			x := named(t, all, "transformer.ln_f.bias")
			x.Data = slices.Clone(x.Data)
			binary.LittleEndian.PutUint16(x.Data[2*7:], 0x7fc0)
			return all
		}, lang.BF16, `tensor "transformer.ln_f.bias": element [7] is NaN, weights must be finite numbers: the checkpoint is damaged`},
		{"infinity", nil, func(all tensors) tensors {
			x := named(t, all, "transformer.h.2.ln_1.weight")
			*x = wideF32(t, *x, 47, math.Inf(-1))
			return all
		}, lang.F32, `element [47] is -Inf, weights must be finite numbers`},
		{"integers", nil, func(all tensors) tensors {
			x := named(t, all, "transformer.ln_f.bias")
			x.DType = lang.I16
			return all
		}, lang.F32, `tensor "transformer.ln_f.bias": element type i16, required a float type`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newModel(t, changed(t, c.fields, c.change), jittest.Device(t), c.dtype)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// An emptied merges.txt would cut text into other tokens than the model learned.
func TestEmptiedMerges(t *testing.T) {
	files := changedFiles(t, nil, nil).(fstest.MapFS)
	files["merges.txt"].Data = nil
	_, err := gpt.OpenFS(files)
	require.ErrorContains(t, err, "merges.txt: no merge makes 767 of the 1024 tokens of vocab.json")
}

// Weights at a type's very limits are numbers.
func TestLargestWeights(t *testing.T) {
	ckpt := changed(t, nil, func(all []safetensors.Tensor) []safetensors.Tensor {
		x := named(t, all, "transformer.ln_f.bias")
		*x = wideF32(t, *x, 5, -65519) // rounds to -65504
		return all
	})
	_, err := newModel(t, ckpt, jittest.Device(t), lang.F16)
	require.NoError(t, err)
}

// A model whose logits overflow says so, instead of going on with a token that it has not.
func TestLogitsThatAreNoNumbers(t *testing.T) {
	ckpt := changed(t, nil, func(all []safetensors.Tensor) []safetensors.Tensor {
		bias, embedding := named(t, all, "transformer.ln_f.bias"), named(t, all, "transformer.wte.weight")
		*bias, *embedding = wideF32(t, *bias, 5, 3e38), wideF32(t, *embedding, 5, 100)
		return all
	})
	m, err := newModel(t, ckpt, jittest.Device(t), lang.F32)
	require.NoError(t, err)
	for _, temperature := range []float64{0, 1} {
		_, err := m.Generate(context.Background(), gpt.Request{Prompt: prompts[0], MaxNewTokens: 3, Sampling: gpt.Sampling{Temperature: temperature, TopP: 1}}, func(string) error { return nil })
		require.ErrorContains(t, err, "have no largest one that is a finite number")
	}
}

// Tokens beyond the tokenizer's have no text, and are never sampled, however likely they are; one that ends the text is.
func TestPaddedVocabulary(t *testing.T) {
	const padded = 1100
	pad := func(all []safetensors.Tensor) []safetensors.Tensor {
		// The rows of the padding are ten times others, so that their logits are the largest or the smallest.
		x := named(t, all, "transformer.wte.weight")
		values, err := x.Float32s()
		require.NoError(t, err)
		for _, v := range values[:(padded-1024)*48] {
			values = append(values, 10*v)
		}
		x.DType, x.Shape, x.Data = lang.F32, []int{padded, 48}, jit.Bytes(values)
		return all
	}
	m, err := newModel(t, changed(t, map[string]any{"vocab_size": padded}, pad), jittest.Device(t), lang.F32)
	require.NoError(t, err)
	for _, temperature := range []float64{0, 3} {
		res, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 30, Sampling: gpt.Sampling{Temperature: temperature, TopP: 1, Seed: 1}})
		require.Less(t, slices.Max(res.Tokens), int32(1024))
	}
	var ends []int
	for id := 1024; id < padded; id++ {
		ends = append(ends, id)
	}
	m, err = newModel(t, changed(t, map[string]any{"vocab_size": padded, "eos_token_id": ends}, pad), jittest.Device(t), lang.F32)
	require.NoError(t, err)
	res, _ := generate(t, m, gpt.Request{Prompt: prompts[0], MaxNewTokens: 30, Sampling: greedy})
	assert.Equal(t, "end-of-text", res.Stopped)
}

// An empty prompt begins with the token that config.json names.
func TestFirstTokenOfAnEmptyPrompt(t *testing.T) {
	m, err := newModel(t, changed(t, map[string]any{"bos_token_id": 7}, nil), jittest.Device(t), lang.F32)
	require.NoError(t, err)
	ids, err := m.Encode("")
	require.NoError(t, err)
	assert.Equal(t, []int32{7}, ids)
}

// A context that the weights do not have takes no memory before that is seen.
func TestShapesAreComparedFirst(t *testing.T) {
	ckpt := changed(t, map[string]any{"n_positions": 8_000_000, "n_ctx": 8_000_000}, nil)
	d := &countingDevice{Device: jit.OpenCPU()}
	_, err := newModel(t, ckpt, d, lang.F32)
	require.ErrorContains(t, err, `tensor "wpe.weight" of model.safetensors has the shape [256 48] and must have [P = 8000000, C = 48]`)
	require.Zero(t, d.most)
}

// What happens to a checkpoint's files once a model is made of them does not reach the model.
func TestFilesMayChangeAfterNew(t *testing.T) {
	from, dir := jittest.Path(t, "testdata/models/nano"), t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	ckpt, err := gpt.Open(dir)
	require.NoError(t, err)
	defer ckpt.Close()
	m, err := newModel(t, ckpt, jittest.Device(t), lang.BF16)
	require.NoError(t, err)
	path := filepath.Join(dir, "model.safetensors")
	info, err := os.Stat(path)
	require.NoError(t, err)
	change := []func() error{
		func() error { return os.WriteFile(path, make([]byte, info.Size()), 0o644) },
		func() error { return os.Truncate(path, 10) },
	}
	want, err := m.Forward([]int32{1, 2, 3}, 0)
	require.NoError(t, err)
	for _, change := range change {
		require.NoError(t, change())
		got, err := m.Forward([]int32{1, 2, 3}, 0)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = newModel(t, ckpt, jittest.Device(t), lang.BF16)
	require.ErrorContains(t, err, "cut short")
}
