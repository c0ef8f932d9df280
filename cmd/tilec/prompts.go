package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tilec/gpt"
	"tilec/jit"
	"tilec/jit/file"
)

// This file continues many prompts, or one several times, side by side.

// batchOptions are the flags of `tilec run` for many texts.
type batchOptions struct {
	prompts       string
	samples, rows int
}

func (b *batchOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&b.prompts, "prompts", "", "file with a prompt a line to continue side by side, or .jsonl with an object {\"prompt\": \"...\"} a line; - is stdin")
	f.IntVarP(&b.samples, "samples", "n", 1, "continue each prompt so many times; sample i, from 0 on, has the seed of --seed plus i")
	f.IntVar(&b.rows, "batch", 0, "how many texts run at once at most; as many as pay on the device when it is left out")
}

// many reports that there may be several texts.
func (b *batchOptions) many() bool { return b.prompts != "" || b.samples > 1 }

// checkBatch refuses flags that make no sense, or none together.
func (o *generateOptions) checkBatch() error {
	switch b := &o.batch; {
	case b.samples < 1:
		return fmt.Errorf("--samples is %d, must be 1 or more", b.samples)
	case o.given("batch") && b.rows < 1:
		return fmt.Errorf("--batch is %d, must be 1 or more", b.rows)
	case o.deterministic && b.rows > jit.SameRows:
		return fmt.Errorf("--batch is %d, must be at most %d with --deterministic", b.rows, jit.SameRows)
	case o.given("prompts") && b.prompts == "":
		return errors.New("--prompts names no file; - is stdin")
	case b.prompts != "" && o.given("prompt"):
		return errors.New("--prompt and --prompts: give one of them")
	case b.many() && o.dumpLogits != "":
		return errors.New("--dump-logits is of one prompt: give it without --prompts and --samples")
	}
	return nil
}

// promptLine is a prompt and where it is from.
type promptLine struct{ text, at string }

// mostPrompts bounds a file of prompts, in bytes.
const mostPrompts = 1 << 28

// mostTexts bounds how many texts a run has, of which it keeps each until those before it are whole.
const mostTexts = 1 << 20

// readPrompts gives the prompts in their order. Empty lines are none.
func (o *generateOptions) readPrompts() ([]promptLine, error) {
	path := o.batch.prompts
	if path == "" {
		return []promptLine{{o.prompt, "--prompt"}}, nil
	}
	var data []byte
	var err error
	name := path
	if path == "-" {
		name = stdinName
		data, err = file.ReadAll(os.Stdin, mostPrompts)
	} else {
		data, err = file.Read(path, mostPrompts)
	}
	if err != nil {
		return nil, fmt.Errorf("prompts: %w", err)
	}
	var prompts []promptLine
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		at := fmt.Sprintf("%s:%d", name, i+1)
		if filepath.Ext(path) == ".jsonl" {
			if line, err = promptOf(line); err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
		}
		prompts = append(prompts, promptLine{line, at})
	}
	if len(prompts) == 0 {
		return nil, fmt.Errorf("%s has no prompt: it needs a line with one at least", name)
	}
	return prompts, nil
}

// promptOf is the prompt in a line of JSON.
func promptOf(line string) (string, error) {
	var object struct{ Prompt *string }
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		return "", fmt.Errorf("%w: a line is an object, as in {\"prompt\": \"...\"}", err)
	}
	if object.Prompt == nil {
		return "", errors.New(`the object has no "prompt"`)
	}
	return *object.Prompt, nil
}

// sample is what --json prints of one of many texts.
type sample struct {
	Prompt string `json:"prompt"`
	Sample int    `json:"sample"`
	Seed   uint64 `json:"seed"`
	// Text is the continuation.
	Text         string  `json:"text"`
	PromptTokens []int32 `json:"prompt_tokens"`
	Tokens       []int32 `json:"tokens"`
	Stopped      string  `json:"stopped"`
}

// emitAll generates and prints the texts in the order of the prompts, each when it is whole, then the figures.
func (a *app) emitAll(ctx context.Context, model *gpt.Model, compiler *jit.Compiler, o generateOptions, prompts []promptLine) error {
	n := o.batch.samples
	if n > mostTexts/len(prompts) {
		return fmt.Errorf("%d prompts with %d samples each are asked for, a run has at most %d texts", len(prompts), n, mostTexts)
	}
	var reqs []gpt.Request
	for _, p := range prompts {
		if _, err := model.Encode(p.text); err != nil {
			return fmt.Errorf("%s: %w", p.at, err)
		}
		for i := range n {
			r := a.request(p.text, model, o)
			r.Sampling.Seed += uint64(i)
			reqs = append(reqs, r)
		}
	}
	begin, before, tokens, done := time.Now(), compiler.CompileTime(), 0, 0
	err := model.GenerateAll(ctx, o.batch.rows, reqs, func(i int, r *gpt.Result) error {
		tokens += len(r.Tokens)
		done++
		if a.json {
			return a.printJSON(sample{reqs[i].Prompt, i % n, reqs[i].Sampling.Seed, r.Text, r.Prompt, nonNil(r.Tokens), r.Stopped})
		}
		var text bytes.Buffer
		fmt.Fprintf(&text, "=== prompt %d", i/n+1)
		if n > 1 {
			fmt.Fprintf(&text, ", sample %d", i%n)
		}
		fmt.Fprintf(&text, "\n%s%s\n", reqs[i].Prompt, strings.TrimSuffix(r.Text, "\n"))
		if _, err := a.stdout.Write(text.Bytes()); err != nil {
			return fmt.Errorf("writing the texts: %w", err)
		}
		return nil
	})
	if err != nil {
		if len(reqs) > 1 {
			a.say("%d of %d texts are done", done, len(reqs))
		}
		return err
	}
	compile := compiler.CompileTime() - before
	spent := max(time.Since(begin)-compile, time.Microsecond)
	a.say("compile %.1f ms, %d texts with %d tokens in %.0f ms, %.1f tokens/s, device %s",
		ms(compiler.CompileTime()), len(reqs), tokens, ms(spent), float64(tokens)/spent.Seconds(), compiler.Device.Name())
	return nil
}
