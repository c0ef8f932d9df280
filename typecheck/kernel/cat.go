package kernel

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types cat: tiles one behind the other along an axis.

const catUsage = "cat(a, b, over d)` or `cat(a, b, (p, q) -> d)"

// cat is `cat(a, b, ..., over d)`, or, where it is not plain which axis of each
// tile is joined, `cat(a, b, ..., (p, q) -> d)`; `p -> d` is of all.
func (b *bodyChecker) cat(e *lang.CallExpr) rules.Operand {
	args := e.Args
	var m *lang.MapExpr
	if n := len(args); n > 0 {
		if m, _ = args[n-1].Value.(*lang.MapExpr); m != nil {
			args = args[:n-1]
		}
	}
	if len(args) == 0 || (m == nil) == (len(e.Over) == 0) {
		b.Errorf(lang.ErrArgCount, e.Place, "cat needs tiles and the axis over which they stand in the result").Help("write `%s`", catUsage)
		return rules.Bad(e.Place)
	}
	ok := true
	var tiles []rules.Operand
	var exprs []lang.Expr
	for _, a := range args {
		x := b.value(a.Value)
		ok = ok && x.Mode != rules.Invalid
		tiles, exprs = append(tiles, x), append(exprs, a.Value)
	}
	var from, to []*typed.Axis
	where := e.Place
	if m != nil {
		_, f, t, mapOK := b.mapping(m, catUsage, true)
		from, to, ok, where = f, t, ok && mapOK, m.Place
	} else {
		over, overOK := b.axesOver(e.Over)
		to, ok, where = over, ok && overOK, e.Over[0].Place
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	if len(to) != 1 {
		b.Errorf(lang.ErrShapeOp, where, "cat gives one axis, not %d", len(to)).Help("write `%s`", catUsage)
		return rules.Bad(e.Place)
	}
	_, tiles, ok = b.CommonType("cat", e.Fn.Span(), tiles, exprs, false)
	if !ok {
		return rules.Bad(e.Place)
	}
	d := to[0]
	if m == nil {
		from = joinedAxes(tiles, d)
	}
	switch {
	case from == nil:
		types := make([]string, len(tiles))
		for i, x := range tiles {
			types[i] = x.Type().String()
		}
		b.Errorf(lang.ErrShapeOp, where, "which axes of %s stand one behind the other along %s is not plain", strings.Join(types, ", "), d.Name).
			Help("name them: `cat(..., (p, q) -> %s)`, or `p -> %s` where it is one axis of all", d.Name, d.Name)
		return rules.Bad(e.Place)
	case len(from) == 1:
		for len(from) < len(tiles) {
			from = append(from, from[0])
		}
	case len(from) != len(tiles):
		b.Errorf(lang.ErrShapeOp, where, "cat of %s joins %s", report.Plural(len(tiles), "tile"), countAxes(from)).Help("write `%s`", catUsage)
		return rules.Bad(e.Place)
	}
	return b.joined(e, tiles, from, d, where)
}

// joinedAxes finds the axis of each tile that `over d` means: of the whole axes
// that not all tiles have, or else of all, the only one; or, of tiles over the
// same axes, the one whose lengths add up to that of d. nil when that is not plain.
func joinedAxes(tiles []rules.Operand, d *typed.Axis) []*typed.Axis {
	shared := func(a *typed.Axis) bool {
		for _, x := range tiles {
			if !typed.HasAxis(x.Type().Axes, a) {
				return false
			}
		}
		return true
	}
	pick := func(may func(*typed.Axis) bool) []*typed.Axis {
		var found []*typed.Axis
		for _, x := range tiles {
			var only *typed.Axis
			for _, a := range x.Type().Axes {
				if a.Kind != typed.WholeAxis || a == d || !may(a) {
					continue
				}
				if only != nil {
					return nil
				}
				only = a
			}
			if only == nil {
				return nil
			}
			found = append(found, only)
		}
		return found
	}
	if len(tiles) > 1 {
		if axes := pick(func(a *typed.Axis) bool { return !shared(a) }); axes != nil {
			return axes
		}
	}
	if axes := pick(func(*typed.Axis) bool { return true }); axes != nil {
		return axes
	}
	return pick(func(a *typed.Axis) bool { return shared(a) && fills(a, len(tiles), d) })
}

// fills reports that n times the elements of a are those of d, as far as the source tells.
func fills(a *typed.Axis, n int, d *typed.Axis) bool {
	all := a.Len.Mul(size.Const(int64(n)))
	if all.Equal(d.Length()) {
		return true
	}
	return a.Len.Equal(d.Length().FloorDiv(size.Const(int64(n))))
}

// joined builds the cat: of each element the number along d says from which tile it comes.
func (b *bodyChecker) joined(e *lang.CallExpr, tiles []rules.Operand, from []*typed.Axis, d *typed.Axis, where lang.Span) rules.Operand {
	at := e.Place
	total := size.Size{}
	for i, x := range tiles {
		if !b.source(x, from[i:i+1], where) || !b.target(x, nil, []*typed.Axis{d}, where) {
			return rules.Bad(at)
		}
		total = total.Add(from[i].Len)
	}
	var claims []typed.Claim
	if !b.claim(&claims, typed.Claim{Left: total, Right: d.Length(), At: where, Text: fmt.Sprintf("cat: the tiles together have %%d elements, and the axis %s has %%d", d.Name)}) {
		return rules.Bad(at)
	}
	n := b.number(d, at)
	var out rules.Operand
	start := total
	for i := len(tiles) - 1; i >= 0; i-- {
		a, end := from[i], start
		start = start.Sub(a.Len)
		// Elements of other tiles read one of this one's, which nothing uses.
		p := b.plus(at, n, start.Neg())
		if i > 0 {
			p = b.arith(lang.OpMax, at, p, rules.IntOperand(at, 0))
		}
		if i < len(tiles)-1 {
			p = b.arith(lang.OpMin, at, p, rules.SizeOperand(at, a.Len.Sub(size.Const(1))))
		}
		part := b.taken(at, tiles[i], []*typed.Axis{a}, []rules.Operand{b.plus(at, p, a.Lo)}, claims)
		if part.Mode != rules.TypedValue {
			return rules.Bad(at)
		}
		claims = nil
		if i == len(tiles)-1 {
			out = part
			continue
		}
		before := b.Apply(lang.OpLt, at, at, []rules.Operand{n, rules.SizeOperand(at, end)}, nil)
		out = b.Apply(lang.OpWhere, at, at, []rules.Operand{before, part, out}, nil)
	}
	return out
}
