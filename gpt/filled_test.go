package gpt_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// The tiny encoder's shape.
const (
	encoderLayers, encoderHeads, encoderWidth, encoderInner, encoderWords, encoderPositions = 2, 3, 12, 20, 50, 16
)

// encoderTensors are random ones, under the names of a BERT with a head.
func encoderTensors() []safetensors.Tensor {
	random := rand.New(rand.NewPCG(5, 6))
	var tensors []safetensors.Tensor
	add := func(name string, mean, deviation float64, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(mean + deviation*random.NormFloat64())
		}
		tensors = append(tensors, safetensors.Tensor{Name: "bert." + name, DType: lang.F32, Shape: shape, Data: slices.Clone(jit.Bytes(values))})
	}
	dense := func(name string, out, in int) {
		add(name+".weight", 0, 1.5/math.Sqrt(float64(in)), out, in)
		add(name+".bias", 0, 0.3, out)
	}
	norm := func(name string) {
		add(name+".LayerNorm.weight", 1, 0.1, encoderWidth)
		add(name+".LayerNorm.bias", 0, 0.1, encoderWidth)
	}
	add("embeddings.word_embeddings.weight", 0, 1, encoderWords, encoderWidth)
	add("embeddings.position_embeddings.weight", 0, 1, encoderPositions, encoderWidth)
	norm("embeddings")
	for l := range encoderLayers {
		layer := fmt.Sprintf("encoder.layer.%d.", l)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			dense(layer+"attention."+name, encoderWidth, encoderWidth)
		}
		norm(layer + "attention.output")
		dense(layer+"intermediate.dense", encoderInner, encoderWidth)
		dense(layer+"output.dense", encoderWidth, encoderInner)
		norm(layer + "output")
	}
	return append(tensors, safetensors.Tensor{Name: "bert.embeddings.position_ids", DType: lang.I64, Shape: []int{1, 1}, Data: make([]byte, 8)})
}

func encoderConfig(changes map[string]any) map[string]any {
	fields := map[string]any{"model_type": "bert", "num_hidden_layers": encoderLayers, "hidden_size": encoderWidth, "intermediate_size": encoderInner,
		"num_attention_heads": encoderHeads, "vocab_size": encoderWords, "max_position_embeddings": encoderPositions, "hidden_act": "gelu"}
	maps.Copy(fields, changes)
	return fields
}

func encoderOf(t *testing.T, changes map[string]any, tensors []safetensors.Tensor) *gpt.Checkpoint {
	t.Helper()
	cfg, err := config.Of(encoderConfig(changes))
	require.NoError(t, err)
	return llamaOf(t, cfg, tensors)
}

// encoded is the vectors of a text, [position][width], in float64: with a rounding, what rounding makes of them.
func encoded(t *testing.T, ckpt *gpt.Checkpoint, tokens []int32, round, each func(float64) float64) []float64 {
	t.Helper()
	w := map[string][]float64{}
	for _, tensor := range tensorsOf(t, ckpt) {
		if tensor.DType != lang.F32 {
			continue
		}
		values, err := tensor.Float32s()
		require.NoError(t, err)
		for _, v := range values {
			w[tensor.Name[len("bert."):]] = append(w[tensor.Name[len("bert."):]], round(float64(v)))
		}
	}
	dense := func(x []float64, name string) []float64 {
		y := make([]float64, len(w[name+".bias"]))
		for i := range y {
			for k, v := range x {
				y[i] = each(y[i] + v*w[name+".weight"][i*len(x)+k])
			}
			y[i] = each(y[i] + w[name+".bias"][i])
		}
		return y
	}
	norm := func(x []float64, name string) []float64 {
		mean, variance, y := 0.0, 0.0, make([]float64, len(x))
		for _, v := range x {
			mean = each(mean + v/float64(len(x)))
		}
		for _, v := range x {
			variance = each(variance + (v-mean)*(v-mean)/float64(len(x)))
		}
		for i, v := range x {
			y[i] = round((v-mean)/math.Sqrt(variance+1e-12)*w[name+".LayerNorm.weight"][i] + w[name+".LayerNorm.bias"][i])
		}
		return y
	}
	sum := func(x, y []float64) []float64 {
		z := slices.Clone(x)
		add(z, y, round)
		return z
	}
	var x [][]float64
	for i, id := range tokens {
		row := slices.Clone(w["embeddings.word_embeddings.weight"][int(id)*encoderWidth:][:encoderWidth])
		add(row, w["embeddings.position_embeddings.weight"][i*encoderWidth:][:encoderWidth], round)
		x = append(x, norm(row, "embeddings"))
	}
	for l := range encoderLayers {
		layer := fmt.Sprintf("encoder.layer.%d.", l)
		var q, k, v [][]float64
		for i := range x {
			q = append(q, rounded(dense(x[i], layer+"attention.self.query"), round))
			k = append(k, rounded(dense(x[i], layer+"attention.self.key"), round))
			v = append(v, rounded(dense(x[i], layer+"attention.self.value"), round))
		}
		const d = encoderWidth / encoderHeads
		for i := range x {
			o := make([]float64, encoderWidth)
			for h := range encoderHeads {
				part := func(x []float64) []float64 { return x[h*d:][:d] }
				total := 0.0
				for j := range x {
					p := each(math.Exp(each(dot(part(q[i]), part(k[j])) / math.Sqrt(d))))
					total = each(total + p)
					for e, u := range part(v[j]) {
						o[h*d+e] = each(o[h*d+e] + p*u)
					}
				}
				for e := range part(o) {
					o[h*d+e] = round(o[h*d+e] / total)
				}
			}
			a := norm(sum(x[i], dense(o, layer+"attention.output.dense")), layer+"attention.output")
			m := dense(a, layer+"intermediate.dense")
			for f := range m {
				m[f] = round(each(geluErf(m[f])))
			}
			x[i] = norm(sum(a, dense(m, layer+"output.dense")), layer+"output")
		}
	}
	return slices.Concat(x...)
}

// encoder is the graph of testdata/encoder.tile.
func encoder(t *testing.T) *jit.Function {
	t.Helper()
	source, err := os.ReadFile("testdata/encoder.tile")
	require.NoError(t, err)
	program, problems := jit.Load("encoder.tile", source, nil)
	require.Empty(t, problems)
	f, err := jit.FindFunction(program, "embed")
	require.NoError(t, err)
	return f
}

// An encoder gives the vectors that a float64 model gives, for two texts at once, in each type.
func TestEncoder(t *testing.T) {
	ckpt := encoderOf(t, nil, encoderTensors())
	tokens := []int32{1, 2, 3, 4, 5, 49, 0, 7, 3, 9, 11, 13, 48, 2}
	f, device := encoder(t), jittest.Device(t)
	for _, d := range []lang.DType{lang.F32, lang.BF16} {
		filled, err := gpt.Fill(f.Graph, ckpt, device, map[string]lang.DType{"T": d}, nil)
		require.NoError(t, err)
		defer filled.Close()
		assert.Equal(t, int64(encoderInner), filled.Dims["F"])
		args := jit.Args{"tokens": jit.ArrayOf(tokens, 2, 7), "@precision": "ieee"}
		maps.Copy(args, filled.Args)
		for name, c := range filled.Consts {
			args[name] = c
		}
		for name, n := range filled.Dims {
			args[name] = n
		}
		out, err := f.On(jit.NewCompiler(device, nil)).Call(args)
		require.NoError(t, err)
		y := out["y"]
		require.Equal(t, []int64{2, 7, encoderWidth}, y.Shape)
		got := make([]float64, y.Len())
		for i := range got {
			got[i] = y.DType.ElementAt(y.Data, int64(i))
		}
		exact := append(encoded(t, ckpt, tokens[:7], same, same), encoded(t, ckpt, tokens[7:], same, same)...)
		rounding := append(encoded(t, ckpt, tokens[:7], roundTo(d), roundTo(lang.F32)), encoded(t, ckpt, tokens[7:], roundTo(d), roundTo(lang.F32))...)
		assertRounded(t, d.String(), got, rounding, exact)
	}
}

func TestEncodersRefused(t *testing.T) {
	graph := encoder(t).Graph
	fill := func(changes map[string]any, tensors []safetensors.Tensor, dims map[string]int64) error {
		_, err := gpt.Fill(graph, encoderOf(t, changes, tensors), jit.OpenCPU(), nil, dims)
		return err
	}
	all := encoderTensors()
	assert.ErrorContains(t, fill(map[string]any{"hidden_act": "swiglu"}, all, nil), `config.json: hidden_act is "swiglu", required one of gelu, relu (graph embed)`)
	assert.ErrorContains(t, fill(nil, all, map[string]int64{"C": 5}), "C is 5, and config.json says 12 by its key hidden_size")
	assert.ErrorContains(t, fill(nil, all[1:], nil), `tensor "embeddings.word_embeddings.weight" is missing`)
	assert.ErrorContains(t, fill(map[string]any{"num_hidden_layers": 1}, all, nil), "is num_hidden_layers = 1 of config.json right")
	_, err := gpt.OpenWeights(filepath.Join(t.TempDir(), "none"))
	assert.ErrorContains(t, err, "model folder")
}

// What the command line needs of it: a folder without a tokenizer.
func TestOpenWeights(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type": "bert"}`), 0o666))
	var file bytes.Buffer
	require.NoError(t, safetensors.Encode(&file, encoderTensors(), nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), file.Bytes(), 0o666))
	ckpt, err := gpt.OpenWeights(dir)
	require.NoError(t, err)
	defer ckpt.Close()
	assert.Nil(t, ckpt.Tokenizer)
}
