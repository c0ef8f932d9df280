package gpt_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
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

// llamaConfig is the config.json of a tiny Llama: two heads share keys and values, and a head is no part of the width.
func llamaConfig(changes map[string]any) map[string]any {
	fields := map[string]any{
		"model_type": "llama", "architectures": []string{"LlamaForCausalLM"}, "num_hidden_layers": 2, "hidden_size": 32, "intermediate_size": 48,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10, "vocab_size": 1024, "max_position_embeddings": 128,
		"rms_norm_eps": 1e-5, "rope_theta": 500.0, "hidden_act": "silu", "tie_word_embeddings": false,
	}
	maps.Copy(fields, changes)
	return fields
}

// llamaCheckpoint is a random one, of a shape that the configuration gives. Its matrices are large enough for attention to choose.
func llamaCheckpoint(t *testing.T, fields map[string]any) *gpt.Checkpoint {
	t.Helper()
	cfg, err := config.Of(fields)
	require.NoError(t, err)
	number := func(key string) int { return number[int](t, cfg, key) }
	random := rand.New(rand.NewPCG(3, 4))
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
		tensors = append(tensors, safetensors.Tensor{Name: name, DType: lang.F32, Shape: shape, Data: slices.Clone(jit.Bytes(values))})
	}
	c, f, d := number("hidden_size"), number("intermediate_size"), number("head_dim")
	h, kv, v := number("num_attention_heads"), number("num_key_value_heads"), number("vocab_size")
	matrix := func(name string, out, in int) { add(name, 0, 1.5/math.Sqrt(float64(in)), out, in) }
	add("model.embed_tokens.weight", 0, 1, v, c)
	for l := range number("num_hidden_layers") {
		layer := fmt.Sprintf("model.layers.%d.", l)
		add(layer+"input_layernorm.weight", 1, 0.1, c)
		matrix(layer+"self_attn.q_proj.weight", h*d, c)
		matrix(layer+"self_attn.k_proj.weight", kv*d, c)
		matrix(layer+"self_attn.v_proj.weight", kv*d, c)
		matrix(layer+"self_attn.o_proj.weight", c, h*d)
		add(layer+"post_attention_layernorm.weight", 1, 0.1, c)
		matrix(layer+"mlp.gate_proj.weight", f, c)
		matrix(layer+"mlp.up_proj.weight", f, c)
		matrix(layer+"mlp.down_proj.weight", c, f)
	}
	add("model.norm.weight", 1, 0.1, c)
	if !cfg.TieWordEmbeddings {
		matrix("lm_head.weight", v, c)
	}
	clear(named(t, tensors, "model.layers.0.mlp.up_proj.weight").Data[:4*c]) // an output that is cut off: a row of zeros has a scale too
	return llamaOf(t, cfg, tensors)
}

// llamaOf is a checkpoint of tensors, with the tokenizer of nano.
func llamaOf(t *testing.T, cfg config.Config, tensors []safetensors.Tensor) *gpt.Checkpoint {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, safetensors.Encode(&file, tensors, nil))
	parsed, err := safetensors.Parse("llama", file.Bytes())
	require.NoError(t, err)
	return &gpt.Checkpoint{Config: cfg, Tokenizer: open(t, "nano").Tokenizer, Tensors: parsed}
}

func llamaModel(t *testing.T, ckpt *gpt.Checkpoint, d jit.Device, o gpt.Options) (*gpt.Model, error) {
	t.Helper()
	program, problems := jit.Load("llama.tile", gpt.LlamaSource, nil)
	require.Empty(t, problems)
	m, err := gpt.NewWith(program, ckpt, jit.NewCompiler(d, nil), o)
	if err == nil {
		t.Cleanup(m.Close)
	}
	return m, err
}

func mustLlama(t *testing.T, ckpt *gpt.Checkpoint, o gpt.Options) *gpt.Model {
	t.Helper()
	exact := exactPrecisions(t)
	o.Precision = exact[len(exact)-1] // ieee on a GPU: errors are compared with those of f32
	m, err := llamaModel(t, ckpt, jittest.Device(t), o)
	require.NoError(t, err)
	return m
}

// llama is the network in float64, written from the papers and from what Hugging Face's checkpoints mean, and not from llama.tile.
// With a rounding it shows how far rounding alone takes the logits.
type llama struct {
	t       *testing.T
	cfg     config.Config
	weights map[string][]float64
	// round is what kernels do to what they store, and to what they have summed.
	round func(float64) float64
	// each is the rounding of one operation inside a kernel.
	each func(float64) float64
}

func newLlama(t *testing.T, ckpt *gpt.Checkpoint, round, each func(float64) float64) *llama {
	l := &llama{t: t, cfg: ckpt.Config, weights: map[string][]float64{}, round: round, each: each}
	for _, tensor := range tensorsOf(t, ckpt) {
		values, err := tensor.Float32s()
		require.NoError(t, err)
		w := make([]float64, len(values))
		for i, v := range values {
			w[i] = round(float64(v))
		}
		l.weights[tensor.Name] = w
	}
	return l
}

func (l *llama) number(key string) int { return number[int](l.t, l.cfg, key) }

func (l *llama) norm(x []float64, name string) []float64 {
	squares, y := 0.0, make([]float64, len(x))
	for _, v := range x {
		squares = l.each(squares + v*v)
	}
	r := l.each(1 / math.Sqrt(squares/float64(len(x))+number[float64](l.t, l.cfg, "rms_norm_eps")))
	for i, v := range x {
		y[i] = l.round(v * r * l.weights[name][i])
	}
	return y
}

// product is w x, with w stored [out, in], as it was summed.
func (l *llama) product(x []float64, name string) []float64 {
	w := l.weights[name]
	require.NotEmpty(l.t, w, name)
	y := make([]float64, len(w)/len(x))
	for i := range y {
		for k, v := range x {
			y[i] = l.each(y[i] + v*w[i*len(x)+k])
		}
	}
	return y
}

func (l *llama) stored(x []float64) []float64 { return rounded(x, l.round) }

// turned is a head at a position: its first half and its second are the two coordinates of pairs that turn.
func (l *llama) turned(x []float64, position int) []float64 {
	half := len(x) / 2
	y := make([]float64, len(x))
	for r := range half {
		frequency := l.each(math.Pow(number[float64](l.t, l.cfg, "rope_theta"), -float64(r)/float64(half)))
		if scaling, ok := l.cfg.Value("rope_scaling.factor"); ok && string(scaling) != "1" {
			factor, low, high := number[float64](l.t, l.cfg, "rope_scaling.factor"), number[float64](l.t, l.cfg, "rope_scaling.low_freq_factor"), number[float64](l.t, l.cfg, "rope_scaling.high_freq_factor")
			turns := number[float64](l.t, l.cfg, "rope_scaling.original_max_position_embeddings") * frequency / (2 * math.Pi)
			switch {
			case turns < low:
				frequency /= factor
			case turns <= high:
				smooth := (turns - low) / (high - low)
				frequency = (1-smooth)*frequency/factor + smooth*frequency
			}
		}
		sin, cos := math.Sincos(l.each(float64(position) * frequency))
		y[r] = l.round(x[r]*cos - x[half+r]*sin)
		y[half+r] = l.round(x[half+r]*cos + x[r]*sin)
	}
	return y
}

// logits is [position, vocabulary] for a text from its beginning.
func (l *llama) logits(tokens []int32) []float64 {
	c, h, kv, d := l.number("hidden_size"), l.number("num_attention_heads"), l.number("num_key_value_heads"), l.number("head_dim")
	x := make([][]float64, len(tokens))
	for i, t := range tokens {
		x[i] = slices.Clone(l.weights["model.embed_tokens.weight"][int(t)*c:][:c])
	}
	for n := range l.number("num_hidden_layers") {
		layer := fmt.Sprintf("model.layers.%d.", n)
		keys, values := make([][]float64, len(x)), make([][]float64, len(x))
		for i := range x {
			a := l.norm(x[i], layer+"input_layernorm.weight")
			q := l.stored(l.product(a, layer+"self_attn.q_proj.weight"))
			keys[i] = l.stored(l.product(a, layer+"self_attn.k_proj.weight"))
			values[i] = l.stored(l.product(a, layer+"self_attn.v_proj.weight"))
			for g := range kv {
				copy(keys[i][g*d:], l.turned(keys[i][g*d:][:d], i))
			}
			var all []float64
			for head := range h {
				g := head / (h / kv) * d
				query := l.turned(q[head*d:][:d], i)
				weight, sum := make([]float64, i+1), 0.0
				for j := range weight {
					score := 0.0
					for e := range d {
						score = l.each(score + query[e]*keys[j][g+e])
					}
					weight[j] = l.each(math.Exp(l.each(score / math.Sqrt(float64(d)))))
					sum = l.each(sum + weight[j])
				}
				o := make([]float64, d)
				for e := range o {
					for j, p := range weight {
						o[e] = l.each(o[e] + l.round(p/sum)*values[j][g+e])
					}
				}
				all = append(all, l.stored(o)...)
			}
			add(x[i], l.product(all, layer+"self_attn.o_proj.weight"), l.round)
			m := l.norm(x[i], layer+"post_attention_layernorm.weight")
			gate, up := l.product(m, layer+"mlp.gate_proj.weight"), l.product(m, layer+"mlp.up_proj.weight")
			for k := range gate {
				gate[k] = l.round(l.each(silu(gate[k])) * up[k])
			}
			add(x[i], l.product(gate, layer+"mlp.down_proj.weight"), l.round)
		}
	}
	head := "lm_head.weight"
	if l.cfg.TieWordEmbeddings {
		head = "model.embed_tokens.weight"
	}
	var logits []float64
	for i := range x {
		logits = append(logits, l.product(l.norm(x[i], "model.norm.weight"), head)...)
	}
	return logits
}

// text is some tokens.
func text(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = int32(i*i*37+11*i) % 1024
	}
	return tokens
}

// assertRounded expects logits to be as far from the exact ones as rounding takes them, as TestLogitsInShortFormats says: the
// root mean square error may be one and a half times that of a float64 model that rounds where the kernels do, the largest twice.
func assertRounded[F float32 | float64](t *testing.T, what string, got []F, rounding, exact []float64) {
	t.Helper()
	require.Len(t, got, len(exact))
	largest, rms := difference(got, exact)
	mayLargest, mayRMS := difference(rounding, exact)
	t.Logf("%s: root mean square error %.2g, of rounding alone %.2g; largest %.2g, %.2g", what, rms, mayRMS, largest, mayLargest)
	assert.LessOrEqual(t, rms, 1.5*mayRMS, what)
	assert.LessOrEqual(t, largest, 2*mayLargest, what)
}

// llamas are the checkpoints of the tests.
var llamas = map[string]map[string]any{
	"groups": nil,
	"tied":   {"tie_word_embeddings": true, "num_key_value_heads": 4},
	"stretched": {"num_key_value_heads": 1, "rope_scaling": map[string]any{
		"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}},
}

func TestLlamaLogits(t *testing.T) {
	tokens := text(40)
	if jittest.OnEmulator(t) {
		tokens = text(14)
	}
	for name, changes := range llamas {
		ckpt := llamaCheckpoint(t, llamaConfig(changes))
		exact := newLlama(t, ckpt, same, same).logits(tokens)
		for _, d := range []lang.DType{lang.F32, lang.BF16, lang.F16} {
			m := mustLlama(t, ckpt, gpt.Options{DType: d})
			rounding := newLlama(t, ckpt, roundTo(d), roundTo(lang.F32)).logits(tokens)
			whole, err := m.Scores(tokens)
			require.NoError(t, err)
			assertRounded(t, name+" "+d.String(), whole, rounding, exact)
			// A prompt, and token by token behind it.
			var last []float32
			for at := 0; at < len(tokens); {
				n := 1
				if at == 0 {
					n = 7
				}
				logits, err := m.Forward(tokens[at:at+n], at)
				require.NoError(t, err)
				last = append(last, logits...)
				at += n
			}
			assertRounded(t, name+" through the cache "+d.String(), last, rounding[6*1024:], exact[6*1024:])
		}
	}
}

// greedyOf continues a text by the likeliest tokens of a float64 model; each is likelier than the next by far more than f32 rounds.
func greedyOf(t *testing.T, l *llama, prompt []int32, n int) []int32 {
	t.Helper()
	tokens := slices.Clone(prompt)
	for range n {
		logits := l.logits(tokens)
		logits = logits[len(logits)-1024:]
		best := slices.Index(logits, slices.Max(logits))
		second := slices.Sorted(slices.Values(logits))[1022]
		require.Greater(t, logits[best]-second, 1e-4, "a test of which rounding decides")
		tokens = append(tokens, int32(best))
	}
	return tokens[len(prompt):]
}

func TestLlamaGreedyText(t *testing.T) {
	ckpt := llamaCheckpoint(t, llamaConfig(nil))
	prompt := text(9)
	want := greedyOf(t, newLlama(t, ckpt, same, same), prompt, 24)
	m := mustLlama(t, ckpt, gpt.Options{DType: lang.F32})
	assert.Equal(t, want, tokensOf(t, m, prompt, 24))
}

// tokensOf are the tokens that a model chooses, by steps on the device.
func tokensOf(t *testing.T, m *gpt.Model, prompt []int32, n int) []int32 {
	t.Helper()
	var got []int32
	require.NoError(t, m.Tokens(context.Background(), prompt, n, greedy, func(id int32) (bool, error) {
		got = append(got, id)
		return true, nil
	}))
	return got
}

// The same on an emulated GPU: its steps are recorded, and tokens chosen there.
func TestLlamaEmulated(t *testing.T) {
	device, err := jit.OpenDevice("emu")
	require.NoError(t, err)
	defer device.Close()
	ckpt := llamaCheckpoint(t, llamaConfig(map[string]any{"num_hidden_layers": 1}))
	prompt := text(5)
	for _, o := range []gpt.Options{
		{DType: lang.F32, Weights: lang.F32, Precision: "ieee"}, {DType: lang.F32, Weights: lang.F8E4M3, Precision: "ieee"},
		{DType: lang.BF16, Weights: lang.BF16}, {DType: lang.BF16, Weights: lang.I8}, {DType: lang.F16, Weights: lang.F8E4M3},
	} {
		what := fmt.Sprintf("%s of %s", o.DType, o.Weights)
		m, err := llamaModel(t, ckpt, device, o)
		require.NoError(t, err)
		exact := dequantised(t, ckpt, o.Weights, same, same)
		if o.DType == lang.F32 {
			assert.Equal(t, greedyOf(t, exact, prompt, 4), tokensOf(t, m, prompt, 4), what)
		}
		got, err := m.Scores(prompt)
		require.NoError(t, err)
		rounding := dequantised(t, ckpt, o.Weights, roundTo(o.DType), roundTo(lang.F32))
		assertRounded(t, what, got, rounding.logits(prompt), exact.logits(prompt))
	}
}
