package typecheck

import (
	"strings"

	"tilec/lang"
)

// This file answers words of other languages with ours, by lang's table of neighbours.

// The places of a name that is called, and of one that is read: what it most likely means comes first.
var (
	calledPlaces = []lang.NeighbourPlace{lang.AsCall, lang.AsValue, lang.AsType, lang.AsStatement}
	readPlaces   = []lang.NeighbourPlace{lang.AsValue, lang.AsStatement, lang.AsType, lang.AsCall}
)

// notMethod says how to write a call of a method, or of a module's function: f stands before the brackets.
func (c *checker) notMethod(r report, s *scope, inGraph bool, f *lang.FieldExpr) {
	name := f.Name.Name
	ent := s.lookup(name)
	switch {
	case ent != nil && (ent.kind == entFn || inGraph && (ent.kind == entKernel || ent.kind == entGraph)):
		r.help("there are no methods and no modules: call it by its name, `%s(...)`", name)
	case r.neighbour(inGraph, name, lang.AsCall, lang.AsValue, lang.AsType):
		if n := lang.FindNeighbour(name, lang.AsCall); n != nil && n.Graph == "" && strings.HasPrefix(n.Ours, name+"(") {
			r.help("there are no methods and no modules: call it by its name, `%s`", n.Ours)
		}
	case ent == nil && isBuiltin(name):
		r.help("there are no methods and no modules: call it by its name, `%s(...)`", name)
	default:
		r.help("there are no methods and no modules: a function is called by its name")
	}
}

// moduleOf is the name that a chain of fields begins with, where nothing declares it: a module of another language.
func moduleOf(s *scope, e lang.Expr) (*lang.NameExpr, bool) {
	for {
		switch x := e.(type) {
		case *lang.FieldExpr:
			e = x.X
		case *lang.NameExpr:
			return x, s.lookup(x.Name) == nil && !isBuiltin(x.Name)
		default:
			return nil, false
		}
	}
}

// ofModule reports a name of a module of another language, such as `tl.float32`, and reports whether it is one.
func (c *checker) ofModule(s *scope, inGraph bool, e *lang.FieldExpr) bool {
	root, ok := moduleOf(s, e)
	if !ok {
		return false
	}
	if m := s.file(); m != nil && m.incomplete {
		return true
	}
	r := c.Errorf(lang.ErrUnknownName, root.Place, "unknown name %s", root.Name)
	if d, isType := lang.ParseDType(e.Name.Name); isType {
		r.replace(e.Place, d.String(), "write `%s`: there are no modules", d)
		return true
	}
	for x := e; ; { // the innermost field that is a word: `ct.PaddingMode.ZERO`
		if r.neighbour(inGraph, x.Name.Name, lang.AsType, lang.AsValue, lang.AsCall, lang.AsAttribute) {
			return true
		}
		inner, isField := x.X.(*lang.FieldExpr)
		if !isField {
			break
		}
		x = inner
	}
	switch {
	case isBuiltin(e.Name.Name):
		r.replace(e.Place, e.Name.Name, "write `%s`: there are no modules", e.Name.Name)
	case r.neighbour(inGraph, root.Name, lang.AsValue):
	case !c.many():
		r.suggest(root.Place, root.Name, s.visible())
	}
	return true
}

// unknownArgument reports a named argument that a function has not.
func (c *checker) unknownArgument(call *lang.CallExpr, a lang.Arg, inGraph bool) {
	function := call.Fn.Span().Text()
	r := c.Errorf(lang.ErrArgName, a.Name.Place, "%s has no argument named %s", function, a.Name.Name)
	r.neighbour(inGraph, a.Name.Name, lang.AsArgument)
}

// unusedValue reports a statement whose value nothing uses.
func (c *checker) unusedValue(x lang.Expr, value string, o operand) report {
	r := c.Errorf(lang.ErrValueCount, x.Span(), "the value %s is not used", value)
	n := max(len(o.elems), len(o.types))
	if o.mode != several || n < 2 {
		return r
	}
	r.Message = plural(n, "value") + " are not used"
	names := "(" + strings.TrimSuffix(strings.Repeat("_, ", n), ", ") + ")"
	at := x.Span()
	at.End = at.Start
	return r.replace(at, "let "+names+" = ", "discard them with `let %s = ...`, or bind them to names", names)
}
