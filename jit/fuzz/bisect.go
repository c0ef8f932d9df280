package fuzz

import (
	"errors"
	"fmt"

	"tilec/jit"
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file finds where a kernel becomes wrong on its way to a device: it runs each form that the kernel has, from the
// IR as it was built to what the backend gets, on the CPU, and then the code of the backend on the device. The reference
// judges every element of every run.

// Input is an argument of a kernel: an array or a scalar.
type Input struct {
	Array  *jit.Array
	Scalar lang.Literal
}

// Stage is one form of a kernel, and what is wrong with its results.
type Stage struct {
	// Name is the part of the compiler that gave it: "build", "pass fold", "plan" or "backend".
	Name string `json:"name"`
	// Kernel is the kernel that changed; a formula may have several.
	Kernel string `json:"kernel"`
	// Problem is what is wrong; nil for a form of which every element is within its bound.
	Problem *Problem `json:"problem,omitempty"`
	// Skipped is why the form could not be judged; "" for one that was.
	Skipped string `json:"skipped,omitempty"`
}

// Bisection is what is known of a kernel's way to a device.
type Bisection struct {
	// Stages are those that were judged, in order; all but the last one have no problem.
	Stages []Stage `json:"stages"`
	// Elements is how many elements each stage was judged by, Unknown of how many the reference can say nothing.
	Elements int64 `json:"elements"`
	Unknown  int64 `json:"unknown,omitempty"`
}

// Fault is the first stage of which the results are wrong; nil when none is.
func (b *Bisection) Fault() *Stage {
	if n := len(b.Stages); n > 0 && b.Stages[n-1].Problem != nil {
		return &b.Stages[n-1]
	}
	return nil
}

// Bisect finds the first stage after which an element of a kernel's results leaves its bound. Inputs are by the names of
// the parameters. An error says why nothing can be known.
func Bisect(device jit.Device, k *typed.Kernel, opts jit.Options, inputs map[string]Input) (*Bisection, error) {
	opts.Guard = guard
	spec, err := jit.Specialise(k, opts)
	if err != nil {
		return nil, err
	}
	args, err := given(k, spec, inputs)
	if err != nil {
		return nil, err
	}
	b := &bisector{k: k, opts: opts, spec: spec, args: args, trial: Trial{Dims: opts.Dims, Pins: opts.Pins, Precision: opts.Precision}}
	out := &Bisection{}
	if out.Elements, out.Unknown, err = b.expect(device); err != nil {
		return nil, err
	}
	launches := spec.Launches()
	forms := make([][]jit.Form, len(launches))
	current := map[*typed.Kernel]*ir.Func{}
	for i, l := range launches {
		var failed error
		if forms[i], failed = jit.Forms(l, device.Target()); failed != nil {
			var bug *jit.Bug
			if !errors.As(failed, &bug) {
				return nil, failed
			}
			out.Stages = append(out.Stages, Stage{Name: bug.Stage, Kernel: l.Kernel.Name, Problem: problem(Crash, "%v", bug)})
			return out, nil
		}
		current[l.Kernel] = forms[i][0].Func
	}
	cpu := newChecker(jit.OpenCPU())
	compiler := func() *jit.Compiler {
		c := watched(cpu.device, map[string]bool{})
		c.Form = func(s *jit.Spec) *ir.Func { return current[s.Kernel] }
		return c
	}
	judge := func(name, kernel string, c *checker, compiler *jit.Compiler, want []*array) bool {
		s := Stage{Name: name, Kernel: kernel}
		switch p := b.judge(c, compiler, want); {
		case p == nil:
		case p.Kind == CompileError, p.Kind == Refused, p.Kind == TooLarge:
			s.Skipped = p.Text
		default:
			s.Problem = p
		}
		out.Stages = append(out.Stages, s)
		return s.Problem == nil
	}
	if !judge("build", k.Name, cpu, compiler(), b.onCPU) {
		return out, nil
	}
	for i, l := range launches {
		for _, form := range forms[i][1:] {
			current[l.Kernel] = form.Func
			name := "pass " + form.Pass
			if form.Pass == "plan" {
				name = form.Pass
			}
			if !judge(name, l.Kernel.Name, cpu, compiler(), b.onCPU) {
				return out, nil
			}
		}
	}
	judge("backend", k.Name, newChecker(device), watched(device, map[string]bool{}), b.onDevice)
	return out, nil
}

// given are the arguments of a kernel.
func given(k *typed.Kernel, spec *jit.Spec, inputs map[string]Input) ([]argument, error) {
	var args []argument
	for _, p := range k.Params {
		in, ok := inputs[p.Name]
		a := argument{param: p, dtype: p.DType.Resolve(spec.Types)}
		switch {
		case !ok && !p.IsTensor && p.Default != nil:
			a.value = ir.Const{Int: p.Default.Int, Float: p.Default.Float}
		case !ok:
			return nil, fmt.Errorf("%s of %s is not given", p.Name, k.Name)
		case !p.IsTensor:
			a.value = ir.Const{Int: in.Scalar.Int, Float: in.Scalar.Float}
		case in.Array == nil || in.Array.DType != a.dtype:
			return nil, fmt.Errorf("%s of %s must be a tensor of %s", p.Name, k.Name, a.dtype)
		default:
			shape, err := shapeOf(spec, p)
			if err != nil {
				return nil, err
			}
			if want := a.dtype.Bytes(jit.Elements(shape)); int64(len(in.Array.Data)) != want {
				return nil, fmt.Errorf("%s of %s has %d bytes, and its shape %s %d", p.Name, k.Name, len(in.Array.Data), jit.FormatShape(shape), want)
			}
			a.shape, a.data = shape, in.Array.Data
		}
		args = append(args, a)
	}
	return args, nil
}

// bisector is a kernel with its arguments and what its results may be, by the arithmetic of the CPU and of the device.
type bisector struct {
	k               *typed.Kernel
	opts            jit.Options
	spec            *jit.Spec
	args            []argument
	trial           Trial
	onCPU, onDevice []*array
}

// expect computes what the results may be, and counts their elements and those of which nothing is known.
func (b *bisector) expect(device jit.Device) (elements, unknown int64, err error) {
	for _, x := range []struct {
		gpu  bool
		into *[]*array
	}{{false, &b.onCPU}, {device.Target().IsGPU(), &b.onDevice}} {
		c := &checker{arith: ArithmeticOf(x.gpu)}
		want, p := c.reference(b.k, b.spec, b.trial, b.args, 0)
		if p != nil {
			return 0, 0, fmt.Errorf("the results cannot be judged: %w", p)
		}
		for _, open := range []int64{1, 3} {
			other, q := c.reference(b.k, b.spec, b.trial, b.args, open)
			for i := range want {
				if q == nil && !want[i].agrees(other[i]) {
					return 0, 0, fmt.Errorf("the results cannot be judged: they depend on extents that nobody gave, such as that of %d: give them by name", open)
				}
			}
		}
		*x.into = want
	}
	for _, a := range b.onDevice {
		for i := range a.size {
			elements++
			if a.unknown(i) {
				unknown++
			}
		}
	}
	return elements, unknown, nil
}

// judge runs the kernel and says what is wrong with its results.
func (b *bisector) judge(c *checker, compiler *jit.Compiler, want []*array) *Problem {
	got, p := c.execute(compiler, b.k, b.opts, b.args)
	if p != nil {
		return p
	}
	for i, g := range got {
		if p := want[i].compare(g, &Tally{}); p != nil {
			return p
		}
	}
	return nil
}
