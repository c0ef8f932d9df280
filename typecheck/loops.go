package typecheck

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// forExpr types a loop: over an axis when it has `by`, else with a scalar index.
func (b *bodyChecker) forExpr(e *lang.ForExpr) operand {
	loop := &typed.For{At: e.Place}
	s := newScope(b.scope)
	enter, ok := b.loopHeader(e, loop)

	var init operand
	if e.Init != nil {
		init = b.expr(e.Init)
		if init.mode != several && init.mode != invalid {
			init = b.single(init, "with")
		}
	}
	carriedOK := b.carried(e, loop, init)
	stmts, result := b.within(s, func() operand {
		enter()
		for i, n := range e.Carried {
			ent := &entity{kind: entInvalid, name: n.Name, at: n.Place}
			if carriedOK {
				l := loop.Carried[i]
				ent.kind = entValue
				ent.value = operand{mode: typedValue, at: n.Place, expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: n.Place}, Local: l}}
				ent.start = e.Init
				if t, ok := e.Init.(*lang.TupleExpr); ok && i < len(t.Elems) {
					ent.start = t.Elems[i]
				}
			}
			b.declare(b.scope, ent, true)
		}
		return b.stmtsOf(e.Body)
	})
	if !ok || !carriedOK || result.mode == invalid {
		return bad(e.Place)
	}
	if len(e.Carried) == 0 {
		if result.mode != noValue {
			b.Errorf(lang.ErrValueCount, result.at, "the loop's body gives %s, and the loop carries nothing", b.describeOperand(result)).
				help("carry it: `for ... with x = start { ... }`")
			return bad(e.Place)
		}
		loop.Body = &typed.Body{Stmts: stmts}
		return operand{mode: noValue, at: e.Place, expr: loop}
	}
	if !b.sameCarried(e, loop, &result) {
		return bad(e.Place)
	}
	xs := b.results(result, loop.Types())
	if xs == nil {
		return bad(e.Place)
	}
	loop.Body = &typed.Body{Stmts: stmts, Results: xs}
	return wrap(loop, e.Place, nil)
}

// loopHeader types `k in K[lo .. hi] by BK`; enter declares the axis or the index in the loop's scope.
func (b *bodyChecker) loopHeader(e *lang.ForExpr, loop *typed.For) (enter func(), ok bool) {
	a := e.Axis
	name := a.Name
	invalidName := func() {
		b.declare(b.scope, &entity{kind: entInvalid, name: name.Name, at: name.Place}, false)
	}
	if a.Over == nil {
		return invalidName, false
	}
	b.sizing++
	over := b.value(a.Over)
	b.sizing--
	lo, hi := operand{}, operand{}
	rangeOK := true
	if a.Range != nil {
		lo, rangeOK = b.bound(a.Range.Lo)
		if h, hok := b.bound(a.Range.Hi); hok {
			hi = h
		} else {
			rangeOK = false
		}
	}
	if over.mode == invalid || !rangeOK {
		return invalidName, false
	}
	if a.By == nil && over.mode == typedValue && a.Range == nil { // a count that is only known when the kernel runs
		count, countOK := b.scalarInt(over, a.Over)
		if !countOK {
			return invalidName, false
		}
		loop.Lo, loop.Hi = b.intConst(0, a.Place), count.expr
		return func() { b.scalarIndex(loop, name, size.Size{}, count, walk{}) }, true
	}
	if over.mode != untypedInt {
		b.noDimension(a.Over, over)
		return invalidName, false
	}
	dim := over.size
	if lo.mode == invalid {
		lo = b.settle(intOperand(a.Place, 0))
	}
	if hi.mode == invalid {
		hi = b.settle(sizeOperand(a.Over.Span(), dim))
	}
	if a.By != nil {
		x := &typed.Axis{Name: name.Name, Kind: typed.LoopAxis, Dim: dim, Len: dim, At: name.Place}
		if !b.extent(x, a.By) {
			return invalidName, false
		}
		loop.Axis, loop.Lo, loop.Hi = x, lo.expr, hi.expr
		return func() {
			b.declareAxis(x)
			if a.Range != nil && a.Range.Lo != nil {
				from := lo
				b.clampRange(&from, &operand{}, dim)
				b.loopStarts[x] = from.expr
			}
			p := b.positions[x]
			b.through[p] = walked(lo, hi, dim)
			if l, ok := lo.position(); ok {
				b.prover.Where(p, size.Of(p).Sub(l))
			}
			if h, ok := hi.position(); ok {
				b.prover.Where(p, h.Sub(size.Const(1)).Sub(size.Of(p)))
			}
		}, true
	}
	through := walked(lo, hi, dim)
	b.clampRange(&lo, &hi, dim)
	loop.Lo, loop.Hi = lo.expr, hi.expr
	start, _ := lo.position()
	return func() {
		b.scalarIndex(loop, name, start, hi, through)
		if a.Range != nil {
			p := b.indexOf[loop.Index]
			b.prover.Where(p, size.Of(p))
			b.prover.Where(p, dim.Sub(size.Const(1)).Sub(size.Of(p)))
		}
	}, true
}

// clampRange cuts the range of a scalar loop to its dimension, where it is not proven to lie inside.
func (b *bodyChecker) clampRange(lo, hi *operand, dim size.Size) {
	i32 := typed.Type{DType: typed.Concrete(lang.I32)}
	if p, ok := lo.position(); !ok || !b.prover.NonNegative(p) {
		lo.expr = &typed.Apply{Typed: typed.Typed{Type: i32, At: lo.at}, Op: lang.OpMax, Args: []typed.Expr{lo.expr, b.intConst(0, lo.at)}}
		lo.lin = nil
	}
	if p, ok := hi.position(); !ok || !b.prover.AtMost(p, dim) {
		end := b.settle(sizeOperand(hi.at, dim))
		hi.expr = &typed.Apply{Typed: typed.Typed{Type: i32, At: hi.at}, Op: lang.OpMin, Args: []typed.Expr{hi.expr, end.expr}}
		hi.lin = end.lin
	}
}

func (b *bodyChecker) intConst(n int64, at lang.Span) typed.Expr {
	return b.settle(intOperand(at, n)).expr
}

// scalarIndex declares the index of a scalar loop, known to lie in [lo, hi), which goes through what a walk says.
func (b *bodyChecker) scalarIndex(loop *typed.For, name lang.Ident, lo size.Size, hi operand, through walk) {
	l := &typed.Local{Name: name.Name, Type: typed.Type{DType: typed.Concrete(lang.I32)}, At: name.Place}
	loop.Index = l
	p := b.newHidden(name.Name)
	b.varying[p], b.through[p] = true, through
	b.indexOf[l] = p
	pos := size.Of(p)
	b.prover.Where(p, pos.Sub(lo))
	if h, ok := hi.position(); ok {
		b.prover.Where(p, h.Sub(size.Const(1)).Sub(pos))
	}
	b.declare(b.scope, &entity{kind: entValue, name: name.Name, at: name.Place,
		value: operand{mode: typedValue, at: name.Place, expr: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: name.Place}, Local: l}, lin: &pos}}, false)
}

// bound types an end of a range: an i32 scalar. The zero operand stands for a missing end.
func (b *bodyChecker) bound(e lang.Expr) (operand, bool) {
	if e == nil {
		return operand{}, true
	}
	o := b.value(e)
	if o.mode == invalid {
		return o, false
	}
	return b.scalarInt(o, e)
}

// scalarInt wants an i32 scalar.
func (b *bodyChecker) scalarInt(o operand, e lang.Expr) (operand, bool) {
	o = b.convert(o, typed.Concrete(lang.I32))
	if o.mode != typedValue {
		return o, false
	}
	t := o.typ()
	if len(t.Axes) > 0 {
		b.Errorf(lang.ErrNotScalar, e.Span(), "the end of a range is the tile %s; a scalar is needed", t)
		return o, false
	}
	if t.DType != typed.Concrete(lang.I32) {
		r := b.Errorf(lang.ErrWrongType, e.Span(), "the end of a range is %s; i32 is needed", t)
		if b.inGrid { // a launch computes the ends, and converts nothing
			r.help("declare what it is computed from as i32")
		} else {
			r.castFix(e, typed.Concrete(lang.I32))
		}
		return o, false
	}
	return o, true
}

// carried makes the locals of the values that a loop carries, with the types of their start.
func (b *bodyChecker) carried(e *lang.ForExpr, loop *typed.For, init operand) bool {
	if len(e.Carried) == 0 {
		return true
	}
	if init.mode == invalid {
		return false
	}
	types := init.valueTypes()
	if len(types) != len(e.Carried) {
		b.Errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			plural(len(e.Carried), "value"), plural(len(types), "value")).label(init.at, "the start")
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
func (b *bodyChecker) sameCarried(e *lang.ForExpr, loop *typed.For, result *operand) bool {
	types := result.valueTypes()
	if result.mode == noValue || len(types) != len(loop.Carried) {
		at := result.at
		if result.mode == noValue {
			at = e.Carried[0].Place
		}
		b.Errorf(lang.ErrValueCount, at, "the loop carries %s and its body gives %d", plural(len(loop.Carried), "value"), len(types)).
			help("end the body with the next value of each carried name")
		return false
	}
	loose := result.untypedAt(len(types))
	ok := true
	for i, c := range loop.Carried {
		got, want := types[i], c.Type
		if loose[i] {
			got.DType = want.DType
		}
		at := result.at
		if result.mode == several && len(result.elems) == len(types) {
			at = result.elems[i].at
		}
		switch {
		case !typed.SameAxes(got.Axes, want.Axes):
			ok = false
			b.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", c.Name, want, got).
				label(c.At, "carried as %s", want).
				help("start it over the same axes, as in `%s = %s`", c.Name, zerosOf(got))
		case got.DType != want.DType:
			ok = false
			b.Errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", c.Name, want, got).
				label(c.At, "carried as %s", want).
				castAt(at, want.DType, "convert the value with `as %s`, or start with %s", want.DType, got.DType)
		}
	}
	return ok
}

func zerosOf(t typed.Type) string {
	parts := []string{t.DType.String()}
	for _, a := range t.Axes {
		parts = append(parts, a.Name)
	}
	return fmt.Sprintf("zeros(%s)", strings.Join(parts, ", "))
}
