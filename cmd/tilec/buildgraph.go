package main

import (
	"errors"
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/graph"
	"tilec/jit/target"
	"tilec/typecheck/typed"
)

// buildGraph makes the text of a graph's launches, before any pass and after each that changed them. No tensor has more than memory
// that is reserved: the emulator's, which stands for a GPU, or the CPU's.
func (a *app) buildGraph(p *typed.Program, args []*argument, machine target.Machine, o buildOptions) (unit, error) {
	g, err := chooseGraph(p, o.kernel)
	if err != nil {
		return unit{}, err
	}
	f, err := jit.FindFunction(p, g.Name)
	if err != nil {
		return unit{}, err
	}
	b := newBinding(f, 0, a.say)
	for _, arg := range args {
		if err := b.classify(arg); err != nil {
			return unit{}, fmt.Errorf("%s=%s: %w", arg.name, arg.text, err)
		}
	}
	var device jit.Device = jit.OpenCPU()
	if machine.IsGPU() {
		if device, err = jit.OpenDevice("emu:" + machine.Name); err != nil {
			return unit{}, err
		}
	}
	defer device.Close()
	var text strings.Builder
	options := b.options(o.precision)
	options.Dump = func(pass, launches string) {
		if pass != "" {
			fmt.Fprintf(&text, "after %s:\n", pass)
		}
		text.WriteString(launches)
	}
	bound, err := graph.BindSizes(&jit.NewCompiler(device, a.logs).Compiler, g, options)
	if err != nil {
		return unit{}, err
	}
	defer bound.Free(device)
	return unit{g.Name, text.String()}, nil
}

// chooseGraph gives the graph to build: the one named, or the only one of the file.
func chooseGraph(p *typed.Program, name string) (*typed.Graph, error) {
	var own []*typed.Graph
	var names []string
	root := p.Modules[len(p.Modules)-1].Source
	for _, g := range p.Graphs {
		if g.Name == name {
			return g, nil
		}
		if g.Decl.Name.Span().Source == root {
			own, names = append(own, g), append(names, g.Name)
		}
	}
	switch {
	case name != "" && len(names) > 0:
		return nil, fmt.Errorf("there is no graph %s: there are %s", name, strings.Join(names, ", "))
	case name != "":
		return nil, fmt.Errorf("there is no graph %s: the file declares none", name)
	case len(own) == 0:
		return nil, errors.New("there is no graph to build")
	case len(own) > 1:
		return nil, fmt.Errorf("there are several graphs: choose one with --kernel, of %s", strings.Join(names, ", "))
	}
	return own[0], nil
}
