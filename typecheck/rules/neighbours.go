package rules

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
)

// This file answers words of other languages with ours, by lang's table of neighbours.

// The places of a name that is called, and of one that is read: what it most likely means comes first.
var (
	CalledPlaces = []lang.NeighbourPlace{lang.AsCall, lang.AsValue, lang.AsType, lang.AsStatement}
	readPlaces   = []lang.NeighbourPlace{lang.AsValue, lang.AsStatement, lang.AsType, lang.AsCall}
)

// notMethod says how to write a call of a method, or of a module's function: f stands before the brackets.
func (c *Checker) notMethod(r report.Draft, s *Scope, inGraph bool, f *lang.FieldExpr) {
	name := f.Name.Name
	ent := s.Lookup(name)
	switch {
	case ent != nil && (ent.Kind == EntFn || inGraph && (ent.Kind == EntKernel || ent.Kind == EntGraph)):
		r.Help("there are no methods and no modules: call it by its name, `%s(...)`", name)
	case r.Neighbour(inGraph, name, lang.AsCall, lang.AsValue, lang.AsType):
		if n := lang.FindNeighbour(name, lang.AsCall); n != nil && n.Graph == "" && strings.HasPrefix(n.Ours, name+"(") {
			r.Help("there are no methods and no modules: call it by its name, `%s`", n.Ours)
		}
	case ent == nil && IsBuiltin(name):
		r.Help("there are no methods and no modules: call it by its name, `%s(...)`", name)
	default:
		r.Help("there are no methods and no modules: a function is called by its name")
	}
}

// moduleOf is the name that a chain of fields begins with, where nothing declares it: a module of another language.
func moduleOf(s *Scope, e lang.Expr) (*lang.NameExpr, bool) {
	for {
		switch x := e.(type) {
		case *lang.FieldExpr:
			e = x.X
		case *lang.NameExpr:
			return x, s.Lookup(x.Name) == nil && !IsBuiltin(x.Name)
		default:
			return nil, false
		}
	}
}

// OfModule reports a name of a module of another language, such as `tl.float32`, and reports whether it is one.
func (c *Checker) OfModule(s *Scope, inGraph bool, e *lang.FieldExpr) bool {
	root, ok := moduleOf(s, e)
	if !ok {
		return false
	}
	if m := s.File(); m != nil && m.Incomplete {
		return true
	}
	r := c.Errorf(lang.ErrUnknownName, root.Place, "unknown name %s", root.Name)
	if d, isType := lang.ParseDType(e.Name.Name); isType {
		r.Replace(e.Place, d.String(), "write `%s`: there are no modules", d)
		return true
	}
	for x := e; ; { // the innermost field that is a word: `ct.PaddingMode.ZERO`
		if r.Neighbour(inGraph, x.Name.Name, lang.AsType, lang.AsValue, lang.AsCall, lang.AsAttribute) {
			return true
		}
		inner, isField := x.X.(*lang.FieldExpr)
		if !isField {
			break
		}
		x = inner
	}
	switch {
	case IsBuiltin(e.Name.Name):
		r.Replace(e.Place, e.Name.Name, "write `%s`: there are no modules", e.Name.Name)
	case r.Neighbour(inGraph, root.Name, lang.AsValue):
	case !c.Many():
		r.Suggest(root.Place, root.Name, s.visible())
	}
	return true
}

// unknownArgument reports a named argument that a function has not.
func (c *Checker) unknownArgument(call *lang.CallExpr, a lang.Arg, inGraph bool) {
	function := call.Fn.Span().Text()
	r := c.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", function, a.Name.Name)
	r.Neighbour(inGraph, a.Name.Name, lang.AsArgument)
}

// UnusedValue reports a statement whose value nothing uses.
func (c *Checker) UnusedValue(x lang.Expr, value string, o Operand) report.Draft {
	r := c.Errorf(lang.ErrValueCount, x.Span(), "the value %s is not used", value)
	n := max(len(o.Elems), len(o.Types))
	if o.Mode != Several || n < 2 {
		return r
	}
	r.Message = report.Plural(n, "value") + " are not used"
	names := "(" + strings.TrimSuffix(strings.Repeat("_, ", n), ", ") + ")"
	at := x.Span()
	at.End = at.Start
	return r.Replace(at, "let "+names+" = ", "discard them with `let %s = ...`, or bind them to names", names)
}
