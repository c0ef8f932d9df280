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
	var at lang.Span
	switch n := n.(type) {
	case *typed.Kernel:
		for _, part := range n.Launches() {
			for _, a := range part.Axes {
				t.axis(a)
			}
		}
	case *typed.Let:
		t.locals(n.Locals...)
	case *typed.Store:
		t.locals(n.Old)
	case *typed.GLet:
		t.glocals(n.Locals...)
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

// declared takes the names that an expression binds.
func (t *types) declared(x typed.Expr) {
	switch x := x.(type) {
	case *typed.Combine:
		t.locals(x.Params...)
	case *typed.Load:
		if v := x.Param; v.Of != nil { // a view, whose name no Let binds
			t.put(v.At, typeAt{text: typed.GType{Kind: typed.GTensor, DType: v.DType, Shape: v.Shape}.String()})
		}
	case *typed.For:
		t.axis(x.Axis)
		t.locals(x.Index)
		t.locals(x.Carried...)
	}
}

// gdeclared takes the names that an expression of a graph binds, and the types
// of the parts of an expression of whole tensors, which became a kernel.
func (t *types) gdeclared(x typed.GExpr) {
	switch x := x.(type) {
	case *typed.GFor:
		t.glocals(x.Var)
		t.glocals(x.Carried...)
	case *typed.GCall:
		if x.Kernel.Decl.Body == nil { // made for an expression
			for _, s := range x.Kernel.Body.Stmts {
				switch s := s.(type) {
				case *typed.Let:
					t.pointwise(s.Value, x.Type)
				case *typed.Store:
					t.pointwise(s.Value, x.Type)
				}
			}
		}
	}
}

func (t *types) axis(a *typed.Axis) {
	if a != nil && a.At.IsValid() {
		t.axes[a.At] = a
	}
}

func (t *types) locals(ls ...*typed.Local) {
	for _, l := range ls {
		if l != nil {
			t.putTypes(l.At, []typed.Type{l.Type})
		}
	}
}

func (t *types) glocals(ls ...*typed.GLocal) {
	for _, l := range ls {
		if l != nil {
			t.put(l.At, typeAt{text: l.Type.String()})
		}
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
