package nanogpt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit/file"
)

// Options say what a source does not.
type Options struct {
	// Heads is the number of attention heads; 0 takes that of the source, which early formats lack.
	Heads int
	// Activation is the name in config.json of the function in the feed-forward layers; "" takes the source's.
	Activation string
	// Tokenizer is a folder with a tokenizer; "" takes that of the source's folder, if it has one.
	Tokenizer string
	// Written, where it is set, is told how many bytes of the tensors are written, of how many.
	Written func(done, total int64)
}

// Summary says what was written.
type Summary struct {
	Layers, Heads, Width, Context, Vocabulary int
	Activation                                string
	// Tied says that the output head is the token embedding.
	Tied bool
	// ZeroBiases says that the source has no biases.
	ZeroBiases bool
	// Tokenizer is the folder that the tokenizer was copied from, "" where there was none.
	Tokenizer string
}

// Import reads a file of weights, or the one in a folder, and writes a folder in GPT-2's format, which appears whole or not at all.
func Import(path, out string, o Options) (*Summary, error) {
	s, err := open(path)
	if err != nil {
		return nil, err
	}
	defer s.close()
	n, err := s.network()
	if err != nil {
		return nil, err
	}
	from := filepath.Dir(s.path)
	settings, err := n.settle(from, o)
	if err != nil {
		return nil, err
	}
	tokenizer, err := findTokenizer(from, o.Tokenizer)
	if err != nil {
		return nil, err
	}
	summary := &Summary{n.layers, n.heads, n.width, n.context, n.vocabulary, n.activation, n.tied, n.unbiased, ""}
	if tokenizer != nil {
		summary.Tokenizer = tokenizer.dir
		if size := tokenizer.VocabSize(); size > n.vocabulary {
			return nil, fmt.Errorf("the tokenizer in %s has %d tokens, the model's vocabulary %d: it is another model's", tokenizer.dir, size, n.vocabulary)
		}
		if id, ok := tokenizer.EndOfText(); ok && settings["eos_token_id"] == nil {
			settings["bos_token_id"], settings["eos_token_id"] = id, id
		}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return nil, err
	}
	err = file.WriteFolder(out, func(dir string) error {
		total, done := int64(0), int64(0)
		for _, t := range n.tensors {
			total += t.DType.Bytes(elements(t.Shape))
		}
		read := func(t safetensors.Tensor) ([]byte, error) {
			if o.Written != nil {
				o.Written(done, total)
			}
			done += t.DType.Bytes(elements(t.Shape))
			return n.read[t.Name]()
		}
		if err := safetensors.WriteFrom(filepath.Join(dir, "model.safetensors"), n.tensors, map[string]string{"format": "pt"}, read); err != nil {
			return err
		}
		if tokenizer != nil {
			for name, data := range tokenizer.files {
				if err := file.WriteBytes(filepath.Join(dir, name), data); err != nil {
					return err
				}
			}
		}
		return file.WriteBytes(filepath.Join(dir, config.FileName), append(text, '\n'))
	})
	if err != nil {
		return nil, err
	}
	return summary, nil
}

// elements is how many a tensor of a shape has.
func elements(shape []int) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= int64(d)
	}
	return n
}

// settle completes the network with what its tensors do not say, and gives the fields of config.json.
func (n *network) settle(from string, o Options) (map[string]any, error) {
	settings := map[string]any{}
	if data, err := file.Read(filepath.Join(from, config.FileName), file.MaxText); err == nil {
		if err := json.Unmarshal(data, &settings); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(from, config.FileName), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	said := func(key string) (int, bool, error) { return n.said(settings, key) }
	for _, c := range []struct {
		keys []string
		have int
	}{{[]string{"n_layer"}, n.layers}, {[]string{"n_embd"}, n.width}, {[]string{"vocab_size"}, n.vocabulary}, {[]string{"block_size", "n_positions"}, n.context}} {
		for _, key := range c.keys {
			if v, ok, err := said(key); err != nil {
				return nil, err
			} else if ok && v != c.have {
				return nil, fmt.Errorf("%s: %s is %d, and the tensors have %d", n.source.path, key, v, c.have)
			}
		}
	}
	heads, ok, err := said("n_head")
	if err != nil {
		return nil, err
	}
	if n.heads = heads; o.Heads > 0 {
		n.heads = o.Heads
	} else if !ok {
		return nil, fmt.Errorf("%s does not say how many attention heads it has: give --heads, of minGPT's gpt-nano 3, gpt-micro 4, gpt-mini 6, gpt2 12", n.source.path)
	}
	if n.heads < 1 || n.width%n.heads != 0 {
		return nil, fmt.Errorf("the model has the width %d and %d heads, required a number that divides it", n.width, n.heads)
	}
	if err := n.settleActivation(settings, o.Activation); err != nil {
		return nil, err
	}
	for key, value := range map[string]any{
		"model_type": "gpt2", "architectures": []string{"GPT2LMHeadModel"}, "activation_function": n.activation, "n_layer": n.layers, "n_head": n.heads,
		"n_embd": n.width, "n_positions": n.context, "n_inner": n.inner, "vocab_size": n.vocabulary, "tie_word_embeddings": n.tied,
	} {
		settings[key] = value
	}
	delete(settings, "n_ctx") // which n_positions is
	if settings["layer_norm_epsilon"] == nil {
		settings["layer_norm_epsilon"] = 1e-5
	}
	return settings, nil
}

// said looks for an integer in nanoGPT's model_args and in a config.json beside the weights.
func (n *network) said(settings map[string]any, key string) (v int, ok bool, err error) {
	value := settings[key]
	if n.source.args != nil {
		if given, there := n.source.args.Get(key); there {
			value = given
		}
	}
	switch value := value.(type) {
	case nil:
		return 0, false, nil
	case int64:
		return int(value), true, nil
	case float64:
		if value == float64(int(value)) {
			return int(value), true, nil
		}
	}
	return 0, false, fmt.Errorf("%s: %s is %v, required an integer", n.source.path, key, value)
}

// settleActivation finds the function of the feed-forward layers, which no tensor tells.
func (n *network) settleActivation(settings map[string]any, asked string) error {
	given, _ := settings["activation_function"].(string)
	switch {
	case asked != "":
		n.activation = asked
	case given != "":
		n.activation = given
	case n.source.args != nil, n.source.early:
		n.activation = "gelu"
	case !n.linear: // Hugging Face's own, whose config.json was left behind
		n.activation = "gelu_new"
	default:
		return fmt.Errorf("%s does not say which activation it has: give --activation, of nanoGPT gelu, of minGPT gelu_new", n.source.path)
	}
	return nil
}
