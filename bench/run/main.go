// Run times models from the start of the process, one JSON object a line, and makes a table of them. Kernels are timed by `tilec bench run`.
//
//	run model [-device cuda] [-model mini] [-dtype f32] [-precision ieee] [-tokens 128] [-prompt 16]
//	run report -models FILE [-cold FILE] [-peers FILE]
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/cache"
	"tilec/lang"
)

func main() {
	start := time.Now()
	if err := run(os.Args[1:], start); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string, start time.Time) error {
	verbs := map[string]func([]string, time.Time) error{"model": model, "report": report}
	if len(args) > 0 {
		if f := verbs[args[0]]; f != nil {
			return f(args[1:], start)
		}
	}
	return fmt.Errorf("give one of model, report")
}

func emit(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

func compiler(device string) (*jit.Compiler, error) {
	d, err := jit.OpenDevice(device)
	if err != nil {
		return nil, err
	}
	c := jit.NewCompiler(d, nil)
	c.Cache = cache.Open("")
	c.Cache.Notify(func(err error) { fmt.Fprintln(os.Stderr, "warning:", err) })
	return c, nil
}

func model(args []string, start time.Time) error {
	flags := flag.NewFlagSet("model", flag.ExitOnError)
	device := flags.String("device", "auto", "auto, cpu, cuda or cuda:N")
	name := flags.String("model", "mini", "mini, another size with random weights (gpt2, gpt2-medium, ...), or a checkpoint's folder")
	dtype := flags.String("dtype", "f32", "f32, bf16 or f16")
	precision := flags.String("precision", "", "of f32 contractions: empty for tf32, tf32x3 or ieee")
	tokens := flags.Int("tokens", 128, "how many to generate")
	prompt := flags.Int("prompt", 0, "how many tokens the prompt has; 0 for those of a short text")
	_ = flags.Parse(args)
	d, ok := lang.ParseDType(*dtype)
	if !ok {
		return fmt.Errorf("unknown element type %q: give f32, bf16 or f16", *dtype)
	}
	c, err := compiler(*device)
	if err != nil {
		return err
	}
	defer c.Device.Close()
	return emit(bench.RunModel(c, bench.Model{Name: *name, DType: d, Precision: *precision, Tokens: *tokens, Prompt: *prompt}, start))
}

func report(args []string, _ time.Time) error {
	flags := flag.NewFlagSet("report", flag.ExitOnError)
	device := flags.String("device", "this machine", "what to call the device")
	peers := flags.String("peers", "", "what bench/peer.py printed")
	cold := flags.String("cold", "", "what `run model` printed with empty caches")
	models := flags.String("models", "", "what `run model` printed after that")
	_ = flags.Parse(args)
	first, err := read[bench.ModelResult](*cold)
	if err != nil {
		return err
	}
	later, err := read[bench.ModelResult](*models)
	if err != nil {
		return err
	}
	speeds := map[string]float64{}
	rates, err := read[bench.ModelResult](*peers)
	if err != nil {
		return err
	}
	for _, r := range rates {
		if r.TokensPerSecond > 0 {
			speeds[r.Name] = r.TokensPerSecond
		}
	}
	if len(later) > 0 {
		bench.ReportModels(os.Stdout, *device, first, later, speeds)
	}
	return nil
}

// read reads one JSON object a line; a file without a name has none. A last line cut short is left out.
func read[T any](name string) ([]T, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		if json.Unmarshal(lines.Bytes(), &v) == nil {
			all = append(all, v)
		}
	}
	return all, lines.Err()
}
