package lsp

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck"
)

// types finds the types of expressions and bindings by their place. A place
// inside a fn has one for each call of it.
type types struct {
	at map[lang.Span][]typeAt
	// axes are the axes by the place of their names.
	axes map[lang.Span]*typecheck.Axis
	seen map[any]bool
	// around is the place of the expression whose parts are being added: a part
	// with no place of its own, such as the zero of `zeros`, is not shown there.
	around lang.Span
}

// typeAt is a type as the source would spell it, with the axes in it.
type typeAt struct {
	text string
	axes []*typecheck.Axis
}

func newTypes() *types {
	return &types{at: map[lang.Span][]typeAt{}, axes: map[lang.Span]*typecheck.Axis{}, seen: map[any]bool{}}
}

// text is the types of a place, "" when there are none.
func (t *types) text(at lang.Span) string {
	const most = 4
	var all []string
	for _, x := range t.at[at] {
		if len(all) == most {
			all = append(all, "...")
			break
		}
		all = append(all, x.text)
	}
	return strings.Join(all, " or ")
}

func (t *types) put(at lang.Span, x typeAt) {
	if !at.IsValid() || x.text == "" {
		return
	}
	for _, y := range t.at[at] {
		if x.text == y.text {
			return
		}
	}
	t.at[at] = append(t.at[at], x)
}

func (t *types) putTypes(at lang.Span, ts []typecheck.Type) {
	var x typeAt
	parts := make([]string, len(ts))
	for i, one := range ts {
		parts[i] = one.String()
		x.axes = append(x.axes, one.Axes...)
	}
	x.text = strings.Join(parts, ", ")
	if len(ts) > 1 {
		x.text = "(" + x.text + ")"
	}
	t.put(at, x)
}

// add takes the types of a program.
func (t *types) add(p *typecheck.Program) {
	for _, k := range p.Kernels {
		for _, part := range k.Launches() {
			for _, a := range part.Axes {
				t.axis(a)
			}
			t.body(part.Body)
		}
	}
	for _, g := range p.Graphs {
		t.gstmts(g.Body)
	}
	for _, test := range p.Tests {
		t.gstmts(test.Graph.Body)
	}
}

func (t *types) axis(a *typecheck.Axis) {
	if a != nil && a.At.IsValid() {
		t.axes[a.At] = a
	}
}

func (t *types) local(l *typecheck.Local) {
	if l != nil {
		t.putTypes(l.At, []typecheck.Type{l.Type})
	}
}

func (t *types) body(b *typecheck.Body) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *typecheck.Let:
			for _, l := range s.Locals {
				t.local(l)
			}
			t.expr(s.Value)
		case *typecheck.Store:
			t.exprs(s.Indices)
			t.expr(s.Value)
		case *typecheck.Do:
			t.expr(s.X)
		}
	}
	t.exprs(b.Results)
}

func (t *types) exprs(xs []typecheck.Expr) {
	for _, x := range xs {
		t.expr(x)
	}
}

func (t *types) expr(e typecheck.Expr) {
	if e == nil || t.seen[e] {
		return
	}
	t.seen[e] = true
	if e.Span() != t.around {
		t.putTypes(e.Span(), e.Types())
	}
	defer func(outer lang.Span) { t.around = outer }(t.around)
	t.around = e.Span()
	switch e := e.(type) {
	case *typecheck.Apply:
		t.exprs(e.Args)
	case *typecheck.Combine:
		t.exprs(e.Args)
		t.exprs(e.Identity)
		for _, p := range e.Params {
			t.local(p)
		}
		t.body(e.Fn)
	case *typecheck.Order:
		t.exprs(e.Args)
	case *typecheck.Load:
		if v := e.Param; v.Of != nil { // a view, whose name no Let binds
			t.put(v.At, typeAt{text: typecheck.GType{Kind: typecheck.GTensor, DType: v.DType, Shape: v.Shape}.String()})
		}
		t.exprs(e.Indices)
		t.expr(e.Else)
	case *typecheck.Take:
		t.expr(e.X)
		t.exprs(e.Positions)
		t.expr(e.Else)
	case *typecheck.For:
		t.axis(e.Axis)
		t.local(e.Index)
		for _, c := range e.Carried {
			t.local(c)
		}
		t.expr(e.Lo)
		t.expr(e.Hi)
		t.exprs(e.Init)
		t.body(e.Body)
	case *typecheck.If:
		t.expr(e.Cond)
		t.body(e.Then)
		t.body(e.Else)
	case *typecheck.Tuple:
		t.exprs(e.Elems)
	case *typecheck.Inline:
		t.body(e.Body)
	}
}

func (t *types) glocal(l *typecheck.GLocal) {
	if l != nil {
		t.put(l.At, typeAt{text: l.Type.String()})
	}
}

func (t *types) gstmts(ss []typecheck.GStmt) {
	for _, s := range ss {
		switch s := s.(type) {
		case *typecheck.GLet:
			for _, l := range s.Locals {
				t.glocal(l)
			}
			t.gexpr(s.Value)
		case *typecheck.GAssign:
			t.gexpr(s.Value)
		case *typecheck.GDo:
			t.gexpr(s.X)
		case *typecheck.GCheck:
			t.gexpr(s.A)
			t.gexpr(s.B)
		}
	}
}

// pointwise takes the types of the parts of an expression of whole tensors,
// which became a kernel: there they are tiles, here they have the tensor's shape.
func (t *types) pointwise(e typecheck.Expr, whole typecheck.GType) {
	if e == nil || t.seen[e] {
		return
	}
	t.seen[e] = true
	typ := e.Types()[0]
	here := typecheck.GType{Kind: typecheck.GScalar, DType: typ.DType}
	if len(typ.Axes) > 0 {
		here.Kind, here.Shape = typecheck.GTensor, whole.Shape
	}
	if e.Span().IsValid() {
		t.put(e.Span(), typeAt{text: here.String()})
	}
	if apply, ok := e.(*typecheck.Apply); ok {
		for _, a := range apply.Args {
			t.pointwise(a, whole)
		}
	}
}

func (t *types) gexprs(xs []typecheck.GExpr) {
	for _, x := range xs {
		t.gexpr(x)
	}
}

func (t *types) gexpr(e typecheck.GExpr) {
	if e == nil || t.seen[e] {
		return
	}
	t.seen[e] = true
	if e.Span() != t.around {
		t.put(e.Span(), typeAt{text: e.GType().String()})
	}
	defer func(outer lang.Span) { t.around = outer }(t.around)
	t.around = e.Span()
	switch e := e.(type) {
	case *typecheck.GFieldOf:
		t.gexpr(e.X)
	case *typecheck.GElem:
		t.gexpr(e.X)
		t.gexpr(e.Index)
	case *typecheck.GView:
		t.gexpr(e.X)
	case *typecheck.GPart:
		t.gexpr(e.X)
		t.gexpr(e.Lo)
		t.gexpr(e.Hi)
	case *typecheck.GSlice:
		t.gexpr(e.X)
		for _, item := range e.Items {
			t.gexpr(item.Index)
			t.gexpr(item.Lo)
			t.gexpr(item.Hi)
		}
	case *typecheck.GCall:
		t.gexprs(e.Args)
		if e.Kernel.Decl.Body == nil { // made for an expression
			for _, s := range e.Kernel.Body.Stmts {
				switch s := s.(type) {
				case *typecheck.Let:
					t.pointwise(s.Value, e.Type)
				case *typecheck.Store:
					t.pointwise(s.Value, e.Type)
				}
			}
		}
	case *typecheck.GInvoke:
		t.gexprs(e.Args)
	case *typecheck.GApply:
		t.gexprs(e.Args)
	case *typecheck.GFor:
		t.gexpr(e.Over)
		t.glocal(e.Var)
		for _, c := range e.Carried {
			t.glocal(c)
		}
		t.gexprs(e.Init)
		t.gstmts(e.Body)
		t.gexprs(e.Results)
	case *typecheck.GIf:
		t.gexpr(e.Cond)
		for _, body := range []typecheck.GBody{e.Then, e.Else} {
			t.gstmts(body.Stmts)
			t.gexprs(body.Results)
		}
	case *typecheck.GMake:
		t.gexpr(e.Value)
	case *typecheck.GTupleOf:
		t.gexprs(e.Elems)
	}
}

// axisText says what an axis is: `i in M by BM, 64 or 128`.
func axisText(a *typecheck.Axis) string {
	text := [...]string{"grid ", "for ", "axis "}[a.Kind] + a.Name + " in " + a.Over()
	switch {
	case a.Scalar:
		text += ", one position at a time"
	case a.Tile != "":
		text += " by " + a.Tile
	}
	return text
}
