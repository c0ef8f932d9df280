package gpt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tilec/gpt/bpe"
)

// Request is what to generate.
type Request struct {
	Prompt string
	// MaxNewTokens ends the text after so many tokens; it ends earlier at end-of-text or when the context is full.
	MaxNewTokens int
	Sampling     Sampling
	// Stop are texts that end the continuation: it is cut before the first of them, wherever that lies in its tokens.
	Stop []string
	// Dropped is that of Sequence: where it is set, the text goes on when the context is full.
	Dropped func(tokens int)
}

// Result is what was generated, and how fast.
type Result struct {
	// Prompt and Tokens are the ids of the prompt and of its continuation, those of a stop string included.
	Prompt, Tokens []int32
	// Text is the continuation.
	Text string
	// Stopped tells why the text ended: "length", "end-of-text", "stop" (a stop string) or "context".
	Stopped string
	// PromptTime is the time from the start to the first token, compilation included;
	// DecodeTime is that of the tokens after the first.
	PromptTime, DecodeTime time.Duration
}

// TokensPerSecond is the speed of the tokens after the first; 0 when there were none.
func (r *Result) TokensPerSecond() float64 {
	if len(r.Tokens) < 2 || r.DecodeTime <= 0 {
		return 0
	}
	return float64(len(r.Tokens)-1) / r.DecodeTime.Seconds()
}

// Encode gives the ids of a prompt, with those before it that the tokenizer wants before every text. An empty one begins with the token that
// config.json names for it, or with end-of-text, as texts did in training. A prompt that does not fit the context is an error.
func (m *Model) Encode(prompt string) ([]int32, error) {
	tokenizer := m.Checkpoint.Tokenizer
	if err := tokenizer.Check(prompt); err != nil {
		return nil, err
	}
	ids := tokenizer.AppendEncode(slices.Clone(tokenizer.Begin()), prompt)
	if len(ids) == 0 {
		if ids = m.first(); len(ids) == 0 {
			return nil, fmt.Errorf("the prompt is empty, and the vocabulary has no end-of-text token to begin with: give a prompt")
		}
	}
	if len(ids) > m.context {
		return nil, fmt.Errorf("the prompt has %d tokens, the model's context %d: shorten the prompt", len(ids), m.context)
	}
	return ids, nil
}

// first is the token that a text begins with where nothing else does, as texts did in training; none where the model has none.
func (m *Model) first() []int32 {
	if id := m.Checkpoint.Config.BOSTokenID; id >= 0 {
		return []int32{int32(id)}
	}
	if id, ok := m.Checkpoint.Tokenizer.EndOfText(); ok {
		return []int32{id}
	}
	return nil
}

// Generate continues a prompt. Text is handed to emit as it comes, first the
// prompt itself, in pieces that are whole characters; an error from emit ends it.
func (m *Model) Generate(ctx context.Context, req Request, emit func(string) error) (*Result, error) {
	c, err := m.continuation(req, emit)
	if err != nil {
		return nil, err
	}
	if err := emit(req.Prompt); err != nil {
		return nil, err
	}
	if err := m.Continue(ctx, Batch{Sampling: req.Sampling}, []*Sequence{c.sequence()}); err != nil {
		return nil, err
	}
	return &c.Result, nil
}

// GenerateAll continues prompts side by side, at most so many at once; 0 for as many as pay on the device. The samplings of the
// requests may differ in their seeds alone. Each gets the results in the order of the requests, one as soon as it and those before
// are there; an error of each ends them all.
func (m *Model) GenerateAll(ctx context.Context, rows int, reqs []Request, each func(i int, r *Result) error) error {
	if len(reqs) == 0 {
		return nil
	}
	b := Batch{Sampling: reqs[0].Sampling, Rows: rows}
	all := make([]*continuation, len(reqs))
	sequences := make([]*Sequence, len(reqs))
	given := 0
	for i, req := range reqs {
		same := req.Sampling
		same.Seed = b.Sampling.Seed
		if same != b.Sampling {
			return fmt.Errorf("prompt %d is sampled in another way than the first one, must differ in the seed alone", i+1)
		}
		c, err := m.continuation(req, func(string) error { return nil })
		if err != nil {
			return fmt.Errorf("prompt %d: %w", i+1, err)
		}
		all[i], sequences[i] = c, c.sequence()
		sequences[i].Done = func() error {
			if err := c.end(); err != nil {
				return err
			}
			for ; given < len(all) && all[given].ended; given++ {
				if err := each(given, &all[given].Result); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return m.Continue(ctx, b, sequences)
}

// continuation makes text of the tokens that come for a request.
type continuation struct {
	Result
	req    Request
	emit   func(string) error
	ends   []int // the tokens that end a text
	stream *bpe.Stream
	stop   *stopper
	text   strings.Builder
	begin  time.Time
	ended  bool
}

// continuation begins the text of a request.
func (m *Model) continuation(req Request, emit func(string) error) (*continuation, error) {
	if req.MaxNewTokens < 0 {
		return nil, fmt.Errorf("max-new-tokens is %d, must be 0 or more", req.MaxNewTokens)
	}
	if err := req.Sampling.Validate(); err != nil {
		return nil, err
	}
	if slices.Contains(req.Stop, "") {
		return nil, errors.New("a stop string is empty, must have a character at least")
	}
	prompt, err := m.Encode(req.Prompt)
	if err != nil {
		return nil, err
	}
	return &continuation{
		Result: Result{Prompt: prompt, Stopped: "length"}, req: req, emit: emit, ends: m.Checkpoint.Config.EOSTokenIDs,
		stream: m.Checkpoint.Tokenizer.NewStream(), stop: &stopper{stops: req.Stop}, begin: time.Now(),
	}, nil
}

// sequence is the continuation as a part of a batch.
func (c *continuation) sequence() *Sequence {
	return &Sequence{
		Prompt: c.Prompt, MaxNewTokens: c.req.MaxNewTokens, Seed: c.req.Sampling.Seed,
		Each: c.take, Done: c.end, Dropped: c.req.Dropped,
	}
}

// take makes text of a token.
func (c *continuation) take(id int32) (more bool, err error) {
	if len(c.Tokens) == 0 {
		c.PromptTime = time.Since(c.begin)
		c.begin = time.Now()
	}
	if slices.Contains(c.ends, int(id)) {
		c.Stopped = "end-of-text"
		return false, nil
	}
	c.Tokens = append(c.Tokens, id)
	text, err := c.stream.Next(id)
	if err != nil {
		return false, err
	}
	text, stopped := c.stop.push(text)
	if stopped {
		c.Stopped = "stop"
	}
	return !stopped, c.give(text)
}

// end gives what was held back of the text.
func (c *continuation) end() error {
	if c.Stopped == "length" && len(c.Tokens) < c.req.MaxNewTokens {
		c.Stopped = "context"
	}
	c.DecodeTime = time.Since(c.begin)
	if c.Stopped != "stop" {
		last, stopped := c.stop.push(c.stream.Flush())
		if stopped {
			c.Stopped = "stop"
		}
		if err := c.give(last + c.stop.flush()); err != nil {
			return err
		}
	}
	c.Text, c.ended = c.text.String(), true
	return nil
}

func (c *continuation) give(text string) error {
	c.text.WriteString(text)
	return c.emit(text)
}
