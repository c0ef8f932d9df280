package typecheck

import (
	"slices"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// entKind says what a name stands for.
type entKind uint8

const (
	entInvalid entKind = iota // declared, but wrongly: silences every use
	entConst
	entFn
	entKernel
	entGraph
	entStruct
	entTypeParam
	entSymbol // a dimension or a constant parameter
	entTensor // a tensor parameter of a kernel
	entAxis   // a tile axis, or a scalar grid axis
	entTile   // an extent that the planner binds (BM)
	entValue  // a let, a loop variable, a scalar parameter: value is what it stands for
	entGraphValue
	entLambda  // a lambda that a fn is given
	entBuiltin // a function of the language that a fn is given
)

// entity is a name's meaning.
type entity struct {
	kind   entKind
	name   string
	at     lang.Span
	module *module     // of a declaration
	decl   lang.Decl   // of a declaration
	dtype  typed.DType // entTypeParam
	symbol *size.Symbol
	param  *typed.Param
	axis   *typed.Axis
	value  operand
	isAxis bool          // an axis parameter of a fn that is typed for itself
	graph  typed.GExpr   // entGraphValue
	output *typed.GParam // entGraphValue: an output of the graph
	lambda *lang.LambdaExpr
	// start is what a let binds, or a loop begins to carry: where it is mended.
	start lang.Expr
	scope *scope // in which a lambda stands
	// builtin is the name of a function of the language.
	builtin string
	// given is the argument that a parameter of a fn stands for, where that is a function; refused is set where it has the wrong number of parameters.
	given   lang.Span
	refused *bool
}

// kindNames is how messages call an entity.
var kindNames = map[entKind]string{
	entConst: "a constant", entFn: "a function", entKernel: "a kernel", entGraph: "a graph", entStruct: "a struct",
	entTypeParam: "a type parameter", entSymbol: "a dimension", entTensor: "a tensor", entAxis: "an axis",
	entTile: "an extent that the planner chooses", entValue: "a value", entGraphValue: "a value",
	entLambda: "a function", entBuiltin: "a function",
}

func (e *entity) isFunction() bool {
	return e.kind == entFn || e.kind == entLambda || e.kind == entBuiltin
}

func (e *entity) describe() string {
	if e.kind == entSymbol && e.symbol.Kind == size.ConstSymbol {
		return "a constant parameter"
	}
	return kindNames[e.kind]
}

// counts reports a meaning where a size or an axis is asked for. A file's kernels, functions,
// graphs and structs mean nothing there: a dimension, an extent or an axis of a formula may have the name of one.
func (e *entity) counts() bool {
	return e != nil && (e.decl == nil || e.kind == entConst || e.kind == entInvalid)
}

// scope is the names visible in a region of the source.
type scope struct {
	parent *scope
	names  map[string]*entity
	axes   []*typed.Axis // declared in this scope itself
	module *module       // set on a file's scope
}

func newScope(parent *scope) *scope { return &scope{parent: parent, names: map[string]*entity{}} }

// lookup finds a name in the scope or those around it.
func (s *scope) lookup(name string) *entity {
	for ; s != nil; s = s.parent {
		if e := s.names[name]; e != nil {
			return e
		}
	}
	return nil
}

// visible lists every name in sight.
func (s *scope) visible() []string {
	var all []string
	for ; s != nil; s = s.parent {
		for n := range s.names {
			all = append(all, n)
		}
	}
	return all
}

// file is the file that the scope lies in.
func (s *scope) file() *module {
	for ; s != nil; s = s.parent {
		if s.module != nil {
			return s.module
		}
	}
	return nil
}

// declare enters a name. Hiding an axis in scope is an error, and so is a second
// declaration in one scope unless rebind is set (let).
func (c *checker) declare(s *scope, e *entity, rebind bool) {
	if e.name == "_" || e.name == "" {
		return
	}
	if old := s.lookup(e.name); old != nil {
		switch {
		case old.kind == entAxis || old.isAxis:
			c.Errorf(lang.ErrShadowedAxis, e.at, "%s would hide the axis %s", e.name, e.name).
				label(old.at, "the axis, which is still in scope").help("give it another name: an axis is told by its declaration, so two of one name would be confused")
			e = &entity{kind: entInvalid, name: e.name, at: e.at}
		case s.names[e.name] != nil && !rebind:
			c.Errorf(lang.ErrDuplicate, e.at, "%s is declared twice", e.name).
				label(old.at, "first declared here, as %s", old.describe()).help("give one of them another name")
			return
		}
	}
	s.names[e.name] = e
}

// proposed lists the names that may be meant by an unknown one; names with a point are the checker's own.
func (c *checker) proposed(s *scope) []string {
	if c.many() {
		return nil
	}
	return slices.DeleteFunc(s.visible(), func(name string) bool { return strings.Contains(name, ".") })
}

// unknown reports a name that nothing declares, of a kernel or a graph. places are where a neighbour's word may stand as this does.
func (c *checker) unknown(s *scope, name string, at lang.Span, more []string, inGraph bool, places ...lang.NeighbourPlace) report {
	if len(places) == 0 {
		places = readPlaces
	}
	if m := s.file(); m != nil && m.incomplete { // it may be what is missing: nobody is told
		return report{Diagnostic: &lang.Diagnostic{}}
	}
	r := c.Errorf(lang.ErrUnknownName, at, "unknown name %s", name)
	if !r.neighbour(inGraph, name, places...) {
		r.suggest(at, name, append(c.proposed(s), more...))
	}
	return r
}

// module is a file with the names that it can use.
type module struct {
	tree    *lang.Module
	imports []imported
	own     *scope // its own declarations
	scope   *scope // those and what it imports
	// loading: the imports of the file, or of one behind it, are being read.
	loading bool
	// incomplete: an import failed, so that unknown names prove nothing.
	incomplete bool
}

type imported struct {
	at     lang.Span
	module *module
}
