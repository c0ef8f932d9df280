package gpt

import (
	"fmt"

	"tilec/gpt/safetensors"
	"tilec/lang"
)

// llama is what a Llama has beside its layers, its heads and its width: so many heads with keys and values of their own, elements of a head,
// and the width of its gated units. tied: its head is its token table.
type llama struct {
	groups, size, inner int
	tied                bool
}

// llamaConfig is the text of a Llama's config.json, with the positions of Llama 3.2.
func (n network) llamaConfig(vocabulary, positions int) []byte {
	return fmt.Appendf(nil, `{"model_type": "llama", "num_hidden_layers": %d, "num_attention_heads": %d, "num_key_value_heads": %d, "head_dim": %d, "hidden_size": %d,
	"intermediate_size": %d, "vocab_size": %d, "max_position_embeddings": %d, "tie_word_embeddings": %t, "hidden_act": "silu", "rms_norm_eps": 1e-5,
	"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}`,
		n.layers, n.heads, n.llama.groups, n.llama.size, n.width, n.llama.inner, vocabulary, positions, n.llama.tied)
}

// llamaTensors are those of a Llama, without their data.
func (n network) llamaTensors(vocabulary int) (all []safetensors.Tensor) {
	add := func(name string, shape ...int) {
		all = append(all, safetensors.Tensor{Name: "model." + name + ".weight", DType: lang.BF16, Shape: shape})
	}
	l, c := n.llama, n.width
	add("embed_tokens", vocabulary, c)
	for i := range n.layers {
		h := fmt.Sprintf("layers.%d.", i)
		add(h+"input_layernorm", c)
		add(h+"self_attn.q_proj", n.heads*l.size, c)
		add(h+"self_attn.k_proj", l.groups*l.size, c)
		add(h+"self_attn.v_proj", l.groups*l.size, c)
		add(h+"self_attn.o_proj", c, n.heads*l.size)
		add(h+"post_attention_layernorm", c)
		add(h+"mlp.gate_proj", l.inner, c)
		add(h+"mlp.up_proj", l.inner, c)
		add(h+"mlp.down_proj", c, l.inner)
	}
	add("norm", c)
	if !l.tied {
		all = append(all, safetensors.Tensor{Name: "lm_head.weight", DType: lang.BF16, Shape: []int{vocabulary, c}})
	}
	return all
}
