package typed_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recognisers are the functions whose type switch knows some kinds of nodes only and goes to the parts of no other, with
// the reason why what they answer for the others is right, and stays right for a kind that is added.
var recognisers = map[string]string{
	"typecheck/blocks/grid_flow.go gridFlow.stmtMeans": "false: flow goes through the parts",
	"typecheck/blocks/grid_flow.go gridFlow.exprMeans": "false: flow goes through the parts",
	"typecheck/blocks/loop_flow.go loopFlow.stmtMeans": "false: flow goes through the parts",
	"typecheck/blocks/loop_flow.go loopFlow.exprMeans": "false: flow goes through the parts",
	"typecheck/blocks/coverage.go coverage.in":         "partsOf goes through the parts, and a body may never run",
	"typecheck/blocks/flow.go flow.plainly":            "the values of any other kind depend on all of its parts",
	"typecheck/blocks/overwritten.go Facts.storesIn":   "childrenOf gives all parts, and a body may never run",

	"typecheck/blocks/stepwise.go nameOf":               "nil: it is not plain which value this is",
	"typecheck/blocks/loop_accesses.go isNumber":        "false: nothing says that it is one above 0",
	"typecheck/blocks/loop_accesses.go sameIndex":       "false: not plainly the same",
	"typecheck/blocks/overwritten.go sameExpr":          "false: not plainly the same",
	"typecheck/kernel/debug.go constantCondition":       "unknown: decided when it is launched or run",
	"typecheck/rules/constants.go Checker.ConstValue":   "what does not fold is an error",
	"typecheck/graph/exprs.go graphChecker.name":        "a name is bound to these, or to a constant",
	"typecheck/kernel/caller.go bodyChecker.bindArg":    "any other argument is bound to a name",
	"typecheck/graph/exprs.go graphChecker.toScalar":    "convert makes constants and sizes alone",
	"typecheck/graph/exprs.go graphChecker.scalarApply": "apply makes constants and operations alone",
	"typecheck/graph/slices.go mayGive":                 "all that the expression depends on",
	"typecheck/graph/exprs.go graphChecker.isMutable":   "typed.PartOf decides, which knows all kinds",
	"typecheck/graph/tests.go graphChecker.dimNames":    "nil: the dimensions have no names, which only messages show",
	"typecheck/graph/tests.go graphChecker.namesOf":     "dimNames decides",
	"typecheck/graph/pointwise.go graphChecker.leaf":    "any other value is a leaf of its own",
	"typecheck/graph/pointwise.go graphChecker.once":    "any other value gets a name",
	"typecheck/typed/print.go printer.value":            "any other kind is printed on the line",
	"typecheck/typed/binds.go Binds":                    "TestBindsLeavesNothingOut knows what binds names",
	"typecheck/typed/binds.go GBinds":                   "TestBindsLeavesNothingOut knows what binds names",
	"jit/spec/conditions.go evaluator.value":            "unknown: the condition is an error, or is left to each run",
	"jit/build/positions.go isCount":                    "false: it is computed as its type says",
	"jit/build/positions.go builder.exact":              "it is computed as its type says",
	"jit/build/positions.go builder.span":               "any i32",
	"cmd/tilec/lsp/types.go bodyTypes.declared":         "types.add goes through the parts; only these declare axes and views",
	"cmd/tilec/lsp/types.go bodyTypes.gdeclared":        "the kernels that pointwise makes have no other statements",
}

// A type switch over nodes says what to do with every kind. It has a case for each, so that this test fails when one is
// added; or what it says nothing of goes to Walk or Children; or it stands in the list above.
func TestSwitchesKnowEveryKind(t *testing.T) {
	kinds := map[string]string{} // the family of each kind
	for _, n := range nodes {
		family := "the rest"
		for _, of := range []reflect.Type{exprType, gexprType, stmtType, gstmtType} {
			if reflect.TypeOf(n).Implements(of) {
				family = of.Name()
			}
		}
		kinds[reflect.TypeOf(n).Elem().Name()] = family
	}
	root := filepath.Join("..", "..")
	unused := map[string]bool{}
	for name := range recognisers {
		unused[name] = true
	}
	found := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		within := filepath.Dir(path) == filepath.Join(root, "typecheck", "typed")
		if !within && !imports(file, "tilec/typecheck/typed") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			where := filepath.ToSlash(name) + " " + functionName(f)
			for _, s := range nodeSwitches(f, within, kinds) {
				found++
				missing := s.missing(kinds)
				switch {
				case len(missing) == 0, s.walked:
				case recognisers[where] != "":
					delete(unused, where)
				default:
					t.Errorf("%s: %s switches over nodes without a case for %s", set.Position(s.at), where, strings.Join(missing, ", "))
				}
			}
		}
		return nil
	}))
	assert.Greater(t, found, 30)
	for name := range unused {
		t.Errorf("%s has no type switch that leaves kinds out, and is in the list", name)
	}
}

// nodeSwitch is a type switch over nodes.
type nodeSwitch struct {
	at    token.Pos
	cases map[string]bool // the kinds and the families that it names
	// walked: what it does not name goes to Walk or Children, in whose visitor it stands or which its function calls.
	walked bool
}

// missing are the kinds that a switch does not name, of the families of which it names some.
func (s nodeSwitch) missing(kinds map[string]string) []string {
	families := map[string]bool{}
	for name := range s.cases {
		if family, ok := kinds[name]; ok && !s.cases[family] {
			families[family] = true
		}
	}
	var missing []string
	for name, family := range kinds {
		if families[family] && !s.cases[name] {
			missing = append(missing, name)
		}
	}
	return missing
}

// nodeSwitches finds the type switches over nodes in a function; within tells that it is of package typed.
func nodeSwitches(f *ast.FuncDecl, within bool, kinds map[string]string) []nodeSwitch {
	named := func(x ast.Expr) string {
		if star, ok := x.(*ast.StarExpr); ok {
			x = star.X
		}
		switch x := x.(type) {
		case *ast.Ident:
			if within {
				return x.Name
			}
		case *ast.SelectorExpr:
			if of, ok := x.X.(*ast.Ident); ok && of.Name == "typed" {
				return x.Sel.Name
			}
		}
		return ""
	}
	calls := func(n ast.Node, functions ...string) bool {
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, function := range functions {
					found = found || named(call.Fun) == function
				}
			}
			return true
		})
		return found
	}
	visits := calls(f.Body, "Walk", "Find", "All")
	var all []nodeSwitch
	var inspect func(n ast.Node, inVisitor bool)
	inspect = func(n ast.Node, inVisitor bool) {
		ast.Inspect(n, func(c ast.Node) bool {
			switch c := c.(type) {
			case *ast.FuncLit:
				if c != n {
					inspect(c, visits)
					return false
				}
			case *ast.TypeSwitchStmt:
				s := nodeSwitch{at: c.Pos(), cases: map[string]bool{}, walked: inVisitor || calls(f.Body, "Children")}
				ofNodes := false
				for _, clause := range c.Body.List {
					for _, x := range clause.(*ast.CaseClause).List {
						name := named(x)
						s.cases[name] = true
						ofNodes = ofNodes || kinds[name] != ""
					}
				}
				if ofNodes {
					all = append(all, s)
				}
			}
			return true
		})
	}
	inspect(f.Body, false)
	return all
}

// imports reports that a file imports a package by its own name.
func imports(file *ast.File, path string) bool {
	for _, i := range file.Imports {
		if got, err := strconv.Unquote(i.Path.Value); err == nil && got == path {
			return true
		}
	}
	return false
}

// functionName is `name`, or `receiver.name` of a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr: // a type parameter
			of = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}
