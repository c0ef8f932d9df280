package typecheck

import (
	"math"

	"tilec/lang"
)

// expr types an expression of a graph.
func (g *graphChecker) expr(e lang.Expr) operand {
	switch e := e.(type) {
	case *lang.NameExpr:
		return g.name(e)
	case *lang.IntLit:
		if e.Value > math.MaxInt64 {
			g.errorf(lang.ErrConstantType, e.Place, "the integer %d does not fit 64 bits with sign", e.Value)
			return bad(e.Place)
		}
		return intOperand(e.Place, int64(e.Value))
	case *lang.FloatLit:
		return floatOperand(e.Place, e.Value)
	case *lang.BoolLit:
		return g.literal(Literal{DType: lang.Bool, Int: boolInt(e.Value)}, e.Place)
	case *lang.UnaryExpr:
		if op, ok := lang.FindOp(e.Op, lang.FormPrefix); ok {
			return g.scalarOp(op, e.Place, e.OpAt, []lang.Expr{e.X})
		}
		g.errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
	case *lang.BinaryExpr:
		if op, ok := lang.FindOp(e.Op, lang.FormInfix); ok {
			return g.scalarOp(op, e.Place, e.OpAt, []lang.Expr{e.X, e.Y})
		}
		g.errorf(lang.ErrOperandType, e.OpAt, "unknown operator %s", e.Op)
	case *lang.CallExpr:
		return g.call(e)
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
		g.later(e.Place, "a choice in a graph")
	case *lang.ListExpr:
		g.errorf(lang.ErrAxisAsValue, e.Place, "a list is no value: it is a shape, as in `view(x, [B, S])`")
	case *lang.StringLit:
		g.errorf(lang.ErrAxisAsValue, e.Place, "a string is no value of a graph")
	case *lang.RangeExpr:
		g.errorf(lang.ErrAxisAsValue, e.Place, "a range is no value: it is part of an index, as in `x[a .. b]`")
	case *lang.LambdaExpr:
		g.later(e.Place, "a function as a value")
	default:
		if e == nil {
			return operand{}
		}
		g.errorf(lang.ErrAxisAsValue, e.Span(), "this is no expression of a graph")
	}
	return bad(e.Span())
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (g *graphChecker) literal(l Literal, at lang.Span) operand {
	return graphOperand(&GConst{GTyped{GType{Kind: GScalar, DType: Concrete(l.DType)}, at}, l})
}

func (g *graphChecker) name(e *lang.NameExpr) operand {
	ent := g.scope.lookup(e.Name)
	if ent == nil {
		if o, ok := namedConstant(e.Name, e.Place); ok {
			return o
		}
		if _, ok := lang.ParseDType(e.Name); ok {
			g.errorf(lang.ErrNameKind, e.Place, "%s is a type, not a value", e.Name)
		} else if isBuiltin(e.Name) {
			g.errorf(lang.ErrNameKind, e.Place, "%s is not a value", e.Name)
		} else {
			g.unknown(g.scope, e.Name, e.Place, []string{"inf", "nan", "pi"})
		}
		return bad(e.Place)
	}
	switch ent.kind {
	case entInvalid:
		return bad(e.Place)
	case entConst:
		o := g.constValue(ent.module, ent.decl.(*lang.ConstDecl))
		o.at = e.Place
		if c, ok := o.expr.(*Const); ok && o.mode == typed {
			return g.literal(Literal{DType: c.Type.DType.Of, Int: c.Int, Float: c.Float}, e.Place)
		}
		return o
	case entSymbol:
		if s := ent.symbol; s.DType != lang.I32 {
			return graphOperand(&GConstRef{GTyped{GType{Kind: GScalar, DType: Concrete(s.DType)}, e.Place}, s})
		}
		return sizeOperand(e.Place, SymbolSize(ent.symbol))
	case entGraphValue:
		if ent.output != nil {
			g.errorf(lang.ErrOutputRead, e.Place, "the output %s cannot be read", e.Name).label(ent.at, "an output").help("bind the value with `let` first, and use that name")
			return bad(e.Place)
		}
		switch x := ent.graph.(type) {
		case *GParamRef:
			return graphOperand(&GParamRef{GTyped{x.Type, e.Place}, x.Param})
		case *GLocalRef:
			o := graphOperand(&GLocalRef{GTyped{x.Type, e.Place}, x.Local})
			o.lin = ent.value.lin
			return o
		}
		o := ent.value
		o.at = e.Place
		return o
	}
	g.errorf(lang.ErrNameKind, e.Place, "%s is %s, not a value", e.Name, ent.describe()).label(ent.at, "declared here")
	return bad(e.Place)
}

// toScalar gives an untyped operand the element type d.
func (g *graphChecker) toScalar(o operand, d DType) operand {
	if !o.isUntyped() {
		return o
	}
	c := g.checker.convert(o, d)
	if c.mode != typed {
		return c
	}
	t := GTyped{GType{Kind: GScalar, DType: d}, o.at}
	var x GExpr
	switch e := c.expr.(type) {
	case *Const:
		of := d.Of
		if d.Param != nil { // a literal of a type parameter is as wide as can be, and rounded when it is used
			of = lang.F32
			if d.Param.Bound == "int" {
				of = lang.I32
			}
		}
		x = &GConst{t, Literal{DType: of, Int: e.Int, Float: e.Float}}
		if of != d.Of {
			inner := &GConst{GTyped{GType{Kind: GScalar, DType: Concrete(of)}, o.at}, Literal{DType: of, Int: e.Int, Float: e.Float}}
			x = &GApply{t, lang.OpCast, []GExpr{inner}}
		}
	default:
		x = &GSizeOf{t, o.size}
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
		g.errorf(lang.ErrValueCount, e.Span(), "this gives no value")
		return bad(e.Span())
	case o.mode == typed && o.graph.GType().Kind == GTensor:
		g.later(e.Span(), what+" on whole tensors")
		return bad(e.Span())
	case o.mode == typed && o.graph.GType().Kind != GScalar:
		g.errorf(lang.ErrNotScalar, e.Span(), "%s needs scalars, not %s", what, o.graph.GType())
		return bad(e.Span())
	}
	return o
}

// scalarOp types an operation of the table on scalars.
func (g *graphChecker) scalarOp(op lang.Op, at, opAt lang.Span, exprs []lang.Expr) operand {
	row := op.Row()
	args := make([]operand, len(exprs))
	ok := true
	for i, e := range exprs {
		args[i] = g.expr(e)
	}
	for i, a := range args {
		if a.mode == typed && a.graph.GType().Kind == GTensor { // one error for the operation, whatever its operands
			g.later(at, "`"+row.Spelling+"` on whole tensors")
			return bad(at)
		}
		args[i] = g.scalarOf(a, exprs[i], "`"+row.Spelling+"`")
		ok = ok && args[i].mode != invalid
	}
	if !ok {
		return bad(at)
	}
	return g.scalarApply(op, at, opAt, args, exprs)
}

func (g *graphChecker) scalarApply(op lang.Op, at, opAt lang.Span, args []operand, exprs []lang.Expr) operand {
	row := op.Row()
	if len(args) != len(row.Operands) {
		g.errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, plural(len(row.Operands), "argument"), len(args))
		return bad(at)
	}
	// The rules are those of tiles: each scalar is lent a form that they know.
	lent := make([]operand, len(args))
	back := map[Expr]GExpr{}
	for i, a := range args {
		lent[i] = a
		if a.mode == typed {
			c := &Const{Typed: Typed{Type{DType: a.graph.GType().DType}, a.at}}
			back[c] = a.graph
			lent[i].expr = c
		}
	}
	o := g.checker.apply(op, at, opAt, lent, exprs)
	if o.mode != typed {
		return o
	}
	switch x := o.expr.(type) {
	case *Const:
		return g.literal(Literal{DType: x.Type.DType.Of, Int: x.Int, Float: x.Float}, at)
	case *Apply:
		out := &GApply{GTyped{GType{Kind: GScalar, DType: x.Type.DType}, at}, op, nil}
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
func linearSum(op lang.Op, x, y operand) *Size {
	p, okx := x.position()
	q, oky := y.position()
	if !okx || !oky {
		return nil
	}
	var s Size
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
	return &s
}

func (g *graphChecker) cast(e *lang.CastExpr) operand {
	o := g.scalar(e.X, "`as`")
	t := e.Type
	if t.HasShape || t.Count != nil || len(t.Args) > 0 {
		g.errorf(lang.ErrDeclType, t.Place, "a value is converted to an element type, not to %s", t.Place.Text())
		return bad(e.Place)
	}
	d, ok := g.dtypeNamed(g.scope, t.Name.Name, t.Place)
	if !ok || o.mode == invalid {
		return bad(e.Place)
	}
	if o.mode == untypedFloat && !isFloat(d) {
		o = g.toScalar(o, Concrete(lang.F32))
	} else if o.mode == untypedInt && !isFloat(d) && d != Concrete(lang.I32) {
		o = g.toScalar(o, Concrete(lang.I32))
	}
	if o.isUntyped() {
		return g.toScalar(o, d)
	}
	if o.mode != typed || o.graph.GType().DType == d {
		return o
	}
	return graphOperand(&GApply{GTyped{GType{Kind: GScalar, DType: d}, e.Place}, lang.OpCast, []GExpr{o.graph}})
}

func (g *graphChecker) tuple(e *lang.TupleExpr) operand {
	out := &GTupleOf{GTyped: GTyped{GType{Kind: GTuple}, e.Place}}
	ok := true
	for _, x := range e.Elems {
		o := g.settled(g.expr(x))
		if o.mode != typed {
			if o.mode == noValue {
				g.errorf(lang.ErrValueCount, x.Span(), "this gives no value")
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
	switch o.mode {
	case untypedInt:
		return g.toScalar(o, Concrete(lang.I32))
	case untypedFloat:
		return g.toScalar(o, Concrete(lang.F32))
	}
	return o
}

func (g *graphChecker) field(e *lang.FieldExpr) operand {
	x := g.expr(e.X)
	if x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode == typed && x.graph.GType().Kind == GStruct {
		t := x.graph.GType()
		var names []string
		for i, f := range t.Fields {
			if f.Name == e.Name.Name {
				return graphOperand(&GFieldOf{GTyped{f.Type, e.Place}, x.graph, i})
			}
			names = append(names, f.Name)
		}
		g.errorf(lang.ErrField, e.Name.Place, "%s has no field %s", t.Struct.Name, e.Name.Name).label(t.Struct.Decl.Name.Place, "declared here").
			suggest(e.Name.Place, e.Name.Name, names)
		return bad(e.Place)
	}
	g.errorf(lang.ErrField, e.Name.Place, "%s has no field %s", g.describe(x), e.Name.Name)
	return bad(e.Place)
}

// index types a slice, an element of an array, or `x.shape[n]`.
func (g *graphChecker) index(e *lang.IndexExpr) operand {
	if e.Else != nil {
		g.errorf(lang.ErrBounds, e.Else.Span(), "a slice has no `else`").help("read elements that may lie outside in a kernel")
		return bad(e.Place)
	}
	if f, ok := e.X.(*lang.FieldExpr); ok && f.Name.Name == "shape" {
		if x := g.expr(f.X); x.mode == typed && x.graph.GType().Kind == GTensor {
			shape := x.graph.GType().Shape
			if len(e.Indices) == 1 {
				if o := g.expr(e.Indices[0]); o.mode == untypedInt {
					if n, ok := o.size.Const(); ok && n >= 0 && n < int64(len(shape)) {
						return sizeOperand(e.Place, shape[n])
					}
				} else if o.mode == invalid {
					return o
				}
			}
			g.errorf(lang.ErrIndexCount, e.Place, "a shape takes one constant from 0 to %d", len(shape)-1)
			return bad(e.Place)
		} else if x.mode == invalid {
			return bad(e.Place)
		}
	}
	x := g.expr(e.X)
	if x.mode == invalid {
		return bad(e.Place)
	}
	if x.mode == typed {
		switch t := x.graph.GType(); t.Kind {
		case GTensor:
			return g.slice(e, x.graph)
		case GArray:
			return g.elem(e, x.graph)
		}
	}
	g.errorf(lang.ErrAxisAsValue, e.X.Span(), "%s cannot be indexed: only tensors and arrays can", g.describe(x))
	return bad(e.Place)
}

// position types an index or an end of a range: an i32 that is known when the graph is bound.
func (g *graphChecker) position(e lang.Expr) operand {
	g.sizing++
	o := g.scalar(e, "an index")
	g.sizing--
	if o.mode == invalid {
		return o
	}
	o = g.toScalar(o, Concrete(lang.I32))
	if o.mode != typed {
		return o
	}
	if t := o.graph.GType(); !isIndexType(t.DType) {
		g.errorf(lang.ErrIndexType, e.Span(), "an index is i32 or i64, not %s", t).castFix(e, Concrete(lang.I32))
		return bad(e.Span())
	}
	if p := runtimeScalar(o.graph); p != nil {
		g.errorf(lang.ErrNotConstant, e.Span(), "the index depends on %s, which is only known when the graph runs", p.Name).label(p.At, "a scalar parameter").
			help("pass %s to a kernel, which can index with it", p.Name)
		return bad(e.Span())
	}
	return o
}

// runtimeScalar finds a scalar parameter that an expression depends on.
func runtimeScalar(x GExpr) *GParam {
	switch x := x.(type) {
	case *GParamRef:
		return x.Param
	case *GApply:
		for _, a := range x.Args {
			if p := runtimeScalar(a); p != nil {
				return p
			}
		}
	}
	return nil
}

func (g *graphChecker) elem(e *lang.IndexExpr, x GExpr) operand {
	t := x.GType()
	if len(e.Indices) != 1 {
		g.errorf(lang.ErrIndexCount, e.Place, "an array takes 1 index, not %d", len(e.Indices))
		return bad(e.Place)
	}
	if r, ok := e.Indices[0].(*lang.RangeExpr); ok {
		g.later(r.Place, "a part of an array")
		return bad(e.Place)
	}
	n := g.position(e.Indices[0])
	if n.mode != typed {
		return bad(e.Place)
	}
	if n.lin != nil && (g.prover.atMost(t.Len, *n.lin) || g.prover.nonNegative(n.lin.Neg().Sub(ConstSize(1)))) {
		g.errorf(lang.ErrSlice, e.Indices[0].Span(), "the index %s is outside the array, which has %s elements", *n.lin, t.Len)
		return bad(e.Place)
	}
	return graphOperand(&GElem{GTyped{*t.Elem, e.Place}, x, n.graph})
}

// slice types `x[.., a .. b, n]`; dimensions that no index names stay whole.
func (g *graphChecker) slice(e *lang.IndexExpr, x GExpr) operand {
	t := x.GType()
	if len(e.Indices) > len(t.Shape) {
		g.errorf(lang.ErrIndexCount, e.Place, "%s has %s and is indexed by %d", t, plural(len(t.Shape), "dimension"), len(e.Indices))
		return bad(e.Place)
	}
	out := &GSlice{GTyped: GTyped{GType{Kind: GTensor, DType: t.DType, Shape: []Size{}}, e.Place}, X: x, Items: make([]GSliceItem, len(t.Shape))}
	ok := true
	one := ConstSize(1)
	for i, dim := range t.Shape {
		if i >= len(e.Indices) {
			out.Type.Shape = append(out.Type.Shape, dim)
			continue
		}
		at := e.Indices[i].Span()
		r, isRange := e.Indices[i].(*lang.RangeExpr)
		if !isRange {
			n := g.position(e.Indices[i])
			if n.mode != typed {
				ok = false
				continue
			}
			if n.lin != nil && (g.prover.atMost(dim, *n.lin) || g.prover.nonNegative(n.lin.Neg().Sub(one))) {
				g.errorf(lang.ErrSlice, at, "the index %s is outside dimension %d of %s, which is %s", *n.lin, i, t, dim)
				ok = false
			}
			out.Items[i].Index = n.graph
			continue
		}
		lo, hi := Size{}, dim
		if r.Lo != nil {
			lo, out.Items[i].Lo = g.sliceEnd(r.Lo)
			ok = ok && out.Items[i].Lo != nil
		}
		if r.Hi != nil {
			hi, out.Items[i].Hi = g.sliceEnd(r.Hi)
			ok = ok && out.Items[i].Hi != nil
		}
		if !ok {
			continue
		}
		n := hi.Sub(lo)
		switch {
		case g.prover.nonNegative(hi.Sub(dim).Sub(one)), g.prover.nonNegative(lo.Neg().Sub(one)), g.prover.nonNegative(n.Neg()):
			g.errorf(lang.ErrSlice, at, "the slice %s .. %s is outside dimension %d of %s, which is %s", lo, hi, i, t, dim)
			ok = false
		case hasHidden(n):
			g.errorf(lang.ErrNotConstant, at, "the length %s of the slice changes from step to step of the loop", n).help("take slices of one length")
			ok = false
		}
		out.Type.Shape = append(out.Type.Shape, n)
	}
	if !ok {
		return bad(e.Place)
	}
	return graphOperand(out)
}

func hasHidden(s Size) bool {
	for _, sym := range s.Symbols() {
		if sym.Kind == positionSymbol {
			return true
		}
	}
	return false
}

// sliceEnd types an end of a slice, which must be a size: the shape of the slice follows from it.
func (g *graphChecker) sliceEnd(e lang.Expr) (Size, GExpr) {
	o := g.position(e)
	if o.mode != typed {
		return Size{}, nil
	}
	if o.lin == nil {
		g.errorf(lang.ErrNotConstant, e.Span(), "the end of a slice is an integer expression over dimensions, constants and loop counters")
		return Size{}, nil
	}
	return *o.lin, o.graph
}

// forExpr types an unrolled loop: over an array, or counted.
func (g *graphChecker) forExpr(e *lang.ForExpr) operand {
	a := e.Axis
	loop := &GFor{GTyped: GTyped{At: e.Place}}
	ok := true
	if a.By != nil {
		g.errorf(lang.ErrTune, a.By.Span(), "a loop of a graph goes one by one and has no `by`")
		ok = false
	}
	over := operand{mode: invalid}
	if a.Over != nil {
		g.sizing++
		over = g.expr(a.Over)
		g.sizing--
	}
	varType := GType{Kind: GScalar, DType: Concrete(lang.I32)}
	var lin *Size
	switch {
	case over.mode == invalid:
		ok = false
	case over.mode == typed && over.graph.GType().Kind == GArray:
		if a.Range != nil {
			g.later(a.Range.Place, "a loop over part of an array")
			ok = false
		}
		loop.Over = over.graph
		varType = *over.graph.GType().Elem
	case over.mode == untypedInt:
		zero := intOperand(a.Place, 0)
		loop.Lo, loop.Hi = g.toScalar(zero, Concrete(lang.I32)).graph, g.toScalar(over, Concrete(lang.I32)).graph
		lo, hi := Size{}, over.size
		if a.Range != nil && a.Range.Lo != nil {
			lo, loop.Lo = g.sliceEnd(a.Range.Lo)
			ok = ok && loop.Lo != nil
		}
		if a.Range != nil && a.Range.Hi != nil {
			hi, loop.Hi = g.sliceEnd(a.Range.Hi)
			ok = ok && loop.Hi != nil
		}
		counter := g.newHidden(a.Name.Name)
		p := SymbolSize(counter)
		g.prover.where(counter, p.Sub(lo))
		g.prover.where(counter, hi.Sub(ConstSize(1)).Sub(p))
		lin = &p
	default:
		g.errorf(lang.ErrNotConstant, a.Over.Span(), "a loop of a graph is over an array or a count of dimensions and constants, not over %s", g.describe(over))
		ok = false
	}
	init := operand{mode: noValue}
	if e.Init != nil {
		init = g.settled(g.expr(e.Init))
	}
	types, inits, initOK := g.spread(init, e.Init)
	if initOK && len(types) != len(e.Carried) {
		g.errorf(lang.ErrValueCount, e.Carried[0].Place.To(e.Carried[len(e.Carried)-1].Place), "the loop carries %s and starts with %s",
			plural(len(e.Carried), "value"), plural(len(types), "value")).label(init.at, "the start")
		initOK = false
	}
	loop.Init = inits

	outerScope, outerStmts := g.scope, g.stmts
	g.scope, g.stmts = newScope(outerScope), &loop.Body
	g.depth++
	if ok {
		loop.Var = g.local(a.Name, varType, operand{graph: loop.Over, lin: lin})
	} else {
		g.declare(g.scope, &entity{kind: entInvalid, name: a.Name.Name, at: a.Name.Place}, true)
	}
	for i, n := range e.Carried {
		if !initOK {
			g.declare(g.scope, &entity{kind: entInvalid, name: n.Name, at: n.Place}, true)
			continue
		}
		loop.Carried = append(loop.Carried, g.local(n, types[i], operand{}))
	}
	result := operand{mode: noValue, at: e.Place}
	if e.Body != nil {
		result = g.settled(g.block(e.Body))
	}
	g.depth--
	g.scope, g.stmts = outerScope, outerStmts
	if !ok || !initOK || result.mode == invalid {
		return bad(e.Place)
	}
	gotTypes, results, resultOK := g.spread(result, e.Body)
	if !resultOK {
		return bad(e.Place)
	}
	if len(gotTypes) != len(types) {
		if len(types) == 0 {
			g.errorf(lang.ErrValueCount, result.at, "the loop's body gives %s, and the loop carries nothing", g.describe(result)).help("carry it: `for ... with x = start { ... }`")
		} else {
			g.errorf(lang.ErrValueCount, result.at, "the loop carries %s and its body gives %d", plural(len(types), "value"), len(gotTypes)).help("end the body with the next value of each carried name")
		}
		return bad(e.Place)
	}
	for i := range types {
		if !g.sameCarried(e.Carried[i], types[i], gotTypes[i], results[i].Span()) {
			return bad(e.Place)
		}
	}
	loop.Results = results
	switch len(types) {
	case 0:
		loop.Type = GType{Kind: GTuple}
		return operand{mode: noValue, at: e.Place, graph: loop}
	case 1:
		loop.Type = types[0]
	default:
		loop.Type = GType{Kind: GTuple, Elems: types}
	}
	return graphOperand(loop)
}

// spread lists the values of an operand that may be a tuple.
func (g *graphChecker) spread(o operand, e lang.Node) ([]GType, []GExpr, bool) {
	switch {
	case o.mode == invalid:
		return nil, nil, false
	case o.mode == noValue:
		return nil, nil, true
	case o.graph.GType().Kind != GTuple:
		return []GType{o.graph.GType()}, []GExpr{o.graph}, true
	}
	t, ok := o.graph.(*GTupleOf)
	if !ok {
		g.errorf(lang.ErrValueCount, o.at, "this gives %s at once", o.graph.GType()).help("bind them with `let (a, b) = ...` first")
		return nil, nil, false
	}
	return t.Type.Elems, t.Elems, true
}

// sameCarried checks that a value carried by a loop keeps its type.
func (g *graphChecker) sameCarried(n lang.Ident, want, got GType, at lang.Span) bool {
	same := want.Kind == got.Kind && want.DType == got.DType && len(want.Shape) == len(got.Shape) && want.Struct == got.Struct
	for i := 0; same && i < len(want.Shape); i++ {
		same = !g.prover.different(want.Shape[i], got.Shape[i])
	}
	if !same {
		g.errorf(lang.ErrCarried, at, "%s starts as %s and becomes %s", n.Name, want, got).label(n.Place, "carried as %s", want)
	}
	return same
}

// isMutable reports a part of an inout parameter.
func (g *graphChecker) isMutable(x GExpr) bool {
	switch x := x.(type) {
	case *GParamRef:
		return x.Param.Mode == lang.InOut
	case *GLocalRef:
		return g.mutable[x.Local]
	case *GFieldOf:
		return g.isMutable(x.X)
	case *GElem:
		return g.isMutable(x.X)
	case *GSlice:
		return g.isMutable(x.X)
	case *GView:
		return g.isMutable(x.X)
	}
	return false
}
