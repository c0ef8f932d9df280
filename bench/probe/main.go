// Command probe measures what the planner's model takes for given of a GPU (jit/target), by a few kernels that do one thing each, and prints each
// figure beside the one in its table: what to write there for a machine that has no row yet.
//
//	go run ./bench/probe [-device cuda] [-time 200ms] [-limit 0]
//
// The times that no kernel shows by itself (turns, steps, overheads) are fitted to whole plans: go run ./bench/fit.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"tilec/bench"
	"tilec/jit"
)

func main() {
	device := flag.String("device", "auto", "auto, cpu, cuda or cuda:N")
	budget := flag.Duration("time", 200*time.Millisecond, "about how long each kernel is timed")
	limit := flag.Int64("limit", 0, "sizes are at most this, to try the command; 0 leaves them, and only those measure anything")
	flag.Parse()
	if err := run(os.Stdout, *device, *budget, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

// flushed is more than the L2 of any GPU holds.
const flushed = 256 << 20

func run(w io.Writer, id string, budget time.Duration, limit int64) error {
	if budget <= 0 || limit < 0 {
		return fmt.Errorf("-time is %s and -limit %d, must be above 0 and at least 0", budget, limit)
	}
	device, err := jit.OpenDevice(id)
	if err != nil {
		return err
	}
	defer device.Close()
	machine, flush := device.Target(), int64(0)
	if machine.IsGPU() {
		flush = flushed
	}
	compiler := jit.NewCompiler(device, nil)
	cold, err := bench.NewKernels(compiler, flush)
	if err != nil {
		return err
	}
	warm, err := bench.NewKernels(compiler, 0)
	if err != nil {
		return err
	}
	times := map[string]float64{}
	for _, k := range kernels() {
		from := cold
		if k.warm {
			from = warm
		}
		r := from.Run(k.cut(limit), budget)
		if r.Error != "" {
			fmt.Fprintf(w, "%s failed: %s\n", k.Name, r.Error)
			continue
		}
		times[k.Name] = r.Micros / 1e6
	}
	fmt.Fprintf(w, "# Figures of %s\n", device.Name())
	if limit > 0 {
		fmt.Fprintf(w, "Sizes were cut to %d, so what follows says nothing of the machine.\n", limit)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "figure\tin the row of %s\tmeasured\tfrom\n", machine.Name)
	for _, f := range figures {
		value, ok := f.measured(times, machine)
		if !ok {
			fmt.Fprintf(table, "%s\t%.4g\tnot measured\t%s\n", f.name, *f.of(&machine), f.from)
			continue
		}
		fmt.Fprintf(table, "%s\t%.4g\t%.4g\t%s\n", f.name, *f.of(&machine), value, f.from)
	}
	return table.Flush()
}
