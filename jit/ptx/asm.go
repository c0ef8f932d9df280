package ptx

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// regClass is a PTX register class.
type regClass uint8

const (
	b32 regClass = iota
	b64
	f32
	f64
	pred
	b16
	numClasses
)

// classTable gives each class its name prefix and its type in a declaration.
var classTable = [numClasses]struct{ prefix, decl string }{
	b32:  {"%r", ".b32"},
	b64:  {"%rd", ".b64"},
	f32:  {"%f", ".f32"},
	f64:  {"%fd", ".f64"},
	pred: {"%p", ".pred"},
	b16:  {"%h", ".b16"},
}

// bytes is what a register takes in memory; a predicate is a word.
func (c regClass) bytes() int {
	if c == f64 || c == b64 {
		return 8
	}
	return 4
}

// reg is a virtual register. The zero reg is no register at all.
type reg struct {
	class regClass
	id    int // from 1
}

func (r reg) valid() bool { return r.id > 0 }

// String is the register's name in PTX text.
func (r reg) String() string { return fmt.Sprintf("%s%d", classTable[r.class].prefix, r.id) }

// line is one line of the body: an instruction, a label or a comment.
type line struct {
	text string
	kind lineKind
}

type lineKind uint8

const (
	instruction lineKind = iota
	labelLine
	commentLine
	directive
)

// asm collects the body of one kernel: instructions in order, the virtual
// registers in use and what the text needs of the assembler. Instructions go to
// the entry section (run once, before everything else) or to the body.
type asm struct {
	// arch is the compute capability times ten: 80, 86, 89, 90.
	arch    int
	count   [numClasses]int
	labels  int
	version int // ten times the PTX ISA version
	entry   []line
	body    []line
	inEntry int // how deep atEntry calls are nested
	// level is how deep in loops and branches a register is defined, 0 for the
	// entry section; at is the level of what is being emitted.
	level   map[reg]int
	at      int
	files   []*lang.Source
	lastLoc string
}

func newAsm(arch int) *asm {
	a := &asm{arch: arch, version: 70, level: map[reg]int{}}
	if arch >= 86 { // the version that knows the target
		a.version = 71
	}
	if arch >= 89 {
		a.version = 78
	}
	if arch >= 90 {
		a.version = 80
	}
	return a
}

// reg makes a fresh virtual register.
func (a *asm) reg(c regClass) reg {
	a.count[c]++
	r := reg{class: c, id: a.count[c]}
	if a.inEntry == 0 {
		a.level[r] = a.at
	}
	return r
}

// regs makes n fresh virtual registers.
func (a *asm) regs(c regClass, n int) []reg {
	rs := make([]reg, n)
	for i := range rs {
		rs[i] = a.reg(c)
	}
	return rs
}

// require raises the PTX ISA version (times ten) that the text declares.
func (a *asm) require(version int) { a.version = max(a.version, version) }

func (a *asm) add(l line) {
	if a.inEntry > 0 {
		a.entry = append(a.entry, l)
		return
	}
	a.body = append(a.body, l)
}

// ins emits one instruction, without its semicolon. Registers and immediates
// are formatted with %v; a special register is written with two percent signs.
func (a *asm) ins(format string, args ...any) {
	a.add(line{text: fmt.Sprintf(format, args...)})
}

// op emits an instruction that defines a fresh register of class c, the
// instruction's first operand, and gives the register: a.op(b32, "add.s32", x, 1).
func (a *asm) op(c regClass, name string, args ...any) reg {
	d := a.reg(c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v", name, d)
	for _, x := range args {
		fmt.Fprintf(&b, ", %v", x)
	}
	a.add(line{text: b.String()})
	return d
}

// insert emits one instruction before line number index of the body, which is code of a
// level, and gives the register that it defines.
func (a *asm) insert(index, level int, c regClass, name string, args ...any) reg {
	end, here := len(a.body), a.at
	a.at = level
	d := a.op(c, name, args...)
	a.at = here
	if index < end {
		l := a.body[end]
		copy(a.body[index+1:], a.body[index:end])
		a.body[index] = l
	}
	return d
}

// label makes a fresh label name; place puts it.
func (a *asm) label() string {
	a.labels++
	return fmt.Sprintf("$L%d", a.labels)
}

func (a *asm) place(label string) { a.add(line{text: label, kind: labelLine}) }

// comment emits a comment line.
func (a *asm) comment(format string, args ...any) {
	a.add(line{text: fmt.Sprintf(format, args...), kind: commentLine})
}

// atEntry runs emit with its instructions sent to the entry section. What it
// reads must be defined there too.
func (a *asm) atEntry(emit func()) {
	a.inEntry++
	emit()
	a.inEntry--
}

// loc names the place in the source of the instructions that follow.
func (a *asm) loc(at lang.Span) {
	if !at.IsValid() || a.inEntry > 0 {
		return
	}
	file := 0
	for i, f := range a.files {
		if f == at.Source {
			file = i + 1
		}
	}
	if file == 0 {
		a.files = append(a.files, at.Source)
		file = len(a.files)
	}
	row, column := at.Position()
	text := fmt.Sprintf(".loc %d %d %d", file, row, column)
	if text != a.lastLoc {
		a.lastLoc = text
		a.add(line{text: text, kind: directive})
	}
}

// format prints lines, mnemonics in one column and operands in the next.
func format(b *strings.Builder, lines []line) {
	const column = 28
	for _, l := range lines {
		switch l.kind {
		case labelLine:
			fmt.Fprintf(b, "%s:\n", l.text)
		case commentLine:
			fmt.Fprintf(b, "    // %s\n", l.text)
		case directive:
			fmt.Fprintf(b, "    %s\n", l.text)
		default:
			guard, rest := "", l.text
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
func (a *asm) declarations(b *strings.Builder) {
	for c := regClass(0); c < numClasses; c++ {
		if n := a.count[c]; n > 0 {
			fmt.Fprintf(b, "    .reg %-6s %s<%d>;\n", classTable[c].decl, classTable[c].prefix, n+1)
		}
	}
}
