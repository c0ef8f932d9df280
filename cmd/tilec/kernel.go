package main

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/lang"
)

// kernelOptions are the flags of `tilec run` for kernels and graphs.
type kernelOptions struct {
	out         string
	time, check bool
	bisect      bool
}

// kernelFlags names the flags that are for kernels and graphs only.
var kernelFlags = []string{"out", "time", "check", "bisect"}

func (o *kernelOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "save the outputs to a .npy or .safetensors file")
	f.BoolVar(&o.time, "time", false, "time the kernel: the median of many runs")
	f.BoolVar(&o.bisect, "bisect", false, "instead of a run: name the first pass of the compiler after which an element of the results leaves its bound")
	f.BoolVar(&o.check, "check", false, "compare with the CPU, planned without pins; differences beyond the bounds exit with 1")
}

// runNamed runs one kernel or graph of a file.
func (a *app) runNamed(path, name string, texts []string, run runOptions, o kernelOptions) error {
	out, err := openOut(o.out)
	if err != nil {
		return err
	}
	if strings.Contains(name, "=") {
		return usageError{fmt.Errorf("%q stands where the name of a kernel or graph must", name)}
	}
	args, err := parseArguments(texts)
	if err != nil {
		return err
	}
	program, err := a.load(path)
	if err != nil {
		return err
	}
	target, err := jit.FindFunction(program, name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b := newBinding(target, run.seed, func(format string, args ...any) { a.say("note: "+format, args...) })
	if err := b.give(args); err != nil {
		return err
	}
	if o.bisect && (o.time || o.check || o.out != "") {
		return usageError{errors.New("--bisect stands alone, without --time, --check and --out")}
	}
	compiler, err := a.open(run)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	values, err := b.args(run.precision)
	if err != nil {
		return err
	}
	if o.bisect {
		return a.bisect(compiler.Device, target, b, values, run)
	}
	launch, err := target.On(compiler).Bind(values)
	if err != nil {
		return err
	}
	defer launch.Close()
	types, err := writtenTypes(launch)
	if err == nil {
		err = out.takes(types)
	}
	if err != nil {
		return err
	}
	begin := time.Now()
	outputs, err := runOnce(launch)
	if err != nil {
		return err
	}
	a.say("compile %.1f ms, run and read back %.1f ms, device %s", ms(compiler.CompileTime()), ms(time.Since(begin)), compiler.Device.Name())
	result := runResult{Function: name, Device: compiler.Device.Name(), CompileMS: ms(compiler.CompileTime()), RunMS: ms(time.Since(begin))}
	for _, x := range outputs {
		if a.json {
			result.Outputs = append(result.Outputs, x.figures())
			continue
		}
		fmt.Fprintf(a.stdout, "%s\n%s", x, x.summary())
	}
	if err := out.save(outputs); err != nil {
		return err
	}
	if o.check {
		if result.Checks, err = a.compare(target, values, b.inputs, outputs, compiler.Device.ID()); err != nil {
			return err
		}
	}
	if o.time {
		t, err := timeLaunch(launch, compiler.Device)
		if err != nil {
			return err
		}
		result.MedianUS = float64(t.median.Nanoseconds()) / 1e3
		if !a.json {
			fmt.Fprintf(a.stdout, "time: %s\n", t)
		}
	}
	if a.json {
		return a.printJSON(result)
	}
	return nil
}

// runResult is what --json prints of a kernel or graph that ran.
type runResult struct {
	Function  string    `json:"function"`
	Device    string    `json:"device"`
	CompileMS float64   `json:"compile_ms"`
	RunMS     float64   `json:"run_ms"`
	Outputs   []figured `json:"outputs"`
	// Checks are --check's comparisons, a line for each output.
	Checks []string `json:"checks,omitempty"`
	// MedianUS is --time's, in microseconds.
	MedianUS float64 `json:"median_us,omitempty"`
}

// writtenTypes are the element types of what runOnce reads.
func writtenTypes(l *jit.Launch) ([]lang.DType, error) {
	var types []lang.DType
	for _, t := range l.Program.Outputs() {
		types = append(types, t.DType)
	}
	for _, name := range l.Inouts() {
		t, err := l.Tensor(name)
		if err != nil {
			return nil, err
		}
		types = append(types, t.DType)
	}
	return types, nil
}

// runOnce runs once and reads what was written: the outputs, then the inouts.
func runOnce(l *jit.Launch) ([]*array, error) {
	if err := l.Run(); err != nil {
		return nil, err
	}
	var all []*array
	for _, name := range append(slices.Clone(l.Function.Outputs), l.Inouts()...) {
		x, err := l.Read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, &array{name, x})
	}
	return all, nil
}

// timing is what repeated runs took.
type timing struct {
	median, fastest time.Duration
	batches, runs   int   // runs a batch
	bytes           int64 // of the tensors touched, a run
}

// String gives the times and the rate at which the tensors were read and written.
func (t timing) String() string {
	return fmt.Sprintf("median %s, fastest %s of %d x %d runs; %.2f GB/s over %.2f MB of tensors",
		micros(t.median), micros(t.fastest), t.batches, t.runs, float64(t.bytes)/float64(max(1, t.median.Nanoseconds())), float64(t.bytes)/1e6)
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f us", float64(d.Nanoseconds())/1e3) }

// timeLaunch runs again and again. Runs are given to the device in batches that
// are long against the cost of waiting for it.
func timeLaunch(l *jit.Launch, d jit.Device) (timing, error) {
	const (
		batch  = 2 * time.Millisecond
		total  = 500 * time.Millisecond
		fewest = 5
		most   = 500
	)
	t := timing{runs: 1}
	measure := func() (time.Duration, error) {
		begin := time.Now()
		for range t.runs {
			if err := l.Run(); err != nil {
				return 0, err
			}
		}
		err := d.Sync()
		return time.Since(begin), err
	}
	for { // warms up, and finds the size of a batch
		d, err := measure()
		if err != nil {
			return t, err
		}
		if d >= batch || t.runs >= 1<<16 {
			break
		}
		t.runs *= 2
	}
	var each []time.Duration
	for begin := time.Now(); len(each) < fewest || len(each) < most && time.Since(begin) < total; {
		d, err := measure()
		if err != nil {
			return t, err
		}
		each = append(each, d/time.Duration(t.runs))
	}
	sort.Slice(each, func(i, j int) bool { return each[i] < each[j] })
	t.median, t.fastest, t.batches, t.bytes = each[len(each)/2], each[0], len(each), l.Bytes()
	return t, nil
}

// narrowest is the element type of the least precision among arrays, f32 at most.
func narrowest(arrays []*array) lang.DType {
	least := lang.F32
	for _, x := range arrays {
		if x.DType.IsFloat() && x.DType.Precision() < least.Precision() {
			least = x.DType
		}
	}
	return least
}

// longest is the largest dimension of any input: no reduction over one axis is longer.
func longest(inputs []*array) int64 {
	n := int64(1)
	for _, x := range inputs {
		for _, d := range x.Shape {
			n = max(n, d)
		}
	}
	return n
}
