package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kinds is one node of every kind. TestKindsAreAllListed keeps the list complete.
var kinds = []Node{
	&Ident{}, &Import{}, &Attr{}, &Arg{},
	&ConstDecl{}, &FnDecl{}, &KernelDecl{}, &StructDecl{}, &GraphDecl{}, &TestDecl{},
	&Generic{}, &Param{}, &Field{}, &TypeExpr{}, &Tune{}, &AxisClause{},
	&LetStmt{}, &AxisStmt{}, &AssignStmt{}, &ExprStmt{},
	&NameExpr{}, &IntLit{}, &FloatLit{}, &StringLit{}, &BoolLit{}, &UnaryExpr{}, &BinaryExpr{}, &CallExpr{}, &IndexExpr{}, &RangeExpr{},
	&FieldExpr{}, &CastExpr{}, &IfExpr{}, &ForExpr{}, &TupleExpr{}, &ListExpr{}, &LambdaExpr{}, &MapExpr{}, &Block{}, &Pattern{},
}

var nodeType = reflect.TypeFor[Node]()

// grow puts a node into every place that can hold one, and notes it by where it is.
func grow(v reflect.Value, in map[Node]string, where string) {
	note := func(n reflect.Value) { in[n.Interface().(Node)] = where }
	switch t := v.Type(); {
	case t == reflect.TypeFor[Pattern](): // no child: its names are
		grow(v.FieldByName("Names"), in, where+".Names")
	case t == reflect.TypeFor[Head](): // not the place and the doc
		grow(v.FieldByName("Attrs"), in, where+".Attrs")
		grow(v.FieldByName("Name"), in, where+".Name")
	case t.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, 2, 2))
		grow(v.Index(0), in, where)
		grow(v.Index(1), in, where)
	case t.Kind() == reflect.Interface && t.Implements(nodeType):
		v.Set(reflect.ValueOf(&NameExpr{Name: where}))
		note(v)
	case t.Kind() == reflect.Pointer && t.Implements(nodeType):
		v.Set(reflect.New(t.Elem()))
		note(v)
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(nodeType) && t != reflect.TypeFor[At]():
		note(v.Addr())
	}
}

// Whatever field a node has for another, Walk goes there; and of a node without any, nowhere.
func TestChildrenLeavesNothingOut(t *testing.T) {
	for _, n := range kinds {
		Walk(n, func(Node) bool { return true })
		if _, isPattern := n.(*Pattern); isPattern {
			continue
		}
		v := reflect.New(reflect.TypeOf(n).Elem()).Elem()
		in := map[Node]string{}
		for i := range v.NumField() {
			grow(v.Field(i), in, v.Type().Name()+"."+v.Type().Field(i).Name)
		}
		var below family
		below.children(v.Addr().Interface().(Node))
		for _, c := range below {
			assert.Contains(t, in, c, "%T has a child that the test did not put there", n)
			delete(in, c)
		}
		for _, where := range in {
			t.Errorf("Walk does not go to %s", where)
		}
	}
}

// What embeds At or Head is in the list above.
func TestKindsAreAllListed(t *testing.T) {
	listed := map[string]bool{"Head": true} // which only declarations have
	for _, n := range kinds {
		listed[reflect.TypeOf(n).Elem().Name()] = true
	}
	pkgs, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
	require.NoError(t, err)
	found := 0
	for _, f := range pkgs["lang"].Files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range fields.Fields.List {
				if id, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 && (id.Name == "At" || id.Name == "Head") {
					found++
					assert.True(t, listed[spec.Name.Name], "%s is a node that the tests do not know", spec.Name.Name)
				}
			}
			return true
		})
	}
	assert.Greater(t, found, 35)
}
