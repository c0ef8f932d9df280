package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"tilec/gpt"
	"tilec/gpt/bpe"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
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
	// Name is "mini", "gpt2" (the 124 million parameter shape with random weights), or a checkpoint's folder.
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
	switch name {
	case "mini":
		return gpt.OpenFS(gpt.Mini())
	case "gpt2":
		return randomGPT2()
	}
	return gpt.Open(name)
}

// randomGPT2 has the shape of GPT-2 with 124 million parameters, which time does not tell
// from the trained ones, and the tokenizer of mini.
func randomGPT2() (*gpt.Checkpoint, error) {
	const layers, heads, c, inner, positions, vocab = 12, 12, 768, 3072, 1024, 50257
	cfg, err := config.Of(map[string]any{"model_type": "gpt2", "n_layer": layers, "n_head": heads, "n_embd": c, "n_positions": positions, "vocab_size": vocab})
	if err != nil {
		return nil, err
	}
	tok, err := bpe.FromFS(gpt.Mini())
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	var tensors []safetensors.Tensor
	add := func(name string, mean float64, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		data := make([]byte, 2*n)
		for i := range min(n, pattern) {
			binary.LittleEndian.PutUint16(data[2*i:], lang.BF16Bits(float32(mean+0.02*random.NormFloat64())))
		}
		for done := 2 * min(n, pattern); done < len(data); done *= 2 {
			copy(data[done:], data[:done])
		}
		tensors = append(tensors, safetensors.Tensor{Name: name, DType: lang.BF16, Shape: shape, Data: data})
	}
	add("wte.weight", 0, vocab, c)
	add("wpe.weight", 0, positions, c)
	for l := range layers {
		layer := fmt.Sprintf("h.%d.", l)
		for _, norm := range []string{"ln_1", "ln_2"} {
			add(layer+norm+".weight", 1, c)
			add(layer+norm+".bias", 0, c)
		}
		for _, w := range []struct {
			name    string
			in, out int
		}{{"attn.c_attn", c, 3 * c}, {"attn.c_proj", c, c}, {"mlp.c_fc", c, inner}, {"mlp.c_proj", inner, c}} {
			add(layer+w.name+".weight", 0, w.in, w.out)
			add(layer+w.name+".bias", 0, w.out)
		}
	}
	add("ln_f.weight", 1, c)
	add("ln_f.bias", 0, c)
	var file bytes.Buffer
	if err := safetensors.Encode(&file, tensors, nil); err != nil {
		return nil, err
	}
	parsed, err := safetensors.Parse("random gpt2", file.Bytes())
	if err != nil {
		return nil, err
	}
	return &gpt.Checkpoint{Config: cfg, Tokenizer: tok, Tensors: parsed}, nil
}
