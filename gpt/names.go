package gpt

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"tilec/gpt/safetensors"
)

// This file finds the tensors of a checkpoint by the names that a program has for them.

// prefixes are what exports put before the names of a network's tensors: the name of the network in a model that has a head.
var prefixes = []string{"transformer.", "model.", "bert.", "roberta.", "distilbert."}

// buffers are tensors that no network computes with: the causal mask, which older exports of GPT-2 wrote for each layer, the
// frequencies of rotary positions, and the positions of encoders.
var buffers = regexp.MustCompile(`^(transformer\.)?h\.\d+\.attn\.(bias|masked_bias)$|(^|\.)rotary_emb\.inv_freq$|(^|\.)embeddings\.position_ids$`)

// find gives the tensor that a field of a program is, without its data. The first name is the tensor's own. A second one
// is that of the tensor to which checkpoints may tie it.
func (c *Checkpoint) find(names []string) (safetensors.Tensor, error) {
	tied := len(names) > 1 && c.Config.TieWordEmbeddings
	if tied {
		if t, ok := c.lookup(names[1]); ok {
			return t, nil
		}
	}
	if t, ok := c.lookup(names[0]); ok {
		return t, nil
	}
	_, err := c.Tensors.Tensor(names[0])
	if len(names) > 1 && !tied {
		err = fmt.Errorf("%w; tie_word_embeddings of config.json is false, so the head is a tensor of its own", err)
	}
	return safetensors.Tensor{}, err
}

// lookup looks a tensor up by its name, alone or behind a prefix.
func (c *Checkpoint) lookup(name string) (safetensors.Tensor, bool) {
	for _, prefix := range prefixes {
		if t, ok := c.Tensors.Lookup(prefix + name); ok {
			return t, true
		}
	}
	return c.Tensors.Lookup(name)
}

// checkTied makes sure that a tensor which the file has is the one to which the configuration ties it.
func (c *Checkpoint) checkTied(name, as string) error {
	tied, err := c.Tensors.Tensor(as)
	if err != nil {
		return err
	}
	own, err := c.Tensors.Tensor(name)
	if err != nil {
		return err
	}
	if own.DType != tied.DType || !slices.Equal(own.Shape, tied.Shape) || !bytes.Equal(own.Data, tied.Data) {
		return fmt.Errorf("%s: tensor %q differs from %q, and tie_word_embeddings of config.json says that they are one: set it to false", c.Tensors.Name(), name, tied.Name)
	}
	return nil
}
