package nanogpt

import (
	"fmt"
	"regexp"
	"strings"
)

// buffer are tensors that nothing is computed with: causal masks.
var buffer = regexp.MustCompile(`^h\.\d+\.attn\.(bias|masked_bias|mask)$`)

// The names of minGPT before 2022, which has queries, keys and values by themselves.
var early = []struct{ old, new string }{
	{"tok_emb.weight", "wte.weight"}, {"pos_emb", "wpe.weight"}, {"head.weight", "lm_head.weight"},
}

// earlyParts are those names within a layer.
var earlyParts = strings.NewReplacer("ln1.", "ln_1.", "ln2.", "ln_2.", "attn.proj.", "attn.c_proj.", "mlp.0.", "mlp.c_fc.", "mlp.2.", "mlp.c_proj.")

// renamed is the name of a tensor in GPT-2 for one of early minGPT; other names stay.
func renamed(name string) string {
	for _, n := range early {
		if name == n.old {
			return n.new
		}
	}
	if rest, ok := strings.CutPrefix(name, "blocks."); ok {
		return "h." + earlyParts.Replace(rest)
	}
	return name
}

// layerOf is the number of the layer whose tensor a name is of, -1 for none.
func layerOf(name string) int {
	layer, rest := -1, ""
	if n, _ := fmt.Sscanf(name, "h.%d.%s", &layer, &rest); n != 2 {
		return -1
	}
	return layer
}
