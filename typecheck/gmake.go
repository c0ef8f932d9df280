package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types the tensors that a graph makes itself: lists, and those of a
// dtype, a shape and a rule (`zeros(f32, [M, N])`).

// maxDimension is more elements than any memory holds, so that a constant beyond it is a mistake.
const maxDimension = 1 << 48

// list types `[a, b, ...]`: constants, or lists of one shape.
func (g *graphChecker) list(e *lang.ListExpr) operand {
	out := &listed{}
	ok := true
	if len(e.Elems) == 0 {
		g.Errorf(lang.ErrShape, e.Place, "an empty list has no element type").help("write `zeros(f32, [0])` for a tensor without elements")
		return bad(e.Place)
	}
	var first *listed
	for i, x := range e.Elems {
		o := g.expr(x)
		switch {
		case o.mode == invalid:
			ok = false
			continue
		case o.mode == list:
			if i > 0 && (first == nil || !sameShape(first.shape, o.list.shape)) {
				g.unevenList(e, x, first, o.list)
				return bad(e.Place)
			}
			first = o.list
			out.elems = append(out.elems, o.list.elems...)
			continue
		case first != nil:
			g.unevenList(e, x, first, nil)
			return bad(e.Place)
		}
		if !isConstant(o) {
			g.Errorf(lang.ErrNotConstant, x.Span(), "an element of a list is a constant, not %s", g.describe(o)).help("compute with whole tensors: `[1.0, 2.0] * s`")
			ok = false
			continue
		}
		out.elems = append(out.elems, o)
	}
	if !ok {
		return bad(e.Place)
	}
	out.shape = []int64{int64(len(e.Elems))}
	if first != nil {
		out.shape = append(out.shape, first.shape...)
	}
	return operand{mode: list, at: e.Place, list: out}
}

func (g *graphChecker) unevenList(e *lang.ListExpr, x lang.Expr, first, other *listed) {
	text := func(l *listed) string {
		if l == nil {
			return "one number"
		}
		return "of the shape " + typed.SizesText(l.sizes())
	}
	g.Errorf(lang.ErrShape, x.Span(), "this element of the list is %s, and the one before it is %s: all have one shape", text(other), text(first)).
		label(e.Elems[0].Span(), "the first element")
}

func sameShape(a, b []int64) bool {
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		same = a[i] == b[i]
	}
	return same
}

// isConstant reports a number, or true or false.
func isConstant(o operand) bool {
	if o.mode == typedValue {
		_, ok := o.graph.(*typed.GConst)
		return ok
	}
	_, ok := o.constant()
	return ok
}

// listAs gives a list its element type.
func (g *graphChecker) listAs(o operand, d typed.DType) operand {
	made := &typed.GMake{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: d, Shape: o.list.sizes()}, At: o.at}, Rule: typed.MakeList}
	of := d.Of // of a type parameter, as wide as can be; rounded when it is bound
	if d.Param != nil {
		of = lang.F32
		if d.Param.Bound == "int" {
			of = lang.I32
		}
	}
	for _, e := range o.list.elems {
		v := g.toScalar(e, d)
		if v.mode != typedValue {
			return bad(o.at)
		}
		if have := v.graph.GType().DType; have != d {
			g.Errorf(lang.ErrMixedTypes, e.at, "this element is %s, and the list has elements of %s", have, d).help("write all elements as numbers of one type")
			return bad(o.at)
		}
		l := lang.Literal{DType: of}
		if c, ok := v.graph.(*typed.GConst); ok {
			l = c.Value
		} else if n, ok := e.constant(); ok {
			l.Float, l.Int = n, wholeInt(n)
		}
		made.Elems = append(made.Elems, l)
	}
	return graphOperand(made)
}

// adaptLists gives lists among the operands of one operation the element type of the others.
func (g *graphChecker) adaptLists(args []operand) ([]operand, bool) {
	d := typed.DType{}
	known := false
	for _, a := range args {
		if a.mode == typedValue && !known {
			d, known = a.graph.GType().DType, true
		}
	}
	if !known { // only constants: a float among them makes all floats
		all := &listed{}
		for _, a := range args {
			if a.mode == list {
				all.elems = append(all.elems, a.list.elems...)
			} else {
				all.elems = append(all.elems, a)
			}
		}
		d = all.settled()
	}
	out := make([]operand, len(args))
	for i, a := range args {
		if out[i] = a; a.mode == list {
			if out[i] = g.listAs(a, d); out[i].mode != typedValue {
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
func (g *graphChecker) make(name string, e *lang.CallExpr) operand {
	m := makers[name]
	want := 2
	if m.value {
		want = 3
	}
	if !g.plainArgs(name, m.usage, want, e) {
		return bad(e.Place)
	}
	d, ok := g.madeType(name, m.usage, e.Args[0].Value)
	if !ok {
		return bad(e.Place)
	}
	rest := e.Args[1:]
	made := &typed.GMake{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: d}, At: e.Place}, Rule: m.rule}
	var value operand
	if m.value {
		value, rest = g.scalar(rest[0].Value, "the value of full"), rest[1:]
		ok = ok && value.mode != invalid
	}
	shape, shapeOK := g.shapeList(rest[0].Value)
	made.Type.Shape = shape
	if !ok || !shapeOK {
		return bad(e.Place)
	}
	switch {
	case m.value:
		if value = g.toScalar(value, d); value.mode != typedValue {
			return bad(e.Place)
		}
		if have := value.graph.GType().DType; have != d {
			g.Errorf(lang.ErrWrongType, value.at, "the value is %s, and the elements are %s", have, d).castFix(e.Args[1].Value, d)
			return bad(e.Place)
		}
		if g.runtimeScalar(value.graph) != nil { // only known when the graph runs: then a kernel stores it
			k := &pointwise{shapes: [][]size.Size{shape}}
			k.value = g.operandOf(k, value.graph)
			return g.tensorValue(k, shape, e.Place)
		}
		made.Value = value.graph
	case m.rule == typed.MakeFull:
		n := int64(0)
		if name == "ones" {
			n = 1
		}
		made.Value = &typed.GConst{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GScalar, DType: d}, At: e.Place}, Value: lang.Literal{DType: lang.I32, Int: n, Float: float64(n)}}
	case m.rule == typed.MakeRange && !typed.IsFloat(d) && !typed.IsInt(d):
		g.Errorf(lang.ErrOperandType, e.Args[0].Value.Span(), "%s makes numbers, not %s", name, g.describeDType(d))
		return bad(e.Place)
	}
	return graphOperand(made)
}

// plainArgs checks that a function that makes a tensor has so many arguments, and none by name.
func (g *graphChecker) plainArgs(name, usage string, want int, e *lang.CallExpr) bool {
	for _, a := range e.Args {
		if a.Name != nil {
			g.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", name, a.Name.Name).help("write `%s`", usage)
			return false
		}
	}
	if len(e.Args) != want {
		g.Errorf(lang.ErrArgCount, e.Place, "%s takes %s in a graph, not %d", name, plural(want, "argument"), len(e.Args)).help("write `%s`", usage)
		return false
	}
	return true
}

// madeType types the element type of a tensor that a graph makes.
func (g *graphChecker) madeType(name, usage string, x lang.Expr) (typed.DType, bool) {
	n, ok := x.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrUnknownType, x.Span(), "the first argument of %s is an element type", name).help("write `%s`", usage)
		return typed.DType{}, false
	}
	return g.dtypeNamed(g.scope, n.Name, n.Place)
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
		g.sizing++
		o := g.expr(s)
		g.sizing--
		switch {
		case o.mode == invalid:
			ok = false
		case o.mode == untypedInt:
			if n, isConst := o.size.Const(); isConst && (n < 0 || n > maxDimension) {
				g.Errorf(lang.ErrView, s.Span(), "a dimension of size %d; it is from 0 to %d", n, int64(maxDimension)).help("write the size, by the dimensions at hand: nothing is filled in")
				ok = false
			}
			shape = append(shape, o.size)
		default:
			wholeHelp(g.Errorf(lang.ErrNotConstant, s.Span(), "a dimension is an integer expression over dimensions and constants, not %s", g.describe(o)), o)
			ok = false
		}
	}
	return shape, ok
}
