package graph

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types tests: graphs without parameters that check what they compute.

// NameTest enters the name of a test, which no other has.
func NameTest(c *rules.Checker, d *lang.TestDecl) {
	name := d.DeclName()
	if first, known := c.Tests[name.Name]; known {
		c.Errorf(lang.ErrDuplicate, name.Place, "two tests have the name %q", name.Name).LabelAt(first, "the first").Help("give one of them another name")
	} else {
		c.Tests[name.Name] = name.Place
	}
}

// CheckTest types a test.
func CheckTest(c *rules.Checker, m *rules.Module, d *lang.TestDecl) *typed.Test {
	c.Attributes(d.Attrs, "a test", lang.Nowhere, nil)
	name := d.DeclName()
	head := lang.Head{At: lang.At{Place: d.Place}, Name: name}
	t := &typed.Test{Name: name.Name, Decl: d, Graph: &typed.Graph{Name: name.Name, Decl: &lang.GraphDecl{Head: head}}}
	c.Program.Tests = append(c.Program.Tests, t)
	if d.Body == nil {
		return t
	}
	g := newGraphChecker(c, t.Graph, rules.NewScope(m.Scope))
	g.test = t
	found := c.Found
	o := g.block(d.Body)
	if o.Mode != rules.NoValue && o.Mode != rules.Invalid {
		c.Errorf(lang.ErrValueCount, o.At, "the value %s is not used", g.describe(o)).Help("check it: `check ... == ...`")
	}
	if !g.checks && found == c.Found {
		c.Errorf(lang.ErrNeverStored, name.Place, "the test %q checks nothing", name.Name).Help("end it with what must hold, as in `check y == [1.0, 2.0]`")
	}
	return t
}

// isCheck reports the statement `check ...`, which the parser gives as a call.
func isCheck(e lang.Expr) (*lang.CallExpr, bool) {
	call, ok := e.(*lang.CallExpr)
	if !ok {
		return nil, false
	}
	n, ok := call.Fn.(*lang.NameExpr)
	return call, ok && n.Name == "check"
}

// check types `check condition` or `check condition, "message"`.
func (g *graphChecker) check(e *lang.CallExpr) {
	g.checks = true
	if g.test == nil {
		g.Errorf(lang.ErrNameKind, e.Fn.Span(), "`check` stands in a test, not in a graph").Help("write a test: `test \"...\" { check ... }`")
		return
	}
	if e.Over != nil || len(e.Args) == 0 || len(e.Args) > 2 || e.Args[0].Name != nil {
		g.Errorf(lang.ErrArgCount, e.Place, "check takes what must hold, and perhaps a message").Help("write `check y == [1.0, 2.0]` or `check close(y, z, ulps = 4)`")
		return
	}
	c := &typed.GCheck{Op: lang.OpEq, At: e.Place}
	if len(e.Args) == 2 {
		text, ok := e.Args[1].Value.(*lang.StringLit)
		if !ok {
			g.Errorf(lang.ErrOperandType, e.Args[1].Value.Span(), "the message of a check is a string")
			return
		}
		c.Message = text.Value
	}
	if g.condition(c, e.Args[0].Value) {
		*g.stmts = append(*g.stmts, c)
	}
}

// condition types what a check is of.
func (g *graphChecker) condition(c *typed.GCheck, e lang.Expr) bool {
	switch x := e.(type) {
	case *lang.BinaryExpr:
		if op, ok := lang.FindOp(x.Op, lang.FormInfix); ok && op.Row().Rule == lang.RuleCompare {
			c.Op = op
			return g.compared(c, "`"+x.Op+"`", x.OpAt, x.X, x.Y)
		}
	case *lang.CallExpr:
		if n, ok := x.Fn.(*lang.NameExpr); ok && n.Name == "close" && g.scope.Lookup("close") == nil {
			return g.close(c, x)
		}
	}
	o := g.settled(g.element(g.expr(e), e, "`check`"))
	if o.Mode == rules.Invalid {
		return false
	}
	if o.Mode != rules.TypedValue || o.Graph.GType().DType != typed.Concrete(lang.Bool) {
		g.Errorf(lang.ErrCondition, e.Span(), "check is of a bool, and this is %s", g.describe(o)).Help("compare it, as in `check y == [1.0, 2.0]` or `check close(y, z, ulps = 4)`")
		return false
	}
	c.A, c.Names = g.snapshot(o.Graph), g.dimNames(o.Graph)
	return true
}

// close types `close(a, b, ulps = 4, abs = 1e-6, rel = 1e-3)`.
func (g *graphChecker) close(c *typed.GCheck, e *lang.CallExpr) bool {
	var args []lang.Expr
	limits := map[string]*float64{"ulps": &c.Ulps, "abs": &c.Abs, "rel": &c.Rel}
	ok, given := true, false
	for _, a := range e.Args {
		if a.Name == nil {
			args = append(args, a.Value)
			continue
		}
		limit := limits[a.Name.Name]
		given = true
		if limit == nil {
			g.Errorf(lang.ErrArgName, a.Name.Place, "close has no argument named %s", a.Name.Name).Suggest(a.Name.Place, a.Name.Name, []string{"ulps", "abs", "rel"})
			ok = false
			continue
		}
		o := g.expr(a.Value)
		n, isConst := o.Constant()
		if o.Mode == rules.Invalid {
			ok = false
		} else if !isConst || !(n >= 0) {
			g.Errorf(lang.ErrNotConstant, a.Value.Span(), "%s is a number from 0 on", a.Name.Name)
			ok = false
		}
		*limit = n
	}
	if len(args) != 2 || e.Over != nil {
		g.Errorf(lang.ErrArgCount, e.Place, "close takes two values and how far they may be apart").Help("write `close(a, b, ulps = 4)`")
		return false
	}
	if !given {
		g.Errorf(lang.ErrArgCount, e.Place, "nothing says how close the values must be").
			Help("add `ulps = 4` (units in the last place), `abs = 1e-6` or `rel = 1e-3`; what is given adds up")
		return false
	}
	if !ok || !g.compared(c, "close", e.Fn.Span(), args[0], args[1]) {
		return false
	}
	if d := c.A.GType().DType; !typed.IsFloat(d) {
		g.Errorf(lang.ErrOperandType, e.Place, "close compares floats, not %s", d).Help("compare with `==`")
		return false
	}
	return true
}

// compared types the two sides of a comparison.
func (g *graphChecker) compared(c *typed.GCheck, what string, at lang.Span, a, b lang.Expr) bool {
	args := []rules.Operand{g.element(g.expr(a), a, what), g.element(g.expr(b), b, what)}
	if args[0].Mode == rules.Invalid || args[1].Mode == rules.Invalid {
		return false
	}
	args, ok := g.alike(args)
	if !ok {
		return false
	}
	x, y := args[0].Graph, args[1].Graph
	if x.GType().DType != y.GType().DType {
		r := g.Errorf(lang.ErrMixedTypes, at, "%s of %s and %s: element types differ", what, x.GType(), y.GType()).LabelAt(args[0].At, "%s", x.GType()).LabelAt(args[1].At, "%s", y.GType())
		r.CastFix(b, x.GType().DType)
		return false
	}
	if x.GType().Kind == typed.GTensor || y.GType().Kind == typed.GTensor {
		if _, ok := g.oneShape(what, at, args); !ok {
			return false
		}
	}
	if c.Names = g.dimNames(x); c.Names == nil {
		c.Names = g.dimNames(y)
	}
	c.A, c.B = g.snapshot(x), g.snapshot(y)
	return true
}

// dimNames names the dimensions of a tensor: by the axes that the kernel which
// made it stores it by, or by the sizes that its declaration gives.
func (g *graphChecker) dimNames(x typed.GExpr) []string {
	switch x := x.(type) {
	case *typed.GLocalRef:
		return g.named[x.Local]
	case *typed.GCall:
		if k := g.pointwise[x]; k != nil {
			for _, leaf := range k.leaves {
				if names := g.dimNames(leaf); names != nil {
					return names
				}
			}
			return nil
		}
		if len(x.Kernel.Outputs) == 1 {
			return outputNames(x.Kernel, x.Kernel.Outputs[0])
		}
	case *typed.GInvoke:
		if len(x.Graph.Outputs) == 1 {
			return sizeNames(x.Graph.Outputs[0].Type.Shape)
		}
	case *typed.GSlice:
		names := g.dimNames(x.X)
		if names == nil {
			return nil
		}
		var left []string
		for i, item := range x.Items {
			if item.Index == nil {
				left = append(left, names[i])
			}
		}
		return left
	}
	return nil
}

// namesOf are the names of the dimensions of the values of an expression, one by one.
func (g *graphChecker) namesOf(x typed.GExpr, n int) [][]string {
	out := make([][]string, n)
	switch call := x.(type) {
	case *typed.GTupleOf:
		for i, e := range call.Elems {
			out[i] = g.dimNames(e)
		}
		return out
	case *typed.GCall:
		if n > 1 {
			for i, o := range call.Kernel.Outputs {
				out[i] = outputNames(call.Kernel, o)
			}
			return out
		}
	case *typed.GInvoke:
		if n > 1 {
			for i, o := range call.Graph.Outputs {
				out[i] = sizeNames(o.Type.Shape)
			}
			return out
		}
	}
	if n == 1 {
		out[0] = g.dimNames(x)
	}
	return out
}

func sizeNames(shape []size.Size) []string {
	names := make([]string, len(shape))
	for i, s := range shape {
		names[i] = s.String()
	}
	return names
}

// outputNames names the dimensions of a kernel's output by the axes of the first store to it, wherever that stands.
func outputNames(k *typed.Kernel, o *typed.Param) []string {
	names := sizeNames(o.Shape)
	store, ok := typed.Find(k, func(s *typed.Store) bool { return s.Param.Name == o.Name })
	if !ok {
		return names
	}
	for i, x := range store.Indices {
		if a, ok := x.(*typed.Apply); ok && a.Axis != nil && (a.Op == lang.OpIndex || a.Op == lang.OpStart) {
			names[i] = a.Axis.Name
		}
	}
	return names
}
