package rules

import (
	"tilec/lang"
)

// This file knows the names that the language itself gives a meaning.

// IsBuiltin reports a name that the language itself gives a meaning.
func IsBuiltin(name string) bool {
	if name == "view" {
		return true
	}
	for _, op := range lang.Ops() {
		if r := op.Row(); r.Spelling == name && (r.Form == lang.FormCall || r.Form == lang.FormReduce) {
			return true
		}
	}
	if _, ok := lang.FindFunction(name); ok {
		return true
	}
	switch name {
	case "zeros", "ones", "rand", "randn", "static_assert", "assume", "inf", "nan", "pi":
		return true
	}
	_, ok := lang.ParseDType(name)
	return ok
}

// isValue reports an expression that is one in any call: not what only some functions take, such as an axis or a list.
func (c *Checker) isValue(s *Scope, e lang.Expr) bool {
	switch e := e.(type) {
	case *lang.ListExpr, *lang.RangeExpr, *lang.LambdaExpr, *lang.MapExpr, *lang.TupleExpr, *lang.StringLit:
		return false
	case *lang.NameExpr:
		if ent := s.Lookup(e.Name); ent != nil {
			return ent.Kind != EntAxis && ent.Kind != EntTypeParam && ent.Kind != EntTensor
		}
		_, isType := lang.ParseDType(e.Name)
		return !isType
	}
	return true
}

// FunctionNames lists what can be called, for suggestions.
func FunctionNames() []string {
	names := []string{"zeros", "ones", "rand", "randn", "static_assert", "assume"}
	for _, f := range lang.Functions() {
		names = append(names, f.Name)
	}
	for _, op := range lang.Ops() {
		if r := op.Row(); r.Form == lang.FormCall || r.Form == lang.FormReduce {
			names = append(names, r.Spelling)
		}
	}
	return names
}
