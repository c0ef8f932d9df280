package kernel

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// forExpr types a loop: over an axis when it has `by`, else with a scalar index.
func (b *bodyChecker) forExpr(e *lang.ForExpr) rules.Operand {
	loop := &typed.For{At: e.Place}
	s := rules.NewScope(b.scope)
	enter, ok := b.loopHeader(e, loop)

	var init rules.Operand
	if e.Init != nil {
		init = b.expr(e.Init)
		if init.Mode != rules.Several && init.Mode != rules.Invalid {
			init = b.single(init, "with")
		}
	}
	carriedOK := b.carried(e, loop, init)
	stmts, result := b.within(s, func() rules.Operand {
		enter()
		for i, n := range e.Carried {
			ent := &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}
			if carriedOK {
				l := loop.Carried[i]
				ent.Kind = rules.EntValue
				ent.Value = rules.Operand{Mode: rules.TypedValue, At: n.Place, Expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: n.Place}, Local: l}}
				ent.Start = e.Init
				if t, ok := e.Init.(*lang.TupleExpr); ok && i < len(t.Elems) {
					ent.Start = t.Elems[i]
				}
			}
			b.Declare(b.scope, ent, true)
		}
		return b.stmtsOf(e.Body)
	})
	if !ok || !carriedOK || result.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if len(e.Carried) == 0 {
		if result.Mode != rules.NoValue {
			b.Errorf(lang.ErrValueCount, result.At, "the loop's body gives %s, and the loop carries nothing", b.DescribeOperand(result)).
				Help("carry it: `for ... with x = start { ... }`")
			return rules.Bad(e.Place)
		}
		loop.Body = &typed.Body{Stmts: stmts}
		return rules.Operand{Mode: rules.NoValue, At: e.Place, Expr: loop}
	}
	if !b.sameCarried(e, loop, &result) {
		return rules.Bad(e.Place)
	}
	xs := b.results(result, loop.Types())
	if xs == nil {
		return rules.Bad(e.Place)
	}
	loop.Body = &typed.Body{Stmts: stmts, Results: xs}
	return wrap(loop, e.Place, nil)
}

// loopHeader types `k in K[lo .. hi] by BK`; enter declares the axis or the index in the loop's scope.
func (b *bodyChecker) loopHeader(e *lang.ForExpr, loop *typed.For) (enter func(), ok bool) {
	a := e.Axis
	name := a.Name
	invalidName := func() {
		b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: name.Name, At: name.Place}, false)
	}
	if a.Over == nil {
		return invalidName, false
	}
	b.Sizing++
	over := b.value(a.Over)
	b.Sizing--
	lo, hi := rules.Operand{}, rules.Operand{}
	rangeOK := true
	if a.Range != nil {
		lo, rangeOK = b.bound(a.Range.Lo)
		if h, hok := b.bound(a.Range.Hi); hok {
			hi = h
		} else {
			rangeOK = false
		}
	}
	if over.Mode == rules.Invalid || !rangeOK {
		return invalidName, false
	}
	if a.By == nil && over.Mode == rules.TypedValue && a.Range == nil { // a count that is only known when the kernel runs
		count, countOK := b.scalarInt(over, a.Over)
		if !countOK {
			return invalidName, false
		}
		loop.Lo, loop.Hi = b.intConst(0, a.Place), count.Expr
		return func() { b.scalarIndex(loop, name, size.Size{}, count, blocks.Walk{}) }, true
	}
	if over.Mode != rules.UntypedInt {
		b.noDimension(a.Over, over)
		return invalidName, false
	}
	dim := over.Size
	if lo.Mode == rules.Invalid {
		lo = b.Settle(rules.IntOperand(a.Place, 0))
	}
	if hi.Mode == rules.Invalid {
		hi = b.Settle(rules.SizeOperand(a.Over.Span(), dim))
	}
	if a.By != nil {
		x := &typed.Axis{Name: name.Name, Kind: typed.LoopAxis, Dim: dim, Len: dim, At: name.Place}
		if !b.extent(x, a.By) {
			return invalidName, false
		}
		loop.Axis, loop.Lo, loop.Hi = x, lo.Expr, hi.Expr
		return func() {
			b.declareAxis(x)
			if a.Range != nil && a.Range.Lo != nil {
				from := lo
				b.clampRange(&from, &rules.Operand{}, dim)
				b.loopStarts[x] = from.Expr
			}
			p := b.Positions[x]
			b.Through[p] = walked(lo, hi, dim)
			if l, ok := lo.Position(); ok {
				b.Prover.Where(p, size.Of(p).Sub(l))
			}
			if h, ok := hi.Position(); ok {
				b.Prover.Where(p, h.Sub(size.Const(1)).Sub(size.Of(p)))
			}
		}, true
	}
	through := walked(lo, hi, dim)
	b.clampRange(&lo, &hi, dim)
	loop.Lo, loop.Hi = lo.Expr, hi.Expr
	start, _ := lo.Position()
	return func() {
		b.scalarIndex(loop, name, start, hi, through)
		if a.Range != nil {
			p := b.IndexOf[loop.Index]
			b.Prover.Where(p, size.Of(p))
			b.Prover.Where(p, dim.Sub(size.Const(1)).Sub(size.Of(p)))
		}
	}, true
}

// clampRange cuts the range of a scalar loop to its dimension, where it is not proven to lie inside.
func (b *bodyChecker) clampRange(lo, hi *rules.Operand, dim size.Size) {
	i32 := typed.Type{DType: typed.Concrete(lang.I32)}
	if p, ok := lo.Position(); !ok || !b.Prover.NonNegative(p) {
		lo.Expr = &typed.Apply{Typed: typed.Typed{Type: i32, At: lo.At}, Op: lang.OpMax, Args: []typed.Expr{lo.Expr, b.intConst(0, lo.At)}}
		lo.Linear = nil
	}
	if p, ok := hi.Position(); !ok || !b.Prover.AtMost(p, dim) {
		end := b.Settle(rules.SizeOperand(hi.At, dim))
		hi.Expr = &typed.Apply{Typed: typed.Typed{Type: i32, At: hi.At}, Op: lang.OpMin, Args: []typed.Expr{hi.Expr, end.Expr}}
		hi.Linear = end.Linear
	}
}

func (b *bodyChecker) intConst(n int64, at lang.Span) typed.Expr {
	return b.Settle(rules.IntOperand(at, n)).Expr
}

// scalarIndex declares the index of a scalar loop, known to lie in [lo, hi), which goes through what a walk says.
func (b *bodyChecker) scalarIndex(loop *typed.For, name lang.Ident, lo size.Size, hi rules.Operand, through blocks.Walk) {
	l := &typed.Local{Name: name.Name, Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: name.Place}
	loop.Index = l
	p := b.NewHidden(name.Name)
	b.Varying[p], b.Through[p] = true, through
	b.IndexOf[l] = p
	pos := size.Of(p)
	b.Prover.Where(p, pos.Sub(lo))
	if h, ok := hi.Position(); ok {
		b.Prover.Where(p, h.Sub(size.Const(1)).Sub(pos))
	}
	b.Declare(b.scope, &rules.Entity{Kind: rules.EntValue, Name: name.Name, At: name.Place,
		Value: rules.Operand{Mode: rules.TypedValue, At: name.Place, Expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: name.Place}, Local: l}, Linear: &pos}}, false)
}

// bound types an end of a range: an i32 scalar. The zero operand stands for a missing end.
func (b *bodyChecker) bound(e lang.Expr) (rules.Operand, bool) {
	if e == nil {
		return rules.Operand{}, true
	}
	o := b.value(e)
	if o.Mode == rules.Invalid {
		return o, false
	}
	return b.scalarInt(o, e)
}

// scalarInt wants an i32 scalar.
func (b *bodyChecker) scalarInt(o rules.Operand, e lang.Expr) (rules.Operand, bool) {
	o = b.Convert(o, typed.Concrete(lang.I32))
	if o.Mode != rules.TypedValue {
		return o, false
	}
	t := o.Type()
	if len(t.Axes) > 0 {
		b.Errorf(lang.ErrNotScalar, e.Span(), "the end of a range is the tile %s; a scalar is needed", t)
		return o, false
	}
	if t.DType != typed.Concrete(lang.I32) {
		r := b.Errorf(lang.ErrWrongType, e.Span(), "the end of a range is %s; i32 is needed", t)
		if b.inGrid { // a launch computes the ends, and converts nothing
			r.Help("declare what it is computed from as i32")
		} else {
			r.CastFix(e, typed.Concrete(lang.I32))
		}
		return o, false
	}
	return o, true
}

// carried makes the locals of the values that a loop carries, with the types of their start.
func (b *bodyChecker) carried(e *lang.ForExpr, loop *typed.For, init rules.Operand) bool {
	if len(e.Carried) == 0 {
		return true
	}
	if init.Mode == rules.Invalid {
		return false
	}
	types := init.ValueTypes()
	if len(types) != len(e.Carried) {
		b.Errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			report.Plural(len(e.Carried), "value"), report.Plural(len(types), "value")).LabelAt(init.At, "the start")
		return false
	}
	xs := b.results(init, nil)
	if xs == nil {
		return false
	}
	loop.Init = xs
	for i, n := range e.Carried {
		loop.Carried = append(loop.Carried, &typed.Local{Name: n.Name, Type: types[i], At: n.Place})
	}
	return true
}

// sameCarried checks that the body gives what the loop carries.
func (b *bodyChecker) sameCarried(e *lang.ForExpr, loop *typed.For, result *rules.Operand) bool {
	types := result.ValueTypes()
	if result.Mode == rules.NoValue || len(types) != len(loop.Carried) {
		at := result.At
		if result.Mode == rules.NoValue {
			at = e.Carried[0].Place
		}
		b.Errorf(lang.ErrValueCount, at, "the loop carries %s and its body gives %d", report.Plural(len(loop.Carried), "value"), len(types)).
			Help("end the body with the next value of each carried name")
		return false
	}
	loose := result.UntypedAt(len(types))
	ok := true
	for i, c := range loop.Carried {
		got, want := types[i], c.Type
		if loose[i] {
			got.DType = want.DType
		}
		at := result.At
		if result.Mode == rules.Several && len(result.Elems) == len(types) {
			at = result.Elems[i].At
		}
		switch {
		case !typed.SameAxes(got.Axes, want.Axes):
			ok = false
			b.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", c.Name, want, got).
				LabelAt(c.At, "carried as %s", want).
				Help("start it over the same axes, as in `%s = %s`", c.Name, zerosOf(got))
		case got.DType != want.DType:
			ok = false
			b.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", c.Name, want, got).
				LabelAt(c.At, "carried as %s", want).
				CastAt(at, want.DType, "convert the value with `as %s`, or start with %s", want.DType, got.DType)
		}
	}
	return ok
}

func zerosOf(t typed.Type) string {
	words := []string{t.DType.String()}
	for _, a := range t.Axes {
		words = append(words, a.Name)
	}
	return fmt.Sprintf("zeros(%s)", strings.Join(words, ", "))
}
