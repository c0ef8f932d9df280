package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/fuzz"
)

// fuzzOptions are the flags of `tilec fuzz`.
type fuzzOptions struct {
	seed    uint64
	count   int
	device  string
	keep    string
	limit   time.Duration
	silence time.Duration
	jobs    int
	worker  bool
}

func (a *app) fuzzCommand() *cobra.Command {
	var o fuzzOptions
	cmd := &cobra.Command{
		Use:   "fuzz [CASE...]",
		Short: "Test the compiler by random programs",
		Long: `Fuzz generates programs that type-check, runs them at several shapes, plans and inputs, and compares every
element with a reference that computes how far a correct result may be off. A program on which something is
wrong is made as small as it can be and printed. With files, it runs those cases again.`,
		Example: `  tilec fuzz --count 1000
  tilec fuzz --device cuda --time 4m --keep findings`,
		RunE: func(_ *cobra.Command, files []string) error {
			switch {
			case o.worker:
				return a.fuzzWorker(o)
			case len(files) > 0:
				return a.fuzzReplay(o, files)
			}
			return a.fuzz(o)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 1, "the first program; the others follow it")
	f.IntVar(&o.count, "count", 1000, "how many programs")
	f.StringVar(&o.device, "device", "cpu", "where to run: cpu, cuda, cuda:N")
	f.StringVar(&o.keep, "keep", "", "write each finding to a file in this folder")
	f.DurationVar(&o.limit, "time", 0, "stop after this long")
	f.DurationVar(&o.silence, "hang", 30*time.Second, "how long nothing may happen before a program counts as hanging")
	f.IntVar(&o.jobs, "jobs", runtime.GOMAXPROCS(0), "how many programs to work on at once")
	f.BoolVar(&o.worker, "worker", false, "write events to stdout as lines of JSON")
	if err := f.MarkHidden("worker"); err != nil {
		panic(err)
	}
	return cmd
}

// fuzzWorker runs programs in this process.
func (a *app) fuzzWorker(o fuzzOptions) error {
	device, err := jit.OpenDevice(o.device)
	if err != nil {
		return err
	}
	ctx, cancel := fuzzContext(o)
	defer cancel()
	out := json.NewEncoder(a.stdout)
	return fuzz.Run(ctx, fuzz.Config{Device: device, Seed: o.seed, Count: o.count, Jobs: o.jobs, Events: func(e fuzz.Event) {
		if err := out.Encode(e); err != nil {
			cancel() // nobody reads any more
		}
	}})
}

func fuzzContext(o fuzzOptions) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if o.limit <= 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	return ctx, func() { cancel(); stop() }
}

// fuzz runs programs in a process of their own, which may crash or hang.
func (a *app) fuzz(o fuzzOptions) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.keep != "" {
		if err := os.MkdirAll(o.keep, 0o777); err != nil {
			return err
		}
	}
	ctx, cancel := fuzzContext(o)
	defer cancel()
	begin := time.Now()
	last := begin
	programs, findings := 0, 0
	var failed error
	s := fuzz.Supervisor{
		Silence: o.silence,
		Command: func(ctx context.Context, seed uint64, count int) *exec.Cmd {
			jobs := o.jobs
			if count == 1 {
				jobs = 1
			}
			return exec.CommandContext(ctx, self, "fuzz", "--worker", "--device", o.device,
				fmt.Sprintf("--seed=%d", seed), fmt.Sprintf("--count=%d", count), fmt.Sprintf("--jobs=%d", jobs))
		},
		Events: func(e fuzz.Event) {
			if e.Done {
				programs++
			}
			if e.Finding != nil {
				findings++
				failed = errors.Join(failed, a.fuzzFinding(o, e.Finding))
			}
			if time.Since(last) > 10*time.Second {
				last = time.Now()
				a.say("%d programs, %d findings, %.0f s", programs, findings, time.Since(begin).Seconds())
			}
		},
	}
	report, err := s.Run(ctx, o.seed, o.count)
	a.fuzzSummary(report, time.Since(begin))
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return errReported
	}
	return nil
}

// fuzzFinding prints or writes one finding.
func (a *app) fuzzFinding(o fuzzOptions, f *fuzz.Finding) error {
	comment := "// " + strings.ReplaceAll(strings.TrimSpace(string(f.Kind)+": "+f.Problem), "\n", "\n// ")
	text := fmt.Sprintf("// seed %d on %s\n%s\n%s", f.Seed, o.device, comment, f.Case)
	if o.keep == "" {
		fmt.Fprintf(a.stdout, "%s\n", text)
		return nil
	}
	name := fmt.Sprintf("%s-%d.tile", strings.ReplaceAll(string(f.Kind), " ", "-"), f.Seed)
	return os.WriteFile(filepath.Join(o.keep, name), []byte(text), 0o666)
}

func (a *app) fuzzSummary(r *fuzz.Report, spent time.Duration) {
	t := r.Tally
	share := 100 * float64(t.Unknown) / float64(max(1, t.Elements))
	fmt.Fprintf(a.stdout, "%d programs, %d launches, %d elements compared (%.2f%% unknown) in %.0f s, %d restarts, %d findings\n",
		r.Programs, t.Launches, t.Elements, share, spent.Seconds(), r.Restarts, len(r.Findings))
	kinds := make([]string, 0, len(r.Kinds))
	for k, n := range r.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s: %d", k, n))
	}
	sort.Strings(kinds)
	if len(kinds) > 0 {
		fmt.Fprintf(a.stdout, "%s\n", strings.Join(kinds, ", "))
	}
}

// fuzzReplay runs kept cases.
func (a *app) fuzzReplay(o fuzzOptions, files []string) error {
	device, err := jit.OpenDevice(o.device)
	if err != nil {
		return err
	}
	defer device.Close()
	wrong := false
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		c, err := fuzz.ParseCase(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := fuzz.Replay(device, c); err != nil {
			wrong = true
			fmt.Fprintf(a.stdout, "%s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(a.stdout, "%s: ok\n", name)
	}
	if wrong {
		return errReported
	}
	return nil
}
