package fuzz

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file has print and assert. They change no element: what matters is that
// they are compiled, keep out of the way of the rest, and that what holds does not fail.

// speak prints values, or asserts what holds for every position.
func (g *generator) speak() {
	x, ok := g.anyVariable(g.tileAxes())
	switch {
	case ok && g.chance(60):
		g.line("print(\"%s is {}, {}\", %s, %s)", x.text, x.text, g.literal(concrete(lang.I32)))
	default:
		axes := g.tileAxes()
		if len(axes) == 0 {
			g.line("assert(true)")
			return
		}
		a := pick(g.r, axes...)
		v := g.typedLiteral(concrete(lang.F32)).text
		if ok && len(x.axes) == 1 && x.axes[0] == a {
			v = x.text
		}
		g.line("assert(index(%s) >= 0, \"%s {}\", %s)", a.name, a.name, v)
	}
}

// say is a print, or an assert that holds.
func (m *machine) say(op *ir.Op) *tile {
	args := m.args(op)
	if op.Code == lang.OpAssert && args[0].n[0].ok && args[0].n[0].v != 0 {
		m.fail(op, "an assert that holds fails: %s", fmt.Sprint(op))
	}
	return nil
}
