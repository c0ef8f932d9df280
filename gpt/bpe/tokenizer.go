// Package bpe is GPT-2's tokenizer: byte-level byte-pair encoding. Text is cut
// into pieces by a fixed rule, each piece starts as its bytes, and the merges
// of a learned list join neighbours into longer tokens, the earliest of the
// list first. Every byte is a token, so every string can be encoded and comes
// back from its tokens unchanged.
package bpe

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"tilec/jit/file"
)

// EndOfText is the text of the special token that separates documents. Where
// the vocabulary has it, it is one token wherever it stands in a text.
const EndOfText = "<|endoftext|>"

// The files of a tokenizer.
const (
	vocabFile  = "vocab.json"
	mergesFile = "merges.txt"
)

// Tokenizer converts between text and token ids, 0 to VocabSize()-1. It may be
// used by several goroutines at once.
type Tokenizer struct {
	tokens    []string // the bytes of each token
	byteID    [256]int32
	rules     []rule
	ranks     map[pair]int32 // index into rules
	endOfText int32          // -1 if the vocabulary lacks it
	cache     cache
	mergers   sync.Pool // of *merger
}

// pair is two neighbouring tokens.
type pair uint64

func newPair(left, right int32) pair { return pair(uint64(uint32(left))<<32 | uint64(uint32(right))) }

// FromDir loads a tokenizer from vocab.json and merges.txt of a folder.
func FromDir(dir string) (*Tokenizer, error) {
	t, err := load(func(name string) ([]byte, error) { return file.Read(filepath.Join(dir, name), file.MaxText) })
	if err != nil {
		return nil, fmt.Errorf("tokenizer in %s: %w", dir, err)
	}
	return t, nil
}

// FromFS loads a tokenizer from vocab.json and merges.txt at the root of fsys,
// an embedded checkpoint for example.
func FromFS(fsys fs.FS) (*Tokenizer, error) {
	return load(func(name string) ([]byte, error) { return fs.ReadFile(fsys, name) })
}

func load(read func(name string) ([]byte, error)) (*Tokenizer, error) {
	vocab, err := read(vocabFile)
	if err != nil {
		return nil, err
	}
	merges, err := read(mergesFile)
	if err != nil {
		return nil, err
	}
	return New(vocab, merges)
}

// VocabSize is the number of tokens.
func (t *Tokenizer) VocabSize() int { return len(t.tokens) }

// EndOfText is the id of the end-of-text token, if the vocabulary has it.
func (t *Tokenizer) EndOfText() (id int32, ok bool) { return t.endOfText, t.endOfText >= 0 }

// Encode gives the token ids of text, which may be any bytes.
func (t *Tokenizer) Encode(text string) []int32 { return t.AppendEncode(nil, text) }

// AppendEncode appends the token ids of text to ids.
func (t *Tokenizer) AppendEncode(ids []int32, text string) []int32 {
	for t.endOfText >= 0 {
		before, after, found := strings.Cut(text, EndOfText)
		if !found {
			break
		}
		ids = append(t.appendOrdinary(ids, before), t.endOfText)
		text = after
	}
	return t.appendOrdinary(ids, text)
}

// appendOrdinary encodes text in which no special token is looked for.
func (t *Tokenizer) appendOrdinary(ids []int32, text string) []int32 {
	for len(text) > 0 {
		n := nextPiece(text)
		ids = t.appendPiece(ids, text[:n])
		text = text[n:]
	}
	return ids
}

func (t *Tokenizer) appendPiece(ids []int32, piece string) []int32 {
	if len(piece) == 1 {
		return append(ids, t.byteID[piece[0]])
	}
	if known, ok := t.cache.get(piece); ok {
		return append(ids, known...)
	}
	m := t.mergers.Get().(*merger)
	defer t.mergers.Put(m)
	m.parts = m.parts[:0]
	for i := range len(piece) {
		m.parts = append(m.parts, part{id: t.byteID[piece[i]], prev: int32(i) - 1, next: int32(i) + 1})
	}
	m.parts[len(piece)-1].next = -1
	m.merge(t.ranks, t.rules)
	start := len(ids)
	for i := int32(0); i >= 0; i = m.parts[i].next {
		ids = append(ids, m.parts[i].id)
	}
	t.cache.put(piece, ids[start:])
	return ids
}

// Decode gives the text of ids. It is valid UTF-8 if the tokens of whole
// characters are there. An id outside the vocabulary is an error.
func (t *Tokenizer) Decode(ids []int32) (string, error) {
	var text strings.Builder
	for i, id := range ids {
		token, err := t.Token(id)
		if err != nil {
			return "", fmt.Errorf("token %d of %d: %w", i, len(ids), err)
		}
		text.WriteString(token)
	}
	return text.String(), nil
}

// Token gives the bytes that one id stands for, which may be a part of a character.
func (t *Tokenizer) Token(id int32) (string, error) {
	if id < 0 || int(id) >= len(t.tokens) {
		return "", fmt.Errorf("id %d is outside the vocabulary, required 0 to %d", id, len(t.tokens)-1)
	}
	return t.tokens[id], nil
}
