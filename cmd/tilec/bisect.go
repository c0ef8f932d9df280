package main

import (
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/fuzz"
	"tilec/lang"
)

// bisect names the first stage of the compiler after which an element of a kernel's results leaves its bound.
func (a *app) bisect(device jit.Device, target *jit.Function, b *binding, values jit.Args, run runOptions) error {
	if target.Kernel == nil {
		return usageError{fmt.Errorf("--bisect is of one kernel, and %s is a graph: `CUTILE_LOGS=launch` lists the kernels that it launches", target.Name)}
	}
	inputs := map[string]fuzz.Input{}
	for _, p := range target.Params {
		switch v := values[p.Name].(type) {
		case *jit.Array:
			inputs[p.Name] = fuzz.Input{Array: v}
		case lang.Literal:
			inputs[p.Name] = fuzz.Input{Scalar: v}
		}
	}
	opts := b.options(run.precision)
	opts.Debug = run.debug
	for s, n := range b.dims {
		opts.Dims[s.Name] = n
	}
	found, err := fuzz.Bisect(device, target.Kernel, opts, inputs)
	if err != nil {
		return err
	}
	fault := found.Fault()
	if a.json {
		if err := a.printJSON(struct {
			Function string `json:"function"`
			Device   string `json:"device"`
			*fuzz.Bisection
			Fault string `json:"fault,omitempty"`
		}{target.Name, device.Name(), found, faultName(fault)}); err != nil {
			return err
		}
	} else {
		a.printBisection(target, device, found)
	}
	if fault != nil {
		return errReported
	}
	return nil
}

func faultName(s *fuzz.Stage) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// printBisection prints a line a stage, and which is at fault.
func (a *app) printBisection(target *jit.Function, device jit.Device, found *fuzz.Bisection) {
	fmt.Fprintf(a.stdout, "%s: %d elements, each judged by a bound of its own", target.Name, found.Elements)
	if found.Unknown > 0 {
		fmt.Fprintf(a.stdout, "; of %d nothing is known", found.Unknown)
	}
	fmt.Fprintln(a.stdout)
	several := len(target.Kernel.Parts) > 1
	for _, s := range found.Stages {
		name := s.Name
		if several && s.Kernel != target.Name {
			name += " of " + s.Kernel
		}
		switch {
		case s.Problem != nil:
			fmt.Fprintf(a.stdout, "  %-16s %s\n", name, strings.ReplaceAll(strings.TrimSpace(s.Problem.Text), "\n", "\n    "))
		case s.Skipped != "":
			fmt.Fprintf(a.stdout, "  %-16s not judged: %s\n", name, s.Skipped)
		default:
			fmt.Fprintf(a.stdout, "  %-16s within the bounds\n", name)
		}
	}
	fault := found.Fault()
	if fault == nil {
		fmt.Fprintf(a.stdout, "nothing is wrong on %s\n", device.ID())
		return
	}
	pass, isPass := strings.CutPrefix(fault.Name, "pass ")
	switch {
	case isPass:
		fmt.Fprintf(a.stdout, "the pass %s is at fault: --dump-after=%s of `tilec build` shows the IR behind it\n", pass, pass)
	case fault.Name == "build":
		fmt.Fprintln(a.stdout, "what is wrong is there before any pass: in the IR as it was built from the source, or in how the CPU runs it")
	case fault.Name == "plan":
		fmt.Fprintln(a.stdout, "the passes are fine: with the extents of the plan the CPU computes something else")
	case fault.Name == "backend" && device.ID() == "cpu":
		fmt.Fprintln(a.stdout, "all passes are fine: the CPU runs what they make, and the kernel as a whole is wrong")
	case fault.Name == "backend":
		fmt.Fprintf(a.stdout, "all passes are fine: the backend is at fault, from the IR to the code that runs on %s\n", device.ID())
	default:
		fmt.Fprintf(a.stdout, "the stage %s is at fault\n", fault.Name)
	}
}
