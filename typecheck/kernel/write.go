package kernel

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file types what writes elements: stores and atomics.

// write types a store or an atomic, and emits it; values are one, of a
// compare-and-swap two. It reports whether it did.
func (b *bodyChecker) write(s *typed.Store, target *lang.IndexExpr, values ...lang.Expr) bool {
	p, isTensor := b.tensorNamed(target.X)
	vs := make([]rules.Operand, len(values))
	ok := true
	for i, x := range values {
		vs[i] = b.value(x)
		ok = ok && vs[i].Mode != rules.Invalid
	}
	if !isTensor {
		if p != nil {
			b.notAssignable(target.X)
		}
		return false
	}
	b.stored[p] = true
	a, indexed := b.indices(p, target)
	if p.Of != nil {
		b.Errorf(lang.ErrReadOnly, target.Place, "%s is a view of %s and cannot be stored to: that no two blocks meet is told by the elements of one tensor", p.Name, p.Of.Name).
			LabelAt(p.At, "the view").Help("store to an output, and bitcast the values")
		return false
	}
	if p.Mode == lang.In {
		b.Errorf(lang.ErrReadOnly, target.Place, "%s is an input and cannot be stored to", p.Name).LabelAt(p.At, "declared as an input").
			Before(p.At, "inout ", "declare it `inout %s`, or store to an output", p.Name)
		return false
	}
	if len(b.Frames) > 0 {
		b.Errorf(lang.ErrReadOnly, target.Place, "a fn is pure and cannot store to %s", p.Name).Help("give the value back and store it in the kernel")
		return false
	}
	if !ok || !indexed {
		return false
	}
	types := make([]typed.Type, len(a.Indices))
	for i, x := range a.Indices {
		types[i] = x.Types()[0]
	}
	exprs := make([]typed.Expr, len(vs))
	for i := range vs {
		if exprs[i] = b.storedValue(s.Op, p, target, vs[i], values[i], types); exprs[i] == nil {
			return false
		}
	}
	s.Hints = b.accessHints(target, s.Op)
	a.At, a.Store, a.Atomic, a.Scope = target.Place, s, s.Op != lang.OpStore, s.Scope
	b.Writes = append(b.Writes, a)
	s.Param, s.Indices, s.Checked, s.Needs, s.Value = p, a.Indices, a.Checked, a.Needs, exprs[0]
	if len(exprs) > 1 {
		s.New = exprs[1]
	}
	b.emit(s)
	return true
}

// storedValue types one value of a write to elements whose indices have the types given; nil after an error.
func (b *bodyChecker) storedValue(op lang.Op, p *typed.Param, target *lang.IndexExpr, v rules.Operand, value lang.Expr, indices []typed.Type) typed.Expr {
	if v = b.Convert(v, p.DType); v.Mode == rules.Invalid {
		return nil
	}
	t := v.Type()
	if t.DType != p.DType {
		b.Errorf(lang.ErrWrongType, value.Span(), "the value is %s, and %s has elements of %s", t, p.Name, p.DType).
			Here("%s", t.DType).LabelAt(p.At, "%s: %s", p.Name, typed.ShapeText(p.DType, p.Shape)).CastFix(value, p.DType)
		return nil
	}
	if !b.atomicAccepts(op, t.DType) {
		needs := "numbers"
		if !op.AtomicAccepts(lang.F32) {
			needs = "integers"
		}
		b.Errorf(lang.ErrOperandType, value.Span(), "`%s` needs %s, not %s", op, needs, b.DescribeDType(t.DType))
		return nil
	}
	if extra := typed.WithoutAxes(t.Axes, typed.UnionAxes(indices...)); len(extra) > 0 {
		b.Errorf(lang.ErrStoreAxes, value.Span(), "the value is %s, and no index of %s is over %s", t, p.Name, typed.AxisNames(extra)).
			LabelAt(target.Place, "stored here").LabelAt(extra[0].At, "axis %s", extra[0].Name).
			Help("reduce the value over %s, or index %s with it", typed.AxisNames(extra), p.Name)
		return nil
	}
	return v.Expr
}

// atomicAccepts reports that a store or an atomic works on elements of a type: of a parameter, on all that it may stand for.
func (b *bodyChecker) atomicAccepts(op lang.Op, d typed.DType) bool {
	if op == lang.OpStore {
		return true
	}
	if d.Param == nil {
		return op.AtomicAccepts(d.Of)
	}
	for _, of := range lang.DTypes() {
		if d.Param.Accepts(of) && !op.AtomicAccepts(of) {
			return false
		}
	}
	return true
}

// atomic is `atomic_add(y[i, j], e)` and its like. It is a statement, unless
// something asks for its value: the elements as they were.
func (b *bodyChecker) atomic(op lang.Op, e *lang.CallExpr) rules.Operand {
	s := &typed.Store{Op: op, At: e.Place}
	var args []lang.Expr
	ok := true
	for _, a := range e.Args {
		switch {
		case a.Name == nil:
			args = append(args, a.Value)
		case a.Name.Name == "order":
			s.Order, ok = b.atomicWord(a, lang.AtomicOrders, ok)
		case a.Name.Name == "scope":
			s.Scope, ok = b.atomicWord(a, lang.AtomicScopes, ok)
		default:
			b.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s; it has order and scope", e.Fn.Span().Text(), a.Name.Name)
			ok = false
		}
	}
	if n := 1 + op.AtomicValues(); len(args) != n {
		b.Errorf(lang.ErrArgCount, e.Place, "%s takes %s, not %d", op.Row().Spelling, report.Plural(n, "argument"), len(args)).
			Help("write `%s`", op.AtomicUsage())
		return rules.Bad(e.Place)
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	target, isAccess := args[0].(*lang.IndexExpr)
	if !isAccess {
		b.Errorf(lang.ErrReadOnly, args[0].Span(), "an atomic changes elements of an output, as in `%s`", op.AtomicUsage())
		return rules.Bad(e.Place)
	}
	var els rules.Operand
	if target.Else != nil {
		els = b.value(target.Else)
	}
	if !b.write(s, target, args[1:]...) || target.Else != nil && els.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	return rules.Operand{Mode: rules.NoValue, At: e.Place, Old: func() rules.Operand { return b.oldElements(s, target, els) }}
}

// atomicWord reads the value of `order` or `scope`.
func (b *bodyChecker) atomicWord(a lang.Arg, words []string, ok bool) (string, bool) {
	n, isName := a.Value.(*lang.NameExpr)
	if !isName || !slices.Contains(words, n.Name) {
		r := b.Errorf(lang.ErrArgName, a.Value.Span(), "%s is one of %s, not %s", a.Name.Name, strings.Join(words, ", "), a.Value.Span().Text())
		if isName {
			r.Suggest(n.Place, n.Name, words)
		}
		return "", false
	}
	return n.Name, ok
}

// oldElements is the value of an atomic.
func (b *bodyChecker) oldElements(s *typed.Store, target *lang.IndexExpr, els rules.Operand) rules.Operand {
	if s.Old != nil {
		return rules.TypedOperand(&typed.LocalRef{Typed: typed.Typed{Type: s.Old.Type, At: s.At}, Local: s.Old})
	}
	types := make([]typed.Type, len(s.Indices))
	for i, x := range s.Indices {
		types[i] = x.Types()[0]
	}
	axes := typed.UnionAxes(types...)
	checked := slices.Index(s.Checked, true)
	switch {
	case checked >= 0 && target.Else == nil:
		b.Errorf(lang.ErrBounds, target.Indices[checked].Span(), "the old value of an element outside %s is asked for, and the index is not proven to lie in dimension %d, which is %s", s.Param.Name, checked, s.Param.Shape[checked]).
			LabelAt(s.Param.At, "%s: %s", s.Param.Name, typed.ShapeText(s.Param.DType, s.Param.Shape)).
			AddElse(target.Place, "add `else 0` to say what an element outside gives")
		return rules.Bad(s.At)
	case checked >= 0:
		if els = b.Convert(els, s.Param.DType); els.Mode == rules.Invalid {
			return rules.Bad(s.At)
		}
		if t := els.Type(); t.DType != s.Param.DType {
			b.Errorf(lang.ErrWrongType, target.Else.Span(), "the value after `else` is %s, and %s has elements of %s", t, s.Param.Name, s.Param.DType).
				CastFix(target.Else, s.Param.DType)
			return rules.Bad(s.At)
		} else if extra := typed.WithoutAxes(t.Axes, axes); len(extra) > 0 {
			b.Errorf(lang.ErrStoreAxes, target.Else.Span(), "the value after `else` is %s, and no index of %s is over %s", t, s.Param.Name, typed.AxisNames(extra))
			return rules.Bad(s.At)
		}
		s.Else = els.Expr
	}
	s.Old = &typed.Local{Name: s.Op.String(), Type: typed.Type{DType: s.Param.DType, Axes: axes}, At: s.At}
	return rules.TypedOperand(&typed.LocalRef{Typed: typed.Typed{Type: s.Old.Type, At: s.At}, Local: s.Old})
}
