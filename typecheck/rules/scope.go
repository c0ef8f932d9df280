package rules

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// EntityKind says what a name stands for.
type EntityKind uint8

const (
	EntInvalid EntityKind = iota // declared, but wrongly: silences every use
	EntConst
	EntFn
	EntKernel
	EntGraph
	EntStruct
	EntTypeParam
	EntSymbol // a dimension or a constant parameter
	EntTensor // a tensor parameter of a kernel
	EntAxis   // a tile axis, or a scalar grid axis
	EntTile   // an extent that the planner binds (BM)
	EntValue  // a let, a loop variable, a scalar parameter: value is what it stands for
	EntGraphValue
	EntLambda  // a lambda that a fn is given
	entBuiltin // a function of the language that a fn is given
)

// Entity is a name's meaning.
type Entity struct {
	Kind   EntityKind
	Name   string
	At     lang.Span
	Module *Module     // of a declaration
	Decl   lang.Decl   // of a declaration
	DType  typed.DType // EntTypeParam
	Symbol *size.Symbol
	Param  *typed.Param
	Axis   *typed.Axis
	Value  Operand
	IsAxis bool          // an axis parameter of a fn that is typed for itself
	Graph  typed.GExpr   // EntGraphValue
	Output *typed.GParam // EntGraphValue: an output of the graph
	Lambda *lang.LambdaExpr
	// Start is what a let binds, or a loop begins to carry: where it is mended.
	Start lang.Expr
	Scope *Scope // in which a lambda stands
	// builtin is the name of a function of the language.
	builtin string
	// given is the argument that a parameter of a fn stands for, where that is a function; refused is set where it has the wrong number of parameters.
	given   lang.Span
	refused *bool
}

// kindNames is how messages call an entity.
var kindNames = map[EntityKind]string{
	EntConst: "a constant", EntFn: "a function", EntKernel: "a kernel", EntGraph: "a graph", EntStruct: "a struct",
	EntTypeParam: "a type parameter", EntSymbol: "a dimension", EntTensor: "a tensor", EntAxis: "an axis",
	EntTile: "an extent that the planner chooses", EntValue: "a value", EntGraphValue: "a value",
	EntLambda: "a function", entBuiltin: "a function",
}

func (e *Entity) isFunction() bool {
	return e.Kind == EntFn || e.Kind == EntLambda || e.Kind == entBuiltin
}

// Describe says what a name stands for, for messages.
func (e *Entity) Describe() string {
	if e.Kind == EntSymbol && e.Symbol.Kind == size.ConstSymbol {
		return "a constant parameter"
	}
	return kindNames[e.Kind]
}

// Counts reports a meaning where a size or an axis is asked for. A file's kernels, functions,
// graphs and structs mean nothing there: a dimension, an extent or an axis of a formula may have the name of one.
func (e *Entity) Counts() bool {
	return e != nil && (e.Decl == nil || e.Kind == EntConst || e.Kind == EntInvalid)
}

// Scope is the names visible in a region of the source.
type Scope struct {
	parent *Scope
	Names  map[string]*Entity
	Axes   []*typed.Axis // declared in this scope itself
	Module *Module       // set on a file's scope
}

// NewScope is a scope without names inside another, or nil.
func NewScope(parent *Scope) *Scope { return &Scope{parent: parent, Names: map[string]*Entity{}} }

// Lookup finds a name in the scope or those around it.
func (s *Scope) Lookup(name string) *Entity {
	for ; s != nil; s = s.parent {
		if e := s.Names[name]; e != nil {
			return e
		}
	}
	return nil
}

// visible lists every name in sight.
func (s *Scope) visible() []string {
	var all []string
	for ; s != nil; s = s.parent {
		for n := range s.Names {
			all = append(all, n)
		}
	}
	return all
}

// File is the file that the scope lies in.
func (s *Scope) File() *Module {
	for ; s != nil; s = s.parent {
		if s.Module != nil {
			return s.Module
		}
	}
	return nil
}

// Declare enters a name. Hiding an axis in scope is an error, and so is a second
// declaration in one scope unless rebind is set (let).
func (c *Checker) Declare(s *Scope, e *Entity, rebind bool) {
	if e.Name == "_" || e.Name == "" {
		return
	}
	if old := s.Lookup(e.Name); old != nil {
		switch {
		case old.Kind == EntAxis || old.IsAxis:
			c.Errorf(lang.ErrShadowedAxis, e.At, "%s would hide the axis %s", e.Name, e.Name).
				LabelAt(old.At, "the axis, which is still in scope").Help("give it another name: an axis is told by its declaration, so two of one name would be confused")
			e = &Entity{Kind: EntInvalid, Name: e.Name, At: e.At}
		case s.Names[e.Name] != nil && !rebind:
			c.Errorf(lang.ErrDuplicate, e.At, "%s is declared twice", e.Name).
				LabelAt(old.At, "first declared here, as %s", old.Describe()).Help("give one of them another name")
			return
		}
	}
	s.Names[e.Name] = e
}

// Proposed lists the names that may be meant by an unknown one; names with a point are the checker's own.
func (c *Checker) Proposed(s *Scope) []string {
	if c.Many() {
		return nil
	}
	return slices.DeleteFunc(s.visible(), func(name string) bool { return strings.Contains(name, ".") })
}

// UnknownName reports a name that nothing declares, of a kernel or a graph. places are where a neighbour's word may stand as this does.
func (c *Checker) UnknownName(s *Scope, name string, at lang.Span, more []string, inGraph bool, places ...lang.NeighbourPlace) report.Draft {
	if len(places) == 0 {
		places = readPlaces
	}
	if m := s.File(); m != nil && m.Incomplete { // it may be what is missing: nobody is told
		return report.Draft{Diagnostic: &lang.Diagnostic{}}
	}
	r := c.Errorf(lang.ErrUnknownName, at, "unknown name %s", name)
	if !r.Neighbour(inGraph, name, places...) {
		r.Suggest(at, name, append(c.Proposed(s), more...))
	}
	return r
}

// Module is a file with the names that it can use.
type Module struct {
	Tree    *lang.Module
	Imports []Imported
	Own     *Scope // its own declarations
	Scope   *Scope // those and what it imports
	// Loading: the imports of the file, or of one behind it, are being read.
	Loading bool
	// Incomplete: an import failed, so that unknown names prove nothing.
	Incomplete bool
}

// Imported is a file that another imports, and where.
type Imported struct {
	At     lang.Span
	Module *Module
}
