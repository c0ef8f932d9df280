package kernel

import (
	"fmt"
	"slices"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// expr types an expression; its value may still be untyped, or none.
func (b *bodyChecker) expr(e lang.Expr) rules.Operand {
	switch e := e.(type) {
	case *lang.NameExpr:
		return b.name(e)
	case *lang.IntLit:
		return rules.IntLiteral(e.Place, e.Value)
	case *lang.FloatLit:
		return rules.FloatLiteral(e)
	case *lang.BoolLit:
		return rules.BoolOperand(e.Place, e.Value)
	case *lang.StringLit:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a string is no value of a kernel")
		return rules.Bad(e.Place)
	case *lang.UnaryExpr:
		return b.unary(e)
	case *lang.BinaryExpr:
		return b.binary(e)
	case *lang.CallExpr:
		return b.Checker.Call(b, e)
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
		o := rules.Operand{Mode: rules.Several, At: e.Place, Elems: []rules.Operand{}}
		for _, x := range e.Elems {
			v := b.value(x)
			if v.Mode == rules.Invalid {
				o.Mode = rules.Invalid
			}
			o.Elems = append(o.Elems, v)
		}
		return o
	case *lang.Block:
		return b.blockExpr(e)
	case *lang.ListExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a list is no value of a kernel")
	case *lang.RangeExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a range is no value of a kernel").Help("to read a part of a dimension, declare an axis: `axis r in D[lo .. hi]`")
	case *lang.LambdaExpr:
		b.Errorf(lang.ErrAxisAsValue, e.Place, "a function is no value: only `reduce`, `scan` and a fn that calls its parameter take one")
	default:
		if e == nil {
			return rules.Operand{}
		}
		b.Errorf(lang.ErrAxisAsValue, e.Span(), "this is no expression of a kernel")
	}
	return rules.Bad(e.Span())
}

// value types an expression that must give one value.
func (b *bodyChecker) value(e lang.Expr) rules.Operand {
	if e == nil {
		return rules.Operand{}
	}
	return b.single(b.expr(e), "value")
}

func (b *bodyChecker) name(e *lang.NameExpr) rules.Operand {
	ent := b.scope.Lookup(e.Name)
	if ent == nil {
		if o, ok := rules.NamedConstant(e.Name, e.Place); ok {
			return o
		}
		if e.Name == "_" {
			b.Errorf(lang.ErrNameKind, e.Place, "`_` discards a value and cannot be read")
		} else if _, ok := lang.ParseDType(e.Name); ok {
			b.Errorf(lang.ErrNameKind, e.Place, "%s is a type, not a value", e.Name)
		} else if rules.IsBuiltin(e.Name) {
			b.Errorf(lang.ErrNameKind, e.Place, "%s is a function; its arguments are missing", e.Name)
		} else if !b.ended(e.Name, e.Place) {
			b.unknownValue(e)
		}
		return rules.Bad(e.Place)
	}
	switch ent.Kind {
	case rules.EntInvalid:
		return rules.Bad(e.Place)
	case rules.EntConst:
		o := b.ConstValue(ent.Module, ent.Decl.(*lang.ConstDecl))
		o.At = e.Place
		return o
	case rules.EntSymbol:
		return b.symbol(ent.Symbol, e.Place)
	case rules.EntTensor:
		return rules.Operand{Mode: rules.TensorOperand, At: e.Place, Param: ent.Param}
	case rules.EntAxis:
		if ent.Axis.Scalar {
			return b.positionsOf(ent.Axis, e.Place)
		}
		return rules.Operand{Mode: rules.AxisOperand, At: e.Place, Axis: ent.Axis}
	case rules.EntTile:
		b.Errorf(lang.ErrNameKind, e.Place, "%s is an extent that the planner chooses; it has no value in the program", e.Name).
			LabelAt(ent.At, "it is the extent of an axis").Help("use the axis's `.start` and `.end`")
		return rules.Bad(e.Place)
	case rules.EntValue:
		o := ent.Value
		o.At = e.Place
		if l, ok := o.Expr.(*typed.LocalRef); ok {
			o.Expr = &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: e.Place}, Local: l.Local}
		}
		if s, ok := o.Expr.(*typed.ScalarRef); ok {
			o.Expr = &typed.ScalarRef{Typed: typed.Typed{Type: s.Type, At: e.Place}, Param: s.Param}
		}
		return o
	}
	r := b.Errorf(lang.ErrNameKind, e.Place, "%s is %s, not a value", e.Name, ent.Describe()).LabelAt(ent.At, "declared here")
	if b.isFormula && b.inIndex > 0 && !ent.Counts() {
		notAnAxis(r, e.Name)
	}
	return rules.Bad(e.Place)
}

// symbol is a dimension or a constant parameter as a value.
func (b *bodyChecker) symbol(s *size.Symbol, at lang.Span) rules.Operand {
	if s.DType == lang.I32 {
		return rules.SizeOperand(at, size.Of(s))
	}
	return rules.TypedOperand(&typed.ConstRef{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(s.DType)}, At: at}, Symbol: s})
}

func (b *bodyChecker) unary(e *lang.UnaryExpr) rules.Operand {
	x := b.value(e.X)
	op, ok := lang.FindOp(e.Op, lang.FormPrefix)
	if !ok {
		if x.Mode != rules.Invalid { // `else` behind a text, which is no value
			b.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
		}
		return rules.Bad(e.Place)
	}
	o := b.Apply(op, e.Place, e.OpAt, []rules.Operand{x}, []lang.Expr{e.X})
	if op == lang.OpNeg {
		b.linear(&o, func() (size.Size, bool) {
			s, ok := x.Position()
			return s.Neg(), ok
		})
	}
	return o
}

func (b *bodyChecker) binary(e *lang.BinaryExpr) rules.Operand {
	x, y := b.value(e.X), b.value(e.Y)
	op, ok := lang.FindOp(e.Op, lang.FormInfix)
	if !ok {
		if x.Mode != rules.Invalid { // `else` behind a text, which is no value
			b.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
		}
		return rules.Bad(e.Place)
	}
	o := b.Apply(op, e.Place, e.OpAt, []rules.Operand{x, y}, []lang.Expr{e.X, e.Y})
	b.linear(&o, func() (size.Size, bool) { return b.linearOp(op, x, y) })
	return o
}

// linear records the position that an integer result is.
func (b *bodyChecker) linear(o *rules.Operand, position func() (size.Size, bool)) {
	if o.Mode != rules.TypedValue || o.Linear != nil || !rules.IsIndexType(o.Type().DType) {
		return
	}
	if s, ok := position(); ok && !s.Large() {
		o.Linear = &s
	}
}

// linearOp follows arithmetic on positions. Sums and products may wrap on the
// way without harm: a result proven to lie inside a dimension is the same
// modulo the width. A quotient is followed only of what cannot have wrapped.
func (b *bodyChecker) linearOp(op lang.Op, x, y rules.Operand) (size.Size, bool) {
	p, okx := x.Position()
	q, oky := y.Position()
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
		if !p.IsPlain() || !b.Prover.NonNegative(p) || !b.Prover.NonNegative(q.Sub(size.Const(1))) {
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

// bounded is a hidden symbol for the smaller or the larger of two positions. The larger of two is no more than what both are no more than, as
// max(min(x, 7), 0) is no more than 7; the smaller likewise.
func (b *bodyChecker) bounded(op lang.Op, p, q size.Size) size.Size {
	m := b.NewHidden(fmt.Sprintf("%s(%s, %s)", op, p, q))
	s := size.Of(m)
	for _, sym := range append(p.Symbols(), q.Symbols()...) {
		if b.Varying[sym] {
			b.Varying[m] = true
		}
	}
	if op == lang.OpMin {
		b.limit(m, nil, []size.Size{p, q})
		if b.Prover.NonNegative(p) && b.Prover.NonNegative(q) {
			b.limit(m, []size.Size{size.Const(0)}, nil)
		}
	} else {
		b.limit(m, []size.Size{p, q}, nil)
	}
	for _, x := range [][2]size.Size{{p, q}, {q, p}} {
		of := b.limits[x[0].Symbol()]
		for _, l := range append(of.least, x[0]) {
			if op == lang.OpMin && b.Prover.AtMost(l, x[1]) {
				b.limit(m, []size.Size{l}, nil)
			}
		}
		for _, l := range append(of.most, x[0]) {
			if op == lang.OpMax && b.Prover.AtMost(x[1], l) {
				b.limit(m, nil, []size.Size{l})
			}
		}
	}
	for _, l := range b.ends(op, append(p.Symbols(), q.Symbols()...)) { // of max(index(i) - 1, 0) the last position of i
		switch {
		case op == lang.OpMax && b.Prover.AtMost(p, l) && b.Prover.AtMost(q, l):
			b.limit(m, nil, []size.Size{l})
		case op == lang.OpMin && b.Prover.AtMost(l, p) && b.Prover.AtMost(l, q):
			b.limit(m, []size.Size{l}, nil)
		}
	}
	return s
}

// ends are sizes that positions are known to be no more than, or, for the smaller of two numbers, no less.
func (b *bodyChecker) ends(op lang.Op, positions []*size.Symbol) (ends []size.Size) {
	b.Prover.Each(func(sym *size.Symbol, fact size.Size) {
		if sym.Kind != size.PositionSymbol || !slices.Contains(positions, sym) {
			return
		}
		end := fact.Add(size.Of(sym))
		if op == lang.OpMin {
			end = size.Of(sym).Sub(fact)
		}
		if !slices.ContainsFunc(end.Symbols(), func(s *size.Symbol) bool { return s.Kind == size.PositionSymbol }) {
			ends = append(ends, end)
		}
	})
	return ends
}

// limits are positions that a hidden symbol is no less, and no more, than.
type limits struct{ least, most []size.Size }

// limit notes limits of a hidden symbol.
func (b *bodyChecker) limit(m *size.Symbol, least, most []size.Size) {
	s, of := size.Of(m), b.limits[m]
	for _, l := range least {
		b.Prover.Where(m, s.Sub(l))
	}
	for _, l := range most {
		b.Prover.Where(m, l.Sub(s))
	}
	if b.limits == nil {
		b.limits = map[*size.Symbol]limits{}
	}
	b.limits[m] = limits{append(of.least, least...), append(of.most, most...)}
}

func (b *bodyChecker) cast(e *lang.CastExpr) rules.Operand {
	x := b.value(e.X)
	t := e.Type
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		b.Errorf(lang.ErrDeclType, t.Place, "a value is converted to an element type, not to %s", t.Place.Text())
		return rules.Bad(e.Place)
	}
	d, ok := b.DTypeNamed(b.scope, t.Name.Name, t.Place)
	if !ok || x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	return b.castTo(x, d, e.Place)
}

// castTo converts; constants become constants of the type where it can hold them.
func (b *bodyChecker) castTo(x rules.Operand, d typed.DType, at lang.Span) rules.Operand {
	if n, ok := x.Truncated(d); ok {
		return rules.Operand{Mode: rules.TypedValue, At: at, Expr: &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: d}, At: at}, Int: n, Float: float64(n)}}
	}
	if x.Mode == rules.UntypedFloat && !typed.IsFloat(d) {
		x = b.Settle(x)
	}
	if x.Mode == rules.UntypedInt {
		if n, isConst := x.Size.Const(); isConst {
			lo, hi, isInt := rules.IntRange(d)
			if typed.IsFloat(d) || isInt && lo <= n && n <= hi {
				return b.Convert(x, d)
			}
		}
		x = b.Settle(x)
	}
	if x.IsUntyped() {
		return b.Convert(x, d)
	}
	if x.Mode != rules.TypedValue {
		return rules.Bad(at)
	}
	if x.Type().DType == d {
		return x
	}
	o := rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.Type().Axes}, At: at}, Op: lang.OpCast, Args: []typed.Expr{x.Expr}})
	if rules.IsIndexType(d) && rules.IsIndexType(x.Type().DType) && x.Linear != nil && x.Linear.IsPlain() {
		o.Linear = x.Linear
	}
	return o
}

func (b *bodyChecker) field(e *lang.FieldExpr) rules.Operand {
	n, ok := e.X.(*lang.NameExpr)
	if !ok && b.OfModule(b.scope, false, e) {
		return rules.Bad(e.Place)
	}
	if !ok {
		r := b.Errorf(lang.ErrField, e.Name.Place, "a value has no field %s: `.start` and `.end` are of an axis", e.Name.Name)
		r.Neighbour(false, e.Name.Name, lang.AsAttribute)
		if d, isType := lang.ParseDType(e.Name.Name); isType {
			r.Help("convert with `as %s`", d)
		}
		r.OrHelp("name what it is of: `i.start` of an axis, `x.shape[0]` of a tensor")
		return rules.Bad(e.Place)
	}
	ent := b.scope.Lookup(n.Name)
	switch {
	case ent == nil:
		if !b.OfModule(b.scope, false, e) {
			b.UnknownName(b.scope, n.Name, n.Place, nil, false)
		}
		return rules.Bad(e.Place)
	case ent.Kind == rules.EntInvalid:
		return rules.Bad(e.Place)
	case ent.Kind == rules.EntAxis:
		return b.axisField(ent.Axis, e)
	case ent.Kind == rules.EntTensor && e.Name.Name == "shape":
		b.Errorf(lang.ErrField, e.Place, "a shape is no value: only its numbers are").Help("index it, as in `%s.shape[0]`", n.Name)
		return rules.Bad(e.Place)
	}
	r := b.Errorf(lang.ErrField, e.Name.Place, "%s is %s and has no field %s", n.Name, ent.Describe(), e.Name.Name).LabelAt(ent.At, "declared here")
	if ent.Kind == rules.EntTensor && r.Neighbour(false, e.Name.Name, lang.AsAttribute) {
		return rules.Bad(e.Place)
	}
	if ent.Kind == rules.EntTensor {
		r.Suggest(e.Name.Place, e.Name.Name, []string{"shape"}).OrHelp("`%s.shape[0]` is its first dimension, and `%s` its elements", n.Name, exampleAccess(ent.Param))
	}
	r.OrHelp("only axes (`i.start`) and tensors (`x.shape[0]`) have fields in a kernel")
	return rules.Bad(e.Place)
}

func (b *bodyChecker) blockExpr(e *lang.Block) rules.Operand {
	stmts, o := b.block(e)
	if o.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if len(stmts) == 0 && o.Mode != rules.NoValue {
		return o
	}
	results := b.results(o, nil)
	if results == nil && o.Mode != rules.NoValue {
		return rules.Bad(e.Place)
	}
	return inline(stmts, o, results, e.Place)
}

// condition wants a bool scalar.
func (b *bodyChecker) condition(e lang.Expr) (typed.Expr, bool) {
	o := b.value(e)
	if o.Mode == rules.Invalid {
		return nil, false
	}
	if o.Mode != rules.TypedValue || o.Type().DType != typed.Concrete(lang.Bool) {
		b.Errorf(lang.ErrCondition, e.Span(), "the condition of `if` is %s, not bool", b.DescribeOperand(o)).Help("compare it, as in `x > 0`")
		return nil, false
	}
	if t := o.Type(); len(t.Axes) > 0 {
		b.Errorf(lang.ErrCondition, e.Span(), "the condition of `if` is the tile %s, not a scalar", t).
			Help("choose element by element with `where(c, a, b)`, or reduce it with `any` or `all`")
		return nil, false
	}
	return o.Expr, true
}

func (b *bodyChecker) ifExpr(e *lang.IfExpr) rules.Operand {
	cond, ok := b.condition(e.Cond)
	thenStmts, then := b.block(e.Then)
	var otherStmts []typed.Stmt
	other := rules.Operand{Mode: rules.NoValue, At: e.Place}
	switch x := e.Else.(type) {
	case *lang.Block:
		otherStmts, other = b.block(x)
	case *lang.IfExpr:
		otherStmts, other = b.within(rules.NewScope(b.scope), func() rules.Operand { return b.ifExpr(x) })
		if other.Mode == rules.NoValue && other.Expr != nil {
			otherStmts = append(otherStmts, &typed.Do{X: other.Expr})
		}
	}
	if !ok || then.Mode == rules.Invalid || other.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if e.Else == nil && then.Mode != rules.NoValue {
		b.Errorf(lang.ErrBranches, e.Place, "the `if` gives %s, and nothing when the condition does not hold", b.DescribeOperand(then)).
			Help("add an `else { ... }` with the other value")
		return rules.Bad(e.Place)
	}
	thenXs, otherXs, ok := b.agree(then, other)
	if !ok {
		return rules.Bad(e.Place)
	}
	x := &typed.If{Cond: cond, Then: &typed.Body{Stmts: thenStmts, Results: thenXs}, Else: &typed.Body{Stmts: otherStmts, Results: otherXs}, At: e.Place}
	return wrap(x, e.Place, nil)
}

// agree gives the values of two branches one type each.
func (b *bodyChecker) agree(x, y rules.Operand) (xs, ys []typed.Expr, ok bool) {
	if x.Mode == rules.NoValue && y.Mode == rules.NoValue {
		return nil, nil, true
	}
	tx, ty := x.ValueTypes(), y.ValueTypes()
	if len(tx) != len(ty) {
		b.Errorf(lang.ErrBranches, y.At, "the branches give %s and %s", report.Plural(len(tx), "value"), report.Plural(len(ty), "value")).
			LabelAt(x.At, "gives %s", report.Plural(len(tx), "value"))
		return nil, nil, false
	}
	// An untyped value takes the other branch's element type.
	xu, yu := x.UntypedAt(len(tx)), y.UntypedAt(len(ty))
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
			b.Errorf(lang.ErrBranches, y.At, "the branches of `if` differ: %s and %s", tx[i], ty[i]).
				LabelAt(x.At, "%s", tx[i]).Help("convert one with `as`")
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
			b.Errorf(lang.ErrBranches, y.At, "the branches of `if` have other axes: %s and %s", tx[i], ty[i]).
				LabelAt(x.At, "%s", tx[i]).Help("broadcast the smaller one, as in `x + zeros(%s, ...)`", tx[i].DType)
			return nil, nil, false
		}
	}
	return xs, ys, true
}

func broadcastScalar(x typed.Expr, axes []*typed.Axis) typed.Expr {
	t := x.Types()[0]
	return &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: axes}, At: x.Span()}, Op: lang.OpFull, Args: []typed.Expr{x}, Axes: axes}
}
