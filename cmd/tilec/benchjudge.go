package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tilec/bench"
	"tilec/jit/file"
)

// This file is `tilec bench compare` and `verify`, which judge what `run` printed, and `pins`, which times what pins make of workloads.

func (a *app) benchCompareCommand() *cobra.Command {
	noise := 0.03
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say by how much two runs differ",
		Long: `Compare prints the times of two runs side by side, and the geometric mean of before / after: above 1 it became faster. BEFORE and AFTER are what
bench run printed with --json, or with --format go, of which lines that repeat count by their median. The exit code is 1 where a workload
became slower by more than --noise.`,
		Example: "  tilec bench compare old.json new.json",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if !(noise >= 0 && noise < 1) {
				return usageError{fmt.Errorf("--noise is %g, must be from 0 to less than 1", noise)}
			}
			before, err := readRun(args[0])
			if err != nil {
				return err
			}
			after, err := readRun(args[1])
			if err != nil {
				return err
			}
			if bench.Compare(a.stdout, before, after, noise) > 0 {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&noise, "noise", noise, "the part of a time by which it has to differ to be called slower or faster")
	return cmd
}

// readRun reads what bench run printed.
func readRun(path string) (*bench.Run, error) {
	text, err := file.Read(path, file.MaxSource)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
	}
	r, err := bench.ReadRun(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (a *app) benchVerifyCommand() *cobra.Command {
	var path, provenance string
	var update bool
	cmd := &cobra.Command{
		Use:   "verify RUN.json",
		Short: "Hold a run to the times that are expected of its GPU",
		Long: `Verify holds what bench run --json printed to what is expected of the GPU: bench/expectations_<gpu>.json, or a file of your own. A workload that is slower
by more than the file's tolerance, that failed, or whose result differs from a peer's is named, and the exit code is 1. With --update the run's times
are what is expected from now on; of workloads that it has not, the old times stay.`,
		Example: "  tilec bench run --json >run.json; tilec bench verify run.json\n  tilec bench verify run.json --expect bench/expectations_h200.json --update",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := readRun(args[0])
			if err != nil {
				return err
			}
			if update {
				return a.updateExpectations(r, args[0], path, provenance)
			}
			return a.verifyRun(r, path)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&path, "expect", "", "the file with what is expected; without it, the one inside tilec for the GPU")
	f.BoolVar(&update, "update", false, "take the run's times for what is expected, and write the file")
	f.StringVar(&provenance, "provenance", "", "with --update: where the run is from, if that is more than its version and its day")
	return cmd
}

func (a *app) verifyRun(r *bench.Run, path string) error {
	e, err := bench.Expect(r.Device)
	if path != "" {
		e, err = readExpectations(path)
	}
	if err != nil {
		return err
	}
	problems, held, err := e.Verify(r)
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(a.stdout, p)
	}
	fmt.Fprintf(a.stdout, "%d workloads are held to what is expected of %s (%s); %d problems\n", held, e.Device, e.Provenance, len(problems))
	if len(problems) > 0 {
		return errReported
	}
	return nil
}

func readExpectations(path string) (*bench.Expectations, error) {
	text, err := file.Read(path, file.MaxSource)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	e, err := bench.ReadExpectations(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return e, nil
}

// updateExpectations writes the expectations that a run makes of those that there are.
func (a *app) updateExpectations(r *bench.Run, from, path, provenance string) error {
	if path == "" {
		path = filepath.Join("bench", bench.ExpectationsFile(r.Device))
	}
	e, err := readExpectations(path)
	if errors.Is(err, fs.ErrNotExist) {
		e, err = &bench.Expectations{}, nil
	}
	if err != nil {
		return err
	}
	if provenance == "" {
		provenance = fmt.Sprintf("tilec bench run --json, tilec %s, %s", r.Version, r.Date)
	}
	if err := e.Update(r, provenance); err != nil {
		return err
	}
	text, err := e.Text()
	if err != nil {
		return err
	}
	if err := file.WriteBytes(path, text); err != nil {
		return err
	}
	a.say("%s: %d workloads are expected as %s has them", path, len(e.Workloads), from)
	return nil
}

func (a *app) benchPinsCommand() *cobra.Command {
	var device, trials, out string
	var pins []string
	budget := 200 * time.Millisecond
	cmd := &cobra.Command{
		Use:   "pins [WORD ...]",
		Short: "Time what pins make of workloads, beside the planner's choice",
		Long: `Pins times workloads as the planner would have them and with pins, in turn, so that both find the same machine: what a form is worth that can be pinned,
and how far the planner's choice is from another. Elements of the results are compared: a form with the same arithmetic has the same bits.
--trials takes both from a file, a line each: words of workloads, a colon, and pins, with a colon between several.`,
		Example: "  tilec bench pins 'attention bf16 8x12' --pin 'BM=64 BN=64' --pin occupancy=2\n  tilec bench pins --trials bench/trials.txt",
		RunE: func(_ *cobra.Command, words []string) error {
			if budget <= 0 {
				return usageError{fmt.Errorf("--time is %s, must be above 0", budget)}
			}
			all, err := readTrials(words, pins, trials)
			if err != nil {
				return err
			}
			return a.benchPins(all, device, out, budget)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&pins, "pin", nil, "pins, NAME=NUMBER with spaces between, or precision=WORD; may be given several times")
	f.StringVar(&trials, "trials", "", "a file of workloads and pins")
	f.StringVar(&device, "device", "auto", "auto, cpu, cuda or cuda:N")
	f.DurationVar(&budget, "time", budget, "about how long each is timed")
	f.StringVar(&out, "out", "", "write what was timed to this file as JSON too")
	a.jsonFlag(f, "print one JSON array instead of a table")
	return cmd
}

// readTrials gives what words and pins of the command line say, or a file.
func readTrials(words, pins []string, path string) ([]bench.Trial, error) {
	if path != "" {
		if len(pins) > 0 || len(words) > 0 {
			return nil, usageError{errors.New("--trials names workloads and pins, so give no others beside it")}
		}
		text, err := file.Read(path, file.MaxSource)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, errors.Unwrap(err))
		}
		trials, err := bench.ReadTrials(text, bench.Workloads())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return trials, nil
	}
	if len(pins) == 0 {
		return nil, usageError{errors.New("give --pin, such as --pin 'BM=64 warps=4', or --trials")}
	}
	all, err := chooseWorkloads(words)
	if err != nil {
		return nil, err
	}
	t := bench.Trial{Workloads: all}
	for _, text := range pins {
		p, err := bench.ParsePins(text)
		if err != nil {
			return nil, usageError{err}
		}
		t.Pins = append(t.Pins, p)
	}
	return []bench.Trial{t}, nil
}

func (a *app) benchPins(trials []bench.Trial, device, out string, budget time.Duration) error {
	kernels, compiler, err := a.benchKernels(device)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	timing := a.progress("timing", func(n int64) string { return fmt.Sprint(n) })
	var tried []bench.Tried
	done, all := int64(0), int64(0)
	for _, t := range trials {
		all += int64(len(t.Workloads))
	}
	for _, t := range trials {
		for _, w := range t.Workloads {
			timing.update(done, all)
			done++
			tried = append(tried, kernels.Try(w, t.Pins, budget)...)
		}
	}
	timing.clear()
	if out != "" {
		text, err := json.Marshal(tried)
		if err != nil {
			return err
		}
		if err := file.WriteBytes(out, append(text, '\n')); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(tried)
	}
	bench.WriteTried(a.stdout, compiler.Device.Name(), tried)
	return nil
}
