package jit

import (
	"tilec/jit/backend"
	"tilec/jit/bug"
	"tilec/jit/file"
	"tilec/jit/misuse"
	"tilec/typecheck/typed"
)

// Module is a source, parsed and checked with what it imports, whose kernels
// and graphs a compiler compiles for its device as they are called.
type Module struct {
	Program *typed.Program

	compiler *Compiler
}

// LoadFile reads, parses and checks a .tile file. Errors in the source are
// lang.Diagnostics.
func (c *Compiler) LoadFile(path string) (*Module, error) {
	if c == nil {
		return nil, misuse.Unset("Compiler.LoadFile", "the compiler is nil: NewCompiler gives one")
	}
	text, err := file.Read(path, file.MaxSource)
	if err != nil {
		return nil, err
	}
	return c.Load(path, text)
}

// Load parses and checks a text; the path is its name in messages, and what its
// imports are relative to. Errors in the source are lang.Diagnostics.
func (c *Compiler) Load(path string, text []byte) (m *Module, err error) {
	if c == nil {
		return nil, misuse.Unset("Compiler.Load", "the compiler is nil: NewCompiler gives one")
	}
	defer bug.Catch(&err, "load")
	program, ds := Load(path, text, c.Logs)
	if err := ds.Err(); err != nil {
		return nil, err
	}
	return &Module{Program: program, compiler: c}, nil
}

// Names lists the kernels and the graphs of the source itself, in order of declaration.
func (m *Module) Names() []string {
	if m == nil {
		return nil
	}
	own, _ := FunctionNames(m.Program)
	return own
}

// Function finds a kernel or a graph by its name; a *NameError when there is none.
func (m *Module) Function(name string) (*Function, error) {
	if m == nil || m.Program == nil || m.compiler == nil {
		return nil, misuse.Unset("Module.Function", "the module is nothing that Load or LoadFile gave")
	}
	f, err := FindFunction(m.Program, name)
	if err != nil {
		return nil, err
	}
	return f.On(m.compiler), nil
}

// Call runs a kernel or a graph once: see Function.Call.
func (m *Module) Call(name string, args Args) (map[string]*Array, error) {
	f, err := m.Function(name)
	if err != nil {
		return nil, err
	}
	return f.Call(args)
}

// Device is where the module's functions run; nil where nothing says it.
func (m *Module) Device() backend.Device {
	if m == nil || m.compiler == nil {
		return nil
	}
	return m.compiler.Device
}
