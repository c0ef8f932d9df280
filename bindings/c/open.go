package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/cache"
	"tilec/typecheck/typed"
)

// openDevice opens a device that runs on memory that a C program can have.
func openDevice(name string) (jit.Device, error) {
	d, err := jit.OpenDevice(name)
	if err != nil {
		return nil, err
	}
	if _, ok := d.(*jit.Emulator); ok {
		return nil, errors.Join(fmt.Errorf("the device %s runs on memory of its own, which no caller can have: choose cpu or cuda, or tilec run --device emu", name), d.Close())
	}
	return d, nil
}

// compilerFor is a compiler whose machine code is kept between processes.
func compilerFor(d jit.Device) *jit.Compiler {
	c := jit.NewCompiler(d, nil)
	if d.ID() != "cpu" {
		c.Cache = cache.Open("")
	}
	return c
}

// loadText and loadFile make programs.
func loadText(d jit.Device, name, source string) (*program, error) {
	m, err := compilerFor(d).Load(name, []byte(source))
	return &program{d, m}, err
}

func loadFile(d jit.Device, path string) (*program, error) {
	m, err := compilerFor(d).LoadFile(path)
	return &program{d, m}, err
}

// parameter is one of a function, for describe.
type parameter struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Type is that of the language: "T[M, N]", "f32".
	Type    string `json:"type"`
	Default bool   `json:"default,omitempty"`
}

// description is what describe says of a function.
type description struct {
	Name       string      `json:"name"`
	Parameters []parameter `json:"parameters"`
	Outputs    []string    `json:"outputs"`
	// Settings are the names that tilec_bind takes in its settings.
	Settings []string `json:"settings"`
	// Leaves are the tensors and scalars of the parameters; an element of an array of structs is called `[]`, as in "w.blocks[].bias".
	Leaves []leaf `json:"leaves"`
	// Results are the outputs with their types.
	Results []leaf `json:"results"`
	// Constants are the values of constant parameters that are whole numbers and have a default.
	Constants map[string]int64 `json:"constants"`
}

// leaf is the type of a tensor or of a scalar, as far as it is known before anything is bound.
type leaf struct {
	Name string `json:"name"`
	// DType is an element type or a parameter that stands for one: "f32", "T".
	DType string `json:"dtype"`
	// Shape has a size for each dimension of a tensor, outermost first: "N", "2 * N + 1", "D // 2", of dimensions and constants by name, where //
	// and % round down. It is nil for a scalar.
	Shape []string `json:"shape,omitempty"`
	// Scalar tells a scalar from a tensor of no dimensions.
	Scalar bool `json:"scalar,omitempty"`
}

// leavesOf lists the tensors and scalars of a parameter.
func leavesOf(name string, t *typed.GType) []leaf {
	switch t.Kind {
	case typed.GTensor:
		l := leaf{Name: name, DType: t.DType.String()}
		for _, s := range t.Shape {
			l.Shape = append(l.Shape, s.String())
		}
		return []leaf{l}
	case typed.GStruct:
		var all []leaf
		for i := range t.Fields {
			all = append(all, leavesOf(name+"."+t.Fields[i].Name, &t.Fields[i].Type)...)
		}
		return all
	case typed.GArray:
		return leavesOf(name+"[]", t.Elem)
	}
	return []leaf{{Name: name, DType: t.DType.String(), Scalar: true}}
}

// resultsOf lists the outputs of a function.
func resultsOf(f *jit.Function) []leaf {
	all := []leaf{}
	if f.Kernel != nil {
		for _, o := range f.Kernel.Outputs {
			all = append(all, leavesOf(o.Name, &typed.GType{Kind: typed.GTensor, DType: o.DType, Shape: o.Shape})...)
		}
		return all
	}
	for _, o := range f.Graph.Outputs {
		all = append(all, leavesOf(o.Name, &o.Type)...)
	}
	return all
}

// describe says what a function takes and gives, as JSON.
func describe(p *program, name string) (string, error) {
	f, err := p.module.Function(name)
	if err != nil {
		return "", err
	}
	d := description{Name: f.Name, Parameters: []parameter{}, Outputs: append([]string{}, f.Outputs...), Leaves: []leaf{}, Settings: []string{}, Results: resultsOf(f), Constants: map[string]int64{}}
	for _, q := range f.Params {
		d.Parameters = append(d.Parameters, parameter{q.Name, q.Mode.String(), q.Type.String(), q.Default != nil})
		d.Leaves = append(d.Leaves, leavesOf(q.Name, &q.Type)...)
	}
	for _, c := range f.Consts {
		if c.Default != nil && c.Default.DType.IsInt() {
			d.Constants[c.Name] = c.Default.Int
		}
	}
	d.Settings = append(d.Settings, f.Names()[len(f.Params):]...)
	text, err := json.Marshal(d)
	return string(text), err
}

// names are the kernels and graphs of a program, a line each.
func names(p *program) string { return strings.Join(p.module.Names(), "\n") }

// closeHandle closes what a number is of.
func closeHandle(n uint64) error {
	x, err := table.remove(n)
	if err != nil {
		return err
	}
	switch x := x.(type) {
	case jit.Device:
		table.disarmOn(x)
		return x.Close()
	case *bound:
		if x.disarm != nil {
			x.disarm()
		}
		if !x.captured.Load() {
			x.launch.Close()
		}
		if x.free != nil {
			x.free()
		}
	}
	return nil
}
