package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tilec/gpt"
	"tilec/gpt/config"
	"tilec/gpt/safetensors"
	"tilec/jit"
	"tilec/jit/file"
	"tilec/lang"
)

// generateOptions are the flags of `tilec run` for language models.
type generateOptions struct {
	model, prompt, dtype string
	random, weights      string
	maxNewTokens         int
	sampling             gpt.Sampling
	dumpLogits           string
	stop                 []string
	batch                batchOptions
	contextShift         bool
	deterministic        bool
	// given reports that the command line sets a flag.
	given func(flag string) bool
}

// defaultTemperature is that of texts where none is given.
const defaultTemperature = 0.8

// generateFlags names the flags that are for language models only.
var generateFlags = []string{"model", "random-weights", "prompt", "max-new-tokens", "temperature", "top-k", "top-p", "repetition-penalty", "stop", "context-shift", "deterministic", "prompts", "samples", "batch", "dtype", "weights", "dump-logits"}

func (o *generateOptions) flags(f *pflag.FlagSet) {
	o.sourceFlags(f)
	f.StringVar(&o.prompt, "prompt", "ROMEO:\n", "the text to continue")
	f.IntVar(&o.maxNewTokens, "max-new-tokens", 128, "end after so many tokens")
	f.Float64Var(&o.sampling.Temperature, "temperature", defaultTemperature, "of sampling; 0 always takes the likeliest token")
	f.IntVar(&o.sampling.TopK, "top-k", 0, "sample among the k likeliest tokens; 0 for all")
	f.Float64Var(&o.sampling.TopP, "top-p", 1, "sample among the likeliest tokens that together have this probability")
	f.Float64Var(&o.sampling.RepetitionPenalty, "repetition-penalty", 1, "above 1 makes tokens that occurred before less likely; 1 leaves them")
	f.StringArrayVar(&o.stop, "stop", nil, "end before this text, which is not printed; may be given several times")
	f.BoolVar(&o.contextShift, "context-shift", false, "where the context is full, drop the oldest tokens and go on with half a context; the text ends there otherwise")
	f.BoolVar(&o.deterministic, "deterministic", false, "the same bits of a text's logits alone and in any batch of up to 64, run after run; slower")
	o.batch.flags(f)
	f.StringVar(&o.dumpLogits, "dump-logits", "", "write the logits at every position of the prompt to a .safetensors file")
}

// sourceFlags are those that name a model and how it computes.
func (o *generateOptions) sourceFlags(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "", "folder of a checkpoint in GPT-2's format; the mini model inside tilec when it is left out")
	f.StringVar(&o.random, "random-weights", "", "in place of a checkpoint, random weights from --seed for a network of this size: "+strings.Join(gpt.Sizes(), ", "))
	f.StringVar(&o.dtype, "dtype", "f32", "element type that is computed in, and of the weights: f32, bf16 or f16")
	o.weightsFlag(f)
	o.given = f.Changed
}

// modelDTypes are the element types that a model can compute in.
var modelDTypes = []lang.DType{lang.F32, lang.BF16, lang.F16}

var errInterrupted = errors.New("interrupted")

// generate continues a prompt with the language model in a file.
func (a *app) generate(path string, run runOptions, o generateOptions) error {
	if _, err := modelDType(o.dtype); err != nil {
		return usageError{err}
	}
	if _, err := weightsType(o.weights); err != nil {
		return usageError{err}
	}
	o.sampling.Seed = run.seed
	if err := o.sampling.Validate(); err != nil {
		return usageError{err}
	}
	if o.maxNewTokens < 0 {
		return usageError{fmt.Errorf("--max-new-tokens is %d, must be 0 or more", o.maxNewTokens)}
	}
	if err := o.checkSource(); err != nil {
		return err
	}
	if slices.Contains(o.stop, "") {
		return usageError{errors.New("--stop is an empty text, must have a character at least")}
	}
	if o.dumpLogits != "" && filepath.Ext(o.dumpLogits) != ".safetensors" {
		return usageError{errors.New("--dump-logits must end in .safetensors")}
	}
	if err := o.checkBatch(); err != nil {
		return usageError{err}
	}
	if o.dumpLogits != "" {
		if err := file.Check(o.dumpLogits); err != nil {
			return err
		}
	}
	var prompts []promptLine
	if o.batch.many() {
		var err error
		if prompts, err = o.readPrompts(); err != nil {
			return err
		}
	}
	gpt.Prepare()
	model, compiler, err := a.openModel(path, run, &o)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	defer model.Checkpoint.Close()
	defer model.Close()
	model.SetDeterministic(o.deterministic)
	if o.dumpLogits != "" {
		if err := dumpLogits(model, o.prompt, o.dumpLogits); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process, whatever it is at
	if o.batch.many() {
		err = a.emitAll(ctx, model, compiler, o, prompts)
	} else {
		err = a.emit(ctx, model, compiler, o)
	}
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err != nil || a.trace == "" || !compiler.Device.Target().IsGPU() {
		return err
	}
	times, err := model.StepTimes()
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	return a.keepLaunches(times, compiler.Device)
}

// openModel puts the model of a program, with the checkpoint that the options name, on a device. What is open, the caller closes: the model, its checkpoint
// and the compiler's device.
func (a *app) openModel(path string, run runOptions, o *generateOptions) (*gpt.Model, *jit.Compiler, error) {
	dtype, err := modelDType(o.dtype)
	if err != nil {
		return nil, nil, usageError{err}
	}
	program, err := a.load(path)
	if err != nil {
		return nil, nil, err
	}
	isModel := false
	for _, g := range program.Graphs {
		isModel = isModel || g.Generate
	}
	if !isModel {
		own, imported := jit.FunctionNames(program)
		return nil, nil, noModelError(path, append(own, imported...))
	}
	weights, err := weightsType(o.weights)
	if err != nil {
		return nil, nil, usageError{err}
	}
	// A GPU takes longer to open than a checkpoint: both are opened side by side.
	var compiler *jit.Compiler
	var opening errgroup.Group
	opening.Go(func() (err error) {
		watch := a.logs.Stopwatch("open")
		compiler, err = a.open(run)
		watch.Lap("device")
		return err
	})
	watch := a.logs.Stopwatch("open")
	ckpt, name, err := o.checkpoint()
	watch.Lap("checkpoint")
	if failed := opening.Wait(); err != nil || failed != nil {
		if err == nil {
			ckpt.Close()
		}
		if failed == nil {
			compiler.Device.Close()
		}
		return nil, nil, cmp.Or(err, failed)
	}
	o.advised(ckpt.Generation)
	a.say("%s: %s; %s on %s", name, ckpt.Config, dtype, compiler.Device.Name())
	watch = a.logs.Stopwatch("open")
	loading := a.progress("loading", jit.FormatBytes)
	ckpt.Loading = loading.update
	model, err := gpt.NewWith(program, ckpt, compiler, gpt.Options{DType: dtype, Weights: weights, Precision: run.precision})
	loading.clear()
	watch.Lap("weights")
	if err != nil && o.model == "" && o.random == "" {
		err = fmt.Errorf("%w\nthe checkpoint is the one inside tilec, a GPT-2: --model names another", err)
	}
	if err != nil {
		ckpt.Close()
		compiler.Device.Close()
		return nil, nil, err
	}
	return model, compiler, nil
}

// request is what to generate of a prompt, with the seed of the first sample.
func (a *app) request(prompt string, model *gpt.Model, o generateOptions) gpt.Request {
	r := gpt.Request{Prompt: prompt, MaxNewTokens: o.maxNewTokens, Sampling: o.sampling, Stop: o.stop}
	if o.contextShift {
		r.Dropped = func(tokens int) {
			if !a.toldOfShift {
				a.say("warning: the context of %d tokens is full: the oldest %d are dropped, and so on whenever it is full again", model.Context(), tokens)
			}
			a.toldOfShift = true
		}
	}
	return r
}

// advised takes from generation_config.json what the command line does not say.
func (o *generateOptions) advised(g config.Generation) {
	o.sampling = o.sampling.Advised(g, func(key string) bool { return o.given(strings.ReplaceAll(key, "_", "-")) })
	if !o.given("stop") {
		o.stop = g.Stop
	}
}

// emit generates and prints the text, then the figures.
func (a *app) emit(ctx context.Context, model *gpt.Model, compiler *jit.Compiler, o generateOptions) error {
	var text strings.Builder
	var first firstToken
	before := compiler.CompileTime()
	pieces := 0
	res, err := model.Generate(ctx, a.request(o.prompt, model, o), func(piece string) error {
		if pieces++; pieces == 2 && o.maxNewTokens > 0 {
			first = firstToken{since: time.Since(a.begin), compile: compiler.CompileTime() - before}
		}
		if pieces > 1 {
			text.WriteString(piece)
		}
		if a.json {
			return nil
		}
		if _, err := a.stdout.WriteString(piece); err != nil {
			return fmt.Errorf("writing the text: %w", err)
		}
		return nil
	})
	if !a.json && isTerminal(a.stdout.File) && isTerminal(a.stderr) && !strings.HasSuffix(text.String(), "\n") {
		a.say("")
	}
	if err != nil {
		return err
	}
	figures := newFigures(res, first, compiler, before)
	if a.json {
		err = json.NewEncoder(a.stdout).Encode(generated{o.prompt, text.String(), res.Prompt, nonNil(res.Tokens), res.Stopped, figures})
	}
	a.say("%s", figures)
	return err
}

// firstToken is what was known when the first token came.
type firstToken struct {
	since   time.Duration // since the process began
	compile time.Duration // spent compiling
}

// figures say how fast a text was generated. Times of compilation are in CompileMS alone.
type figures struct {
	CompileMS       float64 `json:"compile_ms"`
	PromptMS        float64 `json:"prompt_ms"`
	FirstTokenMS    float64 `json:"first_token_ms"`
	PromptTokens    int     `json:"prompt_tokens"`
	NewTokens       int     `json:"new_tokens"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	Device          string  `json:"device"`
}

// generated is what --json prints.
type generated struct {
	Prompt string `json:"prompt"`
	// Text is the continuation.
	Text         string  `json:"text"`
	PromptTokens []int32 `json:"prompt_tokens"`
	Tokens       []int32 `json:"tokens"`
	Stopped      string  `json:"stopped"`
	Figures      figures `json:"figures"`
}

func newFigures(res *gpt.Result, first firstToken, c *jit.Compiler, before time.Duration) figures {
	f := figures{
		CompileMS:    ms(c.CompileTime()),
		PromptMS:     ms(max(0, res.PromptTime-first.compile)),
		FirstTokenMS: ms(first.since),
		PromptTokens: len(res.Prompt), NewTokens: len(res.Tokens),
		Device: c.Device.Name(),
	}
	// The second token compiles the graph of one-token steps; that is not its speed.
	decode := res.DecodeTime - (c.CompileTime() - before - first.compile)
	if n := len(res.Tokens); n > 1 && decode > 0 {
		f.TokensPerSecond = float64(n-1) / decode.Seconds()
	}
	return f
}

// String is the line of figures under a generated text.
func (f figures) String() string {
	return fmt.Sprintf("compile %.1f ms, prompt %.1f ms (%d tokens), first token %.0f ms after start, %.1f tokens/s (%d tokens), device %s",
		f.CompileMS, f.PromptMS, f.PromptTokens, f.FirstTokenMS, f.TokensPerSecond, f.NewTokens, f.Device)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func nonNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func modelDType(name string) (lang.DType, error) {
	for _, d := range modelDTypes {
		if d.String() == name {
			return d, nil
		}
	}
	return lang.Invalid, fmt.Errorf("--dtype is %q, must be one of %s", name, strings.Join(typeNames(modelDTypes), ", "))
}

func noModelError(path string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%s has nothing to run: no kernel and no graph", path)
	}
	const most = 12
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	return fmt.Errorf("%s is no language model, for no graph is marked @generate; name a kernel or graph of it to run: %s%s", path, strings.Join(names, ", "), more)
}

// checkSource refuses flags that name two models, or none that there is.
func (o *generateOptions) checkSource() error {
	if o.random != "" && o.model != "" {
		return usageError{errors.New("--model and --random-weights: give one of them")}
	}
	if o.random != "" && !slices.Contains(gpt.Sizes(), o.random) {
		return usageError{fmt.Errorf("--random-weights is %q, must be one of %s", o.random, strings.Join(gpt.Sizes(), ", "))}
	}
	return nil
}

// checkpoint opens the checkpoint's folder, makes the random one, or opens the embedded mini model.
func (o *generateOptions) checkpoint() (ckpt *gpt.Checkpoint, name string, err error) {
	switch {
	case o.random != "":
		ckpt, err = gpt.Random(o.random, o.sampling.Seed)
		return ckpt, o.random + " (random weights)", err
	case o.model != "":
		ckpt, err = gpt.Open(o.model)
		return ckpt, o.model, err
	}
	ckpt, err = gpt.OpenFS(gpt.Mini())
	return ckpt, "mini", err
}

// dumpLogits writes the logits after every token of the prompt.
func dumpLogits(model *gpt.Model, prompt, path string) error {
	ids, err := model.Encode(prompt)
	if err != nil {
		return err
	}
	logits, err := model.Scores(ids)
	if err != nil {
		return err
	}
	return safetensors.Write(path, []safetensors.Tensor{{
		Name: "logits", DType: lang.F32, Shape: []int{len(ids), len(logits) / len(ids)}, Data: jit.Bytes(logits),
	}}, nil)
}
