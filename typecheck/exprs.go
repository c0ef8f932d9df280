package typecheck

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// expr types an expression; its value may still be untyped, or none.
func (b *bodyChecker) expr(e lang.Expr) operand {
	switch e := e.(type) {
	case *lang.NameExpr:
		return b.name(e)
	case *lang.IntLit:
		return intLiteral(e.Place, e.Value)
	case *lang.FloatLit:
		return floatLiteral(e)
	case *lang.BoolLit:
		return boolOperand(e.Place, e.Value)
	case *lang.StringLit:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a string is no value of a kernel")
		return bad(e.Place)
	case *lang.UnaryExpr:
		return b.unary(e)
	case *lang.BinaryExpr:
		return b.binary(e)
	case *lang.CallExpr:
		return b.checker.call(b, e)
	case *lang.IndexExpr:
		return b.index(e)
	case *lang.FieldExpr:
		return b.field(e)
	case *lang.CastExpr:
		return b.cast(e)
	case *lang.IfExpr:
		return b.ifExpr(e)
	case *lang.ForExpr:
		return b.forExpr(e)
	case *lang.TupleExpr:
		o := operand{mode: several, at: e.Place, elems: []operand{}}
		for _, x := range e.Elems {
			v := b.value(x)
			if v.mode == invalid {
				o.mode = invalid
			}
			o.elems = append(o.elems, v)
		}
		return o
	case *lang.Block:
		return b.blockExpr(e)
	case *lang.ListExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a list is no value of a kernel")
	case *lang.RangeExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a range is no value of a kernel").help("to read a part of a dimension, declare an axis: `axis r in D[lo .. hi]`")
	case *lang.LambdaExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a function is no value: only `reduce`, `scan` and a fn that calls its parameter take one")
	default:
		if e == nil {
			return operand{}
		}
		b.Errorf(lang.ErrAxisAsValue, e.Span(), "this is no expression of a kernel")
	}
	return bad(e.Span())
}

// value types an expression that must give one value.
func (b *bodyChecker) value(e lang.Expr) operand {
	if e == nil {
		return operand{}
	}
	return b.single(b.expr(e), "value")
}

func (b *bodyChecker) name(e *lang.NameExpr) operand {
	ent := b.scope.lookup(e.Name)
	if ent == nil {
		if o, ok := namedConstant(e.Name, e.Place); ok {
			return o
		}
		if e.Name == "_" {
			b.Errorf(lang.ErrNameKind, e.Place, "`_` discards a value and cannot be read")
		} else if _, ok := lang.ParseDType(e.Name); ok {
			b.Errorf(lang.ErrNameKind, e.Place, "%s is a type, not a value", e.Name)
		} else if isBuiltin(e.Name) {
			b.Errorf(lang.ErrNameKind, e.Place, "%s is a function; its arguments are missing", e.Name)
		} else if !b.ended(e.Name, e.Place) {
			b.unknownValue(e)
		}
		return bad(e.Place)
	}
	switch ent.kind {
	case entInvalid:
		return bad(e.Place)
	case entConst:
		o := b.constValue(ent.module, ent.decl.(*lang.ConstDecl))
		o.at = e.Place
		return o
	case entSymbol:
		return b.symbol(ent.symbol, e.Place)
	case entTensor:
		return operand{mode: tensorOperand, at: e.Place, param: ent.param}
	case entAxis:
		if ent.axis.Scalar {
			return b.positionsOf(ent.axis, e.Place)
		}
		return operand{mode: axisOperand, at: e.Place, axis: ent.axis}
	case entTile:
		b.Errorf(lang.ErrNameKind, e.Place, "%s is an extent that the planner chooses; it has no value in the program", e.Name).
			label(ent.at, "it is the extent of an axis").help("use the axis's `.start` and `.end`")
		return bad(e.Place)
	case entValue:
		o := ent.value
		o.at = e.Place
		if l, ok := o.expr.(*typed.LocalRef); ok {
			o.expr = &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: e.Place}, Local: l.Local}
		}
		if s, ok := o.expr.(*typed.ScalarRef); ok {
			o.expr = &typed.ScalarRef{Typed: typed.Typed{Type: s.Type, At: e.Place}, Param: s.Param}
		}
		return o
	}
	r := b.Errorf(lang.ErrNameKind, e.Place, "%s is %s, not a value", e.Name, ent.describe()).label(ent.at, "declared here")
	if b.isFormula && b.inIndex > 0 && !ent.counts() {
		notAnAxis(r, e.Name)
	}
	return bad(e.Place)
}

// symbol is a dimension or a constant parameter as a value.
func (b *bodyChecker) symbol(s *size.Symbol, at lang.Span) operand {
	if s.DType == lang.I32 {
		return sizeOperand(at, size.Of(s))
	}
	return typedOperand(&typed.ConstRef{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(s.DType)}, At: at}, Symbol: s})
}

func (b *bodyChecker) unary(e *lang.UnaryExpr) operand {
	x := b.value(e.X)
	op, ok := lang.FindOp(e.Op, lang.FormPrefix)
	if !ok {
		b.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
		return bad(e.Place)
	}
	o := b.apply(op, e.Place, e.OpAt, []operand{x}, []lang.Expr{e.X})
	if op == lang.OpNeg {
		b.linear(&o, func() (size.Size, bool) {
			s, ok := x.position()
			return s.Neg(), ok
		})
	}
	return o
}

func (b *bodyChecker) binary(e *lang.BinaryExpr) operand {
	x, y := b.value(e.X), b.value(e.Y)
	op, ok := lang.FindOp(e.Op, lang.FormInfix)
	if !ok {
		b.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
		return bad(e.Place)
	}
	o := b.apply(op, e.Place, e.OpAt, []operand{x, y}, []lang.Expr{e.X, e.Y})
	b.linear(&o, func() (size.Size, bool) { return b.linearOp(op, x, y) })
	return o
}

// linear records the position that an integer result is.
func (b *bodyChecker) linear(o *operand, position func() (size.Size, bool)) {
	if o.mode != typedValue || o.lin != nil || !isIndexType(o.typ().DType) {
		return
	}
	if s, ok := position(); ok && !s.Large() {
		o.lin = &s
	}
}

// linearOp follows arithmetic on positions. Sums and products may wrap on the
// way without harm: a result proven to lie inside a dimension is the same
// modulo the width. A quotient is followed only of what cannot have wrapped.
func (b *bodyChecker) linearOp(op lang.Op, x, y operand) (size.Size, bool) {
	p, okx := x.position()
	q, oky := y.position()
	if !okx || !oky {
		return size.Size{}, false
	}
	switch op {
	case lang.OpAdd:
		return p.Add(q), true
	case lang.OpSub:
		return p.Sub(q), true
	case lang.OpMul:
		return p.Mul(q), true
	case lang.OpDiv, lang.OpFloorDiv, lang.OpMod:
		if !p.IsPlain() || !b.prover.NonNegative(p) || !b.prover.NonNegative(q.Sub(size.Const(1))) {
			return size.Size{}, false
		}
		if op == lang.OpMod {
			return p.Mod(q), true
		}
		return p.FloorDiv(q), true
	case lang.OpMin, lang.OpMax:
		return b.bounded(op, p, q), true
	}
	return size.Size{}, false
}

// bounded is a hidden symbol for the smaller or the larger of two positions.
func (b *bodyChecker) bounded(op lang.Op, p, q size.Size) size.Size {
	m := b.newHidden(fmt.Sprintf("%s(%s, %s)", op, p, q))
	s := size.Of(m)
	for _, sym := range append(p.Symbols(), q.Symbols()...) {
		b.varying[m] = b.varying[m] || b.varying[sym]
	}
	if op == lang.OpMin {
		b.prover.Where(m, p.Sub(s))
		b.prover.Where(m, q.Sub(s))
		if b.prover.NonNegative(p) && b.prover.NonNegative(q) {
			b.prover.Where(m, s)
		}
	} else {
		b.prover.Where(m, s.Sub(p))
		b.prover.Where(m, s.Sub(q))
	}
	return s
}

func (b *bodyChecker) cast(e *lang.CastExpr) operand {
	x := b.value(e.X)
	t := e.Type
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		b.Errorf(lang.ErrDeclType, t.Place, "a value is converted to an element type, not to %s", t.Place.Text())
		return bad(e.Place)
	}
	d, ok := b.dtypeNamed(b.scope, t.Name.Name, t.Place)
	if !ok || x.mode == invalid {
		return bad(e.Place)
	}
	return b.castTo(x, d, e.Place)
}

// castTo converts; constants become constants of the type where it can hold them.
func (b *bodyChecker) castTo(x operand, d typed.DType, at lang.Span) operand {
	if n, ok := x.truncated(d); ok {
		return operand{mode: typedValue, at: at, expr: &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: d}, At: at}, Int: n, Float: float64(n)}}
	}
	if x.mode == untypedFloat && !typed.IsFloat(d) {
		x = b.settle(x)
	}
	if x.mode == untypedInt {
		if n, isConst := x.size.Const(); isConst {
			lo, hi, isInt := intRange(d)
			if typed.IsFloat(d) || isInt && lo <= n && n <= hi {
				return b.convert(x, d)
			}
		}
		x = b.settle(x)
	}
	if x.isUntyped() {
		return b.convert(x, d)
	}
	if x.mode != typedValue {
		return bad(at)
	}
	if x.typ().DType == d {
		return x
	}
	o := typedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.typ().Axes}, At: at}, Op: lang.OpCast, Args: []typed.Expr{x.expr}})
	if isIndexType(d) && isIndexType(x.typ().DType) && x.lin != nil && x.lin.IsPlain() {
		o.lin = x.lin
	}
	return o
}

func (b *bodyChecker) field(e *lang.FieldExpr) operand {
	n, ok := e.X.(*lang.NameExpr)
	if !ok && b.ofModule(b.scope, false, e) {
		return bad(e.Place)
	}
	if !ok {
		r := b.Errorf(lang.ErrField, e.Name.Place, "a value has no field %s: `.start` and `.end` are of an axis", e.Name.Name)
		r.neighbour(false, e.Name.Name, lang.AsAttribute)
		if d, isType := lang.ParseDType(e.Name.Name); isType {
			r.help("convert with `as %s`", d)
		}
		r.orHelp("name what it is of: `i.start` of an axis, `x.shape[0]` of a tensor")
		return bad(e.Place)
	}
	ent := b.scope.lookup(n.Name)
	switch {
	case ent == nil:
		if !b.ofModule(b.scope, false, e) {
			b.unknown(b.scope, n.Name, n.Place, nil, false)
		}
		return bad(e.Place)
	case ent.kind == entInvalid:
		return bad(e.Place)
	case ent.kind == entAxis:
		return b.axisField(ent.axis, e)
	case ent.kind == entTensor && e.Name.Name == "shape":
		b.Errorf(lang.ErrField, e.Place, "a shape is no value: only its numbers are").help("index it, as in `%s.shape[0]`", n.Name)
		return bad(e.Place)
	}
	r := b.Errorf(lang.ErrField, e.Name.Place, "%s is %s and has no field %s", n.Name, ent.describe(), e.Name.Name).label(ent.at, "declared here")
	if ent.kind == entTensor && r.neighbour(false, e.Name.Name, lang.AsAttribute) {
		return bad(e.Place)
	}
	if ent.kind == entTensor {
		r.suggest(e.Name.Place, e.Name.Name, []string{"shape"}).orHelp("`%s.shape[0]` is its first dimension, and `%s` its elements", n.Name, exampleAccess(ent.param))
	}
	r.orHelp("only axes (`i.start`) and tensors (`x.shape[0]`) have fields in a kernel")
	return bad(e.Place)
}

func (b *bodyChecker) blockExpr(e *lang.Block) operand {
	stmts, o := b.block(e)
	if o.mode == invalid {
		return bad(e.Place)
	}
	if len(stmts) == 0 && o.mode != noValue {
		return o
	}
	results := b.results(o, nil)
	if results == nil && o.mode != noValue {
		return bad(e.Place)
	}
	return inline(stmts, o, results, e.Place)
}

// condition wants a bool scalar.
func (b *bodyChecker) condition(e lang.Expr) (typed.Expr, bool) {
	o := b.value(e)
	if o.mode == invalid {
		return nil, false
	}
	if o.mode != typedValue || o.typ().DType != typed.Concrete(lang.Bool) {
		b.Errorf(lang.ErrCondition, e.Span(), "the condition of `if` is %s, not bool", b.describeOperand(o)).help("compare it, as in `x > 0`")
		return nil, false
	}
	if t := o.typ(); len(t.Axes) > 0 {
		b.Errorf(lang.ErrCondition, e.Span(), "the condition of `if` is the tile %s, not a scalar", t).
			help("choose element by element with `where(c, a, b)`, or reduce it with `any` or `all`")
		return nil, false
	}
	return o.expr, true
}

func (b *bodyChecker) ifExpr(e *lang.IfExpr) operand {
	cond, ok := b.condition(e.Cond)
	thenStmts, then := b.block(e.Then)
	var otherStmts []typed.Stmt
	other := operand{mode: noValue, at: e.Place}
	switch x := e.Else.(type) {
	case *lang.Block:
		otherStmts, other = b.block(x)
	case *lang.IfExpr:
		otherStmts, other = b.within(newScope(b.scope), func() operand { return b.ifExpr(x) })
		if other.mode == noValue && other.expr != nil {
			otherStmts = append(otherStmts, &typed.Do{X: other.expr})
		}
	}
	if !ok || then.mode == invalid || other.mode == invalid {
		return bad(e.Place)
	}
	if e.Else == nil && then.mode != noValue {
		b.Errorf(lang.ErrBranches, e.Place, "the `if` gives %s, and nothing when the condition does not hold", b.describeOperand(then)).
			help("add an `else { ... }` with the other value")
		return bad(e.Place)
	}
	thenXs, otherXs, ok := b.agree(then, other)
	if !ok {
		return bad(e.Place)
	}
	x := &typed.If{Cond: cond, Then: &typed.Body{Stmts: thenStmts, Results: thenXs}, Else: &typed.Body{Stmts: otherStmts, Results: otherXs}, At: e.Place}
	return wrap(x, e.Place, nil)
}

// agree gives the values of two branches one type each.
func (b *bodyChecker) agree(x, y operand) (xs, ys []typed.Expr, ok bool) {
	if x.mode == noValue && y.mode == noValue {
		return nil, nil, true
	}
	tx, ty := x.valueTypes(), y.valueTypes()
	if len(tx) != len(ty) {
		b.Errorf(lang.ErrBranches, y.at, "the branches give %s and %s", plural(len(tx), "value"), plural(len(ty), "value")).
			label(x.at, "gives %s", plural(len(tx), "value"))
		return nil, nil, false
	}
	// An untyped value takes the other branch's element type.
	xu, yu := x.untypedAt(len(tx)), y.untypedAt(len(ty))
	for i := range tx {
		switch {
		case xu[i] && !yu[i]:
			tx[i].DType = ty[i].DType
		case yu[i] && !xu[i]:
			ty[i].DType = tx[i].DType
		case xu[i] && yu[i] && tx[i].DType != ty[i].DType:
			tx[i].DType, ty[i].DType = typed.Concrete(lang.F32), typed.Concrete(lang.F32)
		}
	}
	xs, ys = b.results(x, tx), b.results(y, ty)
	if xs == nil || ys == nil {
		return nil, nil, false
	}
	for i := range tx {
		if tx[i].DType != ty[i].DType {
			b.Errorf(lang.ErrBranches, y.at, "the branches of `if` differ: %s and %s", tx[i], ty[i]).
				label(x.at, "%s", tx[i]).help("convert one with `as`")
			return nil, nil, false
		}
		if typed.SameAxes(tx[i].Axes, ty[i].Axes) {
			continue
		}
		switch {
		case len(tx[i].Axes) == 0 && len(xs) == len(tx):
			xs[i] = broadcastScalar(xs[i], ty[i].Axes)
		case len(ty[i].Axes) == 0 && len(ys) == len(ty):
			ys[i] = broadcastScalar(ys[i], tx[i].Axes)
		default:
			b.Errorf(lang.ErrBranches, y.at, "the branches of `if` have other axes: %s and %s", tx[i], ty[i]).
				label(x.at, "%s", tx[i]).help("broadcast the smaller one, as in `x + zeros(%s, ...)`", tx[i].DType)
			return nil, nil, false
		}
	}
	return xs, ys, true
}

func broadcastScalar(x typed.Expr, axes []*typed.Axis) typed.Expr {
	t := x.Types()[0]
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: axes}, At: x.Span()}, Op: lang.OpFull, Args: []typed.Expr{x}, Axes: axes}
}
