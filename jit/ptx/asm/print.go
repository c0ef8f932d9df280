package asm

import (
	"fmt"
	"strconv"
	"strings"
)

// column is where operands begin, behind the indentation.
const column = 28

func (i *Instr) line(b []byte) []byte {
	b = append(b, "    "...)
	begin := len(b)
	b = i.mnemonic(b)
	if i.Dst == nil && len(i.Src) == 0 {
		return append(b, ";\n"...)
	}
	for len(b) < begin+column {
		b = append(b, ' ')
	}
	b = i.operands(append(b, ' '))
	return append(b, ";\n"...)
}

// mnemonic is the instruction without its operands.
func (i *Instr) mnemonic(b []byte) []byte {
	if i.Pred.Valid() {
		b = append(b, '@')
		if i.Negated {
			b = append(b, '!')
		}
		b = append(i.Pred.append(b), ' ')
	}
	return append(b, i.Name...)
}

func (i *Instr) operands(b []byte) []byte {
	first := true
	add := func(x Operand) {
		if !first {
			b = append(b, ", "...)
		}
		first = false
		b = x.append(b)
	}
	if i.Dst != nil {
		add(i.Dst)
	}
	for _, x := range i.Src {
		add(x)
	}
	return b
}

// String is the instruction without indentation and semicolon.
func (i *Instr) String() string {
	b := i.mnemonic(nil)
	if i.Dst == nil && len(i.Src) == 0 {
		return string(b)
	}
	return string(i.operands(append(b, ' ')))
}

func (l Label) line(b []byte) []byte { return append(l.append(b), ":\n"...) }

func (c Comment) line(b []byte) []byte {
	b = append(append(b, "    // "...), c...)
	return append(b, '\n')
}

func (p Pragma) line(b []byte) []byte {
	b = append(append(b, "    .pragma \""...), p...)
	return append(b, "\";\n"...)
}

func (p Loc) line(b []byte) []byte {
	b = append(b, "    .loc "...)
	for i, n := range []int{p.File, p.Row, p.Column} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, '\n')
}

// String is the text of the code, mnemonics in one column and operands in the next.
func (c Code) String() string {
	b := make([]byte, 0, 48*len(c))
	for _, l := range c {
		b = l.line(b)
	}
	return string(b)
}

// Declarations is the .reg lines of every class in use.
func (a *Builder) Declarations() string {
	var b strings.Builder
	for c, levels := range a.levels {
		if n := len(levels); n > 0 {
			fmt.Fprintf(&b, "    .reg %-6s %s<%d>;\n", "."+classes[c].name, classes[c].prefix, n+1)
		}
	}
	return b.String()
}
