package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"tilec/jit"
	"tilec/jit/bundle"
	"tilec/jit/compile"
	"tilec/jit/cuda"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// buildBundle writes the compiled kernels of a file to a folder, with what other programs need to launch them.
func (a *app) buildBundle(path string, texts []string, o buildOptions) error {
	switch {
	case o.bundle == "":
		return usageError{errors.New("--emit=cubin makes machine code, which is not for a screen: name a folder with --bundle DIR")}
	case o.emit != "ptx" && o.emit != "cubin":
		return usageError{fmt.Errorf("--bundle has compiled kernels, and --emit=%s makes none: give --emit=ptx or --emit=cubin", o.emit)}
	case o.from != "tile":
		return usageError{fmt.Errorf("--bundle needs a .tile file, which says what the parameters are: --from=%s has none", o.from)}
	case o.out != "":
		return usageError{errors.New("--out and --bundle both name a folder to write to: give one of them")}
	case o.dumpAfter != "":
		return usageError{errors.New("--dump-after prints what the compiler does, and --bundle writes what it made: leave one of them out")}
	}
	machine, err := target.Find(o.target)
	if err != nil {
		return usageError{err}
	}
	if !machine.TakesPTX() {
		return usageError{fmt.Errorf("--bundle needs a GPU target, and %s is none", machine.Name)}
	}
	if o.precision, err = precisionOf(o.precision); err != nil {
		return err
	}
	var assembler *cuda.Assembler
	if o.emit == "cubin" {
		if assembler, err = cuda.FindAssembler(); err != nil {
			return fmt.Errorf("--emit=cubin needs NVIDIA's assembler: %w; --emit=ptx needs none", err)
		}
	}
	args, err := parseArguments(texts)
	if err != nil {
		return err
	}
	program, err := a.load(path)
	if err != nil {
		return err
	}
	kernels, err := chooseKernels(program, o.kernel)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	made := bundle.New(jit.Version, filepath.Base(path), machine, assembler)
	var failed, unknown lang.Diagnostics
	err = a.eachKernel(kernels, args, o, func(k *typed.Kernel, options jit.Options) error {
		err := a.bundleKernel(made, k, options, machine)
		var of *lang.Diagnostic
		var refused *bundle.Refusal
		switch {
		case errors.As(err, &refused):
			made.LeftOut = append(made.LeftOut, bundle.LeftOut{Name: k.Name, Reason: refused.Reason})
		case errors.As(err, &of) && of.Code == lang.ErrArgMissing:
			unknown = append(unknown, of)
			made.LeftOut = append(made.LeftOut, bundle.LeftOut{Name: k.Name, Reason: of.Message})
		case errors.As(err, &of):
			failed = append(failed, of)
		default:
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(failed) > 0 { // a folder that lacks a kernel would be taken for the whole
		return failed
	}
	if len(made.Kernels) == 0 && len(unknown) == len(made.LeftOut) {
		return unknown
	}
	for _, l := range made.LeftOut {
		a.say("tilec: left out %s: %s", l.Name, l.Reason)
	}
	if len(made.Kernels) == 0 {
		return fmt.Errorf("%s: there is no kernel that a bundle can have", path)
	}
	if err := made.Write(o.bundle); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(&made.Manifest)
	}
	return nil
}

// bundleKernel compiles a kernel into a bundle.
func (a *app) bundleKernel(made *bundle.Bundle, k *typed.Kernel, options jit.Options, machine target.Machine) error {
	whole, err := jit.Specialise(k, options)
	if err != nil {
		return err
	}
	launches := whole.Launches()
	lowered := make([]*compile.Lowered, len(launches))
	for i, launch := range launches {
		if lowered[i], err = compile.Lower(launch, machine, a.logs); err != nil {
			return err
		}
	}
	return made.Add(whole, launches, lowered)
}
