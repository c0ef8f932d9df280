package gpt

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"tilec/gpt/bpe"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit/ir/eval"
	"tilec/lang"
	"tilec/lang/elementary"
)

// network is the shape of a network, by its name.
type network struct {
	name                 string
	layers, heads, width int
	// llama is what a Llama has beside that; nil of a GPT-2.
	llama *llama
}

// small are the sizes that have the tokenizer and the context of Mini, openAI those of OpenAI's GPT-2, and llamas of Llama 3.
var (
	small = []network{
		{"nano", 3, 3, 48, nil}, {"micro", 4, 4, 128, nil}, {"mini", 6, 6, 192, nil}, {"tile-small", 4, 4, 64, nil}, {"tile-medium", 6, 4, 128, nil}, {"tile-large", 8, 8, 256, nil},
		{"llama-nano", 2, 4, 64, &llama{groups: 2, size: 16, inner: 176, tied: true}},
	}
	openAI = []network{{"gpt2", 12, 12, 768, nil}, {"gpt2-medium", 24, 16, 1024, nil}, {"gpt2-large", 36, 20, 1280, nil}, {"gpt2-xl", 48, 25, 1600, nil}}
	llamas = []network{
		{"llama-1b", 16, 32, 2048, &llama{groups: 8, size: 64, inner: 8192, tied: true}},
		{"llama-3b", 28, 24, 3072, &llama{groups: 8, size: 128, inner: 8192, tied: true}},
		{"llama-8b", 32, 32, 4096, &llama{groups: 8, size: 128, inner: 14336}},
	}
	networks = slices.Concat(small, openAI, llamas)
)

// Sizes are the names that Random takes.
func Sizes() []string {
	var names []string
	for _, s := range networks {
		names = append(names, s.name)
	}
	return names
}

// ProgramFor is the file of the program that runs a network of one of Sizes.
func ProgramFor(name string) string {
	if n, ok := findNetwork(name); ok && n.llama != nil {
		return "llama.tile"
	}
	return "gpt.tile"
}

// Random is a checkpoint of one of Sizes with random weights in bf16, a Llama's too as GPT-2 is initialised before training: normally distributed
// with the deviation 0.02, divided by the square root of twice the layers where a sum is added to, norms 1 and biases 0. The seed
// alone tells them. A weight is made when it is asked for, and nothing keeps it. Texts end at no token.
//
// GPT-2's own sizes have a vocabulary of 50,257 tokens, and Llama's of 128,256, of which only the bytes have texts: see bpe.NewBytes. A
// context has 1,024 positions, as GPT-2's has.
func Random(name string, seed uint64) (*Checkpoint, error) {
	n, ok := findNetwork(name)
	if !ok {
		return nil, fmt.Errorf("no network is called %q: known are %s", name, strings.Join(Sizes(), ", "))
	}
	const ofGPT2, ofLlama, context = 50257, 128256, 1024
	tok, positions := (*bpe.Tokenizer)(nil), context
	switch {
	case slices.Contains(small, n):
		own, err := config.FromFS(Mini())
		if err != nil {
			return nil, err
		}
		if tok, err = bpe.FromFS(Mini()); err != nil {
			return nil, err
		}
		positions = own.NPositions
	case n.llama != nil:
		tok = bpe.NewBytes(ofLlama)
	default:
		tok = bpe.NewBytes(ofGPT2)
	}
	text, tensors := n.shape(tok.VocabSize(), positions)
	cfg, err := config.Parse("random "+name, text)
	if err != nil {
		return nil, err
	}
	places := map[string]uint32{}
	for i, t := range tensors {
		places[t.Name] = uint32(i)
	}
	file, err := safetensors.Computed("random "+name, tensors, func(t safetensors.Tensor) ([]byte, error) {
		return randomData(t, n.layers, seed, places[t.Name]), nil
	})
	if err != nil {
		return nil, err
	}
	return newCheckpoint(cfg, config.Generation{}, tok, file)
}

func findNetwork(name string) (network, bool) {
	for _, n := range networks {
		if n.name == name {
			return n, true
		}
	}
	return network{}, false
}

// shape is the text of a network's config.json, and its tensors without their data.
func (n network) shape(vocabulary, positions int) (text []byte, tensors []safetensors.Tensor) {
	if n.llama != nil {
		return n.llamaConfig(vocabulary, positions), n.llamaTensors(vocabulary)
	}
	return n.config(vocabulary, positions), n.tensors(vocabulary, positions)
}

// config is the text of a GPT-2's config.json.
func (n network) config(vocabulary, positions int) []byte {
	return fmt.Appendf(nil, `{"model_type": "gpt2", "n_layer": %d, "n_head": %d, "n_embd": %d, "n_positions": %d, "vocab_size": %d}`,
		n.layers, n.heads, n.width, positions, vocabulary)
}

// tensors are those of a GPT-2, without their data.
func (n network) tensors(vocabulary, positions int) (all []safetensors.Tensor) {
	add := func(name string, shape ...int) {
		all = append(all, safetensors.Tensor{Name: name, DType: lang.BF16, Shape: shape})
	}
	both := func(name string, weight ...int) {
		add(name+".weight", weight...)
		add(name+".bias", weight[len(weight)-1])
	}
	c := n.width
	add("wte.weight", vocabulary, c)
	add("wpe.weight", positions, c)
	for i := range n.layers {
		h := fmt.Sprintf("h.%d.", i)
		both(h+"ln_1", c)
		both(h+"attn.c_attn", c, 3*c)
		both(h+"attn.c_proj", c, c)
		both(h+"ln_2", c)
		both(h+"mlp.c_fc", c, 4*c)
		both(h+"mlp.c_proj", 4*c, c)
	}
	both("ln_f", c)
	return all
}

// randomData makes the elements of a tensor, which has a place among the others.
func randomData(t safetensors.Tensor, layers int, seed uint64, place uint32) []byte {
	n := t.Shape[0]
	for _, d := range t.Shape[1:] {
		n *= d
	}
	data := make([]byte, 2*n)
	switch {
	case strings.HasSuffix(t.Name, ".bias"):
		return data
	case len(t.Shape) == 1: // of a norm
		for i := range n {
			binary.LittleEndian.PutUint16(data[2*i:], lang.BF16Bits(1))
		}
		return data
	}
	deviation := 0.02
	if strings.HasSuffix(t.Name, ".c_proj.weight") || strings.HasSuffix(t.Name, ".o_proj.weight") || strings.HasSuffix(t.Name, ".down_proj.weight") {
		deviation /= math.Sqrt(2 * float64(layers))
	}
	var values [1 << 16]uint16
	for i, q := range normalQuantiles() {
		bits := lang.BF16Bits(float32(deviation * q))
		values[1<<15+i], values[1<<15-1-i] = bits, bits|1<<15
	}
	key := [2]uint32{uint32(seed), uint32(seed >> 32)}
	for i := 0; i < n; i += 8 {
		words := eval.Philox([4]uint32{uint32(i), uint32(i >> 32), place, 0}, key)
		for j := i; j < min(i+8, n); j++ {
			w := words[(j-i)/2]
			binary.LittleEndian.PutUint16(data[2*j:], values[uint16(w>>(16*uint(j%2)))])
		}
	}
	return data
}

// normalQuantiles are the upper half of 65,536 numbers that a normally distributed one is equally likely to be near: the
// quantiles of the probabilities (i + 1/2) / 65536. A random number of 16 bits picks one, which takes a look in a table.
var normalQuantiles = sync.OnceValue(func() (q [1 << 15]float64) {
	z := 0.0
	for i := range q {
		p := 0.5 + float64((float64(i)+0.5)/(1<<16))        // rounded as it stands, on every processor
		for step := 1.0; math.Abs(step) > 1e-9; z -= step { // Newton's steps, from the quantile before
			below := 0.5 + float64(0.5*elementary.Erf(z/math.Sqrt2))
			density := elementary.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			step = (below - p) / density
		}
		q[i] = z
	}
	return q
})
