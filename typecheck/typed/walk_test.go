package typed_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// nodes is one node of every kind. TestNodesAreAllListed keeps the list complete.
var nodes = []typed.Node{
	&typed.Let{}, &typed.Store{}, &typed.Print{}, &typed.Assert{}, &typed.StaticAssert{}, &typed.Do{},
	&typed.Const{}, &typed.SizeExpr{}, &typed.ConstRef{}, &typed.ScalarRef{}, &typed.LocalRef{}, &typed.Apply{}, &typed.Load{},
	&typed.Take{}, &typed.Combine{}, &typed.Sort{}, &typed.For{}, &typed.If{}, &typed.Tuple{}, &typed.Inline{},
	&typed.GLet{}, &typed.GAssign{}, &typed.GDo{}, &typed.GCheck{},
	&typed.GParamRef{}, &typed.GLocalRef{}, &typed.GFieldOf{}, &typed.GElem{}, &typed.GRange{}, &typed.GView{}, &typed.GSlice{},
	&typed.GCall{}, &typed.GInvoke{}, &typed.GConst{}, &typed.GSizeOf{}, &typed.GConstRef{}, &typed.GApply{}, &typed.GFor{},
	&typed.GMake{}, &typed.GIf{}, &typed.GTupleOf{},
	&typed.Body{}, &typed.GBody{}, &typed.Kernel{}, &typed.Graph{}, &typed.Test{}, &typed.Program{},
}

var (
	exprType  = reflect.TypeFor[typed.Expr]()
	gexprType = reflect.TypeFor[typed.GExpr]()
	stmtType  = reflect.TypeFor[typed.Stmt]()
	gstmtType = reflect.TypeFor[typed.GStmt]()
)

// fill puts a new leaf into every place of a node that can hold a child, and notes it.
func fill(v reflect.Value, leaves map[typed.Node]string, where string) {
	put := func(leaf typed.Node) {
		v.Set(reflect.ValueOf(leaf))
		leaves[leaf] = where
	}
	switch t := v.Type(); {
	case t == exprType:
		put(&typed.Const{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32)}}, Int: int64(1000 + len(leaves))})
	case t == gexprType:
		put(gleaf(leaves))
	case t == stmtType:
		put(&typed.Print{})
	case t == gstmtType:
		put(&typed.GDo{})
	case t == reflect.TypeFor[*typed.Body]():
		put(&typed.Body{})
	case t == reflect.TypeFor[*typed.Test]():
		put(&typed.Test{})
	case t == reflect.TypeFor[*typed.GCall]():
		put(&typed.GCall{Kernel: &typed.Kernel{}})
	case t == reflect.TypeFor[typed.GBody]():
		leaves[v.Addr().Interface()] = where
	case t.Kind() == reflect.Slice && slices.Contains([]reflect.Type{exprType, gexprType, stmtType, gstmtType, reflect.TypeFor[typed.GSliceItem](), reflect.TypeFor[*typed.GCall]()}, t.Elem()):
		v.Set(reflect.MakeSlice(t, 2, 2))
		for i := range 2 {
			fill(v.Index(i), leaves, where)
		}
	case t == reflect.TypeFor[map[*size.Symbol]typed.GExpr]():
		leaf := gleaf(leaves)
		v.Set(reflect.ValueOf(map[*size.Symbol]typed.GExpr{symbol: leaf}))
		leaves[leaf] = where
	case t == reflect.TypeFor[typed.GSliceItem]():
		fillFields(v, leaves, where)
	}
}

func gleaf(leaves map[typed.Node]string) *typed.GConst {
	return &typed.GConst{Value: lang.Literal{DType: lang.I32, Int: int64(1000 + len(leaves))}}
}

func fillFields(v reflect.Value, leaves map[typed.Node]string, where string) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fill(v.Field(i), leaves, where+"."+f.Name)
		}
	}
}

// symbol is the constant parameter of the kernel and the graph that the calls of this test call.
var symbol = &size.Symbol{Name: "C", Kind: size.ConstSymbol}

// Whatever field a node has for another, Children gives it.
func TestChildrenLeavesNothingOut(t *testing.T) {
	for _, n := range nodes {
		switch n.(type) {
		case *typed.Program, *typed.Test, *typed.Graph, *typed.Kernel:
			continue // TestDeclarationsAreWalked
		}
		leaves := map[typed.Node]string{}
		v := reflect.ValueOf(n).Elem()
		fillFields(v, leaves, v.Type().Name())
		switch n := n.(type) {
		case *typed.GCall:
			n.Kernel = &typed.Kernel{Consts: []*size.Symbol{symbol}}
		case *typed.GInvoke:
			n.Graph = &typed.Graph{Consts: []*size.Symbol{symbol}}
		}
		typed.Children(n, func(c typed.Node) {
			assert.Contains(t, leaves, c, "%T has a child that the test did not put there, or has it twice", n)
			delete(leaves, c)
		})
		for _, where := range leaves {
			t.Errorf("Children does not give %s", where)
		}
	}
}

// The printed program shows each expression that a node has in it.
func TestWriteLeavesNothingOut(t *testing.T) {
	axis := &typed.Axis{Name: "i"}
	of := typed.GTyped{Type: typed.GType{Kind: typed.GStruct, Struct: &typed.Struct{Name: "S"}, Fields: []typed.GField{{Name: "a"}}}}
	for _, n := range nodes {
		leaves := map[typed.Node]string{}
		v := reflect.ValueOf(n).Elem()
		program := &typed.Program{}
		kernel := &typed.Kernel{Body: &typed.Body{}}
		graph := &typed.Graph{Name: "g"}
		switch n := n.(type) {
		case *typed.Program, *typed.Test, *typed.Graph, *typed.Kernel, *typed.Body, *typed.GBody:
			continue
		case *typed.GFieldOf:
			n.X = &typed.GParamRef{GTyped: of, Param: &typed.GParam{Name: "p"}}
			continue
		case typed.Stmt:
			fillFields(v, leaves, v.Type().Name())
			if s, ok := n.(*typed.Store); ok {
				s.Op, s.Param = lang.OpAtomicCas, &typed.Param{Name: "y"}
			}
			kernel.Body.Stmts = []typed.Stmt{n}
		case typed.Expr:
			fillFields(v, leaves, v.Type().Name())
			switch x := n.(type) {
			case *typed.Load:
				x.Param = &typed.Param{Name: "x"}
			case *typed.Take:
				x.Axes, x.Checked = []*typed.Axis{axis, axis}, []bool{true, false}
			case *typed.Sort:
				x.Over = axis
			case *typed.For:
				x.Carried = []*typed.Local{{Name: "a"}, {Name: "b"}}
			case *typed.Combine:
				x.Params = []*typed.Local{{Name: "a"}, {Name: "b"}}
			case *typed.ScalarRef:
				x.Param = &typed.Param{Name: "x"}
			case *typed.ConstRef:
				x.Symbol = symbol
			case *typed.LocalRef:
				x.Local = &typed.Local{Name: "v"}
			}
			kernel.Body.Stmts = []typed.Stmt{&typed.Do{X: n}}
		case typed.GStmt:
			fillFields(v, leaves, v.Type().Name())
			if s, ok := n.(*typed.GAssign); ok {
				s.Output = &typed.GParam{Name: "y"}
			}
			graph.Body = []typed.GStmt{n}
		case typed.GExpr:
			fillFields(v, leaves, v.Type().Name())
			switch x := n.(type) {
			case *typed.GCall:
				x.Kernel = &typed.Kernel{Consts: []*size.Symbol{symbol}}
			case *typed.GInvoke:
				x.Graph, x.Copies = &typed.Graph{Consts: []*size.Symbol{symbol}}, nil
			case *typed.GParamRef:
				x.Param = &typed.GParam{Name: "p"}
			case *typed.GLocalRef:
				x.Local = &typed.GLocal{Name: "v"}
			case *typed.GConstRef:
				x.Symbol = symbol
			case *typed.GFor: // it counts, or goes over an array
				x.Carried, x.Over = []*typed.GLocal{{Name: "a"}, {Name: "b"}}, nil
			case *typed.GSlice: // an item is an index or a range
				x.Items[0].Index, x.Items[1].Lo, x.Items[1].Hi = nil, nil, nil
			}
			graph.Body = []typed.GStmt{&typed.GDo{X: n}}
		}
		program.Kernels, program.Graphs = []*typed.Kernel{kernel}, []*typed.Graph{graph}
		var text strings.Builder
		require.NoError(t, typed.Write(&text, program))
		held := map[typed.Node]bool{}
		typed.Children(n, func(c typed.Node) { held[c] = true })
		for leaf, where := range leaves {
			if !held[leaf] {
				continue
			}
			switch leaf := leaf.(type) {
			case *typed.Const:
				assert.Contains(t, text.String(), strconv.FormatInt(leaf.Int, 10), "%s is not printed", where)
			case *typed.GConst:
				assert.Contains(t, text.String(), strconv.FormatInt(leaf.Value.Int, 10), "%s is not printed", where)
			}
		}
	}
}

func TestDeclarationsAreWalked(t *testing.T) {
	begin, end, assumed, part := &typed.Const{}, &typed.Const{}, &typed.Const{}, &typed.Print{}
	axis := &typed.Axis{From: begin, To: end}
	k := &typed.Kernel{Assumes: []*typed.Assume{{Cond: assumed}}, Axes: []*typed.Axis{axis}, Body: &typed.Body{Stmts: []typed.Stmt{part}}}
	formula := &typed.Kernel{Axes: []*typed.Axis{axis}, Parts: []*typed.Kernel{k}}
	do, checked := &typed.GDo{}, &typed.GCheck{}
	program := &typed.Program{
		Kernels: []*typed.Kernel{formula},
		Graphs:  []*typed.Graph{{Body: []typed.GStmt{do}}},
		Tests:   []*typed.Test{{Graph: &typed.Graph{Body: []typed.GStmt{checked}}}},
	}
	seen := map[typed.Node]int{}
	typed.Walk(program, func(n typed.Node) bool { seen[n]++; return true })
	for _, n := range []typed.Node{begin, end, assumed, part, do, checked, k, formula} {
		assert.Equal(t, 1, seen[n], "%T", n)
	}
}

func TestFindStopsAtTheFirst(t *testing.T) {
	a, b := &typed.Const{Int: 1}, &typed.Const{Int: 2}
	x := &typed.Tuple{Elems: []typed.Expr{a, b}}
	asked := 0
	found, ok := typed.Find(x, func(*typed.Const) bool { asked++; return true })
	require.True(t, ok)
	assert.Same(t, a, found)
	assert.Equal(t, 1, asked)
	assert.False(t, typed.All(x, func(n typed.Node) bool { c, ok := n.(*typed.Const); return !ok || c.Int < 2 }))
}

// A type that is an expression or a statement is in the list above.
func TestNodesAreAllListed(t *testing.T) {
	listed := map[string]bool{}
	for _, n := range nodes {
		listed[reflect.TypeOf(n).Elem().Name()] = true
	}
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	require.NoError(t, err)
	found := 0
	want := func(name string) {
		found++
		assert.True(t, listed[name], "%s is a node that the tests do not know", name)
	}
	for _, f := range pkgs["typed"].Files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl: // what has the method of a statement, or the place of an expression
				if d.Recv == nil {
					continue
				}
				star, ok := d.Recv.List[0].Type.(*ast.StarExpr)
				if n := d.Name.Name; ok && (n == "stmt" || n == "gstmt" || n == "Span") {
					want(star.X.(*ast.Ident).Name)
				}
			case *ast.GenDecl: // what embeds Typed or GTyped
				for _, spec := range d.Specs {
					s, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					fields, ok := s.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range fields.Fields.List {
						if id, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 && (id.Name == "Typed" || id.Name == "GTyped") {
							want(s.Name.Name)
						}
					}
				}
			}
		}
	}
	assert.Greater(t, found, 35)
}
