package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"tilec/gpt/internal/strictjson"
)

// This file reads tokenizer.json, which Hugging Face's library writes. It describes a tokenizer by its components, of which each
// has a type. What of them is byte-pair encoding in the forms of GPT-2, Llama 3 and Llama 2 is read, and everything else
// refused by its name: a tokenizer that cuts text in another way than in training makes a model bad, and nobody would notice.

// NewFromJSON makes a tokenizer from the content of tokenizer.json.
func NewFromJSON(data []byte) (*Tokenizer, error) {
	t, err := parseTokenizer(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	return t, nil
}

// object is the fields of a JSON object.
type object map[string]json.RawMessage

func parseObject(data []byte) (object, error) {
	o := object{}
	err := strictjson.Document(data, func(dec *json.Decoder, name string) error {
		var value json.RawMessage
		err := dec.Decode(&value)
		o[name] = value
		return strictjson.Explain(dec, err)
	})
	return o, err
}

// has reports a field that is there and not null.
func (o object) has(name string) bool { return len(o[name]) > 0 && string(o[name]) != "null" }

// read reads a field, if it is there, into v.
func (o object) read(name string, v any) error {
	if o.has(name) && json.Unmarshal(o[name], v) != nil {
		return fmt.Errorf("%s is %s, required %s", name, shortened(o[name]), wanted(v))
	}
	return nil
}

// wanted is what a value to read into is called.
func wanted(v any) string {
	switch v.(type) {
	case *bool:
		return "true or false"
	case *string:
		return "a text"
	case *int32:
		return "an integer"
	}
	return "a list of objects"
}

func shortened(value json.RawMessage) string {
	const most = 60
	if text := []rune(string(value)); len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(value)
}

// component is one part of a tokenizer.
type component struct {
	kind string
	object
}

// components reads a part that may be missing, one component or a Sequence of them under a name.
func (o object) components(name, list string) ([]component, error) {
	if !o.has(name) {
		return nil, nil
	}
	own, err := parseObject(o[name])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := component{object: own}
	if err := own.read("type", &c.kind); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.kind != "Sequence" {
		return []component{c}, nil
	}
	var parts []json.RawMessage
	if err := own.read(list, &parts); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []component
	for _, part := range parts {
		inner, err := object{name: part}.components(name, list)
		if err != nil {
			return nil, err
		}
		all = append(all, inner...)
	}
	return all, nil
}

// is reports a component of a type with these fields: names and values, which are texts, truths and float64s.
func (c component) is(kind string, fields ...any) bool {
	for i := 0; i < len(fields) && c.kind == kind; i += 2 {
		var value any
		if json.Unmarshal(c.object[fields[i].(string)], &value) != nil || value != fields[i+1] {
			return false
		}
	}
	return c.kind == kind
}

// kinds are the types of components.
func kinds(all []component) string {
	var names []string
	for _, c := range all {
		names = append(names, c.kind)
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func parseTokenizer(data []byte) (*Tokenizer, error) {
	o, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	if !o.has("model") {
		return nil, errors.New("model is missing: not a tokenizer of Hugging Face's library")
	}
	m, err := parseModel(o["model"])
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	added, err := o.addedTokens(m.ids)
	if err != nil {
		return nil, fmt.Errorf("added_tokens: %w", err)
	}
	ids := maps.Clone(m.ids)
	var texts [2][]addedToken // those that are looked for before the normalizer, and after
	extra := map[string]bool{}
	for _, a := range added {
		ids[a.text], extra[a.text] = a.id, true
		group := 0
		if a.normalized {
			group = 1
		}
		texts[group] = append(texts[group], a.addedToken)
	}
	if err := checkIDs(ids); err != nil {
		return nil, fmt.Errorf("model and added_tokens: %w", err)
	}
	t := newTokenizer(ids)
	for _, group := range texts {
		if len(group) > 0 {
			t.added = append(t.added, newAddedTokens(group))
		}
	}
	if err := t.setComponents(o, m); err != nil {
		return nil, err
	}
	if s := t.sentence; s != nil {
		if s.normalizes && len(texts[1]) > 0 {
			t.added = t.added[:len(t.added)-1]
			for i := range texts[1] {
				texts[1][i].text = s.normalize(texts[1][i].text, true)
			}
			s.added = newAddedTokens(texts[1])
		}
		for token, id := range ids {
			if t.tokens[id] = token; !extra[token] {
				t.tokens[id] = s.text(token, id)
			}
		}
	}
	if err := t.setMerges(m.merges, "merge", m.ids); err != nil {
		return nil, fmt.Errorf("model: merges: %w", err)
	}
	if m.wholePieces {
		t.whole = make(map[string]int32, len(m.ids))
		for token, id := range m.ids {
			if t.sentence != nil {
				t.whole[token] = id
			} else if bytes, ok := byteText(token); ok {
				t.whole[bytes] = id
			}
		}
	}
	return t, nil
}

// bpeModel is what the model of a tokenizer.json says.
type bpeModel struct {
	ids    map[string]int32
	merges []mergeLine
	// byteFallback says that a character that is no token is those of its bytes.
	byteFallback bool
	// words says that there are no merges: each piece is a token.
	words bool
	// wholePieces says that a piece that is a token is taken without a look at the merges.
	wholePieces bool
}

func parseModel(data json.RawMessage) (m bpeModel, err error) {
	o, err := parseObject(data)
	if err != nil {
		return m, err
	}
	kind := "BPE" // which older files leave out
	if err := o.read("type", &kind); err != nil {
		return m, err
	}
	if kind == "WordLevel" {
		m.words = true
		if m.ids, err = parseVocab(o["vocab"]); err != nil {
			err = fmt.Errorf("vocab: %w", err)
		}
		return m, err
	}
	if kind != "BPE" {
		return m, fmt.Errorf("type is %q, required BPE, or WordLevel of single characters", kind)
	}
	for _, name := range []string{"continuing_subword_prefix", "end_of_word_suffix"} {
		if o.has(name) && string(o[name]) != `""` {
			return m, fmt.Errorf("%s is %s, and tokens with marks of words are not supported", name, shortened(o[name]))
		}
	}
	if dropout := string(o["dropout"]); o.has("dropout") && dropout != "0" && dropout != "0.0" {
		return m, fmt.Errorf("dropout is %s, required null: merges are not left out at random", shortened(o["dropout"]))
	}
	if err := errors.Join(o.read("byte_fallback", &m.byteFallback), o.read("ignore_merges", &m.wholePieces)); err != nil {
		return m, err
	}
	if m.ids, err = parseVocab(o["vocab"]); err != nil {
		return m, fmt.Errorf("vocab: %w", err)
	}
	if m.merges, err = parseMergeList(o["merges"]); err != nil {
		return m, fmt.Errorf("merges: %w", err)
	}
	return m, nil
}

// parseMergeList reads merges as texts, "a b", or as pairs, ["a", "b"].
func parseMergeList(data json.RawMessage) ([]mergeLine, error) {
	var texts []string
	if json.Unmarshal(data, &texts) == nil {
		all := make([]mergeLine, len(texts))
		for i, text := range texts {
			left, right, err := splitMerge(text)
			if err != nil {
				return nil, fmt.Errorf("merge %d: %w", i+1, err)
			}
			all[i] = mergeLine{left, right, i + 1}
		}
		return all, nil
	}
	var pairs [][]string
	if json.Unmarshal(data, &pairs) != nil {
		return nil, errors.New(`required a list of texts "a b" or of pairs ["a", "b"]`)
	}
	all := make([]mergeLine, len(pairs))
	for i, p := range pairs {
		if len(p) != 2 || p[0] == "" || p[1] == "" {
			return nil, fmt.Errorf("merge %d: %q, required two tokens", i+1, p)
		}
		all[i] = mergeLine{p[0], p[1], i + 1}
	}
	return all, nil
}

// listedToken is an added token as the file has it.
type listedToken struct {
	addedToken
	normalized bool
}

// addedTokens reads the tokens beside those of the model; one that is there too has the same id.
func (o object) addedTokens(ids map[string]int32) ([]listedToken, error) {
	var listed []json.RawMessage
	if err := o.read("added_tokens", &listed); err != nil {
		return nil, err
	}
	var all []listedToken
	seen := map[string]bool{}
	for i, data := range listed {
		own, err := parseObject(data)
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		t := listedToken{addedToken: addedToken{id: -1}, normalized: true}
		special, word := false, false
		err = errors.Join(own.read("content", &t.text), own.read("id", &t.id), own.read("special", &special),
			own.read("single_word", &word), own.read("lstrip", &t.stripLeft), own.read("rstrip", &t.stripRight))
		if t.normalized = !special; err == nil { // where nothing is said
			err = own.read("normalized", &t.normalized)
		}
		known, inModel := ids[t.text]
		switch {
		case err != nil:
		case t.text == "" || t.id < 0:
			err = errors.New("content and id are required, a text that is not empty and an integer of 0 or more")
		case word:
			err = fmt.Errorf("%q has single_word, which is not supported", t.text)
		case inModel && known != t.id:
			err = fmt.Errorf("%q has the id %d, and %d in the model", t.text, t.id, known)
		case seen[t.text]:
			err = fmt.Errorf("%q occurs twice", t.text)
		}
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i+1, err)
		}
		seen[t.text] = true
		all = append(all, t)
	}
	return all, nil
}

// setComponents takes over how text is cut, and what goes before it.
func (t *Tokenizer) setComponents(o object, m bpeModel) error {
	var parts [4][]component
	for i, name := range []struct{ part, list string }{{"normalizer", "normalizers"}, {"pre_tokenizer", "pretokenizers"}, {"decoder", "decoders"}, {"post_processor", "processors"}} {
		all, err := o.components(name.part, name.list)
		if err != nil {
			return err
		}
		parts[i] = all
	}
	normalizers, cutters, decoders, processors := parts[0], parts[1], parts[2], parts[3]
	if err := t.setBegin(processors); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	if m.words {
		return t.setCharacters(m.ids, cutters, normalizers, decoders)
	}
	if len(cutters) == 0 || cutters[0].kind == "Metaspace" {
		return t.setSentence(normalizers, cutters, decoders, m)
	}
	if len(normalizers) > 0 {
		return fmt.Errorf("normalizer: %s is not supported, required none with a tokenizer of bytes", kinds(normalizers))
	}
	if err := t.setCutters(cutters); err != nil {
		return fmt.Errorf("pre_tokenizer: %w", err)
	}
	if len(decoders) > 0 && (len(decoders) > 1 || decoders[0].kind != "ByteLevel") {
		return fmt.Errorf("decoder: %s is not supported with a tokenizer of bytes, required ByteLevel", kinds(decoders))
	}
	if err := t.setBytes(m.ids); err != nil {
		return fmt.Errorf("model: vocab: %w", err)
	}
	return nil
}

// The rules of cutting that are known. A regular expression in general takes a machine for it; these are what models have.
var cutRules = map[string]func(text string) int{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:                                          nextPiece,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: cl100k(3),
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:      cl100k(1),
}

// setCutters takes ByteLevel, which has GPT-2's rule, or a Split by a known rule with ByteLevel behind it for the bytes alone.
func (t *Tokenizer) setCutters(all []component) error {
	last := all[len(all)-1]
	if last.kind != "ByteLevel" || len(all) > 2 || len(all) == 2 && all[0].kind != "Split" {
		return fmt.Errorf("%s is not supported, required ByteLevel, or Split and ByteLevel", kinds(all))
	}
	// What is left out is as the library has it.
	t.spaced = true
	usesRule := true
	if err := errors.Join(last.read("add_prefix_space", &t.spaced), last.read("use_regex", &usesRule)); err != nil {
		return err
	}
	if len(all) == 1 {
		if !usesRule {
			return errors.New("ByteLevel has use_regex false, required a Split before it: nothing says how to cut text")
		}
		return nil
	}
	if t.spaced || usesRule {
		return errors.New("ByteLevel behind a Split must have add_prefix_space and use_regex false")
	}
	split := all[0]
	behavior, invert := "", false
	if err := errors.Join(split.read("behavior", &behavior), split.read("invert", &invert)); err != nil {
		return err
	}
	// Each rule matches all of a text, so that nothing is left between its matches.
	if behavior != "Isolated" && behavior != "Removed" || invert != (behavior == "Removed") {
		return fmt.Errorf("Split has the behavior %q with invert %t, required Isolated with false", behavior, invert)
	}
	var pattern struct{ Regex *string }
	if json.Unmarshal(split.object["pattern"], &pattern) != nil || pattern.Regex == nil {
		return fmt.Errorf("Split has the pattern %s, required a Regex", shortened(split.object["pattern"]))
	}
	rule, ok := cutRules[*pattern.Regex]
	if !ok {
		return fmt.Errorf("Split has the pattern %q, which is not supported: known are those of GPT-2, of Llama 3 (cl100k) and of Qwen 2", *pattern.Regex)
	}
	t.piece = rule
	return nil
}

// setSentence takes what tokenizers of characters have: a text is one piece, whose spaces are marked.
func (t *Tokenizer) setSentence(normalizers, cutters, decoders []component, m bpeModel) error {
	if !m.byteFallback {
		return errors.New("pre_tokenizer: nothing says how to cut text, required ByteLevel, or a model with byte_fallback as those of SentencePiece")
	}
	s, err := newSentencePiece(m.ids)
	if err != nil {
		return fmt.Errorf("model: vocab: %w", err)
	}
	switch {
	case len(cutters) == 0 && len(normalizers) == 2 && normalizers[0].is("Prepend", "prepend", spaceMark) &&
		replaces(normalizers[1], " ", spaceMark):
		s.before, s.normalizes = toEach, true
	case len(cutters) == 0 && len(normalizers) == 1 && replaces(normalizers[0], " ", spaceMark):
		s.normalizes = true
	case len(cutters) == 1 && len(normalizers) == 0 && cutters[0].is("Metaspace", "replacement", spaceMark, "split", false):
		scheme := "always"
		if err := cutters[0].read("prepend_scheme", &scheme); err != nil {
			return err
		}
		before, ok := map[string]prepending{"always": toEachWithout, "first": toFirstWithout, "never": toNone}[scheme]
		if !ok {
			return fmt.Errorf("pre_tokenizer: prepend_scheme is %q, required always, first or never", scheme)
		}
		s.before = before
	default:
		return fmt.Errorf("normalizer %s and pre_tokenizer %s are not supported together: required Prepend and Replace of spaces by %q, or Metaspace without split", kinds(normalizers), kinds(cutters), spaceMark)
	}
	for i, c := range decoders {
		switch {
		case i == 0 && (replaces(c, spaceMark, " ") || c.is("Metaspace", "replacement", spaceMark)):
			s.strips = c.kind == "Metaspace" && s.before != toNone
		case c.kind == "ByteFallback" || c.kind == "Fuse":
		case c.is("Strip", "content", " ", "start", 1.0, "stop", 0.0):
			s.strips = true
		default:
			return fmt.Errorf("decoder: %s is not supported, required Replace of %q by spaces, ByteFallback, Fuse and Strip", kinds(decoders), spaceMark)
		}
	}
	t.sentence = s
	return nil
}

// replaces reports the component that puts one text in another's place.
func replaces(c component, old, new string) bool {
	var pattern struct{ String *string }
	return c.is("Replace", "content", new) && json.Unmarshal(c.object["pattern"], &pattern) == nil && pattern.String != nil && *pattern.String == old
}
