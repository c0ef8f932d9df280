// Package asm holds the code of a PTX kernel as data: registers of classes, operands, instructions with what they read,
// write and do beside that, and what stands between them. Common subexpressions are found, and code is moved out of loops
// and branches, on that data; text is printed last. The package knows PTX, and places in the source for .loc; it must not
// know tiles, layouts, plans, or the types of the language.
package asm

import (
	"fmt"

	"tilec/jit/target"
	"tilec/lang"
)

// Code is lines, in the order of the text.
type Code []Line

// Builder collects the code of one kernel, the virtual registers in use and what the text needs of the assembler.
// Instructions go to the entry section (run once, before everything else) or to the section that is being emitted.
type Builder struct {
	// Target is the machine that the code is for.
	Target target.Machine
	// Version is ten times the PTX ISA version that the text declares.
	Version int
	// Files are the sources that places name, by their number from 1.
	Files []*lang.Source

	labels  int
	entry   Code
	body    *Code
	region  *region
	root    *region
	inEntry int // how deep AtEntry's calls are nested
	once    map[string]Reg
	last    Loc
	// bytes is, of a register that has a byte of another, extended, which it is.
	bytes map[Reg]byteOf
	// spans is, of a register of 32 bits, between which integers it lies.
	spans map[Reg]span
	// levels is, by class and number, how deep in loops and branches a register is defined, 0 for the entry section.
	levels [numClasses][]int32
}

// New begins a kernel for a machine, whose body is still empty.
func New(t target.Machine) *Builder {
	a := &Builder{Target: t, Version: t.PTX, body: new(Code), region: &region{}, once: map[string]Reg{}, bytes: map[Reg]byteOf{}, spans: map[Reg]span{}}
	a.root = a.region
	return a
}

// Require raises the PTX ISA version (times ten) that the text declares.
func (a *Builder) Require(version int) { a.Version = max(a.Version, version) }

// Body is the code of the section that is being emitted.
func (a *Builder) Body() Code { return *a.body }

// Reg makes a fresh virtual register.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) Reg(c Class) Reg {
	level := 0
	if a.inEntry == 0 {
		level = a.region.level
	}
	a.levels[c] = append(a.levels[c], int32(level))
	return Reg{Class: c, id: int32(len(a.levels[c]))}
}

// Regs makes n fresh virtual registers.
func (a *Builder) Regs(c Class, n int) []Reg {
	rs := make([]Reg, n)
	for i := range rs {
		rs[i] = a.Reg(c)
	}
	return rs
}

// Label makes a fresh label; Place puts it.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) Label() Label {
	a.labels++
	return Label(a.labels)
}

// Place puts a label here.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) Place(l Label) { a.add(l) }

// PlaceRolled puts a label here to which a loop goes back that the assembler is not to unroll: one that seldom runs, or that waits for memory.
func (a *Builder) PlaceRolled(l Label) {
	a.Place(l)
	a.add(Pragma("nounroll"))
}

// Comment puts a comment here.
func (a *Builder) Comment(format string, args ...any) { a.add(Comment(fmt.Sprintf(format, args...))) }

// Loc names the place in the source of the instructions that follow.
func (a *Builder) Loc(at lang.Span) {
	if !at.IsValid() || a.inEntry > 0 {
		return
	}
	p := Loc{}
	for i, f := range a.Files {
		if f == at.Source {
			p.File = i + 1
		}
	}
	if p.File == 0 {
		a.Files = append(a.Files, at.Source)
		p.File = len(a.Files)
	}
	p.Row, p.Column = at.Position()
	if p != a.last {
		a.last = p
		a.add(p)
	}
}

// add puts a line behind the others. Copies of it, and of the three that make instructions, in the hundreds of callers would take 240 KB of the program.
//
//go:noinline
func (a *Builder) add(l Line) {
	if a.inEntry > 0 {
		a.entry = append(a.entry, l)
		return
	}
	*a.body = append(*a.body, l)
}

// Op emits an instruction that defines a fresh register of class c, and gives the register.
func (a *Builder) Op(c Class, name string, src ...Operand) Reg {
	d := a.Reg(c)
	a.add(&Instr{Name: name, Dst: d, Src: src})
	return d
}

// Set emits an instruction that writes a register, or several.
//
//go:noinline
func (a *Builder) Set(dst Operand, name string, src ...Operand) {
	a.add(&Instr{Name: name, Dst: dst, Src: src})
}

// Do emits an instruction without a result.
//
//go:noinline
func (a *Builder) Do(name string, src ...Operand) { a.add(&Instr{Name: name, Src: src}) }

// Last is the instruction that was emitted last.
func (a *Builder) Last() *Instr { return (*a.body)[len(*a.body)-1].(*Instr) }

// Withdraw takes an instruction without a result back, which stands in the section that is being emitted; what is before and
// behind it stays where it is.
func (a *Builder) Withdraw(i *Instr) {
	for n := len(*a.body) - 1; n >= 0; n-- {
		if (*a.body)[n] == Line(i) {
			(*a.body)[n] = Comment("no " + i.Name + " is needed here")
			return
		}
	}
	panic(fmt.Sprintf("asm: %q is not in this section", i))
}

// Guarded emits instructions that are executed under a condition.
type Guarded struct {
	a       *Builder
	pred    Reg
	negated bool
}

// If is for an instruction that is executed where p holds; without a register, always.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) If(p Reg) Guarded { return Guarded{a, p, false} }

// Unless is for an instruction that is executed where p does not hold.
func (a *Builder) Unless(p Reg) Guarded { return Guarded{a, p, true} }

// Set emits an instruction that writes a register, or several; where the condition does not hold they stay.
//
//go:noinline
func (g Guarded) Set(dst Operand, name string, src ...Operand) {
	g.a.add(&Instr{Pred: g.pred, Negated: g.negated, Name: name, Dst: dst, Src: src})
}

// Do emits an instruction without a result.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (g Guarded) Do(name string, src ...Operand) { g.Set(nil, name, src...) }

// Move copies a register into another of the same class.
func (a *Builder) Move(to, from Reg) { a.Set(to, "mov."+classes[to.Class].name, from) }

// AtEntry runs emit with its instructions sent to the entry section. What it
// reads must be defined there too.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (a *Builder) AtEntry(emit func()) {
	a.inEntry++
	emit()
	a.inEntry--
}

// Once gives a register that is computed in the entry section, at the first call with that name, from what the entry
// section has.
func (a *Builder) Once(name string, emit func() Reg) Reg {
	r, ok := a.once[name]
	if !ok {
		a.AtEntry(func() { r = emit() })
		a.once[name] = r
	}
	return r
}
