package block

import (
	"fmt"
	"strings"

	"tilec/jit/ir"
	"tilec/lang"
)

// String is the program's text form: that of its kernel, with what is decided noted below what it is about. Parse reads it back.
func (p *Program) String() string { return p.Listing().String() }

// Listing is String, with the place in the source of each line that has one; a note has that of the operation that it is about.
func (p *Program) Listing() lang.Listing {
	t := &text{Program: p, tiles: map[*Tile]string{}}
	return p.Func.Noted(func(op *ir.Op) []string { return t.noted(op, "") })
}

// Decisions are the notes of the program's text but for those that say where values are held, each operation's below its line.
func (p *Program) Decisions() []string {
	t := &text{Program: p, tiles: map[*Tile]string{}}
	lines := t.noted(nil, "")
	p.Func.Walk(func(op *ir.Op) bool {
		if about := t.noted(op, "home"); len(about) > 0 {
			lines = append(lines, op.String())
			for _, line := range about {
				lines = append(lines, "  "+line)
			}
		}
		return true
	})
	return lines
}

// noted are the lines of the notes about an operation, or about the kernel, but for those of one kind.
func (t *text) noted(op *ir.Op, but string) []string {
	t.lines = nil
	for _, n := range notes {
		if n.word != but && n.about.is(op) && n.has(t.Program, op) {
			t.lines = append(t.lines, "@"+n.word)
			n.text(t, op)
		}
	}
	return t.lines
}

// written is a part of a program in words.
func written(one func(t *text)) string {
	t := &text{lines: []string{""}, tiles: map[*Tile]string{}}
	one(t)
	return strings.Join(t.lines, "\n")
}

// String is the shape of the tile.
func (t *Tile) String() string { return written(func(w *text) { w.shape(t) }) }

// String is the box that a copy moves.
func (m *TensorMap) String() string { return "boxes of " + written(func(w *text) { w.tensorMap(m) }) }

// ValueName is the name of a value in comments and messages.
func ValueName(v *ir.Value) string {
	if v.Name != "" {
		return fmt.Sprintf("%%%d(%s)", v.ID, v.Name)
	}
	return fmt.Sprintf("%%%d", v.ID)
}
