package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tilec/bench"
	"tilec/jit"
	"tilec/jit/file"
	"tilec/typecheck/typed"
)

// This file is `tilec bench list` and `run`, which time the workloads of package bench.

// The words of --format.
const (
	formatMarkdown = "markdown"
	formatGo       = "go"
)

var benchFormats = []string{formatMarkdown, formatGo}

// flushBytes are overwritten before each run on a GPU: more than its L2 holds.
const flushBytes = 256 << 20

// benchRunOptions are the flags of `tilec bench run`.
type benchRunOptions struct {
	device, format string
	// out is a file for the run as JSON, "" for none.
	out              string
	peers            []string
	budget, within   time.Duration
	limit            int64
	repeat           int
	profile, onlyRun bool
}

func (a *app) benchListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [WORD ...]",
		Short: "List the workloads whose name or family has one of the words",
		Long: `List prints the workloads, their family, and their work: floating-point operations and the bytes that must be moved. WORD is a part of a name or
of a family; a whole name is that workload alone.`,
		Example: "  tilec bench list\n  tilec bench list attention 'rows of 50,000'",
		RunE: func(_ *cobra.Command, words []string) error {
			all, err := chooseWorkloads(words)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(all)
			}
			for _, w := range all {
				fmt.Fprintf(a.stdout, "%-52s %-26s %10.4g FLOP %10.4g bytes\n", w.Name, w.Family, w.FLOPs, w.Bytes)
			}
			return nil
		},
	}
	a.jsonFlag(cmd.Flags(), "print one JSON array instead of text")
	return cmd
}

func (a *app) benchRunCommand() *cobra.Command {
	var o benchRunOptions
	cmd := &cobra.Command{
		Use:   "run [WORD ...]",
		Short: "Time workloads, beside peers",
		Long: `Run times the workloads whose name or family has one of the words: medians by the device's clock, where what the caches held is overwritten before each
run. A peer gets the same data and is timed on the same machine, in every way that its users have, inside CUDA graphs; the fastest way counts, and
elements of its results are compared with ours. The ratio is the peer's time / ours: above 1 we are faster.`,
		Example: `  tilec bench run attention --peer torch
  tilec bench run 'softmax bf16 8192x768' --json >run.json
  tilec bench run linear --format go --repeat 10 >new.txt; benchstat old.txt new.txt`,
		RunE: func(_ *cobra.Command, words []string) error { return a.benchRun(words, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.device, "device", "auto", "auto, cpu, cuda or cuda:N")
	f.StringSliceVar(&o.peers, "peer", nil, "who computes the same beside: "+strings.Join(bench.PeerNames(), ", "))
	f.DurationVar(&o.budget, "time", 100*time.Millisecond, "about how long each workload is timed")
	f.DurationVar(&o.within, "within", time.Hour, "begin no workload after so long, ours and those of each peer; peers compile nothing after half of it")
	f.StringVar(&o.out, "out", "", "write the run to this file as JSON too")
	f.IntVar(&o.repeat, "repeat", 1, "how often all of it is timed; with --format go, a line each time")
	f.Int64Var(&o.limit, "limit", 0, "cut every size to this, for slow machines; 0 cuts nothing")
	f.StringVar(&o.format, "format", formatMarkdown, "markdown, or go: the format of Go's benchmarks, which benchstat reads")
	f.BoolVar(&o.profile, "profile", false, "have ncu count what each workload does, too")
	a.traceFlag(f, "when tilec compiled and timed each workload, and when peers ran")
	f.BoolVar(&o.onlyRun, "once", false, "run each workload once and time nothing, as --profile does")
	if err := f.MarkHidden("once"); err != nil {
		panic(err) // there is no such flag: a mistake of ours
	}
	a.jsonFlag(f, "print one JSON object instead of a table")
	return cmd
}

// chooseWorkloads gives the workloads that words choose, of which there must be one.
func chooseWorkloads(words []string) ([]bench.Workload, error) {
	all := bench.Workloads()
	for _, word := range words {
		if len(bench.Select(all, []string{word})) == 0 {
			return nil, usageError{fmt.Errorf("no workload has %q in its name or its family: `tilec bench list` lists them", word)}
		}
	}
	return bench.Select(all, words), nil
}

func (o *benchRunOptions) check() error {
	for _, p := range o.peers {
		if !slices.Contains(bench.PeerNames(), p) {
			return usageError{fmt.Errorf("--peer is %q, must be one of %s", p, strings.Join(bench.PeerNames(), ", "))}
		}
	}
	switch {
	case !slices.Contains(benchFormats, o.format):
		return usageError{fmt.Errorf("--format is %q, must be one of %s", o.format, strings.Join(benchFormats, ", "))}
	case o.budget <= 0:
		return usageError{fmt.Errorf("--time is %s, must be above 0", o.budget)}
	case o.within <= 0:
		return usageError{fmt.Errorf("--within is %s, must be above 0", o.within)}
	case o.out != "" && o.repeat > 1:
		return usageError{fmt.Errorf("--out takes one run, and --repeat asks for %d", o.repeat)}
	case o.limit < 0:
		return usageError{fmt.Errorf("--limit is %d, must be at least 1, or 0 for none", o.limit)}
	case o.repeat < 1:
		return usageError{fmt.Errorf("--repeat is %d, must be at least 1", o.repeat)}
	}
	return nil
}

// openForTimes opens a device on which times mean something. The caller closes the compiler's device.
func (a *app) openForTimes(device string) (*jit.Compiler, error) {
	compiler, err := a.open(runOptions{device: device})
	if err != nil {
		return nil, err
	}
	if d, emulated := compiler.Device.(*jit.Emulator); emulated {
		d.Close()
		return nil, usageError{fmt.Errorf("a GPU or the CPU is timed, and the device is %s", d.ID())}
	}
	return compiler, nil
}

// benchKernels opens a device for workloads. The caller closes the compiler's device.
func (a *app) benchKernels(device string) (*bench.Kernels, *jit.Compiler, error) {
	compiler, err := a.openForTimes(device)
	if err != nil {
		return nil, nil, err
	}
	d := compiler.Device
	flush := int64(0)
	if d.Target().IsGPU() {
		flush = flushBytes
	}
	k, err := bench.NewKernels(compiler, flush)
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return k, compiler, nil
}

// benchRun times workloads and prints what they took.
func (a *app) benchRun(words []string, o benchRunOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	all, err := chooseWorkloads(words)
	if err != nil {
		return err
	}
	var failed error
	for range o.repeat {
		r, err := a.timeWorkloads(all, o)
		if r == nil {
			return err
		}
		if o.out != "" {
			text, problem := json.Marshal(r)
			if problem == nil {
				problem = file.WriteBytes(o.out, append(text, '\n'))
			}
			err = errors.Join(err, problem)
		}
		switch {
		case a.json:
			err = errors.Join(err, a.printJSON(r))
		case o.format == formatGo:
			r.Go(a.stdout)
		default:
			r.Markdown(a.stdout)
		}
		if err != nil {
			return err
		}
		for _, x := range r.Results {
			if x.Error != "" {
				a.say("%s: %s", x.Name, x.Error)
				failed = errReported
			}
		}
	}
	return failed
}

// timeWorkloads times workloads here and by the peers. What was timed before an interrupt is given with it.
func (a *app) timeWorkloads(all []bench.Workload, o benchRunOptions) (*bench.Run, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	if o.limit > 0 {
		all = slices.Clone(all)
		for i, w := range all {
			all[i] = w.Small(o.limit)
			all[i].Name = fmt.Sprintf("%s, at most %d", w.Name, o.limit)
		}
	}
	r, program, gpu, err := a.timeOurs(ctx, all, o)
	if err != nil {
		return r, err
	}
	for _, name := range o.peers {
		timing := a.progress("timing "+name, func(n int64) string { return fmt.Sprint(n) })
		done := int64(0)
		p := bench.Peer{Name: name, Device: "cpu", Budget: o.budget, Within: o.within}
		if gpu {
			p.Device, p.Flush = "cuda", flushBytes
		}
		watch := a.logs.Stopwatch("peer", name)
		err := p.Time(ctx, program, all, r, func() {
			done++
			timing.update(done, int64(len(all)))
		})
		watch.Lap("all workloads")
		timing.clear()
		switch {
		case ctx.Err() != nil:
			return r, errInterrupted
		case err != nil:
			return r, err
		case r.NoPeer[name] != "":
			return r, fmt.Errorf("--peer %s: %s", name, r.NoPeer[name])
		}
	}
	return r, nil
}

// timeOurs times workloads on the device, whose memory is free for the peers behind it.
func (a *app) timeOurs(ctx context.Context, all []bench.Workload, o benchRunOptions) (r *bench.Run, program *typed.Program, gpu bool, err error) {
	kernels, compiler, err := a.benchKernels(o.device)
	if err != nil {
		return nil, nil, false, err
	}
	defer compiler.Device.Close()
	r = &bench.Run{Device: compiler.Device.Name(), Version: jit.Version + revision(), Date: time.Now().UTC().Format(time.DateOnly)}
	timing := a.progress("timing tilec", func(n int64) string { return fmt.Sprint(n) })
	defer timing.clear()
	budget := o.budget
	if o.onlyRun {
		budget = bench.Once
	}
	begin := time.Now()
	for i, w := range all {
		timing.update(int64(i), int64(len(all)))
		if time.Since(begin) > o.within {
			r.Results = append(r.Results, bench.Result{Name: w.Name, Family: w.Family, Error: fmt.Sprintf("left out: the %s of --within were over", o.within)})
			continue
		}
		if ctx.Err() != nil {
			return r, nil, false, errInterrupted
		}
		watch := a.logs.Stopwatch("bench", w.Name)
		x := kernels.Run(w, budget)
		watch.Lap("compile and time")
		if o.profile && x.Error == "" {
			x.Profile, err = a.profileWorkload(ctx, w, o)
			watch.Lap("profile")
			if err != nil {
				if errors.Is(err, bench.ErrNoProfiler) {
					return nil, nil, false, fmt.Errorf("--profile: %w", err)
				}
				x.Error, err = err.Error(), nil
			}
		}
		r.Results = append(r.Results, x)
	}
	return r, kernels.Program(), compiler.Device.Target().IsGPU(), nil
}

// profileWorkload has ncu run this program for one workload.
func (a *app) profileWorkload(ctx context.Context, w bench.Workload, o benchRunOptions) (map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(w.Name, ", at most ")
	return bench.Profile(ctx, self, "bench", "run", name, "--once", "--device", o.device, "--limit", fmt.Sprint(o.limit))
}
