package bpe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	if err := checkIDs(ids); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabFile, err)
	}
	t := newTokenizer(ids)
	if err := t.setBytes(ids); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabFile, err)
	}
	if t.endOfText >= 0 {
		t.added = []addedTokens{newAddedTokens([]addedToken{{text: EndOfText, id: t.endOfText}})}
	}
	lines, err := splitMerges(string(merges))
	if err == nil {
		err = t.setMerges(lines, "line", ids)
	}
	if err == nil {
		err = t.checkMade(ids)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mergesFile, err)
	}
	return t, nil
}

// newTokenizer makes a tokenizer of a vocabulary, without its merges, that cuts text by GPT-2's rule.
func newTokenizer(ids map[string]int32) *Tokenizer {
	t := &Tokenizer{tokens: make([]string, len(ids)), endOfText: -1, piece: nextPiece}
	t.mergers.New = func() any { return new(merger) }
	for token, id := range ids {
		t.tokens[id] = unescape(token)
	}
	if id, ok := ids[EndOfText]; ok {
		t.endOfText = id
	}
	return t
}

// setBytes finds the tokens of the bytes, with which a piece starts.
func (t *Tokenizer) setBytes(ids map[string]int32) error {
	for b, char := range byteChar {
		id, ok := ids[string(char)]
		if !ok {
			return fmt.Errorf("the token %q for byte 0x%02x is missing, required one for each of the 256 bytes", char, b)
		}
		t.byteID[b] = id
	}
	return nil
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

// parseVocab reads the ids by token text.
func parseVocab(vocab []byte) (map[string]int32, error) {
	ids := map[string]int32{}
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
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// checkIDs makes sure that the ids are 0 to n-1, each of one token.
func checkIDs(ids map[string]int32) error {
	taken := make([]bool, len(ids))
	right := true
	for _, id := range ids {
		if right = int(id) < len(ids) && !taken[id]; !right {
			break
		}
		taken[id] = true
	}
	if right {
		return nil
	}
	owner := make(map[int32]string, len(ids))
	for _, token := range slices.Sorted(maps.Keys(ids)) { // so that errors do not change from run to run
		id := ids[token]
		if int(id) >= len(ids) {
			return fmt.Errorf("token %q: id %d, required 0 to %d, one for each of the %d tokens", token, id, len(ids)-1, len(ids))
		}
		if first, taken := owner[id]; taken {
			return fmt.Errorf("token %q: id %d belongs to token %q, required a different one for each", token, id, first)
		}
		owner[id] = token
	}
	return nil
}

// mergeLine is one merge as a file has it: two tokens, and the line or the number at which they stand.
type mergeLine struct {
	left, right string
	at          int
}

// splitMerges reads the lines of merges.txt.
func splitMerges(merges string) ([]mergeLine, error) {
	lines := strings.Split(strings.TrimRight(merges, "\r\n"), "\n")
	all := make([]mergeLine, 0, len(lines))
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if i == 0 && (strings.HasPrefix(line, "#version") || len(lines) == 1 && line == "") {
			continue
		}
		left, right, err := splitMerge(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		all = append(all, mergeLine{left, right, i + 1})
	}
	return all, nil
}

// splitMerge cuts a merge into its two tokens.
func splitMerge(text string) (left, right string, err error) {
	left, right, ok := strings.Cut(text, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return "", "", fmt.Errorf("%q, required two tokens with a space between", text)
	}
	return left, right, nil
}

// setMerges makes the rules of merges, whose order is their rank. Unit is what errors count them by, as in "line".
func (t *Tokenizer) setMerges(lines []mergeLine, unit string, ids map[string]int32) error {
	t.rules, t.ranks = make([]rule, 0, len(lines)), make(map[pair]int32, len(lines))
	for _, m := range lines {
		r, err := newRule(m.left, m.right, ids)
		if err != nil {
			return fmt.Errorf("%s %d: %w", unit, m.at, err)
		}
		p := newPair(r.left, r.right)
		if rank, ok := t.ranks[p]; ok {
			return fmt.Errorf("%s %d: merge \"%s %s\" repeats %s %d", unit, m.at, m.left, m.right, unit, lines[rank].at)
		}
		t.ranks[p] = int32(len(t.rules))
		t.rules = append(t.rules, r)
	}
	return nil
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
