package syntax

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tilec/jit/bug"
	"tilec/jit/emu/number"
)

// Parse reads a PTX module. The error is a *Error, which names the line.
func Parse(text string) (m *Module, err error) {
	p := &parser{lex: lexer{text: text, line: 1}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			m, err = nil, e
		default:
			m, err = nil, bug.Recovered("emulator", e)
		}
	}()
	p.module = &Module{Files: map[int]string{}}
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
	module *Module
	scope  *Scope
	f      *function   // being parsed
	elem   number.Type // of the last variable read
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
	panic(&Error{Line: line, Message: fmt.Sprintf(format, args...)})
}

// tooMany refuses a text that has more than is read.
func (p *parser) tooMany(line int, format string, args ...any) {
	panic(&Error{Line: line, Message: fmt.Sprintf(format, args...), Limit: true})
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
	if o.Kind != OpInt || o.Bits > math.MaxInt32 {
		p.fail("need an integer below 2^31")
	}
	return int(o.Bits)
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
		p.module.Files[n] = p.tok.text
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
	e := &Entry{Name: p.name(), Labels: map[string]int{}, Targets: map[string][]string{}}
	if slices.ContainsFunc(p.module.Entries, func(o *Entry) bool { return o.Name == e.Name }) {
		p.fail("kernel %s is declared twice", e.Name)
	}
	outer := p.scope
	p.scope = newScope(outer)
	p.f = &function{entry: e}
	if p.accept("(") {
		for !p.accept(")") {
			p.expect(".param")
			v := p.variable(SpaceParam)
			v.Address = uint64(number.AlignUp(e.ParamSize, v.Align))
			e.ParamSize = int(v.Address) + v.Size
			e.Params = append(e.Params, Param{v.Name, int(v.Address), v.Size})
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
			if v.Space == SpaceShared && !v.Extern {
				p.f.shared = max(p.f.shared, int(v.Address)+v.Size)
			}
		}
	}
	p.block()
	p.scope = outer
	e.Shared = p.f.shared
	e.Dynamic = number.AlignUp(e.Shared, 16)
	if e.Shared == 0 {
		e.Dynamic = 0
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
	st := Statement{Line: p.tok.line, File: f.file, SourceLine: f.line, Scope: p.scope, Prefix: f.prefix}
	if p.accept("@") {
		st.Negated = p.accept("!")
		st.Guard = p.name()
	} else if p.tok.kind == tokenName {
		// A label, unless an instruction: look at what follows.
		name := p.name()
		if p.accept(":") {
			if p.accept(".branchtargets") {
				p.branchTargets(name)
				return
			}
			if _, ok := f.entry.Labels[f.prefix+name]; ok {
				p.fail("label %s stands twice", name)
			}
			f.entry.Labels[f.prefix+name] = len(f.entry.Statements)
			return
		}
		st.Opcode = name
	}
	if st.Opcode == "" {
		st.Opcode = p.name()
	}
	words := strings.Split(st.Opcode, ".")
	st.Name, st.Modifiers = words[0], words[1:]
	if st.Name == "call" {
		p.call(st)
		return
	}
	for !p.accept(";") {
		st.Operands = append(st.Operands, p.operand())
		if !p.is(";") {
			p.expect(",")
		}
	}
	if st.Name == "ret" && len(f.end) > 0 { // to the caller
		st.Name, st.Modifiers, st.Prefix = "bra", nil, ""
		st.Operands = []Operand{{Kind: OpName, Name: f.end[len(f.end)-1]}}
	}
	f.entry.Statements = append(f.entry.Statements, st)
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
