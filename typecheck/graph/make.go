package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the tensors that a graph makes itself: lists, and those of a
// dtype, a shape and a rule (`zeros(f32, [M, N])`).

// maxDimension is more elements than any memory holds, so that a constant beyond it is a mistake.
const maxDimension = 1 << 48

// list types `[a, b, ...]`: constants, or lists of one shape.
func (g *graphChecker) list(e *lang.ListExpr) rules.Operand {
	out := &rules.Listed{}
	ok := true
	if len(e.Elems) == 0 {
		g.Errorf(lang.ErrShape, e.Place, "an empty list has no element type").Help("write `zeros(f32, [0])` for a tensor without elements")
		return rules.Bad(e.Place)
	}
	var first *rules.Listed
	for i, x := range e.Elems {
		o := g.expr(x)
		switch {
		case o.Mode == rules.Invalid:
			ok = false
			continue
		case o.Mode == rules.List:
			if i > 0 && (first == nil || !sameShape(first.Shape, o.List.Shape)) {
				g.unevenList(e, x, first, o.List)
				return rules.Bad(e.Place)
			}
			first = o.List
			out.Elems = append(out.Elems, o.List.Elems...)
			continue
		case first != nil:
			g.unevenList(e, x, first, nil)
			return rules.Bad(e.Place)
		}
		if !isConstant(o) {
			g.Errorf(lang.ErrNotConstant, x.Span(), "an element of a list is a constant, not %s", g.describe(o)).Help("compute with whole tensors: `[1.0, 2.0] * s`")
			ok = false
			continue
		}
		out.Elems = append(out.Elems, o)
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	out.Shape = []int64{int64(len(e.Elems))}
	if first != nil {
		out.Shape = append(out.Shape, first.Shape...)
	}
	return rules.Operand{Mode: rules.List, At: e.Place, List: out}
}

func (g *graphChecker) unevenList(e *lang.ListExpr, x lang.Expr, first, other *rules.Listed) {
	text := func(l *rules.Listed) string {
		if l == nil {
			return "one number"
		}
		return "of the shape " + typed.SizesText(l.Sizes())
	}
	g.Errorf(lang.ErrShape, x.Span(), "this element of the list is %s, and the one before it is %s: all have one shape", text(other), text(first)).
		LabelAt(e.Elems[0].Span(), "the first element")
}

func sameShape(a, b []int64) bool {
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		same = a[i] == b[i]
	}
	return same
}

// isConstant reports a number, or true or false.
func isConstant(o rules.Operand) bool {
	if o.Mode == rules.TypedValue {
		_, ok := o.Graph.(*typed.GConst)
		return ok
	}
	_, ok := o.Constant()
	return ok
}

// listAs gives a list its element type.
func (g *graphChecker) listAs(o rules.Operand, d typed.DType) rules.Operand {
	made := &typed.GMake{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: d, Shape: o.List.Sizes()}, At: o.At}, Rule: typed.MakeList}
	of := d.Of // of a type parameter, as wide as can be; rounded when it is bound
	if d.Param != nil {
		of = lang.F32
		if d.Param.Bound == "int" {
			of = lang.I32
		}
	}
	for _, e := range o.List.Elems {
		v := g.toScalar(e, d)
		if v.Mode != rules.TypedValue {
			return rules.Bad(o.At)
		}
		if have := v.Graph.GType().DType; have != d {
			g.Errorf(lang.ErrMixedTypes, e.At, "this element is %s, and the list has elements of %s", have, d).Help("write all elements as numbers of one type")
			return rules.Bad(o.At)
		}
		l := lang.Literal{DType: of}
		if c, ok := v.Graph.(*typed.GConst); ok {
			l = c.Value
		} else if n, ok := e.Constant(); ok {
			l.Float, l.Int = n, rules.WholeInt(n)
		}
		made.Elems = append(made.Elems, l)
	}
	return graphOperand(made)
}

// adaptLists gives lists among the operands of one operation the element type of the others.
func (g *graphChecker) adaptLists(args []rules.Operand) ([]rules.Operand, bool) {
	d := typed.DType{}
	known := false
	for _, a := range args {
		if a.Mode == rules.TypedValue && !known {
			d, known = a.Graph.GType().DType, true
		}
	}
	if !known { // only constants: a float among them makes all floats
		all := &rules.Listed{}
		for _, a := range args {
			if a.Mode == rules.List {
				all.Elems = append(all.Elems, a.List.Elems...)
			} else {
				all.Elems = append(all.Elems, a)
			}
		}
		d = all.Settled()
	}
	out := make([]rules.Operand, len(args))
	for i, a := range args {
		if out[i] = a; a.Mode == rules.List {
			if out[i] = g.listAs(a, d); out[i].Mode != rules.TypedValue {
				return nil, false
			}
		}
	}
	return out, true
}

// maker is a function of graphs that makes a tensor.
type maker struct {
	rule  typed.MakeRule
	value bool // a value stands between the element type and the shape
	usage string
}

// makers are the functions that make tensors in graphs.
var makers = map[string]maker{
	"zeros":  {typed.MakeFull, false, "zeros(f32, [M, N])"},
	"ones":   {typed.MakeFull, false, "ones(f32, [M, N])"},
	"full":   {typed.MakeFull, true, "full(f32, 0.5, [M, N])"},
	"arange": {typed.MakeRange, false, "arange(f32, [M, N])"},
}

// make types a call of one of the makers.
func (g *graphChecker) make(name string, e *lang.CallExpr) rules.Operand {
	m := makers[name]
	want := 2
	if m.value {
		want = 3
	}
	if !g.plainArgs(name, m.usage, want, e) {
		return rules.Bad(e.Place)
	}
	d, ok := g.madeType(name, m.usage, e.Args[0].Value)
	if !ok {
		return rules.Bad(e.Place)
	}
	rest := e.Args[1:]
	made := &typed.GMake{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: d}, At: e.Place}, Rule: m.rule}
	var value rules.Operand
	if m.value {
		value, rest = g.scalar(rest[0].Value, "the value of full"), rest[1:]
		ok = ok && value.Mode != rules.Invalid
	}
	shape, shapeOK := g.shapeList(rest[0].Value)
	made.Type.Shape = shape
	if !ok || !shapeOK {
		return rules.Bad(e.Place)
	}
	switch {
	case m.value:
		if value = g.toScalar(value, d); value.Mode != rules.TypedValue {
			return rules.Bad(e.Place)
		}
		if have := value.Graph.GType().DType; have != d {
			g.Errorf(lang.ErrWrongType, value.At, "the value is %s, and the elements are %s", have, d).CastFix(e.Args[1].Value, d)
			return rules.Bad(e.Place)
		}
		if g.runtimeScalar(value.Graph) != nil { // only known when the graph runs: then a kernel stores it
			k := &pointwise{shapes: [][]size.Size{shape}}
			k.value = g.operandOf(k, value.Graph)
			return g.tensorValue(k, shape, e.Place)
		}
		made.Value = value.Graph
	case m.rule == typed.MakeFull:
		n := int64(0)
		if name == "ones" {
			n = 1
		}
		made.Value = &typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: e.Place}, Value: lang.Literal{DType: lang.I32, Int: n, Float: float64(n)}}
	case m.rule == typed.MakeRange && !typed.IsFloat(d) && !typed.IsInt(d):
		g.Errorf(lang.ErrOperandType, e.Args[0].Value.Span(), "%s makes numbers, not %s", name, g.DescribeDType(d))
		return rules.Bad(e.Place)
	}
	return graphOperand(made)
}

// plainArgs checks that a function that makes a tensor has so many arguments, and none by name.
func (g *graphChecker) plainArgs(name, usage string, want int, e *lang.CallExpr) bool {
	for _, a := range e.Args {
		if a.Name != nil {
			g.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", name, a.Name.Name).Help("write `%s`", usage)
			return false
		}
	}
	if len(e.Args) != want {
		g.Errorf(lang.ErrArgCount, e.Place, "%s takes %s in a graph, not %d", name, report.Plural(want, "argument"), len(e.Args)).Help("write `%s`", usage)
		return false
	}
	return true
}

// madeType types the element type of a tensor that a graph makes.
func (g *graphChecker) madeType(name, usage string, x lang.Expr) (typed.DType, bool) {
	n, ok := x.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrUnknownType, x.Span(), "the first argument of %s is an element type", name).Help("write `%s`", usage)
		return typed.DType{}, false
	}
	return g.DTypeNamed(g.scope, n.Name, n.Place)
}

// shapeList types a shape in brackets; sizes are integer expressions over dimensions and constants.
func (g *graphChecker) shapeList(e lang.Expr) ([]size.Size, bool) {
	l, ok := e.(*lang.ListExpr)
	if !ok {
		g.Errorf(lang.ErrView, e.Span(), "a shape is written in brackets, as in `[B, S, C]`")
		return nil, false
	}
	shape := []size.Size{}
	for _, s := range l.Elems {
		g.Sizing++
		o := g.expr(s)
		g.Sizing--
		switch {
		case o.Mode == rules.Invalid:
			ok = false
		case o.Mode == rules.UntypedInt:
			if n, isConst := o.Size.Const(); isConst && (n < 0 || n > maxDimension) {
				g.Errorf(lang.ErrView, s.Span(), "a dimension of size %d; it is from 0 to %d", n, int64(maxDimension)).Help("write the size, by the dimensions at hand: nothing is filled in")
				ok = false
			}
			shape = append(shape, o.Size)
		default:
			rules.WholeHelp(g.Errorf(lang.ErrNotConstant, s.Span(), "a dimension is an integer expression over dimensions and constants, not %s", g.describe(o)), o)
			ok = false
		}
	}
	return shape, ok
}
