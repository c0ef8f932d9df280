// Package bpe is byte-pair encoding, the tokenizer of GPT-2 and of many models
// after it. Text is cut into pieces by a fixed rule, each piece starts as its bytes
// (or its characters, as SentencePiece has it), and the merges of a learned list join
// neighbours into longer tokens, the earliest of the list first. Every byte is a
// token, so every string can be encoded and comes back from its tokens unchanged.
package bpe

import (
	"errors"
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
	vocabFile     = "vocab.json"
	mergesFile    = "merges.txt"
	tokenizerFile = "tokenizer.json"
)

// Files are the names of the files that a tokenizer may have in a folder.
var Files = []string{tokenizerFile, vocabFile, mergesFile}

// Tokenizer converts between text and token ids, 0 to VocabSize()-1. It may be
// used by several goroutines at once.
type Tokenizer struct {
	tokens    []string // the bytes of each token
	byteID    [256]int32
	rules     []rule
	ranks     map[pair]int32 // index into rules
	endOfText int32          // -1 if the vocabulary lacks it
	// begin are the tokens that go before every text.
	begin []int32
	// added are looked for one group after the other.
	added []addedTokens
	// piece is the length in bytes of the piece that a text, not empty, starts with.
	piece func(text string) int
	// spaced says that a text gets a space before it where it has none.
	spaced bool
	// whole are the tokens that a piece is without a look at the merges, by their bytes; nil for none.
	whole map[string]int32
	// sentence is what differs where a text starts as its characters; nil where it starts as its bytes.
	sentence *sentencePiece
	// characters are the tokens of a vocabulary that has nothing but characters, nil for others.
	characters map[rune]int32
	cache      cache
	mergers    sync.Pool // of *merger
}

// pair is two neighbouring tokens.
type pair uint64

func newPair(left, right int32) pair { return pair(uint64(uint32(left))<<32 | uint64(uint32(right))) }

// FromDir loads a tokenizer from tokenizer.json of a folder or, where there is
// none, from vocab.json and merges.txt.
func FromDir(dir string) (*Tokenizer, error) {
	t, err := load(func(name string) ([]byte, error) { return file.Read(filepath.Join(dir, name), file.MaxText) })
	if err != nil {
		return nil, fmt.Errorf("tokenizer in %s: %w", dir, err)
	}
	return t, nil
}

// FromFS loads a tokenizer from the files at the root of fsys, an embedded
// checkpoint for example; see FromDir.
func FromFS(fsys fs.FS) (*Tokenizer, error) {
	return load(func(name string) ([]byte, error) { return fs.ReadFile(fsys, name) })
}

func load(read func(name string) ([]byte, error)) (*Tokenizer, error) {
	data, err := read(tokenizerFile)
	if err == nil {
		return NewFromJSON(data)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	vocab, err := read(vocabFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w, and no %s either", err, tokenizerFile)
	} else if err != nil {
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

// Encode gives the token ids of text, which may be any bytes. Where the vocabulary has characters alone, those that it lacks are left out: see Check.
func (t *Tokenizer) Encode(text string) []int32 { return t.AppendEncode(nil, text) }

// AppendEncode appends the token ids of text to ids.
func (t *Tokenizer) AppendEncode(ids []int32, text string) []int32 {
	return t.appendBetween(ids, text, t.added, true)
}

// Begin are the ids that go before every text, as many models want one token there. Encode does not give them.
func (t *Tokenizer) Begin() []int32 { return t.begin }

// appendBetween encodes text, in which the added tokens are looked for; first says that nothing is before it.
func (t *Tokenizer) appendBetween(ids []int32, text string, added []addedTokens, first bool) []int32 {
	if len(added) == 0 {
		return t.appendOrdinary(ids, text, first)
	}
	for {
		before, token, after, found := added[0].cut(text)
		ids = t.appendBetween(ids, before, added[1:], first)
		if !found {
			return ids
		}
		ids, text, first = append(ids, token.id), after, false
	}
}

// appendOrdinary encodes text in which no added token is looked for.
func (t *Tokenizer) appendOrdinary(ids []int32, text string, first bool) []int32 {
	if text == "" {
		return ids
	}
	if t.characters != nil {
		for _, r := range text {
			if id, ok := t.characters[r]; ok {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if t.sentence != nil {
		return t.appendSentence(ids, t.sentence.normalize(text, first))
	}
	if t.spaced && text[0] != ' ' {
		text = " " + text
	}
	for len(text) > 0 {
		n := t.piece(text)
		ids = t.appendPiece(ids, text[:n])
		text = text[n:]
	}
	return ids
}

// appendSentence encodes a text whose spaces are marked.
func (t *Tokenizer) appendSentence(ids []int32, text string) []int32 {
	for {
		before, token, after, found := t.sentence.added.cut(text)
		if before != "" {
			ids = t.appendPiece(ids, before)
		}
		if !found {
			return ids
		}
		ids, text = append(ids, token.id), after
	}
}

func (t *Tokenizer) appendPiece(ids []int32, piece string) []int32 {
	if id, ok := t.whole[piece]; ok {
		return append(ids, id)
	}
	if len(piece) == 1 && t.sentence == nil {
		return append(ids, t.byteID[piece[0]])
	}
	if known, ok := t.cache.get(piece); ok {
		return append(ids, known...)
	}
	m := t.mergers.Get().(*merger)
	defer t.mergers.Put(m)
	m.parts = m.parts[:0]
	if t.sentence != nil {
		t.sentence.start(m, piece)
	} else {
		for i := range len(piece) {
			m.add(t.byteID[piece[i]])
		}
	}
	m.parts[len(m.parts)-1].next = -1
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
	if t.sentence != nil && t.sentence.strips {
		return strings.TrimPrefix(text.String(), " "), nil
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
