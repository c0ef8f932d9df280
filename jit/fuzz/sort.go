package fuzz

import (
	"fmt"
	"math/bits"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/lang"
)

// This file makes and evaluates sort and topk.

// sorted binds what sort or topk makes of an expression.
func (g *generator) sorted() {
	if len(g.axes) > 9 {
		return
	}
	var rest []*axis
	if g.chance(70) {
		rest = g.someAxes(1)
	}
	e := g.someNumber()
	d := g.freeAxis(pick(g.r, 1, 2, 3, 5, 8, 13))
	v := g.whole(e, append(slices.Clone(rest), d))
	if !v.has(d) {
		v.text = fmt.Sprintf("broadcast(%s, %s)", v.text, d.name)
		v.axes = append(slices.Clone(v.axes), d)
	}
	if g.chance(50) {
		r := g.freeAxis(pick(g.r, 1, 2, 3, 6))
		axes := append(without(v.axes, []*axis{d}), r)
		g.work(axes)
		x, at := g.fresh("v"), g.fresh("p")
		g.line("let (%s, %s) = topk(%s, %s, over %s)", x, at, v.text, r.name, d.name)
		g.result(value{x, e, axes})
		g.result(value{at, concrete(lang.I32), axes})
		return
	}
	descending := pick(g.r, "", ", descending = true", ", descending = false")
	g.work(v.axes)
	if g.chance(50) {
		g.result(value{fmt.Sprintf("sort(%s, over %s%s)", v.text, d.name, descending), e, v.axes})
		return
	}
	x, at := g.fresh("v"), g.fresh("p")
	g.line("let (%s, %s) = sort((%s, index(%s)), over %s%s)", x, at, v.text, d.name, d.name, descending)
	g.result(value{x, e, v.axes})
	g.result(value{at, concrete(lang.I32), v.axes})
}

// ranked is an element in an order: what it may be, as floats or as an integer.
type ranked struct {
	f  interval
	n  whole
	d  lang.DType
	at int
}

// behind compares two elements in ascending order, where it is decided: by
// value, then by position; ok tells whether it is.
func (a ranked) behind(b ranked, descending bool) (after, ok bool) {
	compare := 0
	switch {
	case a.d.IsFloat():
		aNaN, bNaN := a.f.nan == always, b.f.nan == always
		switch {
		case a.f.nan == perhaps || b.f.nan == perhaps:
			return false, false
		case aNaN && bNaN:
		case aNaN:
			compare = 1
		case bNaN:
			compare = -1
		case a.f.lo > b.f.hi:
			compare = 1
		case a.f.hi < b.f.lo:
			compare = -1
		case !a.f.exact() || !b.f.exact():
			return false, false
		}
	case !a.n.ok || !b.n.ok:
		return false, false
	case eval.Apply(lang.OpGt, a.d, ir.Const{Int: a.n.v}, ir.Const{Int: b.n.v}).Int != 0:
		compare = 1
	case a.n.v != b.n.v:
		compare = -1
	}
	if descending {
		compare = -compare
	}
	if compare == 0 {
		return a.at > b.at, true
	}
	return compare > 0, true
}

// decided reports an element that is one number, or none for sure.
func (a ranked) decided() bool {
	if a.d.IsFloat() {
		return a.f.nan == always || a.f.nan != perhaps && a.f.exact()
	}
	return a.n.ok
}

// inOrder gives, for each place of a sorted row, the element that stands there; -1 where that is not decided.
func (m *machine) inOrder(row []ranked, descending bool) []int {
	places := make([]int, len(row))
	if !slices.ContainsFunc(row, func(a ranked) bool { return !a.decided() }) { // as elements that are read are: any two are in order
		for i := range places {
			places[i] = i
		}
		slices.SortFunc(places, func(i, j int) int {
			if after, _ := row[i].behind(row[j], descending); after {
				return 1
			}
			return -1
		})
		m.work += int64(len(row) * bits.Len(uint(len(row))))
		return places
	}
	m.work += int64(len(row) * len(row))
	for i := range places {
		places[i] = -1
	}
	for i, a := range row {
		place, known := 0, true
		for j, b := range row {
			if i == j {
				continue
			}
			after, ok := a.behind(b, descending)
			known = known && ok
			if after {
				place++
			}
		}
		if known {
			places[place] = i
		}
	}
	return places
}

// eachRow visits the rows of a tile along an axis, with the number of the row in the tile with the axis last.
func (m *machine) eachRow(x *tile, axes []*ir.Axis, over *ir.Axis, visit func(first int, row []ranked, from []int)) {
	sizes := m.sizesOf(axes)
	n := m.sizesOf([]*ir.Axis{over})
	i := 0
	walk(sizes, [][]int{x.steps(axes)}, func(base []int) {
		var row []ranked
		var from []int
		walk(n, [][]int{x.steps([]*ir.Axis{over})}, func(at []int) {
			j := base[0] + at[0]
			r := ranked{d: x.dtype, at: len(row)}
			if x.f != nil {
				r.f = x.f[j]
			} else {
				r.n = x.n[j]
			}
			row, from = append(row, r), append(from, j)
		})
		visit(i, row, from)
		i++
	})
}

// sort gives the positions in order.
func (m *machine) sort(op *ir.Op) *tile {
	x, r := m.value(op.Args[0]), m.make(op.Result().Type)
	lo := m.span(op.Over[0]).lo
	m.eachRow(x, r.axes[:len(r.axes)-1], op.Over[0], func(i int, row []ranked, _ []int) {
		for q, at := range m.inOrder(row, op.Descending) {
			if at >= 0 {
				r.n[i*len(row)+q] = whole{lo + int64(at), true}
			} else {
				r.n[i*len(row)+q] = whole{}
			}
		}
	})
	return r
}

// topk gives the largest elements and their positions.
func (m *machine) topk(op *ir.Op) *tile {
	x := m.value(op.Args[0])
	values, positions := m.make(op.Results[0].Type), m.make(op.Results[1].Type)
	lo := m.span(op.Over[0]).lo
	kept := m.sizesOf([]*ir.Axis{op.Axis})[0]
	m.eachRow(x, values.axes[:len(values.axes)-1], op.Over[0], func(i int, row []ranked, from []int) {
		places := m.inOrder(row, true)
		for q := range kept {
			j := i*kept + q
			switch {
			case q >= len(places): // of nothing: as the maximum of nothing
				positions.n[j] = whole{-1, true}
				if values.f != nil {
					values.f[j] = floatReductions[lang.OpReduceMax](x.dtype, nil)
				} else {
					values.n[j] = foldWholes(lang.OpReduceMax, x.dtype, nil)
				}
			case places[q] < 0:
				positions.n[j] = whole{}
				if values.f != nil {
					values.f[j] = unknown
				} else {
					values.n[j] = whole{}
				}
			default:
				positions.n[j] = whole{lo + int64(places[q]), true}
				values.copy(j, x, from[places[q]])
			}
		}
	})
	m.values[op.Results[0]], m.values[op.Results[1]] = values, positions
	return nil
}
