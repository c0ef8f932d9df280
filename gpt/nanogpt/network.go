package nanogpt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// network is GPT-2 as a source has it: its shape, and its tensors in GPT-2's form.
type network struct {
	layers, heads, width, inner, context, vocabulary int
	activation                                       string
	tied                                             bool
	// unbiased says that the source has no biases, so that they are zeros.
	unbiased bool
	tensors  []safetensors.Tensor // without their data
	read     map[string]func() ([]byte, error)

	source *source
	// linear says that matrices are stored [out, in], as nn.Linear has them; GPT-2's are [in, out].
	linear bool
	used   map[string]bool
}

// network finds the numbers of a network in the shapes of its tensors.
func (s *source) network() (*network, error) {
	n := &network{source: s, read: map[string]func() ([]byte, error){}, used: map[string]bool{}, unbiased: true, tied: true}
	tokens, err := n.sized("wte.weight", 2)
	if err != nil {
		return nil, err
	}
	n.vocabulary, n.width = tokens[0], tokens[1]
	if t := s.tensors["wpe.weight"]; s.early && len(t.shape) == 3 && t.shape[0] == 1 {
		t.shape = t.shape[1:] // early minGPT has [1, context, width]
		s.tensors["wpe.weight"] = t
	}
	positions, err := n.sized("wpe.weight", 2)
	if err != nil {
		return nil, err
	}
	n.context = positions[0]
	for name := range s.tensors {
		n.layers = max(n.layers, layerOf(name)+1)
		n.unbiased = n.unbiased && !strings.HasSuffix(name, ".bias")
	}
	if n.layers == 0 {
		return nil, fmt.Errorf("%s has no layers, h.0. and so on: it is no GPT-2", s.path)
	}
	if err := n.joinQKV(); err != nil {
		return nil, err
	}
	qkv, err := n.sized("h.0.attn.c_attn.weight", 2)
	if err != nil {
		return nil, err
	}
	n.linear = qkv[0] == 3*n.width
	fc, err := n.sized("h.0.mlp.c_fc.weight", 2)
	if err != nil {
		return nil, err
	}
	n.inner = fc[1]
	if n.linear {
		n.inner = fc[0]
	}
	return n, n.assemble()
}

// sized gives the shape of a tensor that must be there and have so many dimensions.
func (n *network) sized(name string, rank int) ([]int, error) {
	t, ok := n.source.tensors[name]
	if !ok {
		return nil, fmt.Errorf("%s: tensor %s is missing: it is no GPT-2, nor of nanoGPT or minGPT", n.source.path, name)
	}
	if len(t.shape) != rank {
		return nil, fmt.Errorf("%s: tensor %s has the shape %v, required %d dimensions", n.source.path, name, t.shape, rank)
	}
	return t.shape, nil
}

// joinQKV puts the queries, keys and values of early minGPT one behind the other, as rows of one matrix.
func (n *network) joinQKV() error {
	if !n.source.early {
		return nil
	}
	for layer := range n.layers {
		for _, kind := range []string{"weight", "bias"} {
			var parts []stored
			for _, part := range []string{"query", "key", "value"} {
				name := fmt.Sprintf("h.%d.attn.%s.%s", layer, part, kind)
				t, ok := n.source.tensors[name]
				if !ok && kind == "bias" && n.unbiased {
					continue
				}
				want := []int{n.width, n.width}[:map[string]int{"weight": 2, "bias": 1}[kind]]
				if !ok || !slices.Equal(t.shape, want) || len(parts) > 0 && parts[0].dtype != t.dtype {
					return fmt.Errorf("%s: tensor %s has the shape %v of %s, required %v as its neighbours have", n.source.path, name, t.shape, t.dtype, want)
				}
				parts = append(parts, t)
				delete(n.source.tensors, name)
			}
			if len(parts) == 0 {
				continue
			}
			shape := slices.Clone(parts[0].shape)
			shape[0] *= 3
			n.source.tensors[fmt.Sprintf("h.%d.attn.c_attn.%s", layer, kind)] = stored{dtype: parts[0].dtype, shape: shape, read: func() ([]byte, error) {
				var all []byte
				for _, p := range parts {
					data, err := p.read()
					if err != nil {
						return nil, err
					}
					all = append(all, data...)
				}
				return all, nil
			}}
		}
	}
	return nil
}

// assemble makes GPT-2's tensors. All problems of names and shapes are found before any data is read.
func (n *network) assemble() error {
	c, f := n.width, n.inner
	var problems []error
	check := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	check(n.vector("wte.weight", n.vocabulary, c))
	check(n.vector("wpe.weight", n.context, c))
	for layer := range n.layers {
		h := fmt.Sprintf("h.%d.", layer)
		check(n.norm(h+"ln_1", c))
		check(n.matrix(h+"attn.c_attn", c, 3*c))
		check(n.matrix(h+"attn.c_proj", c, c))
		check(n.norm(h+"ln_2", c))
		check(n.matrix(h+"mlp.c_fc", c, f))
		check(n.matrix(h+"mlp.c_proj", f, c))
	}
	check(n.norm("ln_f", c))
	check(n.head())
	for _, name := range slices.Sorted(maps.Keys(n.source.tensors)) {
		if !n.used[name] {
			check(fmt.Errorf("%s: tensor %s is none of GPT-2's", n.source.path, name))
		}
	}
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	return fmt.Errorf("%w, and %d more such problems", problems[0], len(problems)-1)
}

// add takes a tensor over under its name in GPT-2.
func (n *network) add(name string, d lang.DType, shape []int, read func() ([]byte, error)) {
	full := name
	if name != "lm_head.weight" {
		full = "transformer." + name
	}
	n.tensors = append(n.tensors, safetensors.Tensor{Name: full, DType: d, Shape: shape})
	n.read[full] = read
}

// vector takes a tensor over as it is.
func (n *network) vector(name string, shape ...int) error {
	n.used[name] = true
	t, ok := n.source.tensors[name]
	if !ok {
		return fmt.Errorf("%s: tensor %s is missing", n.source.path, name)
	}
	if !slices.Equal(t.shape, shape) || !t.dtype.IsFloat() {
		return fmt.Errorf("%s: tensor %s is %s%v, required %v of floats", n.source.path, name, t.dtype, t.shape, shape)
	}
	n.add(name, t.dtype, shape, t.read)
	return nil
}

// norm takes a normalisation over.
func (n *network) norm(name string, width int) error {
	return errors.Join(n.vector(name+".weight", width), n.bias(name, width))
}

// bias takes a bias over; where the source has none at all it is zeros, of the type of its weight.
func (n *network) bias(name string, width int) error {
	if !n.unbiased {
		return n.vector(name+".bias", width)
	}
	d := n.source.tensors[name+".weight"].dtype
	n.add(name+".bias", d, []int{width}, func() ([]byte, error) { return make([]byte, d.Bytes(int64(width))), nil })
	return nil
}

// matrix takes a matrix over, which is to be [in, out], and its bias.
func (n *network) matrix(name string, in, out int) error {
	if !n.linear {
		return errors.Join(n.vector(name+".weight", in, out), n.bias(name, out))
	}
	weight := name + ".weight"
	n.used[weight] = true
	t, ok := n.source.tensors[weight]
	if !ok {
		return fmt.Errorf("%s: tensor %s is missing", n.source.path, weight)
	}
	if !slices.Equal(t.shape, []int{out, in}) || !t.dtype.IsFloat() {
		return fmt.Errorf("%s: tensor %s is %s%v, required %v of floats", n.source.path, weight, t.dtype, t.shape, []int{out, in})
	}
	n.add(weight, t.dtype, []int{in, out}, func() ([]byte, error) {
		data, err := t.read()
		if err != nil {
			return nil, err
		}
		return safetensors.Transposed(data, out, in, t.dtype.Size()), nil
	})
	return n.bias(name, out)
}

// head takes the output head over where it is not the token embedding.
func (n *network) head() error {
	const name = "lm_head.weight"
	t, ok := n.source.tensors[name]
	if !ok {
		return nil
	}
	n.used[name] = true
	tied, err := same(t, n.source.tensors["wte.weight"])
	if err != nil || tied {
		return err
	}
	n.tied = false
	return n.vector(name, n.vocabulary, n.width)
}
