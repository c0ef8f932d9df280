package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tilec/jit/bug"
	"tilec/jit/compile"
	"tilec/jit/ir"
	"tilec/jit/plan"
	"tilec/jit/target"
	"tilec/lang"
)

// irInput is IR to go on from, and the settings that stand above it or on the command line.
type irInput struct {
	kernels     []*ir.Func
	sizes, pins map[string]int64
	// target is the name that stands above the IR; "" for none.
	target string
}

// buildFromIR goes on from the IR of one kernel or more.
func (a *app) buildFromIR(path string, texts []string, o buildOptions) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, bug.IRFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the folder %s is no report with IR: there is no %s in it", filepath.Dir(path), bug.IRFile)
		}
	}
	if o.given["precision"] {
		return usageError{errors.New("--precision: the IR says the precision of each contraction")}
	}
	text, err := a.readSource(path)
	if err != nil {
		return err
	}
	in, err := readIR(path, string(text))
	if err != nil {
		return err
	}
	if in.target != "" && !o.given["target"] {
		o.target = in.target
	}
	target, err := target.Find(o.target)
	if err != nil {
		return usageError{err}
	}
	if !target.IsGPU() && !o.given["emit"] {
		o.emit = "ir"
	}
	form, err := findEmission(o.emit)
	switch {
	case err != nil:
		return usageError{err}
	case form.kernel == nil:
		return usageError{fmt.Errorf("--emit=%s comes before the IR: from IR there are ir, plan and ptx", form.name)}
	case form.name == "ptx" && !target.IsGPU():
		return usageError{fmt.Errorf("--emit=ptx needs a GPU target, and %s is none", target.Name)}
	}
	if o.dumpAfter != "" {
		if err := a.logs.DumpAfter(o.dumpAfter); err != nil {
			return usageError{fmt.Errorf("--dump-after: %w", err)}
		}
	}
	if err := in.set(texts); err != nil {
		return err
	}
	var units []unit
	for _, f := range in.kernels {
		if o.kernel != "" && f.Name != o.kernel {
			continue
		}
		l, err := compile.LowerIR(f, target, in.sizes, compile.KnownPins(f, in.pins), a.logs)
		if err != nil {
			return err
		}
		listing, err := form.kernel(l)
		if err != nil {
			return err
		}
		units = append(units, unitOf(another(units, f.Name), listing, nil))
	}
	if len(units) == 0 {
		return fmt.Errorf("%s: there is no kernel %s: the first is %s", path, o.kernel, in.kernels[0].Name)
	}
	return a.deliver(built{Stage: form.name, Units: units}, o.out)
}

// another is the name of one more unit: with a number where others are of that kernel, as of one after several passes.
func another(units []unit, kernel string) string {
	name := kernel
	for n := 2; slices.ContainsFunc(units, func(u unit) bool { return u.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", kernel, n)
	}
	return name
}

// readIR reads IR with what stands above it.
func readIR(path, text string) (*irInput, error) {
	in := &irInput{sizes: map[string]int64{}, pins: map[string]int64{}}
	var err error
	if in.kernels, err = ir.ParseAll(path, text); err != nil {
		return nil, err
	}
	for _, s := range bug.ParseSettings(text) {
		into := map[string]map[string]int64{"sizes": in.sizes, "pins": in.pins}[s.Name]
		switch {
		case s.Name == "target":
			in.target = s.Value
		case into != nil:
			values, err := bug.ParseAssignments(s.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: the line `// %s: %s`: %w", path, s.Name, s.Value, err)
			}
			maps.Copy(into, values)
		}
	}
	return in, nil
}

// set takes NAME=NUMBER of the command line: sizes of dimensions, extents, and settings of the plan.
func (in *irInput) set(texts []string) error {
	args, err := parseArguments(texts)
	if err != nil {
		return err
	}
	var names []string
	dims := map[string]bool{}
	for _, f := range in.kernels {
		for _, d := range f.Dims {
			if !d.Known() {
				dims[d.Name] = true
				names = append(names, d.Name)
			}
		}
		for _, a := range f.Axes {
			names = append(names, plan.Parameter(a))
		}
	}
	for _, arg := range args {
		n, err := strconv.ParseInt(arg.text, 10, 64)
		if least := lang.LeastPin(arg.name); err != nil || n < least {
			return usageError{fmt.Errorf("%s=%s: must be an integer of %d or more", arg.name, arg.text, least)}
		}
		pins := false
		for _, f := range in.kernels {
			pins = pins || len(compile.KnownPins(f, map[string]int64{arg.name: n})) > 0
		}
		switch {
		case dims[arg.name]:
			in.sizes[arg.name] = n
		case pins:
			in.pins[arg.name] = n
		default:
			why := fmt.Errorf("%s=%s: the IR has no dimension that is open and no axis of that name", arg.name, arg.text)
			if near := lang.Nearest(arg.name, names); near != "" {
				why = fmt.Errorf("%w: did you mean %s?", why, near)
			}
			return why
		}
	}
	return nil
}
