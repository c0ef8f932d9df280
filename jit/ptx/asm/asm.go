package asm

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// regClass is a PTX register class.
type Class uint8

const (
	B32 Class = iota
	B64
	F32
	F64
	Pred
	B16
	numClasses
)

// classTable gives each class its name prefix and its type in a declaration.
var ClassTable = [numClasses]struct{ prefix, Decl string }{
	B32:  {"%r", ".b32"},
	B64:  {"%rd", ".b64"},
	F32:  {"%f", ".f32"},
	F64:  {"%fd", ".f64"},
	Pred: {"%p", ".pred"},
	B16:  {"%h", ".b16"},
}

// bytes is what a register takes in memory; a predicate is a word.
func (c Class) Bytes() int {
	if c == F64 || c == B64 {
		return 8
	}
	return 4
}

// reg is a virtual register. The zero reg is no register at all.
type Reg struct {
	Class Class
	id    int // from 1
}

func (r Reg) Valid() bool { return r.id > 0 }

// String is the register's name in PTX text.
func (r Reg) String() string { return fmt.Sprintf("%s%d", ClassTable[r.Class].prefix, r.id) }

// line is one line of the body: an instruction, a label or a comment.
type Line struct {
	Text string
	Kind lineKind
}

type lineKind uint8

const (
	Instruction lineKind = iota
	LabelLine
	commentLine
	directive
)

// asm collects the body of one kernel: instructions in order, the virtual
// registers in use and what the text needs of the assembler. Instructions go to
// the entry section (run once, before everything else) or to the body.
type Builder struct {
	// arch is the compute capability times ten: 80, 86, 89, 90.
	Arch    int
	count   [numClasses]int
	labels  int
	Version int // ten times the PTX ISA version
	Entry   []Line
	Body    []Line
	InEntry int // how deep atEntry calls are nested
	// level is how deep in loops and branches a register is defined, 0 for the
	// entry section; at is the level of what is being emitted.
	Level   map[Reg]int
	At      int
	Files   []*lang.Source
	lastLoc string
}

func New(arch int) *Builder {
	a := &Builder{Arch: arch, Version: 70, Level: map[Reg]int{}}
	if arch >= 86 { // the version that knows the target
		a.Version = 71
	}
	if arch >= 89 {
		a.Version = 78
	}
	if arch >= 90 {
		a.Version = 80
	}
	return a
}

// reg makes a fresh virtual register.
func (a *Builder) Reg(c Class) Reg {
	a.count[c]++
	r := Reg{Class: c, id: a.count[c]}
	if a.InEntry == 0 {
		a.Level[r] = a.At
	}
	return r
}

// regs makes n fresh virtual registers.
func (a *Builder) Regs(c Class, n int) []Reg {
	rs := make([]Reg, n)
	for i := range rs {
		rs[i] = a.Reg(c)
	}
	return rs
}

// require raises the PTX ISA version (times ten) that the text declares.
func (a *Builder) Require(version int) { a.Version = max(a.Version, version) }

func (a *Builder) add(l Line) {
	if a.InEntry > 0 {
		a.Entry = append(a.Entry, l)
		return
	}
	a.Body = append(a.Body, l)
}

// ins emits one instruction, without its semicolon. Registers and immediates
// are formatted with %v; a special register is written with two percent signs.
func (a *Builder) Ins(format string, args ...any) {
	a.add(Line{Text: fmt.Sprintf(format, args...)})
}

// op emits an instruction that defines a fresh register of class c, the
// instruction's first operand, and gives the register: a.op(b32, "add.s32", x, 1).
func (a *Builder) Op(c Class, name string, args ...any) Reg {
	d := a.Reg(c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v", name, d)
	for _, x := range args {
		fmt.Fprintf(&b, ", %v", x)
	}
	a.add(Line{Text: b.String()})
	return d
}

// insert emits one instruction before line number index of the body, which is code of a
// level, and gives the register that it defines.
func (a *Builder) Insert(index, level int, c Class, name string, args ...any) Reg {
	end, here := len(a.Body), a.At
	a.At = level
	d := a.Op(c, name, args...)
	a.At = here
	if index < end {
		l := a.Body[end]
		copy(a.Body[index+1:], a.Body[index:end])
		a.Body[index] = l
	}
	return d
}

// label makes a fresh label name; place puts it.
func (a *Builder) Label() string {
	a.labels++
	return fmt.Sprintf("$L%d", a.labels)
}

func (a *Builder) Place(label string) { a.add(Line{Text: label, Kind: LabelLine}) }

// comment emits a comment line.
func (a *Builder) Comment(format string, args ...any) {
	a.add(Line{Text: fmt.Sprintf(format, args...), Kind: commentLine})
}

// atEntry runs emit with its instructions sent to the entry section. What it
// reads must be defined there too.
func (a *Builder) AtEntry(emit func()) {
	a.InEntry++
	emit()
	a.InEntry--
}

// loc names the place in the source of the instructions that follow.
func (a *Builder) Loc(at lang.Span) {
	if !at.IsValid() || a.InEntry > 0 {
		return
	}
	file := 0
	for i, f := range a.Files {
		if f == at.Source {
			file = i + 1
		}
	}
	if file == 0 {
		a.Files = append(a.Files, at.Source)
		file = len(a.Files)
	}
	row, column := at.Position()
	text := fmt.Sprintf(".loc %d %d %d", file, row, column)
	if text != a.lastLoc {
		a.lastLoc = text
		a.add(Line{Text: text, Kind: directive})
	}
}

// format prints lines, mnemonics in one column and operands in the next.
func Format(b *strings.Builder, lines []Line) {
	const column = 28
	for _, l := range lines {
		switch l.Kind {
		case LabelLine:
			fmt.Fprintf(b, "%s:\n", l.Text)
		case commentLine:
			fmt.Fprintf(b, "    // %s\n", l.Text)
		case directive:
			fmt.Fprintf(b, "    %s\n", l.Text)
		default:
			guard, rest := "", l.Text
			if strings.HasPrefix(rest, "@") {
				guard, rest, _ = strings.Cut(rest, " ")
				guard += " "
			}
			name, operands, _ := strings.Cut(rest, " ")
			if operands == "" {
				fmt.Fprintf(b, "    %s%s;\n", guard, name)
				continue
			}
			fmt.Fprintf(b, "    %-*s %s;\n", column, guard+name, operands)
		}
	}
}

// declarations prints the .reg lines of every class in use.
func (a *Builder) Declarations(b *strings.Builder) {
	for c := Class(0); c < numClasses; c++ {
		if n := a.count[c]; n > 0 {
			fmt.Fprintf(b, "    .reg %-6s %s<%d>;\n", ClassTable[c].Decl, ClassTable[c].prefix, n+1)
		}
	}
}
