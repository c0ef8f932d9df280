package graph

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// expr types an expression of a graph.
func (g *graphChecker) expr(e lang.Expr) rules.Operand {
	switch e := e.(type) {
	case *lang.NameExpr:
		return g.name(e)
	case *lang.IntLit:
		return rules.IntLiteral(e.Place, e.Value)
	case *lang.FloatLit:
		return rules.FloatLiteral(e)
	case *lang.BoolLit:
		return g.literal(lang.Literal{DType: lang.Bool, Int: boolInt(e.Value)}, e.Place)
	case *lang.UnaryExpr:
		if op, ok := lang.FindOp(e.Op, lang.FormPrefix); ok {
			return g.elementwise(op, e.Place, e.OpAt, []lang.Expr{e.X})
		}
		g.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
	case *lang.BinaryExpr:
		if op, ok := lang.FindOp(e.Op, lang.FormInfix); ok {
			return g.elementwise(op, e.Place, e.OpAt, []lang.Expr{e.X, e.Y})
		}
		g.Errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
	case *lang.CallExpr:
		return g.Checker.Call(g, e)
	case *lang.IndexExpr:
		return g.index(e)
	case *lang.FieldExpr:
		return g.field(e)
	case *lang.CastExpr:
		return g.cast(e)
	case *lang.ForExpr:
		return g.forExpr(e)
	case *lang.TupleExpr:
		return g.tuple(e)
	case *lang.Block:
		outer := g.scope
		g.scope = rules.NewScope(outer)
		o := g.block(e)
		g.scope = outer
		return o
	case *lang.IfExpr:
		return g.ifExpr(e)
	case *lang.ListExpr:
		return g.list(e)
	case *lang.StringLit:
		g.Errorf(lang.ErrAxisAsValue, e.Place, "a string is no value of a graph")
	case *lang.RangeExpr:
		g.Errorf(lang.ErrAxisAsValue, e.Place, "a range is no value: it is part of an index, as in `x[a .. b]`")
	case *lang.LambdaExpr:
		g.Errorf(lang.ErrAxisAsValue, e.Place, "a function is no value: a fn that calls its parameter takes one")
	default:
		if e == nil {
			return rules.Operand{}
		}
		g.Errorf(lang.ErrAxisAsValue, e.Span(), "this is no expression of a graph")
	}
	return rules.Bad(e.Span())
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (g *graphChecker) literal(l lang.Literal, at lang.Span) rules.Operand {
	return graphOperand(&typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(l.DType)}, At: at}, Value: l})
}

func (g *graphChecker) name(e *lang.NameExpr) rules.Operand {
	ent := g.scope.Lookup(e.Name)
	if ent == nil {
		if o, ok := rules.NamedConstant(e.Name, e.Place); ok {
			return o
		}
		if _, ok := lang.ParseDType(e.Name); ok {
			g.Errorf(lang.ErrNameKind, e.Place, "%s is a type, not a value", e.Name)
		} else if rules.IsBuiltin(e.Name) {
			g.Errorf(lang.ErrNameKind, e.Place, "%s is not a value", e.Name)
		} else {
			g.UnknownName(g.scope, e.Name, e.Place, []string{"inf", "nan", "pi"}, true)
		}
		return rules.Bad(e.Place)
	}
	switch ent.Kind {
	case rules.EntInvalid:
		return rules.Bad(e.Place)
	case rules.EntConst:
		o := g.ConstValue(ent.Module, ent.Decl.(*lang.ConstDecl))
		o.At = e.Place
		if c, ok := o.Expr.(*typed.Const); ok && o.Mode == rules.TypedValue {
			return g.literal(lang.Literal{DType: c.Type.DType.Of, Int: c.Int, Float: c.Float}, e.Place)
		}
		return o
	case rules.EntSymbol:
		if s := ent.Symbol; s.DType != lang.I32 {
			return graphOperand(&typed.GConstRef{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(s.DType)}, At: e.Place}, Symbol: s})
		}
		return rules.SizeOperand(e.Place, size.Of(ent.Symbol))
	case rules.EntValue, rules.EntGraphValue: // an entValue is a constant of a fn
		if ent.Output != nil {
			g.Errorf(lang.ErrOutputRead, e.Place, "the output %s cannot be read", e.Name).LabelAt(ent.At, "an output").Help("bind the value with `let` first, and use that name")
			return rules.Bad(e.Place)
		}
		switch x := ent.Graph.(type) {
		case *typed.GParamRef:
			return graphOperand(&typed.GParamRef{GTyped: typed.GTyped{Type: x.Type, At: e.Place}, Param: x.Param})
		case *typed.GLocalRef:
			o := graphOperand(&typed.GLocalRef{GTyped: typed.GTyped{Type: x.Type, At: e.Place}, Local: x.Local})
			o.Linear = ent.Value.Linear
			return o
		}
		o := ent.Value
		o.At = e.Place
		return o
	}
	g.Errorf(lang.ErrNameKind, e.Place, "%s is %s, not a value", e.Name, ent.Describe()).LabelAt(ent.At, "declared here")
	return rules.Bad(e.Place)
}

// toScalar gives an untyped operand the element type d.
func (g *graphChecker) toScalar(o rules.Operand, d typed.DType) rules.Operand {
	if !o.IsUntyped() {
		return o
	}
	c := g.Checker.Convert(o, d)
	if c.Mode != rules.TypedValue {
		return c
	}
	t := typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: o.At}
	var x typed.GExpr
	switch e := c.Expr.(type) {
	case *typed.Const:
		of := d.Of
		if d.Param != nil { // a literal of a type parameter is as wide as can be, and rounded when it is used
			of = lang.F32
			if d.Param.Bound == "int" {
				of = lang.I32
			}
		}
		x = &typed.GConst{GTyped: t, Value: lang.Literal{DType: of, Int: e.Int, Float: e.Float}}
		if of != d.Of {
			inner := &typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(of)}, At: o.At}, Value: lang.Literal{DType: of, Int: e.Int, Float: e.Float}}
			x = &typed.GApply{GTyped: t, Op: lang.OpCast, Args: []typed.GExpr{inner}}
		}
	default:
		x = &typed.GSizeOf{GTyped: t, Size: o.Size}
	}
	out := graphOperand(x)
	if o.Mode == rules.UntypedInt && rules.IsIndexType(d) {
		out.Linear = &o.Size
	}
	return out
}

// scalar types an expression that must give a scalar or an untyped constant.
func (g *graphChecker) scalar(e lang.Expr, what string) rules.Operand {
	return g.scalarOf(g.expr(e), e, what)
}

func (g *graphChecker) scalarOf(o rules.Operand, e lang.Expr, what string) rules.Operand {
	switch {
	case o.Mode == rules.NoValue:
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return rules.Bad(e.Span())
	case o.Mode == rules.List, o.Mode == rules.TypedValue && o.Graph.GType().Kind != typed.GScalar:
		g.Errorf(lang.ErrNotScalar, e.Span(), "%s needs a scalar, not %s", what, g.describe(o))
		return rules.Bad(e.Span())
	}
	return o
}

// elementwise types an operation of the table on scalars and whole tensors.
func (g *graphChecker) elementwise(op lang.Op, at, opAt lang.Span, exprs []lang.Expr) rules.Operand {
	row := op.Row()
	args := make([]rules.Operand, len(exprs))
	ok, tensors := true, false
	for i, e := range exprs {
		args[i] = g.element(g.expr(e), e, "`"+row.Spelling+"`")
		ok = ok && args[i].Mode != rules.Invalid
		tensors = tensors || args[i].Mode == rules.List || args[i].Mode == rules.TypedValue && args[i].Graph.GType().Kind == typed.GTensor
	}
	switch {
	case !ok:
		return rules.Bad(at)
	case !tensors:
		return g.scalarApply(op, at, opAt, args, exprs)
	}
	if args, ok = g.adaptLists(args); !ok {
		return rules.Bad(at)
	}
	return g.tensorOp(op, at, opAt, args, exprs)
}

// element checks that an operand is one that elementwise operations take: a tensor, a scalar, or a constant.
func (g *graphChecker) element(o rules.Operand, e lang.Expr, what string) rules.Operand {
	switch {
	case o.Mode == rules.NoValue:
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return rules.Bad(e.Span())
	case o.Mode == rules.TypedValue && o.Graph.GType().Kind != typed.GScalar && o.Graph.GType().Kind != typed.GTensor:
		g.Errorf(lang.ErrNotScalar, e.Span(), "%s needs tensors or scalars, not %s", what, o.Graph.GType())
		return rules.Bad(e.Span())
	}
	return o
}

func (g *graphChecker) scalarApply(op lang.Op, at, opAt lang.Span, args []rules.Operand, exprs []lang.Expr) rules.Operand {
	row := op.Row()
	if len(args) != len(row.Operands) {
		g.Errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, report.Plural(len(row.Operands), "argument"), len(args))
		return rules.Bad(at)
	}
	// The rules are those of tiles: each scalar is lent a form that they know.
	lent := make([]rules.Operand, len(args))
	back := map[typed.Expr]typed.GExpr{}
	for i, a := range args {
		lent[i] = a
		if a.Mode == rules.TypedValue {
			c := &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: a.Graph.GType().DType}, At: a.At}}
			back[c] = a.Graph
			lent[i].Expr = c
		}
	}
	o := g.Checker.Apply(op, at, opAt, lent, exprs)
	if o.Mode != rules.TypedValue {
		return o
	}
	switch x := o.Expr.(type) {
	case *typed.Const:
		return g.literal(lang.Literal{DType: x.Type.DType.Of, Int: x.Int, Float: x.Float}, at)
	case *typed.Apply:
		out := &typed.GApply{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: x.Type.DType}, At: at}, Op: op, Args: nil}
		for i, a := range x.Args {
			if back[a] != nil {
				out.Args = append(out.Args, back[a])
				continue
			}
			out.Args = append(out.Args, g.toScalar(args[i], a.Types()[0].DType).Graph)
		}
		res := graphOperand(out)
		if len(args) == 2 && rules.IsIndexType(x.Type.DType) {
			res.Linear = linearSum(op, args[0], args[1])
		}
		return res
	}
	return rules.Bad(at)
}

// linearSum follows sums and products of loop counters.
func linearSum(op lang.Op, x, y rules.Operand) *size.Size {
	p, okx := x.Position()
	q, oky := y.Position()
	if !okx || !oky {
		return nil
	}
	var s size.Size
	switch op {
	case lang.OpAdd:
		s = p.Add(q)
	case lang.OpSub:
		s = p.Sub(q)
	case lang.OpMul:
		s = p.Mul(q)
	default:
		return nil
	}
	if s.Large() {
		return nil
	}
	return &s
}

func (g *graphChecker) cast(e *lang.CastExpr) rules.Operand {
	o := g.element(g.expr(e.X), e.X, "`as`")
	t := e.Type
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		g.Errorf(lang.ErrDeclType, t.Place, "a value is converted to an element type, not to %s", t.Place.Text())
		return rules.Bad(e.Place)
	}
	d, ok := g.DTypeNamed(g.scope, t.Name.Name, t.Place)
	if !ok || o.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if o.Mode == rules.List {
		return g.listAs(o, d)
	}
	if n, ok := o.Truncated(d); ok {
		return g.literal(lang.Literal{DType: d.Of, Int: n, Float: float64(n)}, e.Place)
	}
	if o.Mode == rules.UntypedFloat && !typed.IsFloat(d) {
		o = g.settled(o)
	} else if o.Mode == rules.UntypedInt && !typed.IsFloat(d) && d != typed.Concrete(lang.I32) {
		o = g.toScalar(o, typed.Concrete(lang.I32))
	}
	if o.IsUntyped() {
		return g.toScalar(o, d)
	}
	if o.Mode != rules.TypedValue || o.Graph.GType().DType == d {
		return o
	}
	if t := o.Graph.GType(); t.Kind == typed.GTensor {
		k := &pointwise{}
		x := g.operandOf(k, o.Graph)
		k.value = &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.Types()[0].Axes}, At: e.Place}, Op: lang.OpCast, Args: []typed.Expr{x}}
		return g.tensorValue(k, t.Shape, e.Place)
	}
	return graphOperand(&typed.GApply{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: e.Place}, Op: lang.OpCast, Args: []typed.GExpr{o.Graph}})
}

func (g *graphChecker) tuple(e *lang.TupleExpr) rules.Operand {
	out := &typed.GTupleOf{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTuple}, At: e.Place}}
	ok := true
	for _, x := range e.Elems {
		o := g.settled(g.expr(x))
		if o.Mode != rules.TypedValue {
			if o.Mode == rules.NoValue {
				g.Errorf(lang.ErrValueCount, x.Span(), "this gives no value")
			}
			ok = false
			continue
		}
		out.Elems = append(out.Elems, o.Graph)
		out.Type.Elems = append(out.Type.Elems, o.Graph.GType())
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	return graphOperand(out)
}

// settled gives an untyped operand its default type.
func (g *graphChecker) settled(o rules.Operand) rules.Operand {
	switch {
	case o.IsUntyped():
		return g.toScalar(o, o.DefaultType())
	case o.Mode == rules.List:
		return g.listAs(o, o.List.Settled())
	}
	return o
}

func (g *graphChecker) field(e *lang.FieldExpr) rules.Operand {
	if g.OfModule(g.scope, true, e) {
		return rules.Bad(e.Place)
	}
	x := g.expr(e.X)
	if x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	if x.Mode == rules.TypedValue && x.Graph.GType().Kind == typed.GStruct {
		t := x.Graph.GType()
		if i := slices.IndexFunc(t.Fields, func(f typed.GField) bool { return f.Name == e.Name.Name }); i >= 0 {
			return graphOperand(&typed.GFieldOf{GTyped: typed.GTyped{Type: t.Fields[i].Type, At: e.Place}, X: x.Graph, Index: i})
		}
		names := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			names[i] = f.Name
		}
		g.Errorf(lang.ErrField, e.Name.Place, "%s has no field %s", t.Struct.Name, e.Name.Name).LabelAt(t.Struct.Decl.Name.Place, "declared here").
			Suggest(e.Name.Place, e.Name.Name, names).OrHelp("it has %s", strings.Join(names, ", "))
		return rules.Bad(e.Place)
	}
	r := g.Errorf(lang.ErrField, e.Name.Place, "%s has no field %s", g.describe(x), e.Name.Name)
	switch {
	case x.Mode != rules.TypedValue || x.Graph.GType().Kind != typed.GTensor:
	case e.Name.Name == "shape":
		r.Help("it is read by dimension: `x.shape[0]`")
	case r.Neighbour(true, e.Name.Name, lang.AsAttribute):
	}
	r.OrHelp("only structs have fields; of a tensor there is `x.shape[0]`")
	return rules.Bad(e.Place)
}

// isMutable reports a part of an inout parameter.
func (g *graphChecker) isMutable(x typed.GExpr) bool {
	switch x := x.(type) {
	case *typed.GParamRef:
		return x.Param.Mode == lang.InOut
	case *typed.GLocalRef:
		return g.state[x.Local] || g.aliasOf[x.Local] != nil
	}
	of, inside := typed.Container(x)
	return inside && g.isMutable(of)
}
