package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/jit/cache"
	"tilec/jit/emu"
	"tilec/lang"
)

// runOptions are the flags of `tilec run` that both of its forms have.
type runOptions struct {
	device    string
	profile   bool
	precision string
	debug     bool
	seed      uint64
	// timed: the launches of a GPU leave when they began and ended.
	timed bool
}

// precisionFlag adds --precision to a command.
func precisionFlag(f *pflag.FlagSet, to *string) {
	words := lang.Precisions()
	last := len(words) - 1
	f.StringVar(to, "precision", words[0], "of f32 contractions on tensor cores: "+strings.Join(words[:last], ", ")+" or "+words[last])
}

// precisionOf is what the compiler calls a --precision.
func precisionOf(word string) (string, error) {
	p, ok := lang.Precision(word)
	if !ok || word == "" {
		return "", usageError{fmt.Errorf("unknown precision %q: known are %s", word, strings.Join(lang.Precisions(), ", "))}
	}
	return p, nil
}

func (a *app) runCommand() *cobra.Command {
	var shared runOptions
	var text generateOptions
	var kernel kernelOptions
	cmd := &cobra.Command{
		Use:   "run FILE.tile [KERNEL [NAME=VALUE ...]]",
		Short: "Generate text with a language model, or run one kernel or graph",
		Long: `With a file alone, run generates text: the file is a language model when one of its graphs is marked @generate.
Stdout gets the prompt and its continuation as it comes; stderr gets progress and a last line of figures.
A file is looked up on disk, then among the sources inside tilec: ` + strings.Join(embeddedNames(), ", ") + `.

With a name, run runs that kernel or graph. Each argument is NAME=VALUE:
  x=randn[1024,768]      also rand, zeros, ones, arange, full(1.5), randint(0, 9)
  x=randn[M,N]:bf16      sizes by name, element type behind the colon
  x=[[1,2],[3,4]]        the elements themselves
  x=zeros                the shape follows from the other arguments
  x=@x.npy               a file; x=@x.safetensors:name and x=@x.npz:name name one of its tensors, where it has several
  eps=1e-5 start=3       scalars and constants
  N=768 T=bf16 BM=128    dimensions, element types, extents of blocks; also warps=8, stages=3, split=4
  w=zeros w.wte=rand     every tensor of a struct, but those of a name of their own
Tensors that are left out are random, when their shape is known. Without T=..., an element type is that of @sizes, or f32.
With --model DIR, the structs of a graph are the checkpoint's weights, by @name, and @config has its values from there.`,
		Example: `  tilec run gpt.tile --prompt 'JULIET:' --temperature 0
  tilec run std/nn.tile softmax 'x=randn[4,1000]' --out y.npy
  tilec run std/nn.tile linear M=512 K=768 N=768 T=bf16 --time --check
  tilec run encoder.tile embed --model path/to/encoder 'tokens=[[5,17,3]]'`,
		Args:              atLeastOne("a .tile file to run, such as gpt.tile"),
		ValidArgsFunction: a.functionOf,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if shared.precision, err = precisionOf(shared.precision); err != nil {
				return err
			}
			shared.timed = a.trace != ""
			if len(args) == 1 {
				if set := flagsChanged(cmd, kernelFlags...); set != "" {
					return usageError{fmt.Errorf("%s: only with the name of a kernel or graph to run", set)}
				}
				if inPage {
					return notInPage("generating text")
				}
				return a.generate(source(args[0]), shared, text)
			}
			if set := flagsChanged(cmd, slices.DeleteFunc(slices.Clone(generateFlags), func(f string) bool { return f == "model" })...); set != "" {
				return usageError{fmt.Errorf("%s: only for language models, not with the kernel %s", set, args[1])}
			}
			kernel.model = text.model
			return a.runNamed(source(args[0]), args[1], args[2:], shared, kernel)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&shared.device, "device", "auto", "auto, cpu, cuda, cuda:N, emu or emu:TARGET; auto is the first GPU, or the CPU without one; emu emulates a GPU and checks what hardware does not")
	f.BoolVar(&shared.profile, "profile", false, "with --device emu: print what each launch costs, by class of instruction and by source line, to stderr")
	precisionFlag(f, &shared.precision)
	f.BoolVar(&shared.debug, "debug", false, "check what kernels assume of tiles, as they assert")
	f.Uint64Var(&shared.seed, "seed", 0, "of the random numbers")
	a.traceFlag(f, "when tilec loaded, compiled and ran, and when the launches of a graph, a kernel or a text's last step began and ended on a GPU, with their part of the roofline")
	text.flags(f)
	a.jsonFlag(f, "print one JSON object instead of text")
	kernel.flags(f)
	return cmd
}

// openDevice opens a device by name; a name that is none's is an error of the command line.
func openDevice(name string) (jit.Device, error) {
	d, err := jit.OpenDevice(name)
	var unknown *jit.NameError
	if errors.As(err, &unknown) {
		return nil, usageError{err}
	}
	return d, err
}

// open opens the device that the options name and a compiler for it.
func (a *app) open(run runOptions) (*jit.Compiler, error) {
	d, err := openDevice(run.device)
	if err != nil {
		return nil, err
	}
	if run.profile {
		e, ok := d.(*jit.Emulator)
		if !ok {
			return nil, usageError{fmt.Errorf("--profile needs --device emu, and the device is %s", d.ID())}
		}
		e.OnLaunch = func(kernel string, r *emu.Report) { r.Print(a.stderr, kernel) }
	}
	c := a.compiler(d)
	c.Output, c.Debug, c.Timed = a.stderr, run.debug, run.timed // stdout is for results
	return c, nil
}

// compiler is one for a device, with the user's cache where plans and code take long.
func (a *app) compiler(d jit.Device) *jit.Compiler {
	c := jit.NewCompiler(d, a.logs)
	if d.ID() != "cpu" {
		c.Cache = cache.Open("")
		c.Cache.Notify(func(err error) { a.say("warning: %v", err) })
	}
	return c
}

// parseDType reads an element type's name.
func parseDType(name string) (lang.DType, error) {
	if d, ok := lang.ParseDType(name); ok {
		return d, nil
	}
	names := make([]string, 0, len(lang.DTypes()))
	for _, d := range lang.DTypes() {
		names = append(names, d.String())
	}
	return lang.Invalid, fmt.Errorf("unknown element type %q: known are %s", name, strings.Join(names, ", "))
}
