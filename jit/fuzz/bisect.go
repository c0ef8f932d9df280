package fuzz

import (
	"errors"
	"fmt"

	"tilec/jit"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file finds where a program becomes wrong on its way to a device. It runs the program there until a launch leaves a
// result that the judge refuses. Of that launch's kernel it then runs each form, from the IR as it was built to what the
// backend gets, on the CPU, in the place that the kernel has in the program.

// Stage is one form of a kernel, and what is wrong with its results.
type Stage struct {
	// Name is the part of the compiler that gave it: "build", "pass fold", "plan" or "backend".
	Name string `json:"name"`
	// Problem is what is wrong; nil for a form of which every element that was judged is within its bound.
	Problem *Problem `json:"problem,omitempty"`
	// Skipped is why the form could not be judged; "" for one that was.
	Skipped string `json:"skipped,omitempty"`
}

// Bisection is what is known of a program's way to a device.
type Bisection struct {
	// Launches is how many the program has. Judged is how many elements of their results were held against a bound on the
	// device, up to the first launch that is wrong; Unknown is of how many more the reference can say nothing.
	Launches int   `json:"launches"`
	Judged   int64 `json:"judged"`
	Unknown  int64 `json:"unknown,omitempty"`
	// Left is how many launches could not be judged, and Skipped why.
	Left    int    `json:"left,omitempty"`
	Skipped string `json:"skipped,omitempty"`
	// Kernel is that of the first launch that is wrong and Launch its number, from 1 on; 0 where it did not compile.
	Kernel string `json:"kernel,omitempty"`
	Launch int    `json:"launch,omitempty"`
	// Problem is what is wrong with that launch on the device; nil where no launch is wrong.
	Problem *Problem `json:"problem,omitempty"`
	// Stages are the forms of the kernel that is wrong, in order, up to the first that is wrong.
	Stages []Stage `json:"stages,omitempty"`
}

// Fault is the first stage of which the results are wrong; nil when none is.
func (b *Bisection) Fault() *Stage {
	if n := len(b.Stages); n > 0 && b.Stages[n-1].Problem != nil {
		return &b.Stages[n-1]
	}
	return nil
}

// Bisect finds the first launch of a program of which an element leaves its bound on a device, and the first stage of
// the compiler after which it does. Bind binds the program for a compiler; it is called once for each form. Where the
// reference has too much to compute, blocks are drawn by the seed. An error says why nothing can be known.
func Bisect(device jit.Device, bind func(*jit.Compiler) (*jit.Launch, error), seed uint64) (*Bisection, error) {
	b := &bisector{bind: bind, seed: seed}
	poisoned(device)
	f := &finder{Witness: NewWitness(device, seed), only: -1}
	out := &Bisection{}
	launch, err := bind(watched(device, map[string]bool{}))
	if err != nil {
		var bug *jit.Bug
		if !errors.As(err, &bug) {
			return nil, err
		}
		out.Kernel, out.Problem = bug.Kernel, problem(Crash, "%v", bug)
		out.Stages = []Stage{{Name: bug.Stage, Problem: out.Problem}}
		return out, nil
	}
	err = f.run(launch)
	out.Launches = f.Of
	for _, j := range f.Judgements {
		out.Judged += j.Judged - j.Unknown
		out.Unknown += j.Unknown
		if j.Left > 0 {
			out.Left, out.Skipped = out.Left+j.Left, j.Skipped
		}
	}
	var wrongProgram *lang.Diagnostic // a failed assert is no fault of the compiler
	switch {
	case f.First != nil:
		out.Problem = problem(Wrong, "%v", f.First)
	case err == nil && out.Judged == 0 && out.Left > 0:
		return nil, fmt.Errorf("the results cannot be judged: %s", out.Skipped)
	case err == nil:
		return out, nil
	case errors.As(err, &wrongProgram) || f.at == nil || runErrorKind(err) == TooLarge:
		return nil, err
	default:
		out.Problem = problem(runErrorKind(err), "%v", err)
	}
	out.Kernel, out.Launch = f.at.Spec.Kernel.Name, f.at.Number+1
	out.Stages, err = b.stages(f.at, device)
	if err == nil && out.Fault() == nil {
		out.Stages = append(out.Stages, Stage{Name: "backend", Problem: out.Problem})
	}
	return out, err
}

// bisector runs a program again and again.
type bisector struct {
	bind func(*jit.Compiler) (*jit.Launch, error)
	seed uint64
}

// stages judges the forms of a launch's kernel up to the first that is wrong.
func (b *bisector) stages(at *jit.Observation, device jit.Device) ([]Stage, error) {
	forms, err := jit.Forms(at.Spec, device.Target())
	if err != nil {
		return nil, err
	}
	var all []Stage
	for _, form := range forms {
		s := Stage{Name: form.Pass}
		switch form.Pass {
		case "":
			s.Name = "build"
		case "plan":
		default:
			s.Name = "pass " + form.Pass
		}
		s.Problem, s.Skipped = b.judge(form.Func, at)
		if all = append(all, s); s.Problem != nil {
			break
		}
	}
	return all, nil
}

// judge runs the program on the CPU with a form in the place of a launch's kernel, and judges that launch by what it read.
func (b *bisector) judge(form *ir.Func, at *jit.Observation) (wrong *Problem, skipped string) {
	cpu := jit.OpenCPU()
	defer cpu.Close()
	poisoned(cpu)
	c := watched(cpu, map[string]bool{})
	key, used := at.Spec.Key(), false
	c.Form = func(s *jit.Spec) *ir.Func {
		if s.Key() != key {
			return nil
		}
		used = true
		return form
	}
	launch, err := b.bind(c)
	if err != nil {
		if p := compileProblem(err, false); p.Kind == Crash {
			return p, ""
		}
		return nil, err.Error()
	}
	f := &finder{Witness: NewWitness(cpu, b.seed), only: at.Number}
	err = f.run(launch)
	switch {
	case !used:
		return nil, "the CPU launches another form of the program"
	case f.First != nil:
		return problem(Wrong, "%v", f.First), ""
	case err != nil && f.at != nil && f.at.Number == at.Number:
		return problem(runErrorKind(err), "%v", err), ""
	case err != nil:
		return nil, err.Error()
	}
	for _, j := range f.Judgements {
		if j.Left > 0 {
			return nil, j.Skipped
		}
	}
	return nil, ""
}

// poisoned makes a device that can give memory full of NaN do so: what no launch has written then shows.
func poisoned(d jit.Device) {
	if p, ok := d.(interface{ Poison() }); ok {
		p.Poison()
	}
}

// finder is a witness that ends a run behind the first launch that is wrong, or behind the only one that it judges.
type finder struct {
	*Witness
	only int // -1 for every launch
	// at is the launch that ran last.
	at *jit.Observation
}

// errFound ends a run.
var errFound = errors.New("a launch was judged")

// run runs a program and closes it; nil also where the finder ended the run.
func (f *finder) run(l *jit.Launch) error {
	defer l.Close()
	l.Program.Observe(f)
	err := l.Run()
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// Before keeps what a launch reads.
func (f *finder) Before(o *jit.Observation) error {
	f.at = o
	if f.only >= 0 && o.Number != f.only {
		return nil
	}
	return f.Witness.Before(o)
}

// After judges what the launch left.
func (f *finder) After(o *jit.Observation) error {
	if f.only >= 0 && o.Number != f.only {
		return nil
	}
	if err := f.Witness.After(o); err != nil {
		return err
	}
	if f.First != nil || o.Number == f.only {
		return errFound
	}
	return nil
}
