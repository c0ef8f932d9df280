// Package config reads config.json of a GPT-2 checkpoint and makes sure that
// it describes a model that can be run as GPT-2.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tilec/jit/file"
)

// FileName is the name of the file in a checkpoint's folder.
const FileName = "config.json"

// Config is the shape of a GPT-2 model. The names are those of the file.
type Config struct {
	NLayer     int // transformer blocks
	NHead      int // attention heads a block
	NEmbd      int // width of the residual stream, a multiple of NHead
	NInner     int // width of the feed-forward layer, 4*NEmbd unless the file says otherwise
	NPositions int // longest sequence, in tokens
	VocabSize  int // tokens
	// LayerNormEpsilon is added to the variance, 1e-5 unless the file says otherwise.
	LayerNormEpsilon float64
	// EOSTokenIDs are the tokens that end a text, one of them is enough.
	EOSTokenIDs []int
	// BOSTokenID is the token that a text begins with where nothing is given, -1 if the file names none.
	BOSTokenID int
	// TieWordEmbeddings says that the output head is the token embedding,
	// which holds unless the file says otherwise; else it is a tensor of its own.
	TieWordEmbeddings bool
}

// HeadSize is the width of one attention head.
func (c Config) HeadSize() int { return c.NEmbd / c.NHead }

// FromDir reads config.json of a folder.
func FromDir(dir string) (Config, error) {
	path := filepath.Join(dir, FileName)
	data, err := file.Read(path, file.MaxText)
	if err != nil {
		return Config{}, named(path, err)
	}
	return Parse(path, data)
}

// FromFS reads config.json at the root of fsys, an embedded checkpoint for example.
func FromFS(fsys fs.FS) (Config, error) {
	data, err := fs.ReadFile(fsys, FileName)
	if err != nil {
		return Config{}, named(FileName, err)
	}
	return Parse(FileName, data)
}

// named is an error with the name of the file, once.
func named(name string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Parse reads the content of a config.json. The name stands for the file in
// errors; all problems are reported at once, one a line, each with its field,
// the value found and what is required.
func Parse(name string, data []byte) (Config, error) {
	values, err := fields(name, data)
	if err != nil {
		return Config{}, err
	}
	r := reader{file: name, values: values}
	c := r.config()
	if len(r.problems) > 0 {
		return Config{}, errors.Join(r.problems...)
	}
	return c, nil
}

// config reads all fields. A check of two fields together is made only if
// each of them is right, so that no problem is reported twice.
func (r *reader) config() Config {
	// What would make the model compute something else than GPT-2 is refused,
	// whatever it is called.
	r.text("model_type", required, "gpt2")
	// Two names of one formula, by the hyperbolic tangent.
	r.text("activation_function", optional, "gelu_new", "gelu_pytorch_tanh")
	r.boolean("scale_attn_weights", true, mustBeDefault)
	r.boolean("scale_attn_by_inverse_layer_idx", false, mustBeDefault)
	r.boolean("add_cross_attention", false, mustBeDefault)
	// In f32, and scaled before the product, is how attention is computed either way.
	r.boolean("reorder_and_upcast_attn", false, mayDiffer)
	r.architectures()
	r.foreign()

	c := Config{
		NLayer:            r.positive("n_layer"),
		NHead:             r.positive("n_head"),
		NEmbd:             r.positive("n_embd"),
		NPositions:        r.positions(),
		VocabSize:         r.positive("vocab_size"),
		LayerNormEpsilon:  r.epsilon("layer_norm_epsilon", 1e-5),
		TieWordEmbeddings: r.boolean("tie_word_embeddings", true, mayDiffer),
	}
	if c.NEmbd > 0 && c.NHead > 0 && c.NEmbd%c.NHead != 0 {
		r.problem("n_embd", fmt.Sprint(c.NEmbd), fmt.Sprintf("a multiple of n_head, which is %d", c.NHead))
	}
	c.NInner = 4 * c.NEmbd
	if r.has("n_inner") {
		c.NInner = r.positive("n_inner")
	}
	last := maxDimension
	if c.VocabSize > 0 {
		last = c.VocabSize - 1
	}
	c.BOSTokenID = -1
	if r.has("bos_token_id") {
		c.BOSTokenID = r.integer("bos_token_id", 0, last)
	}
	c.EOSTokenIDs = r.integers("eos_token_id", 0, last)
	return c
}

// architectures makes sure that the network is the one with a head for the next token, or the
// network below it, whose head is the token embedding.
func (r *reader) architectures() {
	known := []string{"GPT2LMHeadModel", "GPT2Model"}
	want := "one of " + strings.Join(known, ", ")
	if !r.has("architectures") {
		return
	}
	var names []string
	if !r.decode("architectures", &names, "a list of "+want) {
		return
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			r.problem("architectures", fmt.Sprintf("%q", name), want)
		}
	}
}

// foreign refuses what GPT-2 does not have: fields by which other networks, or other forms of
// its weights, compute something else. One that says "nothing of the kind" is no matter.
func (r *reader) foreign() {
	for _, f := range []struct{ name, neutral, advice string }{
		{"quantization_config", "", "weights in f32, bf16 or f16: save the model after dequantizing it"},
		{"pruned_heads", "{}", "all heads: save the model with them"},
		{"is_encoder_decoder", "false", "a decoder"},
		{"tie_encoder_decoder", "false", "a decoder"},
		{"multi_query", "false", "keys and values for each head, as GPT-2 has them"},
		{"num_key_value_heads", "", "keys and values for each head, as GPT-2 has them"},
		{"position_embedding_type", `"absolute"`, "the learned positions of GPT-2"},
		{"rope_theta", "", "the learned positions of GPT-2"},
		{"rope_scaling", "", "the learned positions of GPT-2"},
		{"rope_parameters", "", "the learned positions of GPT-2"},
		{"rotary_dim", "", "the learned positions of GPT-2"},
		{"alibi", "false", "the learned positions of GPT-2"},
		{"sliding_window", "", "attention to all earlier positions, as GPT-2 has it"},
		{"attention_types", "", "attention to all earlier positions, as GPT-2 has it"},
		{"parallel_attn", "false", "the layers of GPT-2"},
		{"num_experts", "", "the layers of GPT-2"},
	} {
		if r.has(f.name) && string(r.values[f.name]) != f.neutral {
			r.problem(f.name, shorten(r.values[f.name]), f.advice)
		}
	}
}

// positions reads n_positions, or n_ctx, its older name; both must agree.
func (r *reader) positions() int {
	if !r.has("n_ctx") {
		return r.positive("n_positions")
	}
	older := r.positive("n_ctx")
	if !r.has("n_positions") {
		return older
	}
	n := r.positive("n_positions")
	if n > 0 && older > 0 && n != older {
		r.problem("n_ctx", fmt.Sprint(older), fmt.Sprintf("%d as n_positions says", n))
	}
	return n
}

// maxDimension bounds what is read, so that four of them, the feed-forward
// width, fit 32 bits.
const maxDimension = 1 << 28

// reader reads the fields of a file and collects the problems. A reading
// method gives the zero value after a problem.
type reader struct {
	file     string
	values   map[string]json.RawMessage
	problems []error
}

func (r *reader) problem(field, actual, want string) {
	r.problems = append(r.problems, fmt.Errorf("%s: %s is %s, required %s", r.file, field, actual, want))
}

// has reports that the field is there and not null.
func (r *reader) has(field string) bool {
	value, ok := r.values[field]
	return ok && string(value) != "null"
}

// decode reads the field into v; want says what is required if that fails.
func (r *reader) decode(field string, v any, want string) bool {
	if !r.has(field) {
		r.problem(field, "missing", want)
		return false
	}
	if json.Unmarshal(r.values[field], v) != nil {
		r.problem(field, shorten(r.values[field]), want)
		return false
	}
	return true
}

func (r *reader) positive(field string) int { return r.integer(field, 1, maxDimension) }

func (r *reader) integer(field string, least, most int) int {
	want := fmt.Sprintf("an integer of %d to %d", least, most)
	var n int
	if !r.decode(field, &n, want) {
		return 0
	}
	if n < least || n > most {
		r.problem(field, fmt.Sprint(n), want)
		return 0
	}
	return n
}

// integers reads an integer, or a list of them; none where the field is missing.
func (r *reader) integers(field string, least, most int) []int {
	if !r.has(field) {
		return nil
	}
	if !strings.HasPrefix(string(r.values[field]), "[") {
		return []int{r.integer(field, least, most)}
	}
	want := fmt.Sprintf("integers of %d to %d", least, most)
	var all []int
	if !r.decode(field, &all, want) {
		return nil
	}
	for _, n := range all {
		if n < least || n > most {
			r.problem(field, fmt.Sprint(n), want)
		}
	}
	return all
}

func (r *reader) epsilon(field string, standard float64) float64 {
	const want = "a number above 0 and below 1"
	if !r.has(field) {
		return standard
	}
	var x float64
	if r.decode(field, &x, want) && (x <= 0 || x >= 1) {
		r.problem(field, fmt.Sprint(x), want)
	}
	return x
}

// Whether a field may be left out, and whether it may say something else than the standard.
const (
	required = true
	optional = false

	mustBeDefault = true
	mayDiffer     = false
)

// text makes sure that a field says one of a few words.
func (r *reader) text(field string, needed bool, words ...string) {
	want := fmt.Sprintf("%q, the only one that is supported", words[0])
	if len(words) > 1 {
		want = fmt.Sprintf("one of %q", words)
	}
	if !needed && !r.has(field) {
		return
	}
	var s string
	if r.decode(field, &s, want) && !slices.Contains(words, s) {
		r.problem(field, fmt.Sprintf("%q", s), want)
	}
}

func (r *reader) boolean(field string, standard, fixed bool) bool {
	if !r.has(field) {
		return standard
	}
	want := "true or false"
	if fixed {
		want = fmt.Sprintf("%t, the only one that is supported", standard)
	}
	var b bool
	if r.decode(field, &b, want) && fixed && b != standard {
		r.problem(field, fmt.Sprint(b), want)
	}
	return b
}

// shorten is JSON text for an error message.
func shorten(value json.RawMessage) string {
	const most = 40
	text := strings.Join(strings.Fields(string(value)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
