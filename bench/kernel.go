package bench

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Result is what one workload took.
type Result struct {
	Name string `json:"name"`
	// Micros is the median, by the device's clock, with cold caches.
	Micros float64 `json:"us"`
	// Runs is how many runs the median is of.
	Runs int `json:"runs"`
	// CompileMillis is the time to specialise, plan and compile the kernel.
	CompileMillis float64 `json:"compile_ms,omitempty"`
	// Plan is the planner's choice; of a peer, which variant was fastest.
	Plan string `json:"plan,omitempty"`
	// Sample is elements of the result, to be compared with a peer's.
	Sample []float64 `json:"-"`
	// Error says why there is no time.
	Error string `json:"error,omitempty"`
}

//go:embed kernels.tile
var kernelsTile string

// Program is all kernels that workloads name: those of the standard library, and kernels.tile.
func Program() (*typed.Program, error) {
	source := ""
	for _, library := range []string{"array", "llm", "math", "matmul", "nn"} {
		source += fmt.Sprintf("import %q\n", "std/"+library)
	}
	program, problems := jit.Load("bench/kernels.tile", []byte(source+kernelsTile), nil)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return program, nil
}

// In finds the kernel of the workload.
func (w Workload) In(p *typed.Program) (*typed.Kernel, error) {
	i := slices.IndexFunc(p.Kernels, func(f *typed.Kernel) bool { return f.Name == w.Kernel })
	if i < 0 {
		return nil, fmt.Errorf("neither the standard library nor bench/kernels.tile has a kernel %s", w.Kernel)
	}
	return p.Kernels[i], nil
}

// Options fixes what a launch of the workload fixes.
func (w Workload) Options(k *typed.Kernel) jit.Options {
	o := jit.Options{Dims: w.Sizes, Types: map[string]lang.DType{}, Pins: w.Pins}
	for _, t := range k.TypeParams {
		o.Types[t.Name] = w.Type()
	}
	return o
}

// Kernels times the kernels of workloads on one device.
type Kernels struct {
	compiler *jit.Compiler
	program  *typed.Program
	// flush is overwritten before each run; nil leaves caches warm.
	flush *jit.Memory
}

// NewKernels loads the kernels for a compiler's device. On a GPU, runs
// begin with cold caches: flushBytes, more than the L2 holds, are overwritten before each.
func NewKernels(c *jit.Compiler, flushBytes int64) (*Kernels, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	k := &Kernels{compiler: c, program: program}
	if flushBytes > 0 {
		if k.flush, err = c.Device.Alloc(flushBytes); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Run times one workload for about the given time.
func (k *Kernels) Run(w Workload, budget time.Duration) Result {
	r, err := k.run(w, budget)
	r.Name = w.Name
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (k *Kernels) run(w Workload, budget time.Duration) (r Result, err error) {
	device := k.compiler.Device
	kernel, err := w.In(k.program)
	if err != nil {
		return r, err
	}
	args, err := arguments(device, kernel, w)
	defer release(device, args)
	if err != nil {
		return r, err
	}
	before := k.compiler.CompileTime()
	program, err := k.compiler.BindKernel(kernel, args, jit.Options{Types: w.Options(kernel).Types, Pins: w.Pins})
	if err != nil {
		return r, err
	}
	defer program.Close()
	r.CompileMillis = float64((k.compiler.CompileTime() - before).Microseconds()) / 1e3
	r.Plan = strings.Join(program.Plans(), "; ")
	var out []jit.Value
	work := func() (err error) {
		out, err = program.Run(args)
		return err
	}
	// Looked at behind the first run: what runs add to a result is there once.
	if err := work(); err != nil {
		return r, err
	}
	result := written(kernel, args, out)
	if err := plausible(device, result); err != nil {
		return r, err
	}
	if r.Sample, err = sample(device, result); err != nil {
		return r, err
	}
	warm, err := jit.Measure(device, 3, k.flush, work)
	if err != nil {
		return r, err
	}
	each := max(median(warm), time.Microsecond)
	if k.flush != nil {
		each += 100 * time.Microsecond // overwriting the flush memory takes about this
	}
	r.Runs = int(min(max(budget/each, 5), 200))
	times, err := jit.Measure(device, r.Runs, k.flush, work)
	if err != nil {
		return r, err
	}
	r.Micros = float64(median(times).Nanoseconds()) / 1e3
	return r, nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// written is the first tensor that a launch wrote: an output, or one that it changed.
func written(k *typed.Kernel, args, out []jit.Value) *jit.Tensor {
	if len(out) > 0 {
		return out[0].Tensor
	}
	i := slices.IndexFunc(k.Params, func(p *typed.Param) bool { return p.Mode == lang.InOut })
	return args[i].Tensor
}

// plausible catches a kernel that does not compute: results that are all zero or not finite.
// Whether they are right is the business of the standard library's tests.
func plausible(device jit.Device, t *jit.Tensor) error {
	data := make([]byte, min(t.Bytes(), 1<<16))
	if err := device.Read(data, t.Memory, t.DType.Bytes(t.Offset)); err != nil {
		return err
	}
	zero := true
	n := t.DType.Elements(int64(len(data)))
	for i := range n {
		if !t.DType.IsFloat() {
			return nil
		}
		v := t.DType.ElementAt(data, i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("element %d of the result is %v", i, v)
		}
		zero = zero && v == 0
	}
	if zero {
		return fmt.Errorf("the first %d elements of the result are all 0", n)
	}
	return nil
}

// arguments makes arguments of the workload's shapes. What was made before an error is returned too.
func arguments(device jit.Device, kernel *typed.Kernel, w Workload) (args []jit.Value, err error) {
	for n, p := range kernel.Params {
		d := p.DType.Of
		if p.DType.Param != nil {
			d = w.Type()
		}
		if !p.IsTensor {
			v, ok := w.Scalars[p.Name]
			switch {
			case ok && d.IsFloat():
				args = append(args, jit.FloatValue(d, v))
			case ok:
				args = append(args, jit.IntValue(d, int64(v)))
			case p.Default != nil:
				args = append(args, jit.Value{Scalar: p.Default})
			default:
				return args, fmt.Errorf("workload %s gives no %s", w.Name, p.Name)
			}
			continue
		}
		t := &jit.Tensor{DType: d}
		if t.Shape, err = w.shape(p); err != nil {
			return args, err
		}
		if t.Memory, err = device.Alloc(t.Bytes()); err != nil {
			return args, err
		}
		args = append(args, jit.TensorValue(t))
		if p.Mode == lang.InOut {
			err = device.Fill(t.Memory, 0, t.Bytes(), 0)
		} else {
			err = fill(device, t, n, w.Integers[p.Name])
		}
		if err != nil {
			return args, err
		}
	}
	return args, nil
}

// shape is the shape of a parameter in a workload.
func (w Workload) shape(p *typed.Param) (shape []int64, err error) {
	for _, s := range p.Shape {
		n, err := s.Eval(func(sym *size.Symbol) (int64, bool) {
			n, ok := w.Sizes[sym.Name]
			return n, ok
		})
		if err != nil {
			return nil, fmt.Errorf("workload %s: %s: %w", w.Name, p.Name, err)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

func release(device jit.Device, args []jit.Value) {
	for _, a := range args {
		if a.Tensor != nil {
			device.Free(a.Tensor.Memory)
		}
	}
}
