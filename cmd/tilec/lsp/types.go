package lsp

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck"
	"tilec/typecheck/typed"
)

// types finds the types of expressions and bindings by their place. A place
// inside a fn has one for each call of it.
type types struct {
	modules map[*lang.Source]*lang.Module
	// in has the bodies of which some types are in a declaration, its own or those that call it, in the order of the program.
	in map[lang.Decl][]*bodyTypes
}

// bodyTypes are the types that the body of one declaration has, in itself and in the fns that it calls.
type bodyTypes struct {
	modules map[*lang.Source]*lang.Module // while types are added
	at      map[spot][]typeAt
	// axes are what the axes are, by the place of their names.
	axes map[spot]string
	in   map[lang.Decl]bool
	seen map[any]bool // while types are added
	// around is the place of the expression whose parts are being added: a part
	// with no place of its own, such as the zero of `zeros`, is not shown there.
	around lang.Span
}

// spot is a place that moves with its declaration, from the start of which it counts.
type spot struct {
	decl       lang.Decl
	start, end int
}

// typeAt is a type as the source would spell it, with what the axes in it are.
type typeAt struct {
	text string
	axes []string
}

// newTypes takes the types of a check, by declaration: those of before where it gives none.
func newTypes(x *typecheck.Checked, before map[lang.Decl]*bodyTypes) (map[lang.Decl]*bodyTypes, *types) {
	t := &types{modules: map[*lang.Source]*lang.Module{}, in: map[lang.Decl][]*bodyTypes{}}
	for _, m := range x.Modules {
		t.modules[m.Source] = m
	}
	now := map[lang.Decl]*bodyTypes{}
	for _, body := range x.Bodies {
		b := before[body.Decl]
		if body.Typed != nil || b == nil {
			b = &bodyTypes{modules: t.modules, at: map[spot][]typeAt{}, axes: map[spot]string{}, in: map[lang.Decl]bool{}, seen: map[any]bool{}}
			if body.Typed != nil {
				b.add(body.Typed)
			}
			b.modules, b.seen = nil, nil
		}
		now[body.Decl] = b
		for d := range b.in {
			t.in[d] = append(t.in[d], b)
		}
	}
	return now, t
}

// spotOf is the place in its declaration; none outside of all.
func spotOf(modules map[*lang.Source]*lang.Module, at lang.Span) (spot, bool) {
	m := modules[at.Source]
	if m == nil {
		return spot{}, false
	}
	d := m.DeclAt(at.Start)
	if d == nil {
		return spot{}, false
	}
	start := d.Span().Start
	return spot{d, at.Start - start, at.End - start}, true
}

// of are the types of a place.
func (t *types) of(at lang.Span) []typeAt {
	x, ok := spotOf(t.modules, at)
	if !ok {
		return nil
	}
	var all []typeAt
	for _, b := range t.in[x.decl] {
		for _, one := range b.at[x] {
			if !slices.ContainsFunc(all, func(y typeAt) bool { return y.text == one.text }) {
				all = append(all, one)
			}
		}
	}
	return all
}

// axis says what the axis is whose name stands at a place; "" for none.
func (t *types) axis(at lang.Span) string {
	x, ok := spotOf(t.modules, at)
	if !ok {
		return ""
	}
	found := ""
	for _, b := range t.in[x.decl] {
		if axis := b.axes[x]; axis != "" {
			found = axis
		}
	}
	return found
}

// text is the types of a place, "" when there are none.
func (t *types) text(at lang.Span) string {
	const most = 4
	var all []string
	for _, x := range t.of(at) {
		if len(all) == most {
			all = append(all, "...")
			break
		}
		all = append(all, x.text)
	}
	return strings.Join(all, " or ")
}

func (t *bodyTypes) put(at lang.Span, x typeAt) {
	if !at.IsValid() || x.text == "" {
		return
	}
	here, ok := spotOf(t.modules, at)
	if !ok {
		return
	}
	for _, y := range t.at[here] {
		if x.text == y.text {
			return
		}
	}
	t.at[here] = append(t.at[here], x)
	t.in[here.decl] = true
}

func (t *bodyTypes) putTypes(at lang.Span, ts []typed.Type) {
	var x typeAt
	parts := make([]string, len(ts))
	for i, one := range ts {
		parts[i] = one.String()
		for _, a := range one.Axes {
			x.axes = append(x.axes, axisText(a))
		}
	}
	x.text = strings.Join(parts, ", ")
	if len(ts) > 1 {
		x.text = "(" + x.text + ")"
	}
	t.put(at, x)
}

// add takes the types of a node of a typed program, and of all that is in it.
func (t *bodyTypes) add(n typed.Node) {
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
				t.putAxis(a)
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
func (t *bodyTypes) declared(x typed.Expr) {
	switch x := x.(type) {
	case *typed.Load:
		if v := x.Param; v.Of != nil { // a view, whose name no Let binds
			t.put(v.At, typeAt{text: typed.GType{Kind: typed.GTensor, DType: v.DType, Shape: v.Shape}.String()})
		}
	case *typed.For:
		t.putAxis(x.Axis)
	}
}

// gdeclared takes the types of the parts of an expression of whole tensors, which became a kernel.
func (t *bodyTypes) gdeclared(x typed.GExpr) {
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

func (t *bodyTypes) putAxis(a *typed.Axis) {
	if a == nil {
		return
	}
	if here, ok := spotOf(t.modules, a.At); ok {
		t.axes[here] = axisText(a)
		t.in[here.decl] = true
	}
}

// pointwise takes the types of the parts of an expression of whole tensors: in
// the kernel they are tiles, in the source they have the tensor's shape.
func (t *bodyTypes) pointwise(n typed.Node, whole typed.GType) {
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
