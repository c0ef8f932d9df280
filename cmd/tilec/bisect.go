package main

import (
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/fuzz"
)

// bisect names the first launch of which an element leaves its bound, and the first stage of the compiler after which it does.
func (a *app) bisect(compiler *jit.Compiler, target *jit.Function, values jit.Args, run runOptions) error {
	device := compiler.Device
	stopLine := a.followRun(compiler, target.Name)
	defer stopLine()
	bind := func(c *jit.Compiler) (*jit.Launch, error) {
		c.Debug = run.debug
		return target.On(c).Bind(values)
	}
	found, err := fuzz.Bisect(device, bind, run.seed)
	if err != nil {
		return err
	}
	stopLine()
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
	if found.Problem != nil {
		return errReported
	}
	return nil
}

// countLaunches is "1 launch", "2 launches".
func countLaunches(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return fmt.Sprintf("%d launches", n)
}

func faultName(s *fuzz.Stage) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// printBisection prints which launch is wrong, a line a stage, and which stage is at fault.
func (a *app) printBisection(target *jit.Function, device jit.Device, found *fuzz.Bisection) {
	if found.Launches > 0 {
		fmt.Fprintf(a.stdout, "%s: %s, %d elements judged, each by a bound of its own", target.Name, countLaunches(found.Launches), found.Judged)
		if found.Unknown > 0 {
			fmt.Fprintf(a.stdout, "; of %d nothing is known", found.Unknown)
		}
		if found.Left > 0 {
			fmt.Fprintf(a.stdout, "; %s not judged: %s", countLaunches(found.Left), found.Skipped)
		}
		fmt.Fprintln(a.stdout)
	}
	if found.Problem == nil {
		fmt.Fprintf(a.stdout, "nothing is wrong on %s\n", device.ID())
		return
	}
	indented := func(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") }
	if found.Launch > 0 {
		fmt.Fprintf(a.stdout, "launch %d of %d is the first that is wrong on %s, of the kernel %s: %s\n", found.Launch, found.Launches, device.ID(), found.Kernel, indented(found.Problem.Text))
	} else {
		fmt.Fprintf(a.stdout, "the kernel %s does not compile for %s\n", found.Kernel, device.ID())
	}
	for _, s := range found.Stages {
		switch {
		case s.Problem != nil:
			fmt.Fprintf(a.stdout, "  %-16s %s\n", s.Name, indented(s.Problem.Text))
		case s.Skipped != "":
			fmt.Fprintf(a.stdout, "  %-16s not judged: %s\n", s.Name, s.Skipped)
		default:
			fmt.Fprintf(a.stdout, "  %-16s within the bounds\n", s.Name)
		}
	}
	fault := found.Fault()
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
