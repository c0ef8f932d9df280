package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit/file"
)

// scoreCommand measures how well a language model foretells a text.
func (a *app) scoreCommand() *cobra.Command {
	var run runOptions
	var o generateOptions
	var program string
	var stride int
	cmd := &cobra.Command{
		Use:   "score FILE",
		Short: "Measure the perplexity of a language model over a text",
		Long: `score reads a text and prints the perplexity of a language model over it, and how many bits a byte of it takes. - is stdin.

Every token is foretold once, the first from the token that texts begin with, where the model has one. A text longer than the model's context
is read in windows of its length: each begins --stride tokens behind the one before, the last so that it ends with the text, and counts the tokens that
none before had. A small stride leaves each token more text before it, and takes more time.`,
		Example: `  tilec score shakespeare.txt
  tilec score wiki.txt --model path/to/gpt2 --dtype bf16 --stride 256`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if run.precision, err = precisionOf(run.precision); err != nil {
				return err
			}
			if _, err := modelDType(o.dtype); err != nil {
				return usageError{err}
			}
			if err := o.checkSource(); err != nil {
				return err
			}
			if stride < 0 || stride == 0 && o.given("stride") {
				return usageError{fmt.Errorf("--stride is %d, must be 1 or more", stride)}
			}
			o.sampling.Seed = run.seed
			return a.score(args[0], program, stride, run, o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.sourceFlags(f)
	f.IntVar(&stride, "stride", 0, "tokens from the beginning of one window to that of the next; half the model's context when it is left out")
	f.StringVar(&program, "program", "gpt.tile", "the language model's network")
	f.StringVar(&run.device, "device", "auto", "auto, cpu, cuda, cuda:N, emu or emu:TARGET")
	precisionFlag(f, &run.precision)
	f.Uint64Var(&run.seed, "seed", 0, "of random weights")
	a.jsonFlag(f, "print one JSON object instead of text")
	return cmd
}

// scored is what --json prints.
type scored struct {
	File        string  `json:"file"`
	Perplexity  float64 `json:"perplexity"`
	BitsPerByte float64 `json:"bits_per_byte"`
	// Nats is the sum of the negative logarithms of the probabilities of all tokens.
	Nats    float64 `json:"nats"`
	Tokens  int     `json:"tokens"`
	Bytes   int     `json:"bytes"`
	Windows int     `json:"windows"`
	Context int     `json:"context"`
	Stride  int     `json:"stride"`
	Seconds float64 `json:"seconds"`
	Device  string  `json:"device"`
}

// readText reads a text that a model is to read, from a file or from stdin.
func readText(path string) ([]byte, error) {
	if path == "-" {
		return file.ReadAll(os.Stdin, file.MaxText)
	}
	return file.Read(path, file.MaxText)
}

func (a *app) score(path, program string, stride int, run runOptions, o generateOptions) error {
	text, err := readText(path)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("%s is empty: there is nothing to foretell", path)
	}
	model, compiler, err := a.openModel(source(program), run, &o)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	defer model.Checkpoint.Close()
	defer model.Close()
	ids, begins, err := model.EncodeText(string(text))
	if err != nil {
		return err
	}
	if !begins {
		a.say("note: the model has no token that texts begin with: the first token is not foretold")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	begin := time.Now()
	scoring := a.progress("windows", func(n int64) string { return fmt.Sprint(n) })
	s, err := model.Score(ctx, ids, stride, func(windows, of int) { scoring.update(int64(windows), int64(of)) })
	scoring.clear()
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	} else if err != nil {
		return err
	}
	took := time.Since(begin)
	if a.json {
		return a.printJSON(scored{path, s.Perplexity(), s.BitsPerByte(len(text)), s.Nats, s.Tokens, len(text), s.Windows, model.Context(), s.Stride, took.Seconds(), compiler.Device.Name()})
	}
	fmt.Fprintf(a.stdout, "perplexity %.4f, %.4f bits per byte\n", s.Perplexity(), s.BitsPerByte(len(text)))
	a.say("%d tokens, %d bytes, %d windows of at most %d tokens with a stride of %d, %.1f s, device %s",
		s.Tokens, len(text), s.Windows, model.Context(), s.Stride, took.Seconds(), compiler.Device.Name())
	return nil
}
