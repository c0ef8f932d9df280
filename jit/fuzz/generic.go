package fuzz

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// This file makes kernels with type parameters of every bound, constant
// parameters, and functions that have them too.

// genericKernel makes a kernel with type parameters and constants.
func (g *generator) genericKernel() string {
	for _, n := range []string{"M", "N", "K"}[:1+g.r.IntN(3)] {
		g.dims = append(g.dims, n)
	}
	g.generic = &elem{"T", pick(g.r, lang.F16, lang.BF16, lang.F32, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2)}
	g.bound = "float"
	if g.chance(50) {
		g.generic, g.bound = &elem{"T", pick(g.r, lang.I8, lang.U8, lang.I16, lang.U16, lang.I32, lang.U32, lang.I64, lang.U64)}, "int"
	}
	if g.chance(50) {
		g.moved = &elem{"U", pick(g.r, commonTypes...)}
	}
	for n := range g.r.IntN(3) {
		c := constant{name: fmt.Sprintf("C%d", n), n: int64(1 + g.r.IntN(4))}
		if g.chance(60) {
			c.hasDefault = true
		}
		g.consts = append(g.consts, c)
	}
	g.boundedFunctions()
	return g.body()
}

// constant is a constant parameter.
type constant struct {
	name       string
	n          int64 // its default, where it has one
	hasDefault bool
}

// typeParams is what stands behind the kernel's name.
func (g *generator) typeParams() string {
	var ps []string
	if g.generic != nil {
		bound := g.bound
		if bound == "" {
			bound = "float"
		}
		ps = append(ps, "T: "+bound)
	}
	if g.moved != nil {
		ps = append(ps, "U: any")
	}
	for _, c := range g.consts {
		text := "const " + c.name + ": int"
		if c.hasDefault {
			text += fmt.Sprintf(" = %d", c.n)
		}
		ps = append(ps, text)
	}
	if len(ps) == 0 {
		return ""
	}
	return "<" + strings.Join(ps, ", ") + ">"
}

// boundedFunctions declares functions with type parameters, and some with constants.
func (g *generator) boundedFunctions() {
	for range 1 + g.r.IntN(3) {
		h := helper{name: g.fresh("f"), kind: pick(g.r, "narrow", "int", "number"), params: 2}
		switch h.kind {
		case "number": // generic by use, with a constant
			h.params = 1
			step := apply(pick(g.r, lang.OpAdd, lang.OpMul, lang.OpMax, lang.OpSub), "p", "a")
			g.fns = append(g.fns, fmt.Sprintf("fn %s<const R: int = 2>(a) = for _r in R with p = a { %s }", h.name, step))
			if g.chance(60) {
				h.more = fmt.Sprintf(", R = %d", g.r.IntN(4))
			}
		default:
			ops := numeric
			if h.kind == "int" {
				ops = integral
			}
			text := "a"
			for range 1 + g.r.IntN(2) {
				args := []string{text}
				op := pick(g.r, ops...)
				for len(args) < len(op.Row().Operands) {
					args = append(args, pick(g.r, "b", "1", "2"))
				}
				text = apply(op, args...)
			}
			bound := map[string]string{"narrow": "float", "int": "int"}[h.kind]
			g.fns = append(g.fns, fmt.Sprintf("fn %s<V: %s>(a: V, b: V) -> V = %s", h.name, bound, text))
		}
		g.helpers = append(g.helpers, h)
	}
}

// move stores elements of which nothing is known but that they can be moved.
func (g *generator) move() {
	frame := g.gridTiles()
	load := func() value {
		return g.within(frame, func() value { return g.load(*g.moved, g.shuffled(frame)[:min(len(frame), 1+g.r.IntN(2))]) })
	}
	v := load()
	if g.chance(60) {
		c, y := g.whole(concrete(lang.Bool), frame), load()
		v = value{fmt.Sprintf("where(%s, %s, %s)", c.text, v.text, y.text), *g.moved, union(c, v, y)}
	}
	g.keep(v, frame)
}
