package main

import (
	"errors"
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/graph"
	"tilec/jit/stage"
	"tilec/jit/target"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// buildGraph lists a graph's launches, before any pass and after each that changed them. No tensor has more than memory
// that is reserved: the emulator's, which stands for a GPU, or the CPU's.
func (a *app) buildGraph(p *typed.Program, args []*argument, form emission, machine target.Machine, o buildOptions) (unit, error) {
	g, err := chooseGraph(p, o.kernel, "with --kernel")
	if err != nil {
		return unit{}, err
	}
	b, err := a.sizesOf(p, g, args)
	if err != nil {
		return unit{}, err
	}
	device, err := lookingAt(machine)
	if err != nil {
		return unit{}, err
	}
	defer device.Close()
	forms, err := graphForms(a.compiler(device), g, b.options(o.precision))
	if err != nil {
		return unit{}, err
	}
	return unitOf(g.Name, form.graph(forms), root(p)), nil
}

// graphForms are the launches of a graph before any pass and behind each that changes them.
func graphForms(c *jit.Compiler, g *typed.Graph, options jit.Options) ([]stage.Form, error) {
	var forms []stage.Form
	options.Dump = func(pass string, launches lang.Listing) {
		title := "after " + pass
		if pass == "" {
			title = g.Name + ", as it is bound"
		}
		forms = append(forms, stage.Form{Title: title, Listing: launches})
	}
	bound, err := graph.BindSizes(&c.Compiler, g, options)
	if err != nil {
		return nil, err
	}
	bound.Free(c.Device)
	return forms, nil
}

// sizesOf is what the command line says of a graph's sizes and element types.
func (a *app) sizesOf(p *typed.Program, g *typed.Graph, args []*argument) (*binding, error) {
	f, err := jit.FindFunction(p, g.Name)
	if err != nil {
		return nil, err
	}
	b := newBinding(f, 0, a.say)
	for _, arg := range args {
		if err := b.classify(arg); err != nil {
			return nil, fmt.Errorf("%s=%s: %w", arg.name, arg.text, err)
		}
	}
	return b, nil
}

// lookingAt is a device that stands for a machine: the emulator's for a GPU, whose memory is only reserved, or the CPU.
func lookingAt(machine target.Machine) (jit.Device, error) {
	if !machine.IsGPU() {
		return jit.OpenCPU(), nil
	}
	return jit.OpenDevice("emu:" + machine.Name)
}

// chooseGraph gives the graph to look at: the one named, the one that generates text, or the only one of the file. How says how the
// command line names one.
func chooseGraph(p *typed.Program, name, how string) (*typed.Graph, error) {
	var own []*typed.Graph
	var names []string
	for _, g := range p.Graphs {
		if g.Name == name {
			return g, nil
		}
		if g.Decl.Name.Span().Source == root(p) {
			own, names = append(own, g), append(names, g.Name)
		}
	}
	switch {
	case name != "" && len(names) > 0:
		return nil, fmt.Errorf("there is no graph %s: there are %s", name, strings.Join(names, ", "))
	case name != "":
		return nil, fmt.Errorf("there is no graph %s: the file declares none", name)
	case len(own) == 0:
		return nil, errors.New("there is no graph in the file")
	case generating(own) != nil:
		return generating(own), nil
	case len(own) > 1:
		return nil, fmt.Errorf("there are several graphs: choose one %s, of %s", how, strings.Join(names, ", "))
	}
	return own[0], nil
}
