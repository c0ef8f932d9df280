package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tilec/jit"
	"tilec/jit/file"
	"tilec/jit/fuzz"
)

// fuzzOptions are the flags of `tilec fuzz`.
type fuzzOptions struct {
	seed    uint64
	count   int
	topic   string
	device  string
	keep    string
	limit   time.Duration
	silence time.Duration
	jobs    int
	shrink  time.Duration
	// worker and shrinker are the processes that run programs and make findings smaller.
	worker, shrinker bool
}

func (a *app) fuzzCommand() *cobra.Command {
	var o fuzzOptions
	cmd := &cobra.Command{
		Use:   "fuzz [CASE...]",
		Short: "Test the compiler by random programs",
		Long: `Fuzz generates programs that type-check, runs them at several shapes, plans and inputs, and compares every
element with a reference that computes how far a correct result may be off. Programs on which something is wrong
are made smaller at the end, and told apart by cause. With files, it runs those cases again.`,
		Example: `  tilec fuzz --count 1000
  tilec fuzz --topic graphs --count 200
  tilec fuzz --device cuda --time 4m --keep findings`,
		RunE: func(_ *cobra.Command, files []string) error {
			switch {
			case o.worker:
				return a.fuzzWorker(o)
			case o.shrinker:
				return a.fuzzShrinker(o)
			case len(files) > 0:
				return a.fuzzReplay(o, files)
			}
			return a.fuzz(o)
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&o.seed, "seed", 1, "the first program; the others follow it")
	f.IntVar(&o.count, "count", 1000, "how many programs")
	f.StringVar(&o.topic, "topic", "all", fmt.Sprintf("what the programs are about: all or one of %s", fuzz.Topics()))
	f.StringVar(&o.device, "device", "cpu", "where to run: cpu, emu, cuda, cuda:N")
	f.StringVar(&o.keep, "keep", "", "write each finding to a file in this folder")
	f.DurationVar(&o.limit, "time", 0, "stop after this long")
	f.DurationVar(&o.silence, "hang", 30*time.Second, "how long nothing may happen before a program counts as hanging")
	f.IntVar(&o.jobs, "jobs", runtime.GOMAXPROCS(0), "how many programs to work on at once")
	f.DurationVar(&o.shrink, "shrink", time.Minute, "how long findings are made smaller, after the run")
	a.jsonFlag(f, "print one JSON object at the end, or of files a line each")
	f.BoolVar(&o.worker, "worker", false, "write events to stdout as lines of JSON")
	f.BoolVar(&o.shrinker, "shrinker", false, "make the findings on stdin smaller")
	for _, hidden := range []string{"worker", "shrinker"} {
		if err := f.MarkHidden(hidden); err != nil {
			panic(err)
		}
	}
	return cmd
}

// maxEmulatedSteps is how many warp instructions a launch may take in the emulator: some twenty seconds of them.
const maxEmulatedSteps = 1 << 24

// fuzzDevice opens the device. Many programs run at once, so that the emulator need not run blocks in parallel too.
func fuzzDevice(name string) (jit.Device, error) {
	device, err := openDevice(name)
	if e, ok := device.(*jit.Emulator); ok && err == nil {
		e.Workers, e.MaxSteps = 1, maxEmulatedSteps
	}
	return device, err
}

// fuzzWorker runs programs in this process.
func (a *app) fuzzWorker(o fuzzOptions) error {
	device, err := fuzzDevice(o.device)
	if err != nil {
		return err
	}
	topic, err := fuzz.ParseTopic(o.topic)
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := fuzzContext(o)
	defer cancel()
	out := json.NewEncoder(a.stdout)
	return fuzz.Run(ctx, fuzz.Config{Device: device, Topic: topic, Seed: o.seed, Count: o.count, Jobs: o.jobs, Events: func(e fuzz.Event) {
		if err := out.Encode(e); err != nil {
			cancel() // nobody reads any more
		}
	}})
}

// fuzzShrinker makes findings smaller in this process.
func (a *app) fuzzShrinker(o fuzzOptions) error {
	device, err := fuzzDevice(o.device)
	if err != nil {
		return err
	}
	ctx, cancel := fuzzContext(o)
	defer cancel()
	var findings []*fuzz.Finding
	for in := json.NewDecoder(os.Stdin); ; {
		f := &fuzz.Finding{}
		if err := in.Decode(f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		findings = append(findings, f)
	}
	out := json.NewEncoder(a.stdout)
	fuzz.Shrink(ctx, device, o.jobs, findings, func(f *fuzz.Finding) {
		if err := out.Encode(fuzz.Event{Seed: f.Seed, Finding: f}); err != nil {
			cancel()
		}
	})
	return nil
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
	topic, err := fuzz.ParseTopic(o.topic)
	if err != nil {
		return usageError{err}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if o.keep != "" {
		if err := file.MakeFolder(o.keep); err != nil {
			return err
		}
	}
	ctx, cancel := fuzzContext(o)
	defer cancel()
	begin := time.Now()
	last := begin
	programs, findings := 0, 0
	line := a.progress("fuzz", nil)
	var failed error
	s := fuzz.Supervisor{
		Topic:   topic,
		Silence: o.silence,
		Command: func(ctx context.Context, seed uint64, count int) *exec.Cmd {
			jobs := o.jobs
			if count == 1 {
				jobs = 1
			}
			return exec.CommandContext(ctx, self, "fuzz", "--worker", "--topic", o.topic, "--device", o.device,
				fmt.Sprintf("--seed=%d", seed), fmt.Sprintf("--count=%d", count), fmt.Sprintf("--jobs=%d", jobs))
		},
		Shrinker: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, self, "fuzz", "--shrinker", "--device", o.device,
				fmt.Sprintf("--time=%s", o.shrink), fmt.Sprintf("--jobs=%d", o.jobs))
		},
		Events: func(e fuzz.Event) {
			if e.Done {
				programs++
			}
			if e.Finding != nil {
				if e.Done {
					findings++
				}
				failed = errors.Join(failed, a.keepFinding(o, e.Finding))
			}
			soFar := fmt.Sprintf("%d of %d programs, %d findings, %.0f s", programs, o.count, findings, time.Since(begin).Seconds())
			line.show(soFar)
			if !line.terminal && time.Since(last) > 10*time.Second { // in a log, a sign of life
				last = time.Now()
				a.say("%s", soFar)
			}
		},
	}
	report, err := s.Run(ctx, o.seed, o.count)
	spent := time.Since(begin)
	line.clear()
	if o.shrink > 0 && !errors.Is(ctx.Err(), context.Canceled) {
		// What the process that shrinks leaves behind stays as it was found.
		shrinking := time.Now()
		stop := line.follow(func() string {
			return fmt.Sprintf("making the programs of %d findings smaller, %.0f of at most %.0f s", len(report.Findings), time.Since(shrinking).Seconds(), o.shrink.Seconds())
		})
		_ = s.Shrink(context.WithoutCancel(ctx), report)
		stop()
	}
	if a.json {
		err = errors.Join(err, a.printFuzzJSON(report, spent))
	} else {
		a.fuzzFindings(o, report)
		a.fuzzSummary(report, spent)
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return errReported
	}
	return nil
}

// findingText is a finding as a file.
func findingText(o fuzzOptions, f *fuzz.Finding) string {
	comment := "// " + strings.ReplaceAll(strings.TrimSpace(string(f.Kind)+": "+f.Problem), "\n", "\n// ")
	return fmt.Sprintf("// seed %d on %s\n%s\n%s", f.Seed, o.device, comment, f.Case)
}

// keepFinding writes a finding to the folder for them, if there is one.
func (a *app) keepFinding(o fuzzOptions, f *fuzz.Finding) error {
	if o.keep == "" {
		return nil
	}
	name := fmt.Sprintf("%s-%d.tile", strings.ReplaceAll(string(f.Kind), " ", "-"), f.Seed)
	return file.WriteBytes(filepath.Join(o.keep, name), []byte(findingText(o, f)))
}

// fuzzFindings lists the findings by cause, each with its smallest program where those are not kept as files.
func (a *app) fuzzFindings(o fuzzOptions, r *fuzz.Report) {
	for _, group := range r.Causes() {
		seeds := make([]string, 0, len(group))
		for _, f := range group[:min(len(group), 10)] {
			seeds = append(seeds, fmt.Sprint(f.Seed))
		}
		fmt.Fprintf(a.stdout, "%d times: %s (seeds %s)\n", len(group), group[0].Cause, strings.Join(seeds, ", "))
		if o.keep == "" {
			fmt.Fprintf(a.stdout, "%s\n", findingText(o, group[0]))
		}
	}
}

func (a *app) fuzzSummary(r *fuzz.Report, spent time.Duration) {
	t := r.Tally
	share := 100 * float64(t.Unknown) / float64(max(1, t.Elements))
	fmt.Fprintf(a.stdout, "%d programs, %d launches, %d elements compared (%.2f%% unknown) in %.0f s (%.1f programs a second), %d restarts, %d findings of %d causes\n",
		r.Programs, t.Launches, t.Elements, share, spent.Seconds(), float64(r.Programs)/spent.Seconds(), r.Restarts, len(r.Findings), len(r.Causes()))
	kinds := make([]string, 0, len(r.Kinds))
	for k, n := range r.Kinds {
		kinds = append(kinds, fmt.Sprintf("%s: %d", k, n))
	}
	sort.Strings(kinds)
	if len(kinds) > 0 {
		fmt.Fprintf(a.stdout, "%s\n", strings.Join(kinds, ", "))
	}
	groups := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Features)) {
		group, part, _ := strings.Cut(name, " ")
		groups[group] = append(groups[group], fmt.Sprintf("%s: %d", part, r.Features[name]))
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(a.stdout, "programs by %s: %s\n", group, strings.Join(groups[group], ", "))
	}
}

// printReplayed says how a case went.
func (a *app) printReplayed(r replayed) error {
	switch {
	case a.json:
		return a.printJSON(r)
	case r.OK:
		fmt.Fprintf(a.stdout, "%s: ok\n", r.File)
	default:
		fmt.Fprintf(a.stdout, "%s: %s\n", r.File, r.Problem)
	}
	return nil
}

// fuzzReplay runs kept cases.
func (a *app) fuzzReplay(o fuzzOptions, files []string) error {
	device, err := fuzzDevice(o.device)
	if err != nil {
		return err
	}
	defer device.Close()
	wrong := false
	for _, name := range files {
		text, err := file.Read(name, file.MaxSource)
		if err != nil {
			return err
		}
		c, err := fuzz.ParseCase(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := fuzz.Replay(device, c); err != nil {
			wrong = true
			if err := a.printReplayed(replayed{name, false, err.Error()}); err != nil {
				return err
			}
			continue
		}
		if err := a.printReplayed(replayed{name, true, ""}); err != nil {
			return err
		}
	}
	if wrong {
		return errReported
	}
	return nil
}
