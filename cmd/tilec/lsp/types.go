package lsp

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// types finds the types of expressions and bindings by their place. A place
// inside a fn has one for each call of it.
type types struct {
	at map[lang.Span][]typeAt
	// axes are the axes by the place of their names.
	axes map[lang.Span]*typed.Axis
	seen map[any]bool
	// around is the place of the expression whose parts are being added: a part
	// with no place of its own, such as the zero of `zeros`, is not shown there.
	around lang.Span
}

// typeAt is a type as the source would spell it, with the axes in it.
type typeAt struct {
	text string
	axes []*typed.Axis
}

func newTypes() *types {
	return &types{at: map[lang.Span][]typeAt{}, axes: map[lang.Span]*typed.Axis{}, seen: map[any]bool{}}
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

func (t *types) putTypes(at lang.Span, ts []typed.Type) {
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

// add takes the types of a node of a typed program, and of all that is in it.
func (t *types) add(n typed.Node) {
	if t.seen[n] {
		return
	}
	t.seen[n] = true
	for _, l := range typed.Binds(n) {
		t.putTypes(l.At, []typed.Type{l.Type})
	}
	for _, l := range typed.GBinds(n) {
		t.put(l.At, typeAt{text: l.Type.String()})
	}
	var at lang.Span
	switch n := n.(type) {
	case *typed.Kernel:
		for _, part := range n.Launches() {
			for _, a := range part.Axes {
				t.axis(a)
			}
		}
	case typed.Expr:
		at = n.Span()
		if at != t.around {
			t.putTypes(at, n.Types())
		}
		t.declared(n)
	case typed.GExpr:
		at = n.Span()
		if at != t.around {
			t.put(at, typeAt{text: n.GType().String()})
		}
		t.gdeclared(n)
	}
	if at.IsValid() {
		defer func(outer lang.Span) { t.around = outer }(t.around)
		t.around = at
	}
	typed.Children(n, t.add)
}

// declared takes the axes and the views that an expression declares.
func (t *types) declared(x typed.Expr) {
	switch x := x.(type) {
	case *typed.Load:
		if v := x.Param; v.Of != nil { // a view, whose name no Let binds
			t.put(v.At, typeAt{text: typed.GType{Kind: typed.GTensor, DType: v.DType, Shape: v.Shape}.String()})
		}
	case *typed.For:
		t.axis(x.Axis)
	}
}

// gdeclared takes the types of the parts of an expression of whole tensors, which became a kernel.
func (t *types) gdeclared(x typed.GExpr) {
	call, ok := x.(*typed.GCall)
	if !ok || call.Kernel.Decl.Body != nil { // declared in the source, and not made for an expression
		return
	}
	for _, s := range call.Kernel.Body.Stmts {
		switch s := s.(type) {
		case *typed.Let:
			t.pointwise(s.Value, call.Type)
		case *typed.Store:
			t.pointwise(s.Value, call.Type)
		}
	}
}

func (t *types) axis(a *typed.Axis) {
	if a != nil && a.At.IsValid() {
		t.axes[a.At] = a
	}
}

// pointwise takes the types of the parts of an expression of whole tensors: in
// the kernel they are tiles, in the source they have the tensor's shape.
func (t *types) pointwise(n typed.Node, whole typed.GType) {
	apply, isApply := n.(*typed.Apply)
	x, isExpr := n.(typed.Expr)
	if !isExpr || t.seen[x] {
		return
	}
	t.seen[x] = true
	typ := x.Types()[0]
	here := typed.GType{Kind: typed.GScalar, DType: typ.DType}
	if len(typ.Axes) > 0 {
		here.Kind, here.Shape = typed.GTensor, whole.Shape
	}
	t.put(x.Span(), typeAt{text: here.String()})
	if isApply {
		typed.Children(apply, func(part typed.Node) { t.pointwise(part, whole) })
	}
}

// axisText says what an axis is: `i in M by BM, 64 or 128`.
func axisText(a *typed.Axis) string {
	text := [...]string{"grid ", "for ", "axis "}[a.Kind] + a.Name + " in " + a.Over()
	switch {
	case a.Scalar:
		text += ", one position at a time"
	case a.Tile != "":
		text += " by " + a.Tile
	}
	return text
}
