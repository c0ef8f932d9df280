package syntax

import (
	"fmt"
	"slices"

	"tilec/jit/emu/number"
)

// Functions are expanded where they are called: PTX has no recursion without a
// stack, which sm_90's compilers do not use for what they emit. The body is read
// again for every call, with names of its own.

// A place to read on from.
type position struct {
	lex lexer
	tok token
}

func (p *parser) position() position   { return position{p.lex, p.tok} }
func (p *parser) resume(from position) { p.lex, p.tok = from.lex, from.tok }

// function reads a .func declaration; its text is kept for the calls.
func (p *parser) function() {
	from := p.position()
	if p.is("(") {
		p.skipTo(")")
	}
	name := p.name()
	if p.is("(") {
		p.skipTo(")")
	}
	for !p.is("{") {
		if p.accept(";") {
			return // declared before it is defined, or elsewhere
		}
		if p.tok.kind == tokenEnd {
			p.fail("need the body of %s, have %v", name, p.tok)
		}
		p.advance()
	}
	if _, ok := p.functions[name]; ok {
		p.fail("function %s is defined twice", name)
	}
	p.functions[name] = from
	for depth := 0; ; {
		switch {
		case p.tok.kind == tokenEnd:
			p.fail("need %q, have %v", "}", p.tok)
		case p.is("{"):
			depth++
		case p.is("}"):
			depth--
		}
		p.advance()
		if depth == 0 {
			return
		}
	}
}

// parameters reads the formal parameters of a function: registers of its own, and
// .param variables, which stand for the caller's. They get what the call gives.
func (p *parser) parameters(st *Statement, given []Operand, visit func(formal string, t number.Type, actual Operand)) {
	if !p.accept("(") {
		if len(given) > 0 {
			p.failAt(st.Line, "the call gives %d values, the function has no place for them", len(given))
		}
		return
	}
	n := 0
	for !p.accept(")") {
		if n >= len(given) {
			p.failAt(st.Line, "the call gives %d values, the function needs more", len(given))
		}
		actual := given[n]
		n++
		switch d := p.name(); d {
		case ".reg":
			t, ok := number.Types[p.name()[1:]]
			if !ok {
				p.fail("a parameter has no type that a register can have")
			}
			name := p.name()
			p.register(name, t)
			visit(name, t, actual)
		case ".param":
			v := p.variable(SpaceLocal)
			caller := st.Scope.Variable(actual.Name)
			if caller == nil || !caller.Call || caller.Size < v.Size {
				p.failAt(st.Line, "%s is not a .param variable of %d bytes, which the function needs", actual.Name, v.Size)
			}
			alias := *caller
			alias.Name = v.Name
			p.declare(&alias)
		default:
			p.fail("%s does not begin a parameter", d)
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	if n < len(given) {
		p.failAt(st.Line, "the call gives %d values, the function needs %d", len(given), n)
	}
}

const (
	mostCalls      = 64   // of functions in functions
	mostExpansions = 4096 // of functions in a kernel
)

// call expands a call: moves of the arguments, the body, moves of the results.
func (p *parser) call(st Statement) {
	f := p.f
	list := func(o Operand) []Operand {
		if o.Kind == OpVector {
			return o.Elements
		}
		return []Operand{o}
	}
	var results, arguments []Operand
	if p.is("(") {
		results = list(p.list())
		p.expect(",")
	}
	name := p.name()
	if p.accept(",") {
		arguments = list(p.list())
	}
	if p.is(",") {
		p.failAt(st.Line, "calls by address are not known")
	}
	p.expect(";")
	from, ok := p.functions[name]
	if !ok {
		p.failAt(st.Line, "function %s has no body in the module", name)
	}
	if slices.Contains(f.calls, name) || len(f.calls) == mostCalls {
		p.failAt(st.Line, "function %s calls itself", name)
	}
	if f.expanded++; f.expanded > mostExpansions {
		p.tooMany(st.Line, "the kernel has more than %d calls, those in its functions counted", mostExpansions)
	}
	outerPrefix, outerScope, back := f.prefix, p.scope, p.position()
	prefix := fmt.Sprintf("%s#%d ", name, f.expanded)
	end := "end of " + prefix
	emit := func(opcode string, mods []string, scope *Scope, guard string, not bool, ops ...Operand) {
		s := st
		s.Opcode, s.Name, s.Modifiers, s.Operands, s.Scope, s.Guard, s.Negated, s.Prefix = st.Opcode, opcode, mods, ops, scope, guard, not, ""
		f.entry.Statements = append(f.entry.Statements, s)
	}
	if st.Guard != "" {
		emit("bra", nil, st.Scope, st.Guard, !st.Negated, Operand{Kind: OpName, Name: end})
	}
	module := outerScope
	for module.outer != nil {
		module = module.outer
	}
	p.scope = newScope(module)
	move := func(scope *Scope, t number.Type, to, from Operand) {
		width := "pred"
		if t.Kind != number.KindPred {
			width = fmt.Sprintf("b%d", t.Bits)
		}
		emit("mov", []string{width}, scope, "", false, to, from)
	}
	// between is a scope with the caller's names, and the callee's register under a name that no program has.
	between := func(formal string) (*Scope, Operand) {
		s := newScope(st.Scope)
		r, _ := p.scope.Register(formal)
		s.registers["# "+formal] = r
		return s, Operand{Kind: OpName, Name: "# " + formal}
	}
	p.resume(from)
	var finish []func()
	p.parameters(&st, results, func(formal string, t number.Type, actual Operand) {
		s, o := between(formal)
		finish = append(finish, func() { move(s, t, actual, o) })
	})
	p.name()
	p.parameters(&st, arguments, func(formal string, t number.Type, actual Operand) {
		s, o := between(formal)
		move(s, t, o, actual)
	})
	for !p.is("{") && p.tok.kind != tokenEnd {
		p.advance() // .noreturn and the like
	}
	file, line := f.file, f.line
	f.prefix, f.end = prefix, append(f.end, end)
	f.calls = append(f.calls, name)
	p.block()
	f.calls = f.calls[:len(f.calls)-1]
	f.prefix, f.end = outerPrefix, f.end[:len(f.end)-1]
	f.file, f.line = file, line
	f.entry.Labels[end] = len(f.entry.Statements)
	if st.Guard != "" && len(finish) > 0 {
		// Lanes that did not call have no results.
		past := "past " + prefix
		f.entry.Labels[past] = len(f.entry.Statements) + 1 + len(finish)
		emit("bra", nil, st.Scope, st.Guard, !st.Negated, Operand{Kind: OpName, Name: past})
	}
	for _, do := range finish {
		do()
	}
	p.scope = outerScope
	p.resume(back)
}

// list reads ( operands ).
func (p *parser) list() Operand {
	p.expect("(")
	o := Operand{Kind: OpVector}
	for !p.accept(")") {
		o.Elements = append(o.Elements, p.primary())
		if !p.is(")") {
			p.expect(",")
		}
	}
	return o
}

// branchTargets reads the list of labels that a brx.idx may go to.
func (p *parser) branchTargets(name string) {
	var labels []string
	for !p.accept(";") {
		labels = append(labels, p.f.prefix+p.name())
		if !p.is(";") {
			p.expect(",")
		}
	}
	p.f.entry.Targets[p.f.prefix+name] = labels
}
