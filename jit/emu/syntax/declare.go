package syntax

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"tilec/jit/emu/number"
)

func (p *parser) registers() {
	name := strings.TrimPrefix(p.name(), ".")
	t, ok := number.Types[name]
	if !ok {
		p.fail("registers of type .%s are not known", name)
	}
	for {
		at, name := p.tok.line, p.name()
		if p.accept("<") {
			n := p.integer()
			p.expect(">")
			if n > maxRegisters {
				p.tooMany(at, "%d registers %s, more than %d", n, name, maxRegisters)
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

func (p *parser) register(name string, t number.Type) {
	e := p.f.entry
	names := &e.RegisterNames
	if t.Kind == number.KindPred {
		names = &e.PredicateNames
	} else {
		e.Registers += max(1, t.Bits/32)
	}
	r := Register{Index: len(*names), Type: t}
	*names = append(*names, name)
	if len(*names) > maxRegisters {
		p.tooMany(p.tok.line, "the kernel has more than %d registers", maxRegisters)
	}
	if _, ok := p.scope.registers[name]; ok {
		p.fail("%s is declared twice", name)
	}
	p.scope.registers[name] = r
}

// variables reads a declaration of .shared, .local, .global or .const variables and gives them addresses.
func (p *parser) variables(directive string, extern bool) {
	spaces := map[string]Space{".shared": SpaceShared, ".local": SpaceLocal, ".param": SpaceLocal, ".global": SpaceGlobal, ".const": SpaceConst}
	v := p.variable(spaces[directive])
	v.Extern, v.Call = extern, directive == ".param"
	switch v.Space {
	case SpaceShared:
		if extern { // starts after all static shared memory, known at the end of the kernel
			v.Address = DynamicShared
			break
		}
		top := 0
		if p.f != nil {
			top = p.f.shared
		}
		for s := p.scope; s != nil; s = s.outer {
			for _, o := range s.variables {
				if o.Space == SpaceShared && !o.Extern {
					top = max(top, int(o.Address)+o.Size)
				}
			}
		}
		v.Address = uint64(number.AlignUp(top, v.Align))
		if p.f != nil {
			p.f.shared = int(v.Address) + v.Size
		}
	case SpaceLocal:
		e := p.f.entry
		v.Address = uint64(number.AlignUp(e.Local, v.Align))
		e.Local = int(v.Address) + v.Size
	default:
		p.module.Globals = append(p.module.Globals, v)
	}
	if p.accept("=") {
		p.initialiser(v)
	}
	p.expect(";")
	p.declare(v)
}

func (p *parser) declare(v *Variable) {
	if _, ok := p.scope.variables[v.Name]; ok {
		p.fail("%s is declared twice", v.Name)
	}
	p.scope.variables[v.Name] = v
}

// DynamicShared is the address of an extern shared variable until the launch.
const DynamicShared = math.MaxUint64

// variable reads the rest of a declaration: .align n .type name[size].
func (p *parser) variable(s Space) *Variable {
	v := &Variable{Space: s}
	var t number.Type
	elements := 1
	for p.tok.kind == tokenName && p.tok.text[0] == '.' {
		switch d := p.name(); d {
		case ".align":
			v.Align = p.integer()
			if v.Align < 1 || v.Align&(v.Align-1) != 0 {
				p.fail(".align %d is not a power of two", v.Align)
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
			if t, ok = number.Types[d[1:]]; !ok {
				p.fail("%s is not a type of a variable that the emulator knows", d)
			}
		}
	}
	if t.Bits == 0 {
		p.fail("a variable has no type")
	}
	v.Align = max(v.Align, t.Bytes()*elements)
	v.Name = p.name()
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
			p.fail("%s is larger than %d bytes", v.Name, maxVariable)
		}
	}
	v.Size = t.Bytes() * elements
	if s == SpaceGlobal || s == SpaceConst {
		v.Data = make([]byte, v.Size)
	}
	p.elem = t
	return v
}

// initialiser reads = {1, 2, 3}, = 1, with the elements left out being zero.
func (p *parser) initialiser(v *Variable) {
	if v.Data == nil {
		p.fail("%s is in .%s, where variables cannot be initialised", v.Name, v.Space)
	}
	at, size := 0, p.elem.Bytes()
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
		if at+size > len(v.Data) {
			p.fail("%s has more initial values than elements", v.Name)
		}
		bits, err := o.Constant(p.elem)
		if err != nil {
			p.fail("%v", err)
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], bits)
		copy(v.Data[at:at+size], word[:])
		at += size
	}
	values()
}
