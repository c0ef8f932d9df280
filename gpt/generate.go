package gpt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Request is what to generate.
type Request struct {
	Prompt string
	// MaxNewTokens ends the text after so many tokens; it ends earlier at end-of-text or when the context is full.
	MaxNewTokens int
	Sampling     Sampling
	// Stop are texts that end the continuation: it is cut before the first of them, wherever that lies in its tokens.
	Stop []string
}

// Result is what was generated, and how fast.
type Result struct {
	// Prompt and Tokens are the ids of the prompt and of its continuation, those of a stop string included.
	Prompt, Tokens []int32
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
	if err := emit(req.Prompt); err != nil {
		return nil, err
	}
	res := &Result{Prompt: prompt, Stopped: "length"}
	stream := m.Checkpoint.Tokenizer.NewStream()
	stop := &stopper{stops: req.Stop}
	begin := time.Now()
	err = m.Tokens(ctx, prompt, req.MaxNewTokens, req.Sampling, func(id int32) (bool, error) {
		if len(res.Tokens) == 0 {
			res.PromptTime = time.Since(begin)
			begin = time.Now()
		}
		if slices.Contains(m.Checkpoint.Config.EOSTokenIDs, int(id)) {
			res.Stopped = "end-of-text"
			return false, nil
		}
		res.Tokens = append(res.Tokens, id)
		text, err := stream.Next(id)
		if err != nil {
			return false, err
		}
		text, stopped := stop.push(text)
		if stopped {
			res.Stopped = "stop"
		}
		return !stopped, emit(text)
	})
	if err != nil {
		return nil, err
	}
	if res.Stopped == "length" && len(res.Tokens) < req.MaxNewTokens {
		res.Stopped = "context"
	}
	res.DecodeTime = time.Since(begin)
	if res.Stopped == "stop" {
		return res, nil
	}
	last, stopped := stop.push(stream.Flush())
	if stopped {
		res.Stopped = "stop"
	}
	return res, emit(last + stop.flush())
}
