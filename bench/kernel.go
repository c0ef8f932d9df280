package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tilec/jit"
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
	// Error says why there is no time.
	Error string `json:"error,omitempty"`
}

// Kernels times kernels of the standard library on one device.
type Kernels struct {
	compiler *jit.Compiler
	program  *typed.Program
	// flush is overwritten before each run; nil leaves caches warm.
	flush *jit.Memory
}

// NewKernels loads the standard library for a compiler's device. On a GPU, runs
// begin with cold caches: flushBytes, more than the L2 holds, are overwritten before each.
func NewKernels(c *jit.Compiler, flushBytes int64) (*Kernels, error) {
	program, problems := jit.Load("bench.tile", []byte("import \"std/math\"\nimport \"std/nn\"\n"), nil)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	k := &Kernels{compiler: c, program: program}
	if flushBytes > 0 {
		var err error
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
	i := slices.IndexFunc(k.program.Kernels, func(f *typed.Kernel) bool { return f.Name == w.Kernel })
	if i < 0 {
		return r, fmt.Errorf("the standard library has no kernel %s", w.Kernel)
	}
	kernel := k.program.Kernels[i]
	args, err := arguments(device, kernel, w)
	defer release(device, args)
	if err != nil {
		return r, err
	}
	before := k.compiler.CompileTime()
	program, err := k.compiler.BindKernel(kernel, args, jit.Options{})
	if err != nil {
		return r, err
	}
	defer program.Close()
	r.CompileMillis = float64((k.compiler.CompileTime() - before).Microseconds()) / 1e3
	r.Plan = program.Plans()[0]
	var out []jit.Value
	work := func() (err error) {
		out, err = program.Run(args)
		return err
	}
	warm, err := jit.Measure(device, 3, k.flush, work)
	if err != nil {
		return r, err
	}
	if err := plausible(device, out); err != nil {
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

// plausible catches a kernel that does not compute: results that are all zero or not finite.
// Whether they are right is the business of the standard library's tests.
func plausible(device jit.Device, out []jit.Value) error {
	t := out[0].Tensor
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

// arguments makes random arguments of the workload's shapes. What was made before an error is returned too.
func arguments(device jit.Device, kernel *typed.Kernel, w Workload) (args []jit.Value, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range kernel.Params {
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
		for _, s := range p.Shape {
			n, err := s.Eval(func(sym *size.Symbol) (int64, bool) {
				n, ok := w.Sizes[sym.Name]
				return n, ok
			})
			if err != nil {
				return args, fmt.Errorf("workload %s: %s: %w", w.Name, p.Name, err)
			}
			t.Shape = append(t.Shape, n)
		}
		if t.Memory, err = device.Alloc(t.Bytes()); err != nil {
			return args, err
		}
		args = append(args, jit.TensorValue(t))
		if d.IsInt() { // positions, all of them the first
			if err := device.Fill(t.Memory, 0, t.Bytes(), 0); err != nil {
				return args, err
			}
			continue
		}
		if err := fill(device, t, random); err != nil {
			return args, err
		}
	}
	return args, nil
}

func release(device jit.Device, args []jit.Value) {
	for _, a := range args {
		if a.Tensor != nil {
			device.Free(a.Tensor.Memory)
		}
	}
}

// pattern is how many random elements are made; longer tensors repeat them.
const pattern = 1 << 20

// fill writes normally distributed numbers to a tensor. Weights are as large as
// inputs; results stay within the range of every type.
func fill(device jit.Device, t *jit.Tensor, random *rand.Rand) error {
	if !t.DType.IsFloat() {
		return fmt.Errorf("no random numbers of type %s", t.DType)
	}
	n := min(jit.Elements(t.Shape), pattern)
	block := make([]byte, t.DType.Bytes(n))
	for i := range n {
		t.DType.PutElementAt(block, i, float64(float32(random.NormFloat64())))
	}
	for at := int64(0); at < t.Bytes(); at += int64(len(block)) {
		if err := device.Write(t.Memory, at, block[:min(int64(len(block)), t.Bytes()-at)]); err != nil {
			return err
		}
	}
	return nil
}
