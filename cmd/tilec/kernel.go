package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tilec/jit"
	"tilec/jit/fuzz"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// kernelOptions are the flags of `tilec run` for kernels and graphs.
type kernelOptions struct {
	out         string
	time, check bool
	bisect      bool
	// model is the folder of a checkpoint that fills a graph's structs; "" for none.
	model string
}

// kernelFlags names the flags that are for kernels and graphs only.
var kernelFlags = []string{"out", "time", "check", "bisect"}

func (o *kernelOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "save the outputs to a .npy or .safetensors file")
	f.BoolVar(&o.time, "time", false, "time the kernel: the median of many runs")
	f.BoolVar(&o.bisect, "bisect", false, "name the first launch of which an element leaves its bound, and the pass of the compiler after which it does")
	f.BoolVar(&o.check, "check", false, "judge every element by the bound that it has; one beyond it exits with 1")
}

// named finds a kernel or graph of a file, and reads the arguments that stand behind the name on the command line.
func (a *app) named(path, name string, texts []string) (*jit.Function, *typed.Program, []*argument, error) {
	args, err := parseArguments(texts)
	if err != nil {
		return nil, nil, nil, err
	}
	program, err := a.load(path)
	if err != nil {
		return nil, nil, nil, err
	}
	f, err := jit.FindFunction(program, name)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, program, args, nil
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
	target, _, args, err := a.named(path, name, texts)
	if err != nil {
		return err
	}
	b := newBinding(target, run.seed, func(format string, args ...any) { a.say("note: "+format, args...) })
	b.working = a.progress("", nil).follow
	if err := b.give(args); err != nil {
		return err
	}
	if o.bisect && (o.time || o.check || o.out != "" || a.trace != "") {
		return usageError{errors.New("--bisect stands alone, without --time, --check, --out and --trace")}
	}
	if o.model != "" && target.Graph == nil {
		return usageError{fmt.Errorf("--model fills the structs of a graph, and %s is a kernel", name)}
	}
	compiler, err := a.open(run)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	if o.model != "" {
		filled, err := b.fill(o.model, compiler.Device)
		if err != nil {
			return err
		}
		defer filled.Close()
	}
	values, err := b.args(run.precision)
	if err != nil {
		return err
	}
	if o.bisect {
		if inPage {
			return notInPage("--bisect")
		}
		return a.bisect(compiler, target, values, run)
	}
	stopLine := a.followRun(compiler, name)
	defer stopLine()
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
	witness := fuzz.NewWitness(compiler.Device, run.seed)
	if o.check {
		launch.Program.Observe(witness)
	}
	begin := time.Now()
	outputs, err := runOnce(launch)
	if err != nil {
		return err
	}
	stopLine()
	took := time.Since(begin) - witness.Spent
	launch.Program.Observe(nil)
	a.say("compile %.1f ms, run and read back %.1f ms, device %s", ms(compiler.CompileTime()), ms(took), compiler.Device.Name())
	result := runResult{Function: name, Device: compiler.Device.Name(), CompileMS: ms(compiler.CompileTime()), RunMS: ms(took)}
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
	result.Checks = witness.Judgements
	if !a.json {
		a.printChecks(name, witness)
	}
	if o.time && witness.First == nil {
		t, err := timeLaunch(launch, compiler.Device)
		if err != nil {
			return err
		}
		result.MedianUS, result.FLOP = float64(t.median.Nanoseconds())/1e3, t.flop
		if !a.json {
			fmt.Fprintf(a.stdout, "time: %s\n", t)
		}
	}
	if a.trace != "" {
		if err := a.traceLaunch(launch, compiler.Device); err != nil {
			return err
		}
	}
	if a.json {
		if err := a.printJSON(result); err != nil {
			return err
		}
	}
	if witness.First != nil {
		return errReported
	}
	return nil
}

// printChecks prints a line for each result that was judged, and which launch was the first that was wrong.
func (a *app) printChecks(function string, w *fuzz.Witness) {
	for _, j := range w.Judgements {
		name := j.Result
		if j.Kernel != function {
			name = j.Kernel + "." + name
		}
		if j.Launches > 1 {
			name += fmt.Sprintf(" (%d launches)", j.Launches)
		}
		fmt.Fprintf(a.stdout, "check %s: %s\n", name, &j)
	}
	if w.First != nil {
		a.printError(fmt.Errorf("%s is wrong: the first result that leaves its bounds is %s of the kernel %s, in launch %d of %d", function, w.First.Result, w.First.Kernel, w.Launch+1, w.Of))
	}
}

// runResult is what --json prints of a kernel or graph that ran.
type runResult struct {
	Function  string    `json:"function"`
	Device    string    `json:"device"`
	CompileMS float64   `json:"compile_ms"`
	RunMS     float64   `json:"run_ms"`
	Outputs   []figured `json:"outputs"`
	// Checks are --check's, one for each result of each kernel that was launched.
	Checks []fuzz.Judgement `json:"checks,omitempty"`
	// MedianUS is --time's, in microseconds.
	MedianUS float64 `json:"median_us,omitempty"`
	// FLOP is how many floating-point operations that takes at least.
	FLOP int64 `json:"flop,omitempty"`
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
	flop            int64 // floating-point operations, a run
}

// String gives the times and the rate at which the tensors were read and written.
func (t timing) String() string {
	each := float64(max(1, t.median.Nanoseconds()))
	s := fmt.Sprintf("median %s, fastest %s of %d x %d runs; %.2f GB/s over %.2f MB of tensors",
		micros(t.median), micros(t.fastest), t.batches, t.runs, float64(t.bytes)/each, float64(t.bytes)/1e6)
	if t.flop > 0 {
		s += fmt.Sprintf(", %.2f GFLOP/s", float64(t.flop)/each)
	}
	return s
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f us", float64(d.Nanoseconds())/1e3) }

// timeLaunch runs again and again.
func timeLaunch(l *jit.Launch, d jit.Device) (timing, error) {
	t, err := timeRuns(l.Run, d, 500*time.Millisecond)
	t.bytes, t.flop = l.Bytes(), l.Program.FLOP()
	return t, err
}

// timeRuns calls run again and again, for about so long. Runs are given to the device in batches that are long against the cost of
// waiting for it.
func timeRuns(run func() error, d jit.Device, total time.Duration) (timing, error) {
	const (
		batch  = 2 * time.Millisecond
		fewest = 5
		most   = 500
	)
	t := timing{runs: 1}
	measure := func() (time.Duration, error) {
		begin := time.Now()
		for range t.runs {
			if err := run(); err != nil {
				return 0, err
			}
		}
		err := d.Sync()
		return time.Since(begin), err
	}
	// The first runs compile and record what the others find made, so the least of three says how long a batch is.
	for {
		least := time.Duration(math.MaxInt64)
		for range 3 {
			d, err := measure()
			if err != nil {
				return t, err
			}
			least = min(least, d)
		}
		if least >= batch || t.runs >= 1<<16 {
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
	t.median, t.fastest, t.batches = each[len(each)/2], each[0], len(each)
	return t, nil
}
