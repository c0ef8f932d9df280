package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/compile"
	"tilec/jit/spec"
)

// This file is `tilec tune`, which measures the plans that a kernel could have.

// tuneOptions are the flags of `tilec tune`.
type tuneOptions struct {
	run    runOptions
	most   int
	budget time.Duration
	out    string
}

func (a *app) tuneCommand() *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:   "tune FILE.tile KERNEL [NAME=VALUE ...]",
		Short: "Measure the plans that a kernel could have",
		Long: `Tune runs a kernel on the device with every plan that can be pinned, the fastest by prediction first, and prints what each took, and how far the planner's
choice is from the best: medians by the device's clock; on a GPU, what the caches held is overwritten before each run. Arguments are those of run;
what is pinned among them holds for all. The kernel stays as it is: the best plan is printed as an attribute for it, and --out keeps all that was measured,
for the test that judges the planner without a GPU.`,
		Example: "  tilec tune std/nn.tile softmax M=8192 N=768 T=bf16\n  tilec tune std/nn.tile linear M=4096 K=4096 N=4096 T=bf16 --most 0 --out bench/spaces_h200.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("give a .tile file, and a kernel of it")
			}
			return nil
		},
		ValidArgsFunction: a.functionOf,
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if o.run.precision, err = precisionOf(o.run.precision); err != nil {
				return err
			}
			switch {
			case o.most < 0:
				return usageError{fmt.Errorf("--most is %d, must be at least 1, or 0 for all", o.most)}
			case o.budget <= 0:
				return usageError{fmt.Errorf("--time is %s, must be above 0", o.budget)}
			}
			return a.tune(source(args[0]), args[1], args[2:], o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.run.device, "device", "auto", "auto, cpu, cuda or cuda:N")
	f.IntVar(&o.most, "most", 64, "how many plans are measured, by prediction; 0 for all")
	f.DurationVar(&o.budget, "time", 20*time.Millisecond, "about how long each plan is timed")
	f.StringVar(&o.out, "out", "", "add what was measured to this file, as a line of JSON")
	precisionFlag(f, &o.run.precision)
	f.Uint64Var(&o.run.seed, "seed", 0, "of random arguments")
	a.jsonFlag(f, "print one JSON object instead of a table")
	return cmd
}

// tune measures the plans of a kernel.
func (a *app) tune(path, name string, texts []string, o tuneOptions) error {
	function, _, args, err := a.named(path, name, texts)
	if err != nil {
		return err
	}
	if function.Graph != nil {
		return usageError{fmt.Errorf("%s is a graph: tune the kernels that it calls", name)}
	}
	b := newBinding(function, o.run.seed, func(format string, args ...any) { a.say("note: "+format, args...) })
	b.working = a.progress("", nil).follow
	if err := b.give(args); err != nil {
		return err
	}
	compiler, err := a.openForTimes(o.run.device)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	values, err := b.args(o.run.precision)
	if err != nil {
		return err
	}
	s, known, err := b.specialised(o.run.precision)
	if err != nil {
		return err
	}
	d := compiler.Device
	candidates, err := compile.Space(s, d.Target())
	if err != nil {
		return err
	}
	if o.most > 0 && len(candidates) > o.most {
		candidates = candidates[:o.most]
	}
	space := &bench.Space{
		File: path, Kernel: name, For: givenTo(known), Target: d.Target().Name, Device: d.Name(),
		Provenance: fmt.Sprintf("tilec tune, tilec %s%s, %s", jit.Version, revision(), time.Now().UTC().Format(time.DateOnly)),
	}
	interrupted := a.measureSpace(space, candidates, compiler, function, values, o.budget)
	space.Sort()
	if o.out != "" {
		if err := addSpaces(o.out, []bench.Space{*space}); err != nil {
			return err
		}
	}
	if a.json {
		return errors.Join(interrupted, a.printJSON(space))
	}
	space.Write(a.stdout)
	return interrupted
}

// specialised is the kernel at the sizes that were given, of arrays too, as one launch, with what was given of it.
func (b *binding) specialised(precision string) (*spec.Spec, jit.Options, error) {
	known := b.options(precision)
	for symbol, n := range b.dims {
		known.Dims[symbol.Name] = n
	}
	s, err := jit.Specialise(b.to.Kernel, known)
	if err != nil {
		return nil, known, err
	}
	if n := len(s.Launches()); n > 1 {
		return nil, known, fmt.Errorf("the formula of %s is %d launches, each with a plan of its own: tune them as kernels of their own", b.to.Kernel.Name, n)
	}
	return s, known, nil
}

// measureSpace times candidates one after the other. What was timed before an interrupt stays.
func (a *app) measureSpace(space *bench.Space, candidates []compile.Candidate, compiler *jit.Compiler, f *jit.Function, values jit.Args, budget time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	timing := a.progress("timing", func(n int64) string { return fmt.Sprint(n) })
	defer timing.clear()
	function := f.On(compiler)
	for i, c := range candidates {
		timing.update(int64(i), int64(len(candidates)))
		if ctx.Err() != nil {
			return errInterrupted
		}
		m := bench.Measured{Pins: c.String(), Plan: c.Plan, Predicted: c.Seconds * 1e6, Planned: c.Planned}
		given := maps.Clone(values)
		for name, n := range c.Pins {
			given[name] = n
		}
		median, plans, err := timeCandidate(compiler.Device, function, given, budget)
		if err != nil {
			m.Error = err.Error()
		} else {
			m.Micros = float64(median.Nanoseconds()) / 1e3
		}
		if len(plans) > 1 { // cut, or behind copies of its operands: what ran is not the kernel as it stands
			m.Plan = strings.Join(plans, "; ")
		}
		space.Measured = append(space.Measured, m)
	}
	return nil
}

// timeCandidate compiles a kernel with what is pinned, and gives the median of runs of about so long, and the plans of its launches.
func timeCandidate(d jit.Device, f *jit.Function, args jit.Args, budget time.Duration) (time.Duration, []string, error) {
	launch, err := f.Bind(args)
	if err != nil {
		return 0, nil, err
	}
	defer launch.Close()
	var flush *jit.Memory
	if d.Target().IsGPU() {
		if flush, err = d.Alloc(flushBytes); err != nil {
			return 0, nil, err
		}
		defer d.Free(flush)
	}
	const fewest, most = 5, 200
	warm, err := launch.Measure(fewest, flush)
	if err != nil {
		return 0, nil, err
	}
	n := int(min(max(budget/max(slices.Min(warm), time.Microsecond), fewest), most))
	times, err := launch.Measure(n, flush)
	if err != nil {
		return 0, nil, err
	}
	slices.Sort(times)
	return times[len(times)/2], launch.Program.Plans(), nil
}
