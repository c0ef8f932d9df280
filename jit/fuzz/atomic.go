package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// This file has atomics: what the generator writes of them, and what the
// reference says that they do, whatever the order of blocks.

// atomicTypes lists the types of elements on which each atomic is generated: add
// on those whose sums the reference bounds, the others where they are exact.
var atomicTypes = map[lang.Op][]lang.DType{
	lang.OpAtomicAdd: {lang.I32, lang.F32, lang.I32, lang.F32, lang.I64, lang.U8, lang.I16},
	lang.OpAtomicMax: {lang.I32, lang.F32, lang.U64, lang.BF16, lang.I8},
	lang.OpAtomicMin: {lang.U32, lang.F32, lang.I64, lang.F16, lang.F64},
	lang.OpAtomicAnd: {lang.I32, lang.U64, lang.U8},
	lang.OpAtomicOr:  {lang.I32, lang.I64, lang.U16},
	lang.OpAtomicXor: {lang.U32, lang.I64, lang.I8},
}

// swapTypes are the types on which swaps are generated.
var swapTypes = []lang.DType{lang.I32, lang.F32, lang.I64, lang.U8, lang.I16}

// atomic changes elements that another tensor chooses, or the block's own.
func (g *generator) atomic() {
	frame := g.gridTiles()
	if g.chance(35) {
		g.ownAtomic(frame)
		return
	}
	op := lang.OpAtomicAdd
	if g.chance(60) {
		op = pick(g.r, lang.OpAtomicMax, lang.OpAtomicMin, lang.OpAtomicAnd, lang.OpAtomicOr, lang.OpAtomicXor)
	}
	e := concrete(pick(g.r, atomicTypes[op]...))
	var dims []string
	index := make([]string, len(frame))
	for i, a := range frame {
		index[i], dims = a.name, append(dims, a.dim)
	}
	v := g.whole(e, frame)
	t := &tensor{name: g.fresh("y"), e: e, dims: []string{pick(g.r, g.dims...)}, mode: pick(g.r, lang.InOut, lang.Out)}
	g.tensors = append(g.tensors, t)
	g.works = append(g.works, dims)
	at := "0"
	if len(frame) > 0 {
		at = fmt.Sprintf("%s[%s]", g.tensor(concrete(lang.I32), dims).name, strings.Join(index, ", "))
	}
	g.line("%s(%s[%s], %s%s)", op, t.name, at, v.text, g.ordering())
}

// ownAtomic changes the elements over the block's own axes, once each, so that
// the old values and the winner of a swap are known.
func (g *generator) ownAtomic(frame []*axis) {
	var grid []*axis
	var dims, index []string
	for _, a := range g.axes {
		if a.kind == gridAxis {
			grid = append(grid, a)
			index, dims = append(index, a.name), append(dims, a.dim)
		}
	}
	if len(grid) == 0 {
		return
	}
	op := pick(g.r, lang.OpAtomicAdd, lang.OpAtomicMax, lang.OpAtomicXor, lang.OpAtomicXchg, lang.OpAtomicCas)
	types := swapTypes
	if op.Combines() != lang.OpInvalid {
		types = atomicTypes[op]
	}
	e := concrete(pick(g.r, types...))
	values := g.whole(e, frame).text
	if op == lang.OpAtomicCas {
		values = g.literal(e) + ", " + values
	}
	t := &tensor{name: g.fresh("y"), e: e, dims: dims, mode: pick(g.r, lang.InOut, lang.Out)}
	g.tensors = append(g.tensors, t)
	g.works = append(g.works, dims)
	call := fmt.Sprintf("%s(%s[%s], %s%s)", op, t.name, strings.Join(index, ", "), values, g.ordering())
	if g.chance(30) || len(frame) == 0 {
		g.line("%s", call)
		return
	}
	g.bind(value{call, e, frame})
}

// ordering is words of order and scope, often none.
func (g *generator) ordering() string {
	text := ""
	if g.chance(20) {
		text += ", order = " + pick(g.r, lang.AtomicOrders...)
	}
	if g.chance(20) {
		text += ", scope = " + pick(g.r, lang.ScopeDevice, lang.ScopeSystem)
	}
	return text
}

// atomic changes elements of a tensor, and gives the old ones where something needs them.
func (m *machine) atomic(op *ir.Op) *tile {
	args := m.args(op)
	a := m.tensors[op.Tensor]
	rank := len(a.shape)
	axes := op.AccessAxes()
	steps := make([][]int, len(args))
	for j, x := range args {
		steps[j] = x.steps(axes)
	}
	var old *tile
	if op.Old {
		old = m.make(op.Result().Type)
	}
	// Elements that are found by reading may be met again, by a block that comes first: then no old value is known.
	found := slices.ContainsFunc(op.Indices(), isRead)
	i := 0
	walk(m.sizesOf(axes), steps, func(at []int) {
		where, outside, ok := m.place(op, a, args[:rank], at)
		switch {
		case !ok:
			a.lost = true
			m.forget(old, i)
		case outside: // old is 0
		default:
			m.update(op, a, where, args[rank:], at[rank:], old, i)
			if found {
				m.forget(old, i)
			}
		}
		i++
	})
	return old
}

// isRead reports a value that is computed of what is loaded, or of what an atomic gave.
func isRead(v *ir.Value) bool {
	return v.Def != nil && (v.Def.Code == lang.OpLoad || v.Def.Code.IsAtomic() || slices.ContainsFunc(v.Def.Args, isRead))
}

// forget says that nothing is known of an old value.
func (m *machine) forget(old *tile, i int) {
	switch {
	case old == nil:
	case old.f != nil:
		old.f[i] = unknown
	default:
		old.n[i] = whole{}
	}
}

// update is an atomic on one element.
func (m *machine) update(op *ir.Op, a *array, where int64, values []*tile, at []int, old *tile, i int) {
	again := a.touch(where)
	p, n := a.page(where)
	x, j := values[0], at[0]
	if old != nil {
		switch {
		case again || a.lost: // who came first is not decided
			m.forget(old, i)
		case old.f != nil:
			old.f[i] = p.f[n]
		default:
			old.n[i] = p.n[n]
		}
	}
	if op.Code == lang.OpAtomicAdd {
		m.add(a, where, x, j)
		return
	}
	p.stored[n] = true
	if m.doubt > 0 {
		a.lost = true
	}
	combine := op.Code.Combines()
	switch {
	case combine != lang.OpInvalid && p.f != nil:
		pair := [3]interval{p.f[n], x.f[j]}
		p.f[n] = floats[combine](a.dtype, pair).taint(pair[:2]...).inType(a.dtype)
	case combine != lang.OpInvalid:
		y := x.n[j]
		both := p.n[n].ok && y.ok
		p.n[n].ok = both
		if both {
			p.n[n].v = eval.Apply(combine, a.dtype, ir.Const{Int: p.n[n].v}, ir.Const{Int: y.v}).Int
		}
	case again && p.f != nil:
		p.f[n] = unknown
	case again:
		p.n[n] = whole{}
	case op.Code == lang.OpAtomicXchg:
		a.set(where, x, j, false)
	case p.f != nil: // equality by bits is more than an interval says
		p.f[n] = p.f[n].union(values[1].f[at[1]])
	default:
		want, have := x.n[j], p.n[n]
		switch {
		case !want.ok || !have.ok:
			p.n[n] = whole{}
		case want.v == have.v:
			p.n[n] = values[1].n[at[1]]
		}
	}
}
