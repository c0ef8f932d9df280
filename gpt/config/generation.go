package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"tilec/gpt/internal/strictjson"
	"tilec/jit/file"
)

// GenerationFileName is the name of the file that says how a model's authors make texts with it; a checkpoint need not have one.
const GenerationFileName = "generation_config.json"

// Generation is what generation_config.json says; a nil pointer or slice is what it does not say. It is advice: keys that are not
// here are left aside, whatever they say.
type Generation struct {
	// EOSTokenIDs end a text, BOSTokenID begins one; they win over those of config.json.
	EOSTokenIDs []int
	BOSTokenID  *int
	// DoSample says whether tokens are chosen by chance (true) or the likeliest one is (false).
	DoSample *bool
	// Temperature, TopK and TopP are those of choices by chance.
	Temperature, TopP *float64
	TopK              *int
	// RepetitionPenalty is of both kinds of choices.
	RepetitionPenalty *float64
	// Stop are texts that end the continuation.
	Stop []string
}

// GenerationFromDir reads generation_config.json of a folder, for a model with a vocabulary of so many tokens.
func GenerationFromDir(dir string, vocabSize int) (Generation, error) {
	path := filepath.Join(dir, GenerationFileName)
	data, err := file.Read(path, file.MaxText)
	return generation(path, data, vocabSize, err)
}

// GenerationFromFS reads generation_config.json at the root of fsys.
func GenerationFromFS(fsys fs.FS, vocabSize int) (Generation, error) {
	data, err := fs.ReadFile(fsys, GenerationFileName)
	return generation(GenerationFileName, data, vocabSize, err)
}

// generation parses a file that may be missing.
func generation(name string, data []byte, vocabSize int, err error) (Generation, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return Generation{}, nil
	} else if err != nil {
		return Generation{}, named(name, err)
	}
	return ParseGeneration(name, data, vocabSize)
}

// ParseGeneration reads the content of a generation_config.json. The name stands for the file in errors, which are all reported, one a line.
func ParseGeneration(name string, data []byte, vocabSize int) (Generation, error) {
	values, err := fields(name, data)
	if err != nil {
		return Generation{}, err
	}
	r := reader{file: name, values: values}
	g := Generation{
		EOSTokenIDs:       r.integers("eos_token_id", 0, vocabSize-1),
		BOSTokenID:        given(&r, "bos_token_id", func() int { return r.integer("bos_token_id", 0, vocabSize-1) }),
		DoSample:          given(&r, "do_sample", func() (yes bool) { r.decode("do_sample", &yes, "true or false"); return yes }),
		Temperature:       r.number("temperature", "a number of 0 or more", func(x float64) bool { return x >= 0 }),
		TopP:              r.number("top_p", "a number above 0 and at most 1", func(x float64) bool { return x > 0 && x <= 1 }),
		TopK:              given(&r, "top_k", func() int { return r.integer("top_k", 0, math.MaxInt32) }),
		RepetitionPenalty: r.number("repetition_penalty", "a number above 0", func(x float64) bool { return x > 0 }),
		Stop:              r.texts("stop_strings"),
	}
	if len(r.problems) > 0 {
		return Generation{}, errors.Join(r.problems...)
	}
	return g, nil
}

// fields reads the fields of a file that is one JSON object.
func fields(name string, data []byte) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	err := strictjson.Document(data, func(dec *json.Decoder, field string) error {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return strictjson.Explain(dec, err)
		}
		values[field] = value
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return values, nil
}

// given reads a field that is there, and gives nil for one that is not.
func given[T any](r *reader, field string, read func() T) *T {
	if !r.has(field) {
		return nil
	}
	return new(read())
}

// number reads a number that f32 holds and right accepts; want says what is required.
func (r *reader) number(field, want string, right func(float64) bool) *float64 {
	return given(r, field, func() (x float64) {
		if r.decode(field, &x, want) && (!right(x) || x > math.MaxFloat32) {
			r.problem(field, fmt.Sprint(x), want)
		}
		return x
	})
}

// texts reads a text, or a list of them, each with a character at least.
func (r *reader) texts(field string) []string {
	if !r.has(field) {
		return nil
	}
	const want = "a text or a list of texts that are not empty"
	all := make([]string, 1)
	if strings.HasPrefix(string(r.values[field]), "[") {
		all = nil
		if !r.decode(field, &all, want) {
			return nil
		}
	} else if !r.decode(field, &all[0], want) {
		return nil
	}
	for _, text := range all {
		if text == "" {
			r.problem(field, shorten(r.values[field]), want)
		}
	}
	return all
}
