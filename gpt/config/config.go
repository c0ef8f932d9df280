// Package config reads config.json of a checkpoint: what any language model has, and the value of any key.
package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tilec/jit/file"
)

// FileName is the name of the file in a checkpoint's folder.
const FileName = "config.json"

// Config is what a checkpoint says of its model. What its fields mean for a network is for the network's program to say, by
// @config and @require: here is what any language model has. The names of fields are those of the file.
type Config struct {
	// NPositions is the longest sequence, in tokens, by whatever name the file has for it; 0 where it has none.
	NPositions int
	// VocabSize is the number of tokens; 0 where the file does not say.
	VocabSize int
	// EOSTokenIDs are the tokens that end a text, one of them is enough.
	EOSTokenIDs []int
	// BOSTokenID is the token that a text begins with where nothing is given, -1 if the file names none.
	BOSTokenID int
	// TieWordEmbeddings says that the output head is the token embedding,
	// which holds unless the file says otherwise; else it is a tensor of its own.
	TieWordEmbeddings bool

	file   string
	values map[string]json.RawMessage
}

// File is the name of the file, for messages.
func (c Config) File() string { return c.file }

// Value is what the file says of a key, with points between the keys of objects in objects: "rope_scaling.factor".
// ok is false where it has no such key, or null there.
func (c Config) Value(key string) (value json.RawMessage, ok bool) {
	values := c.values
	for {
		head, rest, nested := strings.Cut(key, ".")
		if value, ok = values[head]; !ok || string(value) == "null" {
			return nil, false
		}
		if !nested {
			return value, true
		}
		values = nil
		if json.Unmarshal(value, &values) != nil {
			return nil, false
		}
		key = rest
	}
}

// Keys are those of the file, in order.
func (c Config) Keys() []string { return slices.Sorted(maps.Keys(c.values)) }

// Text is what the file says of a key, for messages: "missing", or its value, cut where that is long.
func (c Config) Text(key string) string {
	value, ok := c.Value(key)
	if !ok {
		return "missing"
	}
	return shorten(value)
}

// The names that files have for one thing.
var (
	positionKeys = []string{"n_positions", "max_position_embeddings", "n_ctx"}
	layerKeys    = []string{"n_layer", "num_hidden_layers"}
	headKeys     = []string{"n_head", "num_attention_heads"}
	widthKeys    = []string{"n_embd", "hidden_size"}
)

// String says how large the model is: "6 layers, 6 heads, width 192, context 256".
func (c Config) String() string {
	var parts []string
	add := func(format string, keys []string) {
		for _, key := range keys {
			if _, ok := c.Value(key); ok {
				parts = append(parts, fmt.Sprintf(format, c.Text(key)))
				return
			}
		}
	}
	add("%s layers", layerKeys)
	add("%s heads", headKeys)
	add("width %s", widthKeys)
	add("context %s", positionKeys)
	return strings.Join(parts, ", ")
}

// Of is a configuration without a file, of fields that are as json.Marshal takes them.
func Of(fields map[string]any) (Config, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return Config{}, err
	}
	return Parse(FileName, data)
}

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

// config reads what any language model has.
func (r *reader) config() Config {
	c := Config{TieWordEmbeddings: r.boolean("tie_word_embeddings", true), BOSTokenID: -1, file: r.file, values: r.values}
	for _, key := range positionKeys {
		if r.has(key) && c.NPositions == 0 {
			c.NPositions = r.positive(key)
		}
	}
	last := MaxDimension
	if r.has("vocab_size") {
		if c.VocabSize = r.positive("vocab_size"); c.VocabSize > 0 {
			last = c.VocabSize - 1
		}
	}
	if r.has("bos_token_id") {
		c.BOSTokenID = r.integer("bos_token_id", 0, last)
	}
	c.EOSTokenIDs = r.integers("eos_token_id", 0, last)
	return c
}

// MaxDimension bounds dimensions, so that four of them, a usual feed-forward
// width, fit 32 bits.
const MaxDimension = 1 << 28

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

func (r *reader) positive(field string) int { return r.integer(field, 1, MaxDimension) }

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

func (r *reader) boolean(field string, standard bool) bool {
	if !r.has(field) {
		return standard
	}
	b := standard
	r.decode(field, &b, "true or false")
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
