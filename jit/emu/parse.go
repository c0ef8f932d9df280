package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tilec/jit/bug"
)

// parseText reads a PTX module. The error is a *SyntaxError, which names the line.
func parseText(text string) (m *textModule, err error) {
	p := &parser{lex: lexer{text: text, line: 1}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *SyntaxError:
			m, err = nil, e
		default:
			m, err = nil, bug.Recovered("emulator", e)
		}
	}()
	p.module = &textModule{files: map[int]string{}}
	p.scope, p.functions = newScope(nil), map[string]position{}
	p.advance()
	for p.tok.kind != tokenEnd {
		p.declaration()
	}
	if p.module.Version == "" {
		p.failAt(1, "a module starts with .version, this one has none")
	}
	return p.module, nil
}

const (
	maxRegisters = 1 << 17 // of a kernel
	maxVariable  = 1 << 30 // bytes
)

type parser struct {
	lex    lexer
	tok    token
	module *textModule
	scope  *scope
	f      *function // being parsed
	elem   dtype     // of the last variable read
	// functions are where the text of each .func starts
	functions map[string]position
}

// A function is a kernel while it is parsed.
type function struct {
	entry      *Entry
	shared     int // bytes of static shared memory so far
	file, line int // of the last .loc
	// In a call: what its labels begin with, the labels of the ends, the functions
	// being expanded, and how many have been.
	prefix   string
	end      []string
	calls    []string
	expanded int
}

func (p *parser) advance() { p.tok = p.lex.next() }

func (p *parser) fail(format string, args ...any) { p.failAt(p.tok.line, format, args...) }

func (p *parser) failAt(line int, format string, args ...any) {
	panic(&SyntaxError{line, fmt.Sprintf(format, args...)})
}

func (p *parser) is(text string) bool {
	return p.tok.text == text && p.tok.kind != tokenString
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.fail("need %q, have %v", text, p.tok)
	}
}

func (p *parser) name() string {
	if p.tok.kind != tokenName {
		p.fail("need a name, have %v", p.tok)
	}
	s := p.tok.text
	p.advance()
	return s
}

// integer reads an integer constant that has no sign.
func (p *parser) integer() int {
	if p.tok.kind != tokenNumber {
		p.fail("need a number, have %v", p.tok)
	}
	o := p.number()
	if o.kind != opInt || o.bits > math.MaxInt32 {
		p.fail("need an integer below 2^31")
	}
	return int(o.bits)
}

func (p *parser) declaration() {
	line := p.tok.line
	for p.is(".visible") || p.is(".weak") || p.is(".common") {
		p.advance()
	}
	extern := p.accept(".extern")
	switch d := p.name(); d {
	case ".version":
		p.module.Version = p.tok.text
		p.advance()
	case ".target":
		p.module.Target = p.name()
		for p.accept(",") {
			p.name()
		}
	case ".address_size":
		if n := p.integer(); n != 64 {
			p.failAt(line, "addresses have %d bits, need 64", n)
		}
	case ".file":
		n := p.integer()
		p.module.files[n] = p.tok.text
		p.advance()
		for p.accept(",") {
			p.integer()
		}
	case ".pragma":
		p.skipTo(";")
	case ".section":
		p.skipTo("}")
	case ".global", ".const", ".shared":
		p.variables(d, extern)
	case ".entry":
		p.entry()
	case ".func":
		p.function()
	default:
		p.failAt(line, "%s is not a declaration that the emulator knows", d)
	}
}

func (p *parser) skipTo(end string) {
	for !p.is(end) {
		if p.tok.kind == tokenEnd {
			p.fail("need %q, have %v", end, p.tok)
		}
		p.advance()
	}
	p.advance()
}

func (p *parser) entry() {
	e := &Entry{Name: p.name(), labels: map[string]int{}, targets: map[string][]string{}}
	if slices.ContainsFunc(p.module.Entries, func(o *Entry) bool { return o.Name == e.Name }) {
		p.fail("kernel %s is declared twice", e.Name)
	}
	outer := p.scope
	p.scope = newScope(outer)
	p.f = &function{entry: e}
	if p.accept("(") {
		for !p.accept(")") {
			p.expect(".param")
			v := p.variable(spaceParam)
			v.address = uint64(alignUp(e.ParamSize, v.align))
			e.ParamSize = int(v.address) + v.size
			e.Params = append(e.Params, Param{v.name, int(v.address), v.size})
			p.declare(v)
			if !p.is(")") {
				p.expect(",")
			}
		}
	}
	for !p.is("{") {
		p.bound(e)
	}
	for s := outer; s != nil; s = s.outer { // the module's shared variables
		for _, v := range s.variables {
			if v.space == spaceShared && !v.extern {
				p.f.shared = max(p.f.shared, int(v.address)+v.size)
			}
		}
	}
	p.block()
	p.scope = outer
	e.Shared = p.f.shared
	e.dynamic = alignUp(e.Shared, 16)
	if e.Shared == 0 {
		e.dynamic = 0
	}
	p.module.Entries = append(p.module.Entries, e)
}

// bound reads a directive between the parameters and the body.
func (p *parser) bound(e *Entry) {
	line := p.tok.line
	switch d := p.name(); d {
	case ".maxntid":
		e.MaxThreads = p.triple()
	case ".reqntid":
		e.Threads = p.triple()
	case ".reqnctapercluster":
		e.Cluster = p.triple()
	case ".minnctapersm":
		e.MinBlocks = p.integer()
	case ".maxnreg":
		e.MaxRegisters = p.integer()
	case ".maxnctapersm", ".maxclusterrank":
		p.integer()
	case ".explicitcluster", ".noreturn":
	case ".pragma":
		p.skipTo(";")
	default:
		p.failAt(line, "%s is not a directive of a kernel that the emulator knows", d)
	}
}

func (p *parser) triple() [3]int {
	t := [3]int{p.integer(), 1, 1}
	for i := 1; i < 3 && p.accept(","); i++ {
		t[i] = p.integer()
	}
	return t
}

// block reads { statements }.
func (p *parser) block() {
	p.expect("{")
	p.scope = newScope(p.scope)
	for !p.accept("}") {
		p.statement()
	}
	p.scope = p.scope.outer
}

func (p *parser) statement() {
	f := p.f
	switch {
	case p.is("{"):
		p.block()
		return
	case p.accept(";"):
		return
	case p.tok.kind == tokenName && p.tok.text[0] == '.':
		p.directive()
		return
	}
	st := statement{line: p.tok.line, file: f.file, srcLine: f.line, scope: p.scope, prefix: f.prefix}
	if p.accept("@") {
		st.not = p.accept("!")
		st.guard = p.name()
	} else if p.tok.kind == tokenName {
		// A label, unless an instruction: look at what follows.
		name := p.name()
		if p.accept(":") {
			if p.accept(".branchtargets") {
				p.branchTargets(name)
				return
			}
			if _, ok := f.entry.labels[f.prefix+name]; ok {
				p.fail("label %s stands twice", name)
			}
			f.entry.labels[f.prefix+name] = len(f.entry.statements)
			return
		}
		st.opcode = name
	}
	if st.opcode == "" {
		st.opcode = p.name()
	}
	parts := strings.Split(st.opcode, ".")
	st.name, st.mods = parts[0], parts[1:]
	if st.name == "call" {
		p.call(st)
		return
	}
	for !p.accept(";") {
		st.ops = append(st.ops, p.operand())
		if !p.is(";") {
			p.expect(",")
		}
	}
	if st.name == "ret" && len(f.end) > 0 { // to the caller
		st.name, st.mods, st.prefix = "bra", nil, ""
		st.ops = []operand{{kind: opName, name: f.end[len(f.end)-1]}}
	}
	f.entry.statements = append(f.entry.statements, st)
}

func (p *parser) directive() {
	line := p.tok.line
	switch d := p.name(); d {
	case ".reg":
		p.registers()
	case ".shared", ".local", ".param":
		p.variables(d, false)
	case ".loc":
		p.f.file = p.integer()
		p.f.line = p.integer()
		p.integer()
		if p.accept(",") { // function_name label, inlined_at file line column
			for p.tok.line == line {
				p.advance()
			}
		}
	case ".pragma":
		p.skipTo(";")
	default:
		p.failAt(line, "%s is not a directive that the emulator knows", d)
	}
}

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

// operand reads one operand.
func (p *parser) operand() operand {
	o := p.primary()
	if p.accept("|") {
		return operand{kind: opPair, elems: []operand{o, p.primary()}}
	}
	return o
}

func (p *parser) primary() operand {
	switch {
	case p.accept("!"):
		return operand{kind: opName, name: p.name(), not: true}
	case p.accept("{"):
		o := operand{kind: opVector}
		for !p.accept("}") {
			o.elems = append(o.elems, p.primary())
			if !p.is("}") {
				p.expect(",")
			}
		}
		return o
	case p.accept("["):
		o := operand{kind: opAddress}
		base := p.primary()
		switch base.kind {
		case opName:
			o.name, o.offset = base.name, base.offset
		case opInt:
			o.bits = base.bits
		default:
			p.fail("an address starts with a register, a variable or a number")
		}
		for p.accept(",") { // the coordinates of a tensor
			o.elems = append(o.elems, p.primary())
		}
		p.expect("]")
		return o
	case p.accept("-"):
		o := p.number()
		if o.kind == opFloat {
			o.bits ^= 1 << (o.width - 1)
		} else {
			o.bits = -o.bits
		}
		return o
	case p.tok.kind == tokenNumber:
		return p.number()
	case p.is("_"):
		p.advance()
		return operand{kind: opSink}
	}
	o := operand{kind: opName, name: p.name()}
	for p.is("+") || p.is("-") {
		minus := p.is("-")
		p.advance()
		if p.accept("-") {
			minus = !minus
		}
		n := p.number()
		if n.kind != opInt {
			p.fail("an offset is an integer")
		}
		if minus {
			n.bits = -n.bits
		}
		o.offset += int64(n.bits)
	}
	return o
}

// number reads an integer or float constant without a sign.
func (p *parser) number() operand {
	if p.tok.kind != tokenNumber {
		p.fail("need a number, have %v", p.tok)
	}
	text := p.tok.text
	o, err := parseNumber(text)
	if err != nil {
		p.fail("%q is not a number", text)
	}
	p.advance()
	return o
}

func parseNumber(text string) (operand, error) {
	hexFloat := func(width int) (operand, error) {
		bits, err := strconv.ParseUint(text[2:], 16, width)
		if len(text) != 2+width/4 {
			err = strconv.ErrSyntax
		}
		return operand{kind: opFloat, bits: bits, width: width}, err
	}
	if len(text) > 1 && text[0] == '0' {
		switch text[1] {
		case 'f', 'F':
			return hexFloat(32)
		case 'd', 'D':
			return hexFloat(64)
		}
	}
	isHex := strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X")
	if !isHex && strings.ContainsAny(text, ".eE") {
		v, err := strconv.ParseFloat(text, 64)
		return operand{kind: opFloat, bits: math.Float64bits(v), width: 64}, err
	}
	v, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	return operand{kind: opInt, bits: v}, err
}

// constant gives the bits of a constant as a value of a type.
func (o operand) constant(t dtype) (uint64, error) {
	switch o.kind {
	case opInt:
		if t.isFloat() {
			return 0, fmt.Errorf("an integer constant where .%s is needed", t.name)
		}
		return o.bits & t.mask(), nil
	case opFloat:
		if o.width == t.bits {
			return o.bits, nil
		}
		if t.bits != 32 && t.bits != 64 || t.isInt() {
			return 0, fmt.Errorf("a float constant where .%s is needed", t.name)
		}
		if t.bits == 64 {
			return math.Float64bits(float64(math.Float32frombits(uint32(o.bits)))), nil
		}
		return uint64(math.Float32bits(float32(math.Float64frombits(o.bits)))), nil
	}
	return 0, fmt.Errorf("need a constant")
}
