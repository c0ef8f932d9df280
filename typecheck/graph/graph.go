package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Signature types the signature of a graph, once.
func Signature(c *rules.Checker, m *rules.Module, d *lang.GraphDecl) *typed.Graph {
	if g := c.Graphs[d]; g != nil {
		return g
	}
	g := &typed.Graph{Name: d.Name.Name, Decl: d, SizeHints: map[*size.Symbol]int64{}, TypeHints: map[*typed.TypeParam]lang.DType{}}
	c.Graphs[d] = g
	s := &rules.Signature{Checker: c, What: "graph", Decl: d, Scope: rules.NewScope(m.Scope), OK: true}
	c.Signatures[d] = s
	s.Generics(d.Generics)
	for _, p := range d.Params {
		if p.Mode != lang.Out {
			s.TypeDims(p.Type)
		}
	}
	for _, p := range append(append([]*lang.Param{}, d.Params...), d.Outputs...) {
		s.TypeDims(p.Type)
	}
	var sizes []size.Size // of what is given
	used := map[*typed.TypeParam]bool{}
	add := func(p *lang.Param, mode lang.ParamMode) {
		e := &rules.Entity{Kind: rules.EntInvalid, Name: p.Name.Name, At: p.Name.Place}
		if q := graphParam(s, p, mode); q != nil {
			e.Kind = rules.EntGraphValue
			if mode == lang.Out {
				g.Outputs = append(g.Outputs, q)
				e.Output = q
				used[q.Type.DType.Param] = true
			} else {
				g.Params = append(g.Params, q)
				e.Graph = &typed.GParamRef{GTyped: typed.GTyped{Type: q.Type, At: q.At}, Param: q}
				q.Type.Walk(func(t typed.GType) {
					used[t.DType.Param] = true
					sizes = append(append(sizes, t.Shape...), t.Len)
				})
			}
		}
		s.DeclareParam(e)
	}
	for _, p := range d.Params {
		if p.Mode != lang.Out {
			add(p, p.Mode)
		}
	}
	for _, p := range d.Params {
		if p.Mode == lang.Out {
			add(p, lang.Out)
		}
	}
	for _, p := range d.Outputs {
		add(p, lang.Out)
	}
	g.TypeParams, g.Consts, g.Dims = s.Types, s.Consts, s.Dims
	graphAttrs(c, g, d, s)
	modelMarks(s, g, d)
	configured := map[*size.Symbol]bool{}
	for _, dim := range g.Dims {
		if g.ConfigRow(dim.Name) != nil {
			configured[dim] = true
		}
	}
	if s.OK {
		s.RequireBound(sizes, configured)
		for _, t := range g.TypeParams {
			if !used[t] {
				c.UnusedTypeParam(t)
			}
		}
	}
	if !s.OK {
		c.Broken[d] = true
	}
	c.Program.Graphs = append(c.Program.Graphs, g)
	return g
}

func graphParam(s *rules.Signature, p *lang.Param, mode lang.ParamMode) *typed.GParam {
	switch {
	case p.IsAxis:
		s.Errorf(lang.ErrDeclType, p.Place, "only a fn takes an axis")
		return nil
	case p.Type == nil:
		s.Errorf(lang.ErrDeclType, p.Name.Place, "the parameter %s has no type", p.Name.Name).
			Help("write `%s: f32[N]` for a tensor or `%s: f32` for a scalar", p.Name.Name, p.Name.Name)
		return nil
	}
	t, ok := s.GType(p.Type)
	if !ok {
		return nil
	}
	if mode == lang.Out && t.Kind != typed.GTensor {
		r := s.Errorf(lang.ErrDeclType, p.Type.Place, "the output %s is %s; outputs are tensors", p.Name.Name, t)
		if t.Kind == typed.GScalar {
			r.Help("give it a shape, as in `%s[1]`", t.DType)
		}
		return nil
	}
	if mode == lang.InOut && t.Kind == typed.GScalar {
		s.Errorf(lang.ErrDeclType, p.Type.Place, "the inout parameter %s is a scalar: only tensors are written", p.Name.Name).Help("give it a shape, as in `%s[1]`", t.DType)
		return nil
	}
	q := &typed.GParam{Name: p.Name.Name, Mode: mode, Type: t, At: p.Name.Place}
	if p.Default != nil {
		q.Default = s.DefaultOf(p, t.DType, t.Kind != typed.GScalar || mode != lang.In)
	}
	return q
}

// graphAttrs reads the attributes of a graph.
func graphAttrs(c *rules.Checker, g *typed.Graph, d *lang.GraphDecl, s *rules.Signature) {
	c.Attributes(d.Attrs, "a graph", lang.OnGraph, map[string]rules.AttrRule{
		"generate": c.NoArgs(func() { g.Generate = true }),
		"logits":   c.NoArgs(func() { g.Logits = true }),
		"sizes":    c.SizesRule(s, g.SizeHints, g.TypeHints),
		"config":   func(a *lang.Attr) { configRows(s, g, a) },
		"require":  func(a *lang.Attr) { requirements(s, g, a) },
	})
}

// graphChecker types the body of one graph.
type graphChecker struct {
	*rules.Checker
	graph    *typed.Graph
	scope    *rules.Scope
	stmts    *[]typed.GStmt
	prover   *size.Prover // of what can never be right: it takes every dimension for 1 or more
	sure     *size.Prover // of what is always right
	assigned map[*typed.GParam]lang.Span
	// aliasOf tells what the locals that name a part of an inout parameter stand for.
	aliasOf map[*typed.GLocal]typed.GExpr
	// runtime tells which scalar parameter a scalar local depends on.
	runtime map[*typed.GLocal]*typed.GParam
	// named are the names of the dimensions of locals, for messages.
	named map[*typed.GLocal][]string
	// state are the locals declared with inout.
	state map[*typed.GLocal]bool
	depth int // of loops
	rules.Unfolding
	test   *typed.Test // the test whose body this is; nil in a graph
	checks bool        // a check stood in it
	// assignFailed: a statement that may have been an assignment has an error.
	assignFailed bool
	// choices counts the branches of `if` that we are in.
	choices int

	// pointwise are the kernels that elementwise expressions became, by their calls; the rest is what they share.
	pointwise map[*typed.GCall]*pointwise
	grids     map[int]*grid
	leaves    map[any]*typed.Param
	leafNames map[string]int // how often each has been asked for
}

func newGraphChecker(c *rules.Checker, g *typed.Graph, s *rules.Scope) *graphChecker {
	return &graphChecker{Checker: c, graph: g, scope: s, stmts: &g.Body, prover: new(size.Prover), sure: new(size.Prover).WithZeros(),
		assigned: map[*typed.GParam]lang.Span{}, aliasOf: map[*typed.GLocal]typed.GExpr{}, state: map[*typed.GLocal]bool{}, named: map[*typed.GLocal][]string{}, runtime: map[*typed.GLocal]*typed.GParam{},
		pointwise: map[*typed.GCall]*pointwise{}, grids: map[int]*grid{}, leaves: map[any]*typed.Param{}, leafNames: map[string]int{"result": 1}}
}

// CheckBody types what a graph does.
func CheckBody(c *rules.Checker, m *rules.Module, d *lang.GraphDecl) {
	g := c.Graphs[d]
	gc := newGraphChecker(c, g, rules.NewScope(c.Signatures[d].Scope))
	for _, p := range append(append([]*typed.GParam{}, g.Params...), g.Outputs...) {
		p.Type.Walk(func(t typed.GType) {
			for _, s := range t.Shape {
				if sym := s.Symbol(); sym == nil || sym.Kind != size.DimSymbol {
					gc.prover.Assume(s.Sub(size.Const(1)))
				}
			}
		})
	}
	if d.Body == nil {
		return
	}
	o := gc.block(d.Body)
	if o.Mode != rules.NoValue && o.Mode != rules.Invalid {
		last := d.Body.Stmts[len(d.Body.Stmts)-1].(*lang.ExprStmt).X
		gc.UnusedValue(last, gc.describe(o), o).OrHelp("assign it to an output, as in `y = ...`, or discard it with `let _ = ...`")
		gc.assignFailed = true
	}
	for _, out := range g.Outputs {
		if _, ok := gc.assigned[out]; !ok && !gc.assignFailed {
			c.Errorf(lang.ErrNeverStored, out.At, "the output %s has no value", out.Name).Help("assign it: `%s = ...`", out.Name)
		}
	}
}

// block types statements in the current scope and gives the value of the last.
func (g *graphChecker) block(blk *lang.Block) rules.Operand {
	result := rules.Operand{Mode: rules.NoValue, At: blk.Place}
	for i, s := range blk.Stmts {
		last := i == len(blk.Stmts)-1
		switch s := s.(type) {
		case *lang.LetStmt:
			g.let(s)
		case *lang.AssignStmt:
			found := g.Found
			g.assign(s)
			g.assignFailed = g.assignFailed || g.Found > found && !g.isOutput(s.Target)
		case *lang.AxisStmt:
			g.Errorf(lang.ErrAxisAsValue, s.Place, "a graph works on whole tensors and has no axes").Help("do it in a kernel, and call that")
		case *lang.ExprStmt:
			if call, ok := isCheck(s.X); ok && g.scope.Lookup("check") == nil {
				g.check(call)
				continue
			}
			o := g.expr(s.X)
			switch {
			case o.Mode == rules.NoValue:
				if o.Graph != nil {
					*g.stmts = append(*g.stmts, &typed.GDo{X: o.Graph})
				}
			case last:
				result = o
			case o.Mode != rules.Invalid:
				g.UnusedValue(s.X, g.describe(o), o).OrHelp("bind it with `let`, or discard it with `let _ = ...`")
			}
		}
	}
	return result
}

func (g *graphChecker) isOutput(target lang.Expr) bool {
	n, ok := target.(*lang.NameExpr)
	if !ok {
		return false
	}
	e := g.scope.Lookup(n.Name)
	return e != nil && e.Output != nil
}

func (g *graphChecker) describe(o rules.Operand) string {
	switch o.Mode {
	case rules.TypedValue:
		return o.Graph.GType().String()
	case rules.List:
		return "a list " + typed.SizesText(o.List.Sizes())
	}
	return g.DescribeOperand(o)
}

func graphOperand(e typed.GExpr) rules.Operand {
	return rules.Operand{Mode: rules.TypedValue, At: e.Span(), Graph: e}
}

// let binds names; constants and sizes keep adapting to their context.
func (g *graphChecker) let(s *lang.LetStmt) {
	o := g.expr(s.Value)
	if o.Mode == rules.List {
		o = g.settled(o)
	}
	if s.InOut {
		g.inout(s, o)
		return
	}
	refuse := func() {
		for _, n := range s.Names {
			g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}, true)
		}
	}
	if o.Mode == rules.NoValue {
		g.Errorf(lang.ErrValueCount, o.At, "this gives no value")
		o.Mode = rules.Invalid
	}
	if o.Mode == rules.Invalid {
		refuse()
		return
	}
	if len(s.Names) == 1 {
		n := s.Names[0]
		if o.IsUntyped() {
			g.Declare(g.scope, &rules.Entity{Kind: rules.EntGraphValue, Name: n.Name, At: n.Place, Value: o}, true)
			return
		}
		if o.Graph.GType().Kind == typed.GTuple {
			g.Errorf(lang.ErrValueCount, n.Place, "1 name for %s", o.Graph.GType()).LabelAt(o.At, "gives %s", o.Graph.GType())
			refuse()
			return
		}
		l := g.local(n, o.Graph.GType(), o)
		g.named[l] = g.dimNames(o.Graph)
		*g.stmts = append(*g.stmts, &typed.GLet{Locals: []*typed.GLocal{l}, Value: o.Graph, At: s.Place})
		return
	}
	var types []typed.GType
	if o.Mode == rules.TypedValue && o.Graph.GType().Kind == typed.GTuple {
		types = o.Graph.GType().Elems
	}
	if len(types) != len(s.Names) {
		n := max(len(types), 1)
		g.Errorf(lang.ErrValueCount, s.Names[0].Place.To(s.Names[len(s.Names)-1].Place), "%s for %s", report.Plural(len(s.Names), "name"), report.Plural(n, "value")).
			LabelAt(o.At, "gives %s", report.Plural(n, "value"))
		refuse()
		return
	}
	let := &typed.GLet{Value: o.Graph, At: s.Place}
	names := g.namesOf(o.Graph, len(types))
	for i, n := range s.Names {
		from := rules.Operand{}
		if t, ok := o.Graph.(*typed.GTupleOf); ok {
			from = graphOperand(t.Elems[i])
		}
		l := g.local(n, types[i], from)
		for _, x := range mayGive(o.Graph, i) {
			g.dependsOn(l, x)
		}
		g.named[l] = names[i]
		let.Locals = append(let.Locals, l)
	}
	*g.stmts = append(*g.stmts, let)
}

// inout declares state: a tensor that kernels may write, which begins as a copy of a value.
func (g *graphChecker) inout(s *lang.LetStmt, o rules.Operand) {
	n := s.Names[0]
	switch {
	case o.Mode == rules.Invalid:
	case o.Mode != rules.TypedValue || o.Graph.GType().Kind != typed.GTensor:
		g.Errorf(lang.ErrWrongType, s.Value.Span(), "the value of inout %s is %s; only tensors are written", n.Name, g.describe(o)).Help("give it a shape, as in `zeros(f32, [1])`")
	default:
		t := o.Graph.GType()
		l := &typed.GLocal{Name: n.Name, Type: t, At: n.Place}
		g.state[l] = true
		g.Declare(g.scope, &rules.Entity{Kind: rules.EntGraphValue, Name: n.Name, At: n.Place, Graph: &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: n.Place}, Local: l}}, true)
		*g.stmts = append(*g.stmts, &typed.GLet{Locals: []*typed.GLocal{l}, Value: g.copyOf(o.Graph), At: s.Place})
		return
	}
	g.Declare(g.scope, &rules.Entity{Kind: rules.EntInvalid, Name: n.Name, At: n.Place}, true)
}

// local declares a name for a value; nil for "_".
func (g *graphChecker) local(n lang.Ident, t typed.GType, from rules.Operand) *typed.GLocal {
	if n.Name == "_" {
		return nil
	}
	l := &typed.GLocal{Name: n.Name, Type: t, At: n.Place}
	if from.Graph != nil && g.isMutable(from.Graph) {
		g.aliasOf[l] = from.Graph
	}
	if from.Graph != nil {
		g.dependsOn(l, from.Graph)
	}
	g.Declare(g.scope, &rules.Entity{Kind: rules.EntGraphValue, Name: n.Name, At: n.Place, Graph: &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: n.Place}, Local: l}, Value: rules.Operand{Linear: from.Linear}}, true)
	return l
}

// assign gives an output its value.
func (g *graphChecker) assign(s *lang.AssignStmt) {
	o := g.expr(s.Value)
	n, ok := s.Target.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrReadOnly, s.Target.Span(), "a graph assigns whole outputs, as in `y = ...`").Help("elements are stored by a kernel")
		return
	}
	e := g.scope.Lookup(n.Name)
	switch {
	case e == nil:
		g.UnknownName(g.scope, n.Name, n.Place, nil, true)
		return
	case e.Kind == rules.EntInvalid:
		return
	case e.Output == nil && e.Graph != nil && g.isMutable(e.Graph):
		g.Errorf(lang.ErrReadOnly, n.Place, "%s is state, which changes only where a call writes it", n.Name).LabelAt(e.At, "declared here").
			Help("pass it to a kernel that has it as `inout` and stores the value")
		return
	case e.Output == nil:
		g.Errorf(lang.ErrReadOnly, n.Place, "%s is no output and never changes", n.Name).LabelAt(e.At, "bound here").Help("bind a new value with `let %s = ...`", n.Name)
		return
	}
	if first, twice := g.assigned[e.Output]; twice {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s is assigned twice", n.Name).LabelAt(first, "first assigned here").
			Help("bind the first value with `let`, and assign the output the last one")
		return
	}
	g.assigned[e.Output] = n.Place
	if g.depth > 0 {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s would be assigned at every step of the loop", n.Name).Help("carry the value with `with`, and assign it after the loop")
		return
	}
	if g.choices > 0 {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s would be assigned in one branch of the `if` only", n.Name).Help("give the value from both branches: `%s = if c { ... } else { ... }`", n.Name)
		return
	}
	if o.Mode == rules.NoValue {
		g.Errorf(lang.ErrValueCount, s.Value.Span(), "this gives no value")
		return
	}
	if o.Mode == rules.Invalid {
		return
	}
	t := e.Output.Type
	if o.Mode == rules.List {
		if o = g.listAs(o, t.DType); o.Mode == rules.Invalid {
			return
		}
	}
	if o.Mode != rules.TypedValue || o.Graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, s.Value.Span(), "the value is %s, and the output %s is %s", g.describe(o), n.Name, t).LabelAt(e.At, "declared here")
		return
	}
	if g.fits(o.Graph.GType(), t, s.Value.Span(), "the output "+n.Name, e.At) {
		*g.stmts = append(*g.stmts, &typed.GAssign{Output: e.Output, Value: g.snapshot(o.Graph), At: s.Place})
	}
}

// fits checks a tensor against the type of its place: sizes that can never agree are errors.
func (g *graphChecker) fits(got, want typed.GType, at lang.Span, place string, declared lang.Span) bool {
	switch {
	case got.DType != want.DType:
		g.Errorf(lang.ErrWrongType, at, "the value is %s, and %s is %s: element types differ", got, place, want).LabelAt(declared, "declared here").
			CastAt(at, want.DType, "convert with `as %s`", want.DType)
	case len(got.Shape) != len(want.Shape):
		g.Errorf(lang.ErrShape, at, "the value is %s, of %s, and %s is %s, of %d", got, report.Plural(len(got.Shape), "dimension"), place, want, len(want.Shape)).
			LabelAt(declared, "declared here")
	default:
		for i := range got.Shape {
			if g.prover.Different(got.Shape[i], want.Shape[i]) {
				g.Errorf(lang.ErrShape, at, "the value is %s, and %s is %s: dimension %d is %s, not %s", got, place, want, i, got.Shape[i], want.Shape[i]).
					LabelAt(declared, "declared here")
				return false
			}
		}
		return true
	}
	return false
}
