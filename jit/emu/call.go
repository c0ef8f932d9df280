package emu

import (
	"fmt"
	"slices"
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
func (p *parser) parameters(st *statement, given []operand, visit func(formal string, t dtype, actual operand)) {
	if !p.accept("(") {
		if len(given) > 0 {
			p.failAt(st.line, "the call gives %d values, the function has no place for them", len(given))
		}
		return
	}
	n := 0
	for !p.accept(")") {
		if n >= len(given) {
			p.failAt(st.line, "the call gives %d values, the function needs more", len(given))
		}
		actual := given[n]
		n++
		switch d := p.name(); d {
		case ".reg":
			t, ok := types[p.name()[1:]]
			if !ok {
				p.fail("a parameter has no type that a register can have")
			}
			name := p.name()
			p.register(name, t)
			visit(name, t, actual)
		case ".param":
			v := p.variable(spaceLocal)
			caller := st.scope.variable(actual.name)
			if caller == nil || !caller.call || caller.size < v.size {
				p.failAt(st.line, "%s is not a .param variable of %d bytes, which the function needs", actual.name, v.size)
			}
			alias := *caller
			alias.name = v.name
			p.declare(&alias)
		default:
			p.fail("%s does not begin a parameter", d)
		}
		if !p.is(")") {
			p.expect(",")
		}
	}
	if n < len(given) {
		p.failAt(st.line, "the call gives %d values, the function needs %d", len(given), n)
	}
}

const (
	mostCalls      = 64   // of functions in functions
	mostExpansions = 4096 // of functions in a kernel
)

// call expands a call: moves of the arguments, the body, moves of the results.
func (p *parser) call(st statement) {
	f := p.f
	list := func(o operand) []operand {
		if o.kind == opVector {
			return o.elems
		}
		return []operand{o}
	}
	var results, arguments []operand
	if p.is("(") {
		results = list(p.list())
		p.expect(",")
	}
	name := p.name()
	if p.accept(",") {
		arguments = list(p.list())
	}
	if p.is(",") {
		p.failAt(st.line, "calls by address are not known")
	}
	p.expect(";")
	from, ok := p.functions[name]
	if !ok {
		p.failAt(st.line, "function %s has no body in the module", name)
	}
	if slices.Contains(f.calls, name) || len(f.calls) == mostCalls {
		p.failAt(st.line, "function %s calls itself", name)
	}
	if f.expanded++; f.expanded > mostExpansions {
		p.failAt(st.line, "the kernel has more than %d calls, those in its functions counted", mostExpansions)
	}
	outerPrefix, outerScope, back := f.prefix, p.scope, p.position()
	prefix := fmt.Sprintf("%s#%d ", name, f.expanded)
	end := "end of " + prefix
	emit := func(opcode string, mods []string, scope *scope, guard string, not bool, ops ...operand) {
		s := st
		s.opcode, s.name, s.mods, s.ops, s.scope, s.guard, s.not, s.prefix = st.opcode, opcode, mods, ops, scope, guard, not, ""
		f.entry.statements = append(f.entry.statements, s)
	}
	if st.guard != "" {
		emit("bra", nil, st.scope, st.guard, !st.not, operand{kind: opName, name: end})
	}
	module := outerScope
	for module.outer != nil {
		module = module.outer
	}
	p.scope = newScope(module)
	move := func(scope *scope, t dtype, to, from operand) {
		width := "pred"
		if t.kind != kindPred {
			width = fmt.Sprintf("b%d", t.bits)
		}
		emit("mov", []string{width}, scope, "", false, to, from)
	}
	// between is a scope with the caller's names, and the callee's register under a name that no program has.
	between := func(formal string) (*scope, operand) {
		s := newScope(st.scope)
		r, _ := p.scope.register(formal)
		s.registers["# "+formal] = r
		return s, operand{kind: opName, name: "# " + formal}
	}
	p.resume(from)
	var finish []func()
	p.parameters(&st, results, func(formal string, t dtype, actual operand) {
		s, o := between(formal)
		finish = append(finish, func() { move(s, t, actual, o) })
	})
	p.name()
	p.parameters(&st, arguments, func(formal string, t dtype, actual operand) {
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
	f.entry.labels[end] = len(f.entry.statements)
	if st.guard != "" && len(finish) > 0 {
		// Lanes that did not call have no results.
		past := "past " + prefix
		f.entry.labels[past] = len(f.entry.statements) + 1 + len(finish)
		emit("bra", nil, st.scope, st.guard, !st.not, operand{kind: opName, name: past})
	}
	for _, do := range finish {
		do()
	}
	p.scope = outerScope
	p.resume(back)
}

// list reads ( operands ).
func (p *parser) list() operand {
	p.expect("(")
	o := operand{kind: opVector}
	for !p.accept(")") {
		o.elems = append(o.elems, p.primary())
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
	p.f.entry.targets[p.f.prefix+name] = labels
}
