package emu

import (
	"errors"
	"strconv"

	"tilec/jit/bug"
	"tilec/jit/emu/syntax"
)

// A Module is a parsed PTX module, ready to run.
type Module struct {
	// Kernels are the module's entries by name.
	Kernels map[string]*Kernel

	text *syntax.Module
}

// A Kernel is an entry of a module, ready to run: what its text says, and the
// instructions decoded from it.
type Kernel struct {
	*syntax.Entry

	module *syntax.Module
	code   []inst
	rows   int // registers, constants, the carry and the sink
	consts []constRow
	ccRow  row
}

// Parse reads a PTX module and prepares its kernels. The error is a *syntax.Error:
// it names the line, and the instruction where that is one that the emulator does
// not know.
func Parse(text string) (m *Module, err error) {
	parsed, err := syntax.Parse(text)
	if err != nil {
		return nil, err
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *syntax.Error:
			m, err = nil, e
		default:
			m, err = nil, bug.Recovered("emulator", e)
		}
	}()
	m = &Module{Kernels: map[string]*Kernel{}, text: parsed}
	for _, e := range parsed.Entries {
		k := &Kernel{Entry: e, module: parsed, rows: len(e.RegisterNames)}
		decode(k)
		m.Kernels[e.Name] = k
	}
	return m, nil
}

// registerName is the name of a row, for a person.
func (k *Kernel) registerName(r row) string {
	if int(r) < len(k.RegisterNames) {
		return k.RegisterNames[r]
	}
	return "row " + strconv.Itoa(int(r))
}

func (k *Kernel) predName(p predRow) string { return k.PredicateNames[p] }

// Limit reports that Parse refused a text because it is more than is read.
func Limit(err error) bool {
	var e *syntax.Error
	return errors.As(err, &e) && e.Limit
}
