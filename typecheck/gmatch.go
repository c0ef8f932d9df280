package typecheck

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file matches the arguments of a call in a graph with the parameters of a kernel or a graph.

// callSite is the matching of a call's arguments with the parameters of a kernel or a graph.
type callSite struct {
	*graphChecker
	call   *lang.CallExpr
	name   string
	decl   lang.Span
	consts []*size.Symbol
	types  []*typed.TypeParam
	sub    substitution
	// from tells which argument bound a dimension or a type, for messages.
	dimFrom  map[*size.Symbol]lang.Span
	typeFrom map[*typed.TypeParam]lang.Span
	given    map[*size.Symbol]typed.GExpr
}

func (g *graphChecker) site(e *lang.CallExpr, name string, decl lang.Span, consts []*size.Symbol, types []*typed.TypeParam) *callSite {
	return &callSite{graphChecker: g, call: e, name: name, decl: decl, consts: consts, types: types,
		sub:     substitution{map[*typed.TypeParam]typed.DType{}, map[*size.Symbol]size.Size{}},
		dimFrom: map[*size.Symbol]lang.Span{}, typeFrom: map[*typed.TypeParam]lang.Span{}, given: map[*size.Symbol]typed.GExpr{}}
}

// match assigns the arguments to parameters: by position, or by name, which may be that of a constant or a type parameter.
func (s *callSite) match(params []string, optional []bool) ([]lang.Expr, bool) {
	out := make([]lang.Expr, len(params))
	at, ok := 0, true
	for _, a := range s.call.Args {
		if a.Name == nil {
			if at >= len(params) {
				s.errorf(lang.ErrArgCount, s.call.Place, "%s takes %s, and more are given", s.name, plural(len(params), "argument")).
					label(s.decl, "declared here").label(a.Value.Span(), "one too many")
				return nil, false
			}
			out[at] = a.Value
			at++
			continue
		}
		if !s.namedArg(a, params, out) {
			ok = false
		}
	}
	var missing []string
	for i, x := range out {
		if x == nil && !optional[i] {
			missing = append(missing, params[i])
		}
	}
	if len(missing) > 0 && ok {
		s.errorf(lang.ErrArgCount, s.call.Place, "the call of %s lacks %s", s.name, strings.Join(missing, ", ")).label(s.decl, "declared here")
		return nil, false
	}
	return out, ok
}

func (s *callSite) namedArg(a lang.Arg, params []string, out []lang.Expr) bool {
	name := a.Name.Name
	for i, p := range params {
		if p != name {
			continue
		}
		if out[i] != nil {
			s.errorf(lang.ErrArgName, a.Name.Place, "the argument %s is given twice", name).label(out[i].Span(), "first given here")
			return false
		}
		out[i] = a.Value
		return true
	}
	names := append([]string{}, params...)
	for _, c := range s.consts {
		if c.Name == name {
			return s.constArg(c, a)
		}
		names = append(names, c.Name)
	}
	for _, p := range s.types {
		if p.Name == name {
			return s.typeArg(p, a)
		}
		names = append(names, p.Name)
	}
	s.errorf(lang.ErrArgName, a.Name.Place, "%s has no parameter %s", s.name, name).label(s.decl, "declared here").suggest(a.Name.Place, name, names)
	if n, ok := a.Value.(*lang.NameExpr); ok {
		if _, isType := lang.ParseDType(n.Name); isType {
			return false // a type where no parameter is needs no error of its own
		}
	}
	s.expr(a.Value)
	return false
}

// typeArg binds a type parameter by name.
func (s *callSite) typeArg(p *typed.TypeParam, a lang.Arg) bool {
	if at, twice := s.typeFrom[p]; twice {
		s.errorf(lang.ErrArgName, a.Name.Place, "the type parameter %s is given twice", p.Name).label(at, "first given here")
		return false
	}
	n, ok := a.Value.(*lang.NameExpr)
	if !ok {
		s.errorf(lang.ErrUnknownType, a.Value.Span(), "%s is a type parameter: give an element type, as in `%s = bf16`", p.Name, p.Name).label(p.At, "declared here")
		return false
	}
	d, ok := s.dtypeNamed(s.scope, n.Name, n.Place)
	return ok && s.bindType(typed.DType{Param: p}, d, n.Place, p.Name, nil, false)
}

// constArg binds a constant parameter.
func (s *callSite) constArg(c *size.Symbol, a lang.Arg) bool {
	if _, twice := s.given[c]; twice {
		s.errorf(lang.ErrArgName, a.Name.Place, "the constant parameter %s is given twice", c.Name)
		return false
	}
	o := s.scalar(a.Value, "a constant parameter")
	if o.mode == invalid {
		return false
	}
	if c.DType == lang.I32 {
		if o.mode != untypedInt {
			s.errorf(lang.ErrConstParam, a.Value.Span(), "the constant parameter %s is an int, and %s is no integer over dimensions and constants", c.Name, s.describe(o)).label(c.At, "declared here").wholeHelp(o)
			return false
		}
		s.sub.syms[c] = o.size
		s.given[c] = s.toScalar(o, typed.Concrete(lang.I32)).graph
		return true
	}
	o = s.toScalar(o, typed.Concrete(c.DType))
	if o.mode == invalid {
		return false
	}
	if o.graph.GType().DType != typed.Concrete(c.DType) {
		s.errorf(lang.ErrConstParam, a.Value.Span(), "the constant parameter %s is %s, not %s", c.Name, c.DType, s.describe(o)).label(c.At, "declared here")
		return false
	}
	if p := s.runtimeScalar(o.graph); p != nil {
		s.errorf(lang.ErrNotConstant, a.Value.Span(), "the constant parameter %s depends on %s, which is only known when the graph runs", c.Name, p.Name).label(p.At, "a scalar parameter")
		return false
	}
	s.given[c] = o.graph
	return true
}

// dimensionOf is the parameter, by its name and shape, that has the constant as a dimension by itself; "" where none has.
func dimensionOf(c *size.Symbol, names []string, shapes [][]size.Size) string {
	for i, shape := range shapes {
		if slices.ContainsFunc(shape, func(n size.Size) bool { return n.Symbol() == c }) {
			return names[i]
		}
	}
	return ""
}

// finish checks that every constant parameter has a value; the parameters are for messages.
func (s *callSite) finish(names []string, shapes [][]size.Size) bool {
	for _, c := range s.consts {
		if _, ok := s.given[c]; ok {
			continue
		}
		if c.Default == nil {
			r := s.errorf(lang.ErrConstParam, s.call.Place, "the constant parameter %s of %s has no value", c.Name, s.name).label(c.At, "declared without a default")
			if of := dimensionOf(c, names, shapes); of != "" {
				r.help("leave out `const %s: int`: without it, %s is a dimension of %s, whose size the argument tells", c.Name, c.Name, of)
			} else {
				r.help("pass it by name: `%s(..., %s = ...)`", s.name, c.Name)
			}
			return false
		}
		if c.DType == lang.I32 {
			s.sub.syms[c] = size.Const(c.Default.Int)
		}
	}
	return true
}

// listArgs gives lists among the arguments their element types: that of the
// parameter or, where that is open, of another argument for the same type.
func (s *callSite) listArgs(ops []operand, want func(int) typed.DType) bool {
	for i := range ops {
		if ops[i].mode != list {
			continue
		}
		d := want(i)
		if d.Param != nil {
			d = ops[i].list.settled()
			for j := range ops {
				if ops[j].mode == typedValue && want(j) == want(i) && ops[j].graph.GType().Kind == typed.GTensor {
					d = ops[j].graph.GType().DType
					break
				}
			}
		}
		if d == (typed.DType{}) { // a struct or an array: no list fits
			d = ops[i].list.settled()
		}
		if ops[i] = s.listAs(ops[i], d); ops[i].mode != typedValue {
			return false
		}
	}
	return true
}

// bindType matches an element type as declared with that of an argument.
func (s *callSite) bindType(want, got typed.DType, at lang.Span, param string, x lang.Expr, scalar bool) bool {
	if want.Param == nil {
		if want != got {
			if scalar {
				s.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here").castFix(x, want)
			} else {
				s.errorf(lang.ErrWrongType, at, "the argument for %s of %s has elements of %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here").castFix(x, want)
			}
			return false
		}
		return true
	}
	if old, ok := s.sub.types[want.Param]; ok {
		if old != got {
			r := s.errorf(lang.ErrMixedTypes, at, "the argument for %s of %s has elements of %s, and %s is %s in this call", param, s.name, got, want, old).
				label(s.typeFrom[want.Param], "%s is %s by this argument", want, old)
			r.castFix(x, old)
			return false
		}
		return true
	}
	if !boundAccepts(want.Param, got) {
		s.errorf(lang.ErrTypeParam, at, "the argument for %s of %s has elements of %s, which %s: %s does not accept", param, s.name, s.describeDType(got), want, want.Param.Bound).
			label(want.Param.At, "declared here")
		return false
	}
	s.sub.types[want.Param] = got
	s.typeFrom[want.Param] = at
	return true
}

// bindShape binds the dimensions that stand alone in a declared shape.
func (s *callSite) bindShape(want, got []size.Size, at lang.Span, param string) bool {
	if len(want) != len(got) {
		s.errorf(lang.ErrShape, at, "the argument for %s of %s has %s; %s has %d", param, s.name, plural(len(got), "dimension"), param, len(want)).
			label(s.decl, "%s is declared with the shape %s", param, typed.SizesText(want)).here("has the shape %s", typed.SizesText(got))
		return false
	}
	for i, w := range want {
		sym := w.Symbol()
		if sym == nil || sym.Kind != size.DimSymbol {
			continue
		}
		if old, ok := s.sub.syms[sym]; !ok {
			s.sub.syms[sym], s.dimFrom[sym] = got[i], at
		} else if s.prover.Different(old, got[i]) {
			s.errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s, and must be %s", i, param, s.name, got[i], inCall(old, sym.Name)).
				label(s.dimFrom[sym], "%s is %s by this argument", sym.Name, old).here("has the shape %s", typed.SizesText(got))
			return false
		}
	}
	return true
}

// inCall is a size that a call needs, and what the callee calls it, where that is not the same.
func inCall(size size.Size, callee string) string {
	if size.String() == callee {
		return callee
	}
	return fmt.Sprintf("%s, which is its %s", size, callee)
}

// checkShape checks the dimensions that are expressions of others.
func (s *callSite) checkShape(want, got []size.Size, at lang.Span, param string) bool {
	for i, w := range want {
		if n := s.sub.size(w); s.prover.Different(n, got[i]) {
			s.errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s, and must be %s", i, param, s.name, got[i], inCall(n, w.String())).
				label(s.decl, "declared here").here("has the shape %s", typed.SizesText(got))
			return false
		}
	}
	return true
}

// inferred checks that every type parameter is bound.
func (s *callSite) inferred(params []*typed.TypeParam) bool {
	for _, p := range params {
		if _, ok := s.sub.types[p]; !ok {
			s.errorf(lang.ErrTypeParam, s.call.Place, "nothing tells what %s of %s stands for in this call", p.Name, s.name).label(p.At, "declared here").
				help("give it by name: `%s = bf16`", p.Name)
			return false
		}
	}
	return true
}

// writable checks an inout argument.
func (s *callSite) writable(x typed.GExpr, at lang.Span, param string) bool {
	if s.isMutable(x) {
		return true
	}
	s.errorf(lang.ErrNotMutable, at, "%s writes its parameter %s, and this argument is no part of an inout parameter", s.name, param).label(s.decl, "declared here").
		help("declare it as an `inout` parameter of the graph, or copy it to state: `inout s = ...`")
	return false
}

// result is the type of a call's outputs.
func (s *callSite) result(n int, output func(int) typed.GType) typed.GType {
	types := make([]typed.GType, n)
	for i := range types {
		types[i] = s.sub.gtype(output(i))
	}
	if n == 1 {
		return types[0]
	}
	return typed.GType{Kind: typed.GTuple, Elems: types}
}

// scalarArg types the argument of a scalar parameter; nil after an error.
func (s *callSite) scalarArg(o operand, want typed.DType, param string, x lang.Expr) typed.GExpr {
	if o.isUntyped() {
		to := want
		if want.Param != nil {
			bound, ok := s.sub.types[want.Param]
			if !ok {
				o = s.settled(o)
			}
			to = bound
		}
		if o.isUntyped() {
			o = s.toScalar(o, to)
		}
	}
	if o.mode != typedValue {
		return nil
	}
	t := o.graph.GType()
	if t.Kind != typed.GScalar {
		s.errorf(lang.ErrWrongType, x.Span(), "the argument for %s of %s is %s; a scalar %s is needed", param, s.name, t, want).label(s.decl, "declared here")
		return nil
	}
	if !s.bindType(want, t.DType, x.Span(), param, x, true) {
		return nil
	}
	return o.graph
}

// unify matches the type of a graph's parameter with that of an argument, and binds what stands alone in it.
func (s *callSite) unify(want, got typed.GType, at lang.Span, param string, x lang.Expr) bool {
	if want.Kind != got.Kind || want.Kind == typed.GStruct && want.Struct != got.Struct {
		s.errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", param, s.name, got, want).label(s.decl, "declared here")
		return false
	}
	switch want.Kind {
	case typed.GTensor:
		return s.bindType(want.DType, got.DType, at, param, x, false) && s.bindShape(want.Shape, got.Shape, at, param)
	case typed.GStruct:
		for i, f := range want.Fields {
			if !s.unify(f.Type, got.Fields[i].Type, at, param+"."+f.Name, nil) {
				return false
			}
		}
	case typed.GArray:
		return s.bindShape([]size.Size{want.Len}, []size.Size{got.Len}, at, "the length of "+param) && s.unify(*want.Elem, *got.Elem, at, param+"[i]", nil)
	}
	return true
}

// checkAll checks the dimensions that are expressions of others, in every part of a type.
func (s *callSite) checkAll(want, got typed.GType, at lang.Span, param string) bool {
	switch want.Kind {
	case typed.GTensor:
		return s.checkShape(want.Shape, got.Shape, at, param)
	case typed.GStruct:
		for i, f := range want.Fields {
			if !s.checkAll(f.Type, got.Fields[i].Type, at, param+"."+f.Name) {
				return false
			}
		}
	case typed.GArray:
		return s.checkAll(*want.Elem, *got.Elem, at, param+"[i]")
	}
	return true
}
