package main

import (
	"fmt"
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
}

// kernelFlags names the flags that are for kernels and graphs only.
var kernelFlags = []string{"out", "time", "check"}

func (o *kernelOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "save the outputs to a .npy or .safetensors file")
	f.BoolVar(&o.time, "time", false, "time the kernel: the median of many runs")
	f.BoolVar(&o.check, "check", false, "compare with the CPU, planned without pins; differences beyond the bounds exit with 1")
}

// runNamed runs one kernel or graph of a file.
func (a *app) runNamed(path, name string, texts []string, run runOptions, o kernelOptions) error {
	var save func([]*array) error
	if o.out != "" {
		var err error
		if save, err = saver(o.out); err != nil {
			return usageError{err}
		}
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
	target, err := findCallable(program, name)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	b := newBinding(target, run.seed, func(format string, args ...any) { a.say("note: "+format, args...) })
	if err := b.give(args); err != nil {
		return err
	}
	inputs, err := b.inputs()
	if err != nil {
		return err
	}
	compiler, err := a.open(run)
	if err != nil {
		return err
	}
	defer compiler.Device.Close()
	opts := b.options(precisions[run.precision])
	bound, err := target.bind(compiler, inputs, opts)
	if err != nil {
		return err
	}
	defer bound.program.Close()
	begin := time.Now()
	outputs, err := bound.run()
	if err != nil {
		return err
	}
	a.say("compile %.1f ms, run and read back %.1f ms, device %s", ms(compiler.CompileTime()), ms(time.Since(begin)), compiler.Device.Name())
	for _, x := range outputs {
		fmt.Fprintf(a.stdout, "%s\n%s", x, x.summary())
	}
	if save != nil {
		if err := save(outputs); err != nil {
			return err
		}
	}
	if o.check {
		if err := a.compare(target, inputs, outputs, opts, compiler.Device.ID()); err != nil {
			return err
		}
	}
	if o.time {
		t, err := bound.time()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "time: %s\n", t)
	}
	return nil
}

// bound is a callable with its arguments on a device, ready to run.
type bound struct {
	to      *callable
	device  jit.Device
	program *jit.Program
	inputs  []*input
	args    []jit.Value
}

// bind compiles a callable for its inputs and puts them on the compiler's device.
func (c *callable) bind(compiler *jit.Compiler, inputs []*input, opts jit.Options) (*bound, error) {
	b := &bound{to: c, device: compiler.Device, inputs: inputs}
	for _, in := range inputs {
		v, err := in.upload(b.device)
		if err != nil {
			return nil, err
		}
		b.args = append(b.args, v)
	}
	var err error
	if c.kernel != nil {
		b.program, err = compiler.BindKernel(c.kernel, b.args, opts)
	} else {
		b.program, err = compiler.BindGraph(c.graph, b.args, opts)
	}
	return b, err
}

// run runs once and reads what was written: the outputs, then the inouts.
func (b *bound) run() ([]*array, error) {
	results, err := b.program.Run(b.args)
	if err != nil {
		return nil, err
	}
	var all []*array
	read := func(name string, t *jit.Tensor) error {
		x := &array{name: name, dtype: t.DType, shape: t.Shape, data: make([]byte, t.Bytes())}
		all = append(all, x)
		return jit.ReadTensor(b.device, t, x.data)
	}
	for i, v := range results {
		if err := read(b.to.outputs[i], v.Tensor); err != nil {
			return nil, err
		}
	}
	for i, in := range b.inputs {
		tensors := tensorsOf(b.args[i])
		for n, leaf := range in.arrays() {
			if leaf.mode == lang.InOut {
				if err := read(leaf.array.name, tensors[n]); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// tensorsOf lists the tensors inside a value, in order.
func tensorsOf(v jit.Value) []*jit.Tensor {
	if v.Tensor != nil {
		return []*jit.Tensor{v.Tensor}
	}
	var all []*jit.Tensor
	for _, e := range v.Elems {
		all = append(all, tensorsOf(e)...)
	}
	return all
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

// time runs again and again. Runs are given to the device in batches that are
// long against the cost of waiting for it.
func (b *bound) time() (timing, error) {
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
			if _, err := b.program.Run(b.args); err != nil {
				return 0, err
			}
		}
		err := b.device.Sync()
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
	t.median, t.fastest, t.batches, t.bytes = each[len(each)/2], each[0], len(each), b.bytes()
	return t, nil
}

// bytes counts what one run reads and writes at least: every input and output
// once, every inout twice.
func (b *bound) bytes() int64 {
	n := int64(0)
	for _, in := range b.inputs {
		for _, leaf := range in.arrays() {
			n += int64(len(leaf.array.data))
			if leaf.mode == lang.InOut {
				n += int64(len(leaf.array.data))
			}
		}
	}
	for _, o := range b.program.Outputs() {
		n += jit.Elements(o.Shape) * int64(o.DType.Size())
	}
	return n
}

// narrowest is the element type of the least precision that a callable computes with.
func (c *callable) narrowest(inputs []*input, outputs []*array) lang.DType {
	least := lang.F32
	see := func(d lang.DType) {
		if d.IsFloat() && precision(d) < precision(least) {
			least = d
		}
	}
	for _, in := range inputs {
		for _, leaf := range in.arrays() {
			see(leaf.array.dtype)
		}
	}
	for _, x := range outputs {
		see(x.dtype)
	}
	return least
}

// longest is the largest dimension of any input: no reduction over one axis is longer.
func longest(inputs []*input) int64 {
	n := int64(1)
	for _, in := range inputs {
		for _, leaf := range in.arrays() {
			for _, d := range leaf.array.shape {
				n = max(n, d)
			}
		}
	}
	return n
}
