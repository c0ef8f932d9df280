package gpt_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/lang"
)

// reference is GPT-2 in float64, written from the model's description and not
// from gpt.tile. With the arithmetic of a format it shows how far rounding alone
// takes the logits.
type reference struct {
	layers, heads, width, vocab int
	eps                         float64
	activation                  string // as config.json calls it
	weights                     map[string][]float64
	arithmetic                  arithmetic
}

// arithmetic says where a computation rounds.
type arithmetic struct {
	// stored rounds what kernels keep between them: activations, cache, weights.
	stored func(float64) float64
	// operand rounds the activations that enter a contraction. The weights of the
	// demo models are bf16, which every format here holds exactly but f16, and that is how f16 stores them.
	operand func(float64) float64
}

func same(x float64) float64 { return x }

func tf32(x float64) float64 {
	b := math.Float32bits(float32(x))
	// 13 of the 23 bits go; to nearest, ties to even.
	return float64(math.Float32frombits((b + 0xfff + b>>13&1) &^ 0x1fff))
}

func roundTo(d lang.DType) func(float64) float64 {
	return func(x float64) float64 { return float64(d.Round(float32(x))) }
}

// arithmetics is what each way to run the model rounds.
var arithmetics = map[string]arithmetic{
	"exact": {same, same},
	"tf32":  {roundTo(lang.F32), tf32},
	"bf16":  {roundTo(lang.BF16), same},
	"f16":   {roundTo(lang.F16), same},
}

func newReference(t *testing.T, ckpt *gpt.Checkpoint, format string) *reference {
	t.Helper()
	cfg := ckpt.Config
	r := &reference{layers: number[int](t, cfg, "n_layer"), heads: number[int](t, cfg, "n_head"), width: number[int](t, cfg, "n_embd"), vocab: cfg.VocabSize,
		eps: 1e-5, weights: map[string][]float64{}, arithmetic: arithmetics[format]}
	for key, to := range map[string]any{"activation_function": &r.activation, "layer_norm_epsilon": &r.eps} {
		if value, ok := cfg.Value(key); ok {
			require.NoError(t, json.Unmarshal(value, to))
		}
	}
	for _, tensor := range ckpt.Tensors.Tensors() {
		tensor, err := ckpt.Tensors.Tensor(tensor.Name)
		require.NoError(t, err)
		values, err := tensor.Float32s()
		require.NoError(t, err)
		w := make([]float64, len(values))
		for i, v := range values {
			w[i] = r.arithmetic.stored(float64(v))
		}
		// Some exports put every name behind this prefix.
		r.weights[strings.TrimPrefix(tensor.Name, "transformer.")] = w
	}
	if cfg.TieWordEmbeddings {
		r.weights["lm_head.weight"] = r.weights["wte.weight"]
	}
	return r
}

// number is what config.json says of a key.
func number[N int | float64](t *testing.T, cfg config.Config, key string) (n N) {
	t.Helper()
	value, ok := cfg.Value(key)
	require.True(t, ok, key)
	require.NoError(t, json.Unmarshal(value, &n))
	return n
}

// activations are the functions by the names of config.json.
var activations = map[string]func(float64) float64{
	"gelu_new": geluTanh, "gelu_fast": geluTanh, "gelu_pytorch_tanh": geluTanh, "": geluTanh,
	"gelu": geluErf, "gelu_python": geluErf,
	"quick_gelu": func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) },
	"relu":       func(x float64) float64 { return max(x, 0) },
	"relu2":      func(x float64) float64 { return max(x, 0) * max(x, 0) },
	"silu":       silu, "swish": silu, "tanh": math.Tanh,
}

func geluErf(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
func silu(x float64) float64    { return x / (1 + math.Exp(-x)) }

// logits is [position, vocabulary] for a text from its beginning.
func (r *reference) logits(tokens []int32) []float64 {
	n, c, keep := len(tokens), r.width, r.arithmetic.stored
	x := make([]float64, n*c)
	for i, t := range tokens {
		for j := range c {
			x[i*c+j] = keep(r.weights["wte.weight"][int(t)*c+j] + r.weights["wpe.weight"][i*c+j])
		}
	}
	for l := range r.layers {
		name := func(s string) string { return fmt.Sprintf("h.%d.%s", l, s) }
		qkv := r.linear(r.norm(x, name("ln_1")), name("attn.c_attn"), 3*c, same)
		o := r.attention(qkv, n)
		add(x, r.linear(o, name("attn.c_proj"), c, same), keep)
		h := r.linear(r.norm(x, name("ln_2")), name("mlp.c_fc"), 4*c, activations[r.activation])
		add(x, r.linear(h, name("mlp.c_proj"), c, same), keep)
	}
	x = rounded(r.norm(x, "ln_f"), r.arithmetic.operand)
	out := make([]float64, n*r.vocab)
	for i := range n {
		for v := range r.vocab {
			out[i*r.vocab+v] = dot(x[i*c:(i+1)*c], r.weights["lm_head.weight"][v*c:(v+1)*c])
		}
	}
	return out
}

func add(x, y []float64, keep func(float64) float64) {
	for i := range x {
		x[i] = keep(x[i] + y[i])
	}
}

func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func rounded(x []float64, round func(float64) float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = round(v)
	}
	return y
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func (r *reference) norm(x []float64, name string) []float64 {
	g, b, c := r.weights[name+".weight"], r.weights[name+".bias"], r.width
	y := make([]float64, len(x))
	for i := 0; i < len(x); i += c {
		mean, variance := 0.0, 0.0
		for _, v := range x[i : i+c] {
			mean += v / float64(c)
		}
		for _, v := range x[i : i+c] {
			variance += (v - mean) * (v - mean) / float64(c)
		}
		for j := range c {
			y[i+j] = r.arithmetic.stored((x[i+j]-mean)/math.Sqrt(variance+r.eps)*g[j] + b[j])
		}
	}
	return y
}

// linear is f(x w + b), with w stored [in, out].
func (r *reference) linear(x []float64, name string, out int, f func(float64) float64) []float64 {
	w, b := r.weights[name+".weight"], r.weights[name+".bias"]
	in := len(w) / out
	x = rounded(x, r.arithmetic.operand)
	y := make([]float64, 0, len(x)/in*out)
	for ; len(x) > 0; x = x[in:] {
		row := slices.Clone(b)
		for k, v := range x[:in] {
			for j, u := range w[k*out : (k+1)*out] {
				row[j] += v * u
			}
		}
		for _, v := range row {
			y = append(y, r.arithmetic.stored(f(v)))
		}
	}
	return y
}

// attention takes [position, 3, head, channel] and gives [position, head, channel].
func (r *reference) attention(qkv []float64, n int) []float64 {
	c, d := r.width, r.width/r.heads
	qkv = rounded(qkv, r.arithmetic.operand)
	part := func(i, which, h int) []float64 { return qkv[(3*i+which)*c+h*d:][:d] }
	out := make([]float64, n*c)
	for h := range r.heads {
		for i := range n {
			p := make([]float64, i+1)
			sum := 0.0
			for j := range p {
				p[j] = math.Exp(dot(part(i, 0, h), part(j, 1, h)) / math.Sqrt(float64(d)))
				sum += p[j]
			}
			o := out[i*c+h*d:][:d]
			for j := range p {
				weight := r.arithmetic.operand(r.arithmetic.stored(p[j] / sum))
				for e, v := range part(j, 2, h) {
					o[e] += weight * v
				}
			}
			for e := range o {
				o[e] = r.arithmetic.stored(o[e])
			}
		}
	}
	return out
}
