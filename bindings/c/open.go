package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tilec/jit"
	"tilec/jit/cache"
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
}

// describe says what a function takes and gives, as JSON.
func describe(p *program, name string) (string, error) {
	f, err := p.module.Function(name)
	if err != nil {
		return "", err
	}
	d := description{Name: f.Name, Parameters: []parameter{}, Outputs: append([]string{}, f.Outputs...), Settings: []string{}}
	for _, q := range f.Params {
		d.Parameters = append(d.Parameters, parameter{q.Name, q.Mode.String(), q.Type.String(), q.Default != nil})
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
		return x.Close()
	case *bound:
		x.launch.Close()
		if x.free != nil {
			x.free()
		}
	}
	return nil
}
