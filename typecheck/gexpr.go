package typecheck

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// expr types an expression of a graph.
func (g *graphChecker) expr(e lang.Expr) operand {
	switch e := e.(type) {
	case *lang.NameExpr:
		return g.name(e)
	case *lang.IntLit:
		return intLiteral(e.Place, e.Value)
	case *lang.FloatLit:
		return floatLiteral(e)
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
		return g.checker.call(g, e)
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
		g.scope = newScope(outer)
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
			return operand{}
		}
		g.Errorf(lang.ErrAxisAsValue, e.Span(), "this is no expression of a graph")
	}
	return bad(e.Span())
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (g *graphChecker) literal(l lang.Literal, at lang.Span) operand {
	return graphOperand(&typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(l.DType)}, At: at}, Value: l})
}

func (g *graphChecker) name(e *lang.NameExpr) operand {
	ent := g.scope.lookup(e.Name)
	if ent == nil {
		if o, ok := namedConstant(e.Name, e.Place); ok {
			return o
		}
		if _, ok := lang.ParseDType(e.Name); ok {
			g.Errorf(lang.ErrNameKind, e.Place, "%s is a type, not a value", e.Name)
		} else if isBuiltin(e.Name) {
			g.Errorf(lang.ErrNameKind, e.Place, "%s is not a value", e.Name)
		} else {
			g.unknown(g.scope, e.Name, e.Place, []string{"inf", "nan", "pi"}, true)
		}
		return bad(e.Place)
	}
	switch ent.kind {
	case entInvalid:
		return bad(e.Place)
	case entConst:
		o := g.constValue(ent.module, ent.decl.(*lang.ConstDecl))
		o.at = e.Place
		if c, ok := o.expr.(*typed.Const); ok && o.mode == typedValue {
			return g.literal(lang.Literal{DType: c.Type.DType.Of, Int: c.Int, Float: c.Float}, e.Place)
		}
		return o
	case entSymbol:
		if s := ent.symbol; s.DType != lang.I32 {
			return graphOperand(&typed.GConstRef{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(s.DType)}, At: e.Place}, Symbol: s})
		}
		return sizeOperand(e.Place, size.Of(ent.symbol))
	case entValue, entGraphValue: // an entValue is a constant of a fn
		if ent.output != nil {
			g.Errorf(lang.ErrOutputRead, e.Place, "the output %s cannot be read", e.Name).label(ent.at, "an output").help("bind the value with `let` first, and use that name")
			return bad(e.Place)
		}
		switch x := ent.graph.(type) {
		case *typed.GParamRef:
			return graphOperand(&typed.GParamRef{GTyped: typed.GTyped{Type: x.Type, At: e.Place}, Param: x.Param})
		case *typed.GLocalRef:
			o := graphOperand(&typed.GLocalRef{GTyped: typed.GTyped{Type: x.Type, At: e.Place}, Local: x.Local})
			o.lin = ent.value.lin
			return o
		}
		o := ent.value
		o.at = e.Place
		return o
	}
	g.Errorf(lang.ErrNameKind, e.Place, "%s is %s, not a value", e.Name, ent.describe()).label(ent.at, "declared here")
	return bad(e.Place)
}

// toScalar gives an untyped operand the element type d.
func (g *graphChecker) toScalar(o operand, d typed.DType) operand {
	if !o.isUntyped() {
		return o
	}
	c := g.checker.convert(o, d)
	if c.mode != typedValue {
		return c
	}
	t := typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: o.at}
	var x typed.GExpr
	switch e := c.expr.(type) {
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
			inner := &typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: typed.Concrete(of)}, At: o.at}, Value: lang.Literal{DType: of, Int: e.Int, Float: e.Float}}
			x = &typed.GApply{GTyped: t, Op: lang.OpCast, Args: []typed.GExpr{inner}}
		}
	default:
		x = &typed.GSizeOf{GTyped: t, Size: o.size}
	}
	out := graphOperand(x)
	if o.mode == untypedInt && isIndexType(d) {
		out.lin = &o.size
	}
	return out
}

// scalar types an expression that must give a scalar or an untyped constant.
func (g *graphChecker) scalar(e lang.Expr, what string) operand {
	return g.scalarOf(g.expr(e), e, what)
}

func (g *graphChecker) scalarOf(o operand, e lang.Expr, what string) operand {
	switch {
	case o.mode == noValue:
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	case o.mode == list, o.mode == typedValue && o.graph.GType().Kind != typed.GScalar:
		g.Errorf(lang.ErrNotScalar, e.Span(), "%s needs a scalar, not %s", what, g.describe(o))
		return bad(e.Span())
	}
	return o
}

// elementwise types an operation of the table on scalars and whole tensors.
func (g *graphChecker) elementwise(op lang.Op, at, opAt lang.Span, exprs []lang.Expr) operand {
	row := op.Row()
	args := make([]operand, len(exprs))
	ok, tensors := true, false
	for i, e := range exprs {
		args[i] = g.element(g.expr(e), e, "`"+row.Spelling+"`")
		ok = ok && args[i].mode != invalid
		tensors = tensors || args[i].mode == list || args[i].mode == typedValue && args[i].graph.GType().Kind == typed.GTensor
	}
	switch {
	case !ok:
		return bad(at)
	case !tensors:
		return g.scalarApply(op, at, opAt, args, exprs)
	}
	if args, ok = g.adaptLists(args); !ok {
		return bad(at)
	}
	return g.tensorOp(op, at, opAt, args, exprs)
}

// element checks that an operand is one that elementwise operations take: a tensor, a scalar, or a constant.
func (g *graphChecker) element(o operand, e lang.Expr, what string) operand {
	switch {
	case o.mode == noValue:
		g.Errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	case o.mode == typedValue && o.graph.GType().Kind != typed.GScalar && o.graph.GType().Kind != typed.GTensor:
		g.Errorf(lang.ErrNotScalar, e.Span(), "%s needs tensors or scalars, not %s", what, o.graph.GType())
		return bad(e.Span())
	}
	return o
}

func (g *graphChecker) scalarApply(op lang.Op, at, opAt lang.Span, args []operand, exprs []lang.Expr) operand {
	row := op.Row()
	if len(args) != len(row.Operands) {
		g.Errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, plural(len(row.Operands), "argument"), len(args))
		return bad(at)
	}
	// The rules are those of tiles: each scalar is lent a form that they know.
	lent := make([]operand, len(args))
	back := map[typed.Expr]typed.GExpr{}
	for i, a := range args {
		lent[i] = a
		if a.mode == typedValue {
			c := &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: a.graph.GType().DType}, At: a.at}}
			back[c] = a.graph
			lent[i].expr = c
		}
	}
	o := g.checker.apply(op, at, opAt, lent, exprs)
	if o.mode != typedValue {
		return o
	}
	switch x := o.expr.(type) {
	case *typed.Const:
		return g.literal(lang.Literal{DType: x.Type.DType.Of, Int: x.Int, Float: x.Float}, at)
	case *typed.Apply:
		out := &typed.GApply{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: x.Type.DType}, At: at}, Op: op, Args: nil}
		for i, a := range x.Args {
			if back[a] != nil {
				out.Args = append(out.Args, back[a])
				continue
			}
			out.Args = append(out.Args, g.toScalar(args[i], a.Types()[0].DType).graph)
		}
		res := graphOperand(out)
		if len(args) == 2 && isIndexType(x.Type.DType) {
			res.lin = linearSum(op, args[0], args[1])
		}
		return res
	}
	return bad(at)
}

// linearSum follows sums and products of loop counters.
func linearSum(op lang.Op, x, y operand) *size.Size {
	p, okx := x.position()
	q, oky := y.position()
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

func (g *graphChecker) cast(e *lang.CastExpr) operand {
	o := g.element(g.expr(e.X), e.X, "`as`")
	t := e.Type
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		g.Errorf(lang.ErrDeclType, t.Place, "a value is converted to an element type, not to %s", t.Place.Text())
		return bad(e.Place)
	}
	d, ok := g.dtypeNamed(g.scope, t.Name.Name, t.Place)
	if !ok || o.mode == invalid {
		return bad(e.Place)
	}
	if o.mode == list {
		return g.listAs(o, d)
	}
	if n, ok := o.truncated(d); ok {
		return g.literal(lang.Literal{DType: d.Of, Int: n, Float: float64(n)}, e.Place)
	}
	if o.mode == untypedFloat && !typed.IsFloat(d) {
		o = g.settled(o)
	} else if o.mode == untypedInt && !typed.IsFloat(d) && d != typed.Concrete(lang.I32) {
		o = g.toScalar(o, typed.Concrete(lang.I32))
	}
	if o.isUntyped() {
		return g.toScalar(o, d)
	}
	if o.mode != typedValue || o.graph.GType().DType == d {
		return o
	}
	if t := o.graph.GType(); t.Kind == typed.GTensor {
		k := &pointwise{}
		x := g.operandOf(k, o.graph)
		k.value = &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: x.Types()[0].Axes}, At: e.Place}, Op: lang.OpCast, Args: []typed.Expr{x}}
		return g.tensorValue(k, t.Shape, e.Place)
	}
	return graphOperand(&typed.GApply{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: e.Place}, Op: lang.OpCast, Args: []typed.GExpr{o.graph}})
}

func (g *graphChecker) tuple(e *lang.TupleExpr) operand {
	out := &typed.GTupleOf{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTuple}, At: e.Place}}
	ok := true
	for _, x := range e.Elems {
		o := g.settled(g.expr(x))
		if o.mode != typedValue {
			if o.mode == noValue {
				g.Errorf(lang.ErrValueCount, x.Span(), "this gives no value")
			}
			ok = false
			continue
		}
		out.Elems = append(out.Elems, o.graph)
		out.Type.Elems = append(out.Type.Elems, o.graph.GType())
	}
	if !ok {
		return bad(e.Place)
	}
	return graphOperand(out)
}

// settled gives an untyped operand its default type.
func (g *graphChecker) settled(o operand) operand {
	switch {
	case o.isUntyped():
		return g.toScalar(o, o.defaultType())
	case o.mode == list:
		return g.listAs(o, o.list.settled())
	}
	return o
}

func (g *graphChecker) field(e *lang.FieldExpr) operand {
	if g.ofModule(g.scope, true, e) {
		return bad(e.Place)
	}
	x := g.expr(e.X)
	if x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode == typedValue && x.graph.GType().Kind == typed.GStruct {
		t := x.graph.GType()
		if i := slices.IndexFunc(t.Fields, func(f typed.GField) bool { return f.Name == e.Name.Name }); i >= 0 {
			return graphOperand(&typed.GFieldOf{GTyped: typed.GTyped{Type: t.Fields[i].Type, At: e.Place}, X: x.graph, Index: i})
		}
		names := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			names[i] = f.Name
		}
		g.Errorf(lang.ErrField, e.Name.Place, "%s has no field %s", t.Struct.Name, e.Name.Name).label(t.Struct.Decl.Name.Place, "declared here").
			suggest(e.Name.Place, e.Name.Name, names).orHelp("it has %s", strings.Join(names, ", "))
		return bad(e.Place)
	}
	r := g.Errorf(lang.ErrField, e.Name.Place, "%s has no field %s", g.describe(x), e.Name.Name)
	switch {
	case x.mode != typedValue || x.graph.GType().Kind != typed.GTensor:
	case e.Name.Name == "shape":
		r.help("it is read by dimension: `x.shape[0]`")
	case r.neighbour(true, e.Name.Name, lang.AsAttribute):
	}
	r.orHelp("only structs have fields; of a tensor there is `x.shape[0]`")
	return bad(e.Place)
}

// isMutable reports a part of an inout parameter.
func (g *graphChecker) isMutable(x typed.GExpr) bool {
	switch x := x.(type) {
	case *typed.GParamRef:
		return x.Param.Mode == lang.InOut
	case *typed.GLocalRef:
		return g.state[x.Local] || g.partOf[x.Local] != nil
	}
	of, isPart := typed.PartOf(x)
	return isPart && g.isMutable(of)
}
