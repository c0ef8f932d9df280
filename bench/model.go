package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tilec/gpt"
	"tilec/jit"
	"tilec/lang"
)

// ModelResult is what generating a text took.
type ModelResult struct {
	Name string `json:"name"`
	// FirstTokenMillis is from the start given to the first token: loading, compiling and the prompt.
	FirstTokenMillis float64 `json:"first_token_ms"`
	// CompileMillis is all compiling: of the prompt, which is a part of the time to the first token, and of a step of decoding.
	CompileMillis float64 `json:"compile_ms"`
	// PromptMillis is the time to the first token with all compiled, the shortest of five.
	PromptMillis float64 `json:"prompt_ms"`
	// TokensPerSecond is the speed of the tokens after the first.
	TokensPerSecond float64 `json:"tokens_per_s"`
	// StepMillis is the shortest time between two of these tokens: what a step takes where nothing else runs.
	StepMillis float64 `json:"step_ms"`
	// PromptTokens and Tokens count what was read and written.
	PromptTokens int    `json:"prompt_tokens"`
	Tokens       int    `json:"tokens"`
	Error        string `json:"error,omitempty"`
}

// Model names what to generate with.
type Model struct {
	// Name is "mini", the trained model inside tilec, another of gpt.Sizes, which has random weights, or a checkpoint's folder.
	Name      string
	DType     lang.DType
	Precision string
	Tokens    int
	// Prompt is how many tokens the prompt has; 0 for those of a short text.
	Prompt int
}

// RunModel generates a text greedily and times it from start on.
func RunModel(c *jit.Compiler, m Model, start time.Time) ModelResult {
	r, err := runModel(c, m, start)
	r.Name = fmt.Sprintf("%s %s", m.Name, m.DType)
	if m.Precision != "" {
		r.Name += " " + m.Precision
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func runModel(c *jit.Compiler, m Model, start time.Time) (r ModelResult, err error) {
	gpt.Prepare()
	ckpt, err := open(m.Name)
	if err != nil {
		return r, err
	}
	defer ckpt.Close()
	program, problems := jit.Load("gpt.tile", gpt.Source, nil)
	if len(problems) > 0 {
		return r, problems[0]
	}
	model, err := gpt.New(program, ckpt, c, m.DType, m.Precision)
	if err != nil {
		return r, err
	}
	defer model.Close()
	prompt, err := model.Encode("ROMEO:\nWhat light")
	if err != nil {
		return r, err
	}
	if m.Prompt > 0 {
		long := make([]int32, m.Prompt)
		for i := range long {
			long[i] = prompt[i%len(prompt)]
		}
		prompt = long
	}
	prepared := time.Since(start)
	first, _, _, err := generate(model, prompt, 1)
	if err != nil {
		return r, err
	}
	r.FirstTokenMillis = millis(prepared + first)
	// The second text compiles one step of decoding; the third finds all compiled.
	if _, _, _, err = generate(model, prompt, 4); err != nil {
		return r, err
	}
	r.CompileMillis = millis(c.CompileTime())
	again, rest, step, err := generate(model, prompt, m.Tokens)
	if err != nil {
		return r, err
	}
	for range 4 { // the shortest of five
		first, _, _, err := generate(model, prompt, 1)
		if err != nil {
			return r, err
		}
		again = min(again, first)
	}
	r.StepMillis = millis(step)
	r.PromptMillis, r.PromptTokens, r.Tokens = millis(again), len(prompt), m.Tokens
	if m.Tokens > 1 {
		r.TokensPerSecond = float64(m.Tokens-1) / rest.Seconds()
	}
	return r, nil
}

// generate chooses n tokens greedily and times the first, all others, and the shortest step between two. It does
// not stop at end-of-text, and needs no text of the tokens, so that random weights do.
func generate(model *gpt.Model, prompt []int32, n int) (first, rest, shortest time.Duration, err error) {
	begin := time.Now()
	last := begin
	err = model.Tokens(context.Background(), prompt, n, gpt.Sampling{TopP: 1}, func(int32) (bool, error) {
		now := time.Now()
		if first == 0 {
			first = now.Sub(begin)
		} else if step := now.Sub(last); shortest == 0 || step < shortest {
			shortest = step
		}
		last = now
		return true, nil
	})
	if err != nil {
		return 0, 0, 0, err
	}
	return first, time.Since(begin) - first, shortest, nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func open(name string) (*gpt.Checkpoint, error) {
	switch {
	case name == "mini":
		return gpt.OpenFS(gpt.Mini())
	case slices.Contains(gpt.Sizes(), name):
		return gpt.Random(name, 1)
	}
	return gpt.Open(name)
}
