package parser

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tilec/lang"
)

// Print writes the tree of a module: a node a line as `(kind what children...)`,
// short nodes on one line, the children of long ones indented below.
func Print(w io.Writer, mod *lang.Module) error {
	out := bufio.NewWriter(w)
	for _, imp := range mod.Imports {
		fmt.Fprintf(out, "(import %q)\n", imp.Path)
	}
	for _, d := range mod.Decls {
		printTree(out, declTree(d), 0)
	}
	return out.Flush()
}

// tree is a node to print: its head and its children.
type tree struct {
	head string
	kids []tree
}

func node(head string, kids ...tree) tree { return tree{head, kids} }

// equal reports trees of the same nodes.
func (t tree) equal(u tree) bool {
	return t.head == u.head && slices.EqualFunc(t.kids, u.kids, tree.equal)
}

// lineWidth is the longest line that a node with children may take.
const lineWidth = 100

func printTree(w io.Writer, t tree, depth int) {
	indent := strings.Repeat("  ", depth)
	if line, ok := t.line(lineWidth - len(indent)); ok {
		fmt.Fprintf(w, "%s%s\n", indent, line)
		return
	}
	fmt.Fprintf(w, "%s(%s\n", indent, t.head)
	for _, k := range t.kids {
		printTree(w, k, depth+1)
	}
	fmt.Fprintf(w, "%s)\n", indent)
}

// line is the node on one line, when that takes at most width and holds no statements.
func (t tree) line(width int) (string, bool) {
	if len(t.kids) == 0 {
		return t.head, true
	}
	if t.head == "block" && len(t.kids) > 1 || len(t.head) > width {
		return "", false
	}
	var b strings.Builder
	b.WriteString("(" + t.head)
	for _, k := range t.kids {
		s, ok := k.line(width - b.Len())
		if !ok || b.Len()+len(s) > width {
			return "", false
		}
		b.WriteString(" " + s)
	}
	b.WriteString(")")
	return b.String(), true
}

// list is a node whose children are made one by one.
func list[T any](head string, of []T, one func(T) tree) tree {
	t := tree{head: head}
	for _, x := range of {
		t.kids = append(t.kids, one(x))
	}
	return t
}

// add appends a list when it is not empty.
func add[T any](t *tree, head string, of []T, one func(T) tree) {
	if len(of) > 0 {
		t.kids = append(t.kids, list(head, of, one))
	}
}

func word(head, name string) string { return head + " " + name }

// named is a head with names behind it.
func named(head string, names []lang.Ident) string {
	for _, n := range names {
		head = word(head, n.Name)
	}
	return head
}

func identTree(n lang.Ident) tree { return node(n.Name) }

func declTree(d lang.Decl) tree {
	t := tree{}
	head := func(kind string, h lang.Head) {
		t.head = word(kind, h.Name.Name)
		if h.Doc != "" {
			t.kids = append(t.kids, node("(doc "+strconv.Quote(h.Doc)+")"))
		}
		add(&t, "attrs", h.Attrs, attrTree)
	}
	switch d := d.(type) {
	case *lang.ConstDecl:
		head("const", d.Head)
		t.kids = append(t.kids, exprTree(d.Value))
	case *lang.FnDecl:
		head("fn", d.Head)
		add(&t, "generics", d.Generics, genericTree)
		add(&t, "params", d.Params, paramTree)
		if d.Result != nil {
			t.kids = append(t.kids, node("result", typeTree(d.Result)))
		}
		t.kids = append(t.kids, exprTree(d.Body))
	case *lang.KernelDecl:
		head("kernel", d.Head)
		add(&t, "generics", d.Generics, genericTree)
		add(&t, "params", d.Params, paramTree)
		add(&t, "outputs", d.Outputs, paramTree)
		add(&t, "tune", d.Tunes, tuneTree)
		add(&t, "grid", d.Grid, axisTree)
		t.kids = append(t.kids, exprTree(d.Body))
	case *lang.StructDecl:
		head("struct", d.Head)
		add(&t, "generics", d.Generics, genericTree)
		for _, f := range d.Fields {
			t.kids = append(t.kids, fieldTree(f))
		}
	case *lang.GraphDecl:
		head("graph", d.Head)
		add(&t, "generics", d.Generics, genericTree)
		add(&t, "params", d.Params, paramTree)
		add(&t, "outputs", d.Outputs, paramTree)
		t.kids = append(t.kids, exprTree(d.Body))
	case *lang.TestDecl:
		head("test", d.Head)
		t.head = word("test", strconv.Quote(d.Name.Name))
		t.kids = append(t.kids, exprTree(d.Body))
	default:
		t.head = fmt.Sprintf("%T", d)
	}
	if len(t.kids) == 0 {
		t.head = "(" + t.head + ")"
	}
	return t
}

func attrTree(a *lang.Attr) tree {
	if len(a.Args) == 0 {
		return node("@" + a.Name.Name)
	}
	return list("@"+a.Name.Name, a.Args, argTree)
}

func argTree(a lang.Arg) tree {
	if a.Name == nil {
		return exprTree(a.Value)
	}
	return node(word("=", a.Name.Name), exprTree(a.Value))
}

func genericTree(p *lang.Generic) tree {
	head := p.Name.Name
	if p.IsConst {
		head = word("const", head)
	}
	t := node(head, node(p.Bound.Name))
	if p.Default != nil {
		t.kids = append(t.kids, node("default", exprTree(p.Default)))
	}
	return t
}

func paramTree(p *lang.Param) tree {
	head := word(p.Mode.String(), p.Name.Name)
	if p.IsAxis {
		head = word("axis", p.Name.Name)
	}
	t := node(head)
	if p.Type != nil {
		t.kids = append(t.kids, typeTree(p.Type))
	}
	if p.Default != nil {
		t.kids = append(t.kids, node("default", exprTree(p.Default)))
	}
	if len(t.kids) == 0 {
		t.head = "(" + head + ")"
	}
	return t
}

func fieldTree(f *lang.Field) tree {
	t := node(word("field", f.Name.Name), typeTree(f.Type))
	if f.Doc != "" {
		t.kids = append(t.kids, node("(doc "+strconv.Quote(f.Doc)+")"))
	}
	add(&t, "attrs", f.Attrs, attrTree)
	return t
}

func typeTree(t *lang.TypeExpr) tree {
	out := node(t.Name.Name)
	if len(t.Args) > 0 {
		out = node("of", append([]tree{out}, list("", t.Args, typeTree).kids...)...)
	}
	if t.HasShape {
		out = node("tensor", append([]tree{out}, list("", t.Shape, exprTree).kids...)...)
	}
	if t.Count != nil {
		out = node("array", exprTree(t.Count), out)
	}
	return out
}

func tuneTree(t *lang.Tune) tree {
	if t.Fixed {
		return node("=", node(t.Name.Name), exprTree(t.Choices[0]))
	}
	return node(word("in", t.Name.Name), list("", t.Choices, exprTree).kids...)
}

func axisTree(a *lang.AxisClause) tree {
	t := node(a.Name.Name, exprTree(a.Over))
	if a.Range != nil {
		t.kids = append(t.kids, exprTree(a.Range))
	}
	if a.By != nil {
		t.kids = append(t.kids, node("by", exprTree(a.By)))
	}
	return t
}

func stmtTree(s lang.Stmt) tree {
	switch s := s.(type) {
	case *lang.LetStmt:
		if s.InOut {
			return node(named("inout", s.Names), exprTree(s.Value))
		}
		return node(named("let", s.Names), exprTree(s.Value))
	case *lang.AxisStmt:
		return node("axis", axisTree(s.Axis))
	case *lang.AssignStmt:
		return node("=", exprTree(s.Target), exprTree(s.Value))
	case *lang.ExprStmt:
		return exprTree(s.X)
	}
	return node(fmt.Sprintf("%T", s))
}

func exprTree(e lang.Expr) tree {
	switch e := e.(type) {
	case *lang.NameExpr:
		return node(e.Name)
	case *lang.IntLit:
		return node(strconv.FormatUint(e.Value, 10))
	case *lang.FloatLit:
		s := strconv.FormatFloat(e.Value, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return node(s)
	case *lang.StringLit:
		return node(strconv.Quote(e.Value))
	case *lang.BoolLit:
		return node(strconv.FormatBool(e.Value))
	case *lang.UnaryExpr:
		return node(e.Op, exprTree(e.X))
	case *lang.BinaryExpr:
		return node(e.Op, exprTree(e.X), exprTree(e.Y))
	case *lang.CallExpr:
		t := node("call", exprTree(e.Fn))
		t.kids = append(t.kids, list("", e.Args, argTree).kids...)
		add(&t, "over", e.Over, identTree)
		if e.Else != nil {
			t.kids = append(t.kids, node("else", exprTree(e.Else)))
		}
		return t
	case *lang.IndexExpr:
		t := node("index", exprTree(e.X))
		t.kids = append(t.kids, list("", e.Indices, exprTree).kids...)
		add(&t, "attrs", e.Attrs, attrTree)
		if e.Else != nil {
			t.kids = append(t.kids, node("else", exprTree(e.Else)))
		}
		return t
	case *lang.RangeExpr:
		return node("..", end(e.Lo), end(e.Hi))
	case *lang.FieldExpr:
		return node("."+e.Name.Name, exprTree(e.X))
	case *lang.CastExpr:
		return node("as", exprTree(e.X), typeTree(e.Type))
	case *lang.IfExpr:
		t := node("if", exprTree(e.Cond), exprTree(e.Then))
		if e.Else != nil {
			t.kids = append(t.kids, exprTree(e.Else))
		}
		return t
	case *lang.ForExpr:
		t := node("for", axisTree(e.Axis))
		if e.Init != nil {
			t.kids = append(t.kids, node(named("with", e.Carried), exprTree(e.Init)))
		}
		t.kids = append(t.kids, exprTree(e.Body))
		return t
	case *lang.TupleExpr:
		return bracketed("tuple", e.Elems)
	case *lang.ListExpr:
		return bracketed("list", e.Elems)
	case *lang.LambdaExpr:
		return node("=> "+patterns(e.Params), exprTree(e.Body))
	case *lang.MapExpr:
		return node("->", exprTree(e.From), exprTree(e.To))
	case *lang.Block:
		if len(e.Stmts) == 0 {
			return node("(block)")
		}
		return list("block", e.Stmts, stmtTree)
	}
	return node(fmt.Sprintf("%T", e))
}

// patterns is the parameters of a lambda, tuples in brackets.
func patterns(params []lang.Pattern) string {
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = strings.TrimSpace(named("", p.Names))
		if p.Tuple {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return strings.Join(texts, " ")
}

// bracketed is a node that keeps its brackets when it is empty.
func bracketed(head string, elems []lang.Expr) tree {
	if len(elems) == 0 {
		return node("(" + head + ")")
	}
	return list(head, elems, exprTree)
}

// end is an end of a range: `_` when it is left out.
func end(e lang.Expr) tree {
	if e == nil {
		return node("_")
	}
	return exprTree(e)
}
