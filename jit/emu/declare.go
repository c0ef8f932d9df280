package emu

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

func (p *parser) registers() {
	name := strings.TrimPrefix(p.name(), ".")
	t, ok := types[name]
	if !ok {
		p.fail("registers of type .%s are not known", name)
	}
	for {
		at, name := p.tok.line, p.name()
		if p.accept("<") {
			n := p.integer()
			p.expect(">")
			if n > maxRegisters {
				p.failAt(at, "%d registers %s, more than %d", n, name, maxRegisters)
			}
			for i := range n {
				p.register(name+strconv.Itoa(i), t)
			}
		} else {
			p.register(name, t)
		}
		if p.accept(";") {
			return
		}
		p.expect(",")
	}
}

func (p *parser) register(name string, t dtype) {
	e := p.f.entry
	names := &e.registerNames
	if t.kind == kindPred {
		names = &e.predicateNames
	} else {
		e.Registers += max(1, t.bits/32)
	}
	r := register{index: len(*names), t: t}
	*names = append(*names, name)
	if len(*names) > maxRegisters {
		p.fail("the kernel has more than %d registers", maxRegisters)
	}
	if _, ok := p.scope.registers[name]; ok {
		p.fail("%s is declared twice", name)
	}
	p.scope.registers[name] = r
}

// variables reads a declaration of .shared, .local, .global or .const variables and gives them addresses.
func (p *parser) variables(directive string, extern bool) {
	spaces := map[string]space{".shared": spaceShared, ".local": spaceLocal, ".param": spaceLocal, ".global": spaceGlobal, ".const": spaceConst}
	v := p.variable(spaces[directive])
	v.extern, v.call = extern, directive == ".param"
	switch v.space {
	case spaceShared:
		if extern { // starts after all static shared memory, known at the end of the kernel
			v.address = dynamicShared
			break
		}
		top := 0
		if p.f != nil {
			top = p.f.shared
		}
		for s := p.scope; s != nil; s = s.outer {
			for _, o := range s.variables {
				if o.space == spaceShared && !o.extern {
					top = max(top, int(o.address)+o.size)
				}
			}
		}
		v.address = uint64(alignUp(top, v.align))
		if p.f != nil {
			p.f.shared = int(v.address) + v.size
		}
	case spaceLocal:
		e := p.f.entry
		v.address = uint64(alignUp(e.Local, v.align))
		e.Local = int(v.address) + v.size
	default:
		p.module.globals = append(p.module.globals, v)
	}
	if p.accept("=") {
		p.initialiser(v)
	}
	p.expect(";")
	p.declare(v)
}

func (p *parser) declare(v *variable) {
	if _, ok := p.scope.variables[v.name]; ok {
		p.fail("%s is declared twice", v.name)
	}
	p.scope.variables[v.name] = v
}

// dynamicShared is the address of an extern shared variable until the launch.
const dynamicShared = math.MaxUint64

// variable reads the rest of a declaration: .align n .type name[size].
func (p *parser) variable(s space) *variable {
	v := &variable{space: s}
	var t dtype
	elements := 1
	for p.tok.kind == tokenName && p.tok.text[0] == '.' {
		switch d := p.name(); d {
		case ".align":
			v.align = p.integer()
			if v.align < 1 || v.align&(v.align-1) != 0 {
				p.fail(".align %d is not a power of two", v.align)
			}
		case ".ptr": // an attribute of a parameter
			for p.is(".global") || p.is(".shared") || p.is(".local") || p.is(".const") {
				p.advance()
			}
			if p.accept(".align") {
				p.integer()
			}
		case ".v2":
			elements *= 2
		case ".v4":
			elements *= 4
		default:
			ok := false
			if t, ok = types[d[1:]]; !ok {
				p.fail("%s is not a type of a variable that the emulator knows", d)
			}
		}
	}
	if t.bits == 0 {
		p.fail("a variable has no type")
	}
	v.align = max(v.align, t.bytes()*elements)
	v.name = p.name()
	if p.accept("<") {
		p.fail("a range of variables is not known")
	}
	for p.accept("[") {
		if p.accept("]") {
			elements = 0
			continue
		}
		elements *= p.integer()
		p.expect("]")
		if elements < 0 || elements > maxVariable {
			p.fail("%s is larger than %d bytes", v.name, maxVariable)
		}
	}
	v.size = t.bytes() * elements
	if s == spaceGlobal || s == spaceConst {
		v.data = make([]byte, v.size)
	}
	p.elem = t
	return v
}

// initialiser reads = {1, 2, 3}, = 1, with the elements left out being zero.
func (p *parser) initialiser(v *variable) {
	if v.data == nil {
		p.fail("%s is in .%s, where variables cannot be initialised", v.name, v.space)
	}
	at, size := 0, p.elem.bytes()
	var values func()
	values = func() {
		if p.accept("{") {
			for !p.accept("}") {
				values()
				if !p.is("}") {
					p.expect(",")
				}
			}
			return
		}
		o := p.operand()
		if at+size > len(v.data) {
			p.fail("%s has more initial values than elements", v.name)
		}
		bits, err := o.constant(p.elem)
		if err != nil {
			p.fail("%v", err)
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], bits)
		copy(v.data[at:at+size], word[:])
		at += size
	}
	values()
}
