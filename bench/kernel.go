package bench

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"time"

	"tilec/jit"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

//go:embed kernels.tile
var kernelsTile string

// Source is a program with all kernels that workloads name: those of the standard library, which it imports, and kernels.tile.
func Source() []byte {
	source := ""
	for _, library := range []string{"array", "llm", "math", "matmul", "nn"} {
		source += fmt.Sprintf("import %q\n", "std/"+library)
	}
	return []byte(source + kernelsTile)
}

// Program is the program of Source.
func Program() (*typed.Program, error) {
	program, problems := jit.Load("bench/kernels.tile", Source(), nil)
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

// Program is all kernels that workloads name.
func (k *Kernels) Program() *typed.Program { return k.program }

// Once is the budget of a workload that is to run once, as under a profiler, and is not timed.
const Once = -1

// Run times one workload for about the given time.
func (k *Kernels) Run(w Workload, budget time.Duration) Result {
	r, err := k.run(w, budget)
	r.Name, r.Family, r.FLOPs, r.Bytes = w.Name, w.Family, w.FLOPs, w.Bytes
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (k *Kernels) run(w Workload, budget time.Duration) (r Result, err error) {
	before := k.compiler.CompileTime()
	b, err := k.bind(w, Pins{})
	defer b.close(k)
	if err != nil {
		return r, err
	}
	r.CompileMillis = float64((k.compiler.CompileTime() - before).Microseconds()) / 1e3
	r.Plan, r.Samples = b.plan(), b.samples
	if budget == Once {
		return r, nil
	}
	if err := b.time(k, budget); err != nil {
		return r, err
	}
	r.Micros, r.Runs = micros(median(b.times)), len(b.times)
	return r, nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// written are the tensors that a launch wrote: its outputs, and those that it changed.
func written(k *typed.Kernel, args, out []jit.Value) (all []*jit.Tensor) {
	for _, v := range out {
		all = append(all, v.Tensor)
	}
	for i, p := range k.Params {
		if p.Mode == lang.InOut {
			all = append(all, args[i].Tensor)
		}
	}
	return all
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

// Argument is an argument of a workload's kernel, as a peer makes it too.
type Argument struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	// Number is which of the parameters it is, from which its data follow. Shape is nil for a scalar, whose value is Scalar, 0 for its default.
	Number int     `json:"number"`
	Shape  []int64 `json:"shape"`
	Scalar float64 `json:"scalar,omitempty"`
	// Integers is what a tensor of integers holds, and Changed says that the kernel adds to it: it begins with zeros.
	Integers Integers `json:"integers,omitzero"`
	Changed  bool     `json:"changed,omitempty"`

	value jit.Value // of a scalar
}

// Arguments are those of the workload's kernel, in order.
func (w Workload) Arguments(kernel *typed.Kernel) (all []Argument, err error) {
	for n, p := range kernel.Params {
		d := p.DType.Of
		if p.DType.Param != nil {
			d = w.Type()
		}
		a := Argument{Name: p.Name, DType: d.String(), Number: n, Integers: w.Integers[p.Name], Changed: p.Mode == lang.InOut}
		if p.IsTensor {
			if a.Shape, err = w.shape(p); err != nil {
				return nil, err
			}
			all = append(all, a)
			continue
		}
		v, ok := w.Scalars[p.Name]
		switch {
		case ok && d.IsFloat():
			a.value = jit.FloatValue(d, v)
		case ok:
			a.value = jit.IntValue(d, int64(v))
		case p.Default != nil:
			a.value = jit.Value{Scalar: p.Default}
		default:
			return nil, fmt.Errorf("workload %s gives no %s", w.Name, p.Name)
		}
		a.Scalar = v
		all = append(all, a)
	}
	return all, nil
}

// arguments puts the arguments on a device. What was made before an error is returned too.
func arguments(device jit.Device, kernel *typed.Kernel, w Workload) (args []jit.Value, err error) {
	all, err := w.Arguments(kernel)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Shape == nil {
			args = append(args, a.value)
			continue
		}
		d, _ := lang.ParseDType(a.DType)
		t := &jit.Tensor{DType: d, Shape: a.Shape}
		if t.Memory, err = device.Alloc(t.Bytes()); err != nil {
			return args, err
		}
		args = append(args, jit.TensorValue(t))
		if a.Changed {
			err = device.Fill(t.Memory, 0, t.Bytes(), 0)
		} else {
			err = fill(device, t, a.Number, a.Integers)
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
			if !ok && sym.Default != nil {
				return sym.Default.Int, true
			}
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
