package bpe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tilec/gpt/internal/strictjson"
)

// New makes a tokenizer from the content of vocab.json, an object of token
// texts and ids, and of merges.txt, a pair of token texts a line, the most
// important first, below an optional "#version" line.
func New(vocab, merges []byte) (*Tokenizer, error) {
	ids, err := parseVocab(vocab)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", vocabFile, err)
	}
	t := &Tokenizer{tokens: make([]string, len(ids)), endOfText: -1}
	t.mergers.New = func() any { return new(merger) }
	for token, id := range ids {
		t.tokens[id] = unescape(token)
	}
	if id, ok := ids[EndOfText]; ok {
		t.endOfText = id
	}
	for b, char := range byteChar {
		id, ok := ids[string(char)]
		if !ok {
			return nil, fmt.Errorf("%s: the token %q for byte 0x%02x is missing, required one for each of the 256 bytes", vocabFile, char, b)
		}
		t.byteID[b] = id
	}
	if t.rules, t.ranks, err = parseMerges(string(merges), ids); err != nil {
		return nil, fmt.Errorf("%s: %w", mergesFile, err)
	}
	if err := t.checkMade(ids); err != nil {
		return nil, fmt.Errorf("%s: %w", mergesFile, err)
	}
	return t, nil
}

// checkMade makes sure that the two files belong together: each token but the
// bytes and the special ones is what a merge makes. Else text would be cut into
// other tokens than the model learned, and nobody would notice.
func (t *Tokenizer) checkMade(ids map[string]int32) error {
	made := make([]bool, len(t.tokens))
	for _, r := range t.rules {
		made[r.result] = true
	}
	for _, id := range t.byteID {
		made[id] = true
	}
	first, lost := "", 0
	for token, id := range ids {
		if made[id] || special(token) {
			continue
		}
		if lost++; lost == 1 || id < ids[first] {
			first = token
		}
	}
	if lost == 0 {
		return nil
	}
	return fmt.Errorf("no merge makes %d of the %d tokens of %s, as %q (id %d), and there are %d merges: the file is cut short or of another model",
		lost, len(ids), vocabFile, first, ids[first], len(t.rules))
}

// special reports a token that stands for no text of its own, which no merge makes: one in
// brackets, as <|endoftext|> and [PAD] are, or one with a character that no byte has.
func special(token string) bool {
	for _, char := range token {
		if _, ok := charByte[char]; !ok {
			return true
		}
	}
	return len(token) > 2 && (token[0] == '<' && token[len(token)-1] == '>' || token[0] == '[' && token[len(token)-1] == ']')
}

// parseVocab reads the ids by token text and makes sure that they are 0 to n-1.
func parseVocab(vocab []byte) (map[string]int32, error) {
	ids := map[string]int32{}
	var order []string // of the file, so that errors do not change from run to run
	err := strictjson.Document(vocab, func(dec *json.Decoder, token string) error {
		value, err := dec.Token()
		if err != nil {
			return strictjson.Explain(dec, err)
		}
		number, ok := value.(json.Number)
		if !ok {
			return fmt.Errorf("token %q: id %v, required an integer", token, value)
		}
		id, err := strconv.ParseInt(number.String(), 10, 32)
		if err != nil || id < 0 {
			return fmt.Errorf("token %q: id %s, required an integer of 0 to 2147483647", token, number)
		}
		ids[token] = int32(id)
		order = append(order, token)
		return nil
	})
	if err != nil {
		return nil, err
	}
	owner := make(map[int32]string, len(ids))
	for _, token := range order {
		id := ids[token]
		if int(id) >= len(ids) {
			return nil, fmt.Errorf("token %q: id %d, required 0 to %d, one for each of the %d tokens", token, id, len(ids)-1, len(ids))
		}
		if first, taken := owner[id]; taken {
			return nil, fmt.Errorf("token %q: id %d belongs to token %q, required a different one for each", token, id, first)
		}
		owner[id] = token
	}
	return ids, nil
}

// parseMerges reads the rules, the line's order being the rank.
func parseMerges(merges string, ids map[string]int32) ([]rule, map[pair]int32, error) {
	lines := strings.Split(strings.TrimRight(merges, "\r\n"), "\n")
	rules := make([]rule, 0, len(lines))
	ranks := make(map[pair]int32, len(lines))
	lineOf := make([]int, 0, len(lines)) // of each rule
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if i == 0 && (strings.HasPrefix(line, "#version") || len(lines) == 1 && line == "") {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		if !ok || left == "" || right == "" || strings.Contains(right, " ") {
			return nil, nil, fmt.Errorf("line %d: %q, required two tokens with a space between", i+1, line)
		}
		r, err := newRule(left, right, ids)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		p := newPair(r.left, r.right)
		if rank, ok := ranks[p]; ok {
			return nil, nil, fmt.Errorf("line %d: merge %q repeats line %d", i+1, line, lineOf[rank])
		}
		ranks[p] = int32(len(rules))
		rules = append(rules, r)
		lineOf = append(lineOf, i+1)
	}
	return rules, ranks, nil
}

func newRule(left, right string, ids map[string]int32) (rule, error) {
	var found [3]int32
	for i, token := range []string{left, right, left + right} {
		id, ok := ids[token]
		if !ok {
			return rule{}, fmt.Errorf("merge \"%s %s\" uses %q, which is not in the vocabulary", left, right, token)
		}
		found[i] = id
	}
	return rule{found[0], found[1], found[2]}, nil
}
