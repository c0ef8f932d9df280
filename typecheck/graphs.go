package typecheck

import (
	"maps"
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// graphOf types the signature of a graph, once.
func graphOf(c *checker, m *module, d *lang.GraphDecl) *typed.Graph {
	if g := c.graphs[d]; g != nil {
		return g
	}
	g := &typed.Graph{Name: d.Name.Name, Decl: d, Config: map[string]string{}, SizeHints: map[*size.Symbol]int64{}, TypeHints: map[*typed.TypeParam]lang.DType{}}
	c.graphs[d] = g
	s := &signature{checker: c, what: "graph", decl: d, scope: newScope(m.scope), ok: true}
	c.sigs[d] = s
	s.generics(d.Generics)
	for _, p := range d.Params {
		if p.Mode != lang.Out {
			s.typeDims(p.Type)
		}
	}
	for _, p := range append(append([]*lang.Param{}, d.Params...), d.Outputs...) {
		s.typeDims(p.Type)
	}
	alone := map[*size.Symbol]bool{}
	used := map[*typed.TypeParam]bool{}
	add := func(p *lang.Param, mode lang.ParamMode) {
		e := &entity{kind: entInvalid, name: p.Name.Name, at: p.Name.Place}
		if q := graphParam(s, p, mode); q != nil {
			e.kind = entGraphValue
			if mode == lang.Out {
				g.Outputs = append(g.Outputs, q)
				e.output = q
				used[q.Type.DType.Param] = true
			} else {
				g.Params = append(g.Params, q)
				e.graph = &typed.GParamRef{GTyped: typed.GTyped{Type: q.Type, At: q.At}, Param: q}
				q.Type.Walk(func(t typed.GType) {
					used[t.DType.Param] = true
					for _, size := range append(append([]size.Size{}, t.Shape...), t.Len) {
						if sym := size.Symbol(); sym != nil {
							alone[sym] = true
						}
					}
				})
			}
		}
		s.declareParam(e)
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
	g.TypeParams, g.Consts, g.Dims = s.types, s.consts, s.dims
	graphAttrs(c, g, d, s)
	for _, a := range d.Attrs {
		switch {
		case a.Name.Name == "generate" && g.Generate:
			oneModel(c, g, "@generate", a.Place, func(g *typed.Graph) bool { return g.Generate })
		case a.Name.Name == "logits" && g.Logits:
			oneModel(c, g, "@logits", a.Place, func(g *typed.Graph) bool { return g.Logits })
		default:
			continue
		}
		if s.ok {
			modelSignature(c, g, "@"+a.Name.Name, a.Place)
		}
	}
	for _, dim := range g.Dims {
		if _, named := g.Config[dim.Name]; named {
			alone[dim] = true
		}
	}
	if s.ok {
		s.requireBound(alone)
		for _, t := range g.TypeParams {
			if !used[t] {
				c.unusedTypeParam(t)
			}
		}
	}
	if !s.ok {
		c.broken[d] = true
	}
	c.prog.Graphs = append(c.prog.Graphs, g)
	return g
}

func graphParam(s *signature, p *lang.Param, mode lang.ParamMode) *typed.GParam {
	switch {
	case p.IsAxis:
		s.Errorf(lang.ErrDeclType, p.Place, "only a fn takes an axis")
		return nil
	case p.Type == nil:
		s.Errorf(lang.ErrDeclType, p.Name.Place, "the parameter %s has no type", p.Name.Name).
			help("write `%s: f32[N]` for a tensor or `%s: f32` for a scalar", p.Name.Name, p.Name.Name)
		return nil
	}
	t, ok := s.gtype(p.Type)
	if !ok {
		return nil
	}
	if mode == lang.Out && t.Kind != typed.GTensor {
		r := s.Errorf(lang.ErrDeclType, p.Type.Place, "the output %s is %s; outputs are tensors", p.Name.Name, t)
		if t.Kind == typed.GScalar {
			r.help("give it a shape, as in `%s[1]`", t.DType)
		}
		return nil
	}
	if mode == lang.InOut && t.Kind == typed.GScalar {
		s.Errorf(lang.ErrDeclType, p.Type.Place, "the inout parameter %s is a scalar: only tensors are written", p.Name.Name).help("give it a shape, as in `%s[1]`", t.DType)
		return nil
	}
	q := &typed.GParam{Name: p.Name.Name, Mode: mode, Type: t, At: p.Name.Place}
	if p.Default != nil {
		q.Default = s.defaultOf(p, t.DType, t.Kind != typed.GScalar || mode != lang.In)
	}
	return q
}

// graphAttrs reads the attributes of a graph.
func graphAttrs(c *checker, g *typed.Graph, d *lang.GraphDecl, s *signature) {
	c.attrs(d.Attrs, "a graph", lang.OnGraph, map[string]attrRule{
		"generate": c.noArgs(func() { g.Generate = true }),
		"logits":   c.noArgs(func() { g.Logits = true }),
		"sizes":    c.sizesRule(s, g.SizeHints, g.TypeHints),
		"config": func(a *lang.Attr) {
			known := map[string]bool{}
			for _, x := range append(append([]*size.Symbol{}, g.Dims...), g.Consts...) {
				known[x.Name] = true
			}
			for _, p := range g.Params {
				if p.Type.Kind == typed.GScalar {
					known[p.Name] = true
				}
			}
			for _, arg := range a.Args {
				key, isText := arg.Value.(*lang.StringLit)
				switch {
				case arg.Name == nil || !isText:
					c.Errorf(lang.ErrAttribute, arg.Place, "@config maps a name to a key of config.json, as in `H = \"n_head\"`")
				case !known[arg.Name.Name]:
					if s.ok {
						c.Errorf(lang.ErrAttribute, arg.Name.Place, "%s has no dimension, constant or scalar parameter %s", g.Name, arg.Name.Name).
							suggest(arg.Name.Place, arg.Name.Name, slices.Sorted(maps.Keys(known)))
					}
				default:
					g.Config[arg.Name.Name] = key.Value
				}
			}
		},
	})
}

// graphChecker types the body of one graph.
type graphChecker struct {
	*checker
	graph    *typed.Graph
	scope    *scope
	stmts    *[]typed.GStmt
	prover   *size.Prover // of what can never be right: it takes every dimension for 1 or more
	sure     *size.Prover // of what is always right
	assigned map[*typed.GParam]lang.Span
	// partOf tells what the locals that name a part of an inout parameter stand for.
	partOf map[*typed.GLocal]typed.GExpr
	// runtime tells which scalar parameter a scalar local depends on.
	runtime map[*typed.GLocal]*typed.GParam
	// named are the names of the dimensions of locals, for messages.
	named map[*typed.GLocal][]string
	// state are the locals declared with inout.
	state map[*typed.GLocal]bool
	depth int // of loops
	inlining
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

func newGraphChecker(c *checker, g *typed.Graph, s *scope) *graphChecker {
	return &graphChecker{checker: c, graph: g, scope: s, stmts: &g.Body, prover: new(size.Prover), sure: new(size.Prover).WithZeros(),
		assigned: map[*typed.GParam]lang.Span{}, partOf: map[*typed.GLocal]typed.GExpr{}, state: map[*typed.GLocal]bool{}, named: map[*typed.GLocal][]string{}, runtime: map[*typed.GLocal]*typed.GParam{},
		pointwise: map[*typed.GCall]*pointwise{}, grids: map[int]*grid{}, leaves: map[any]*typed.Param{}, leafNames: map[string]int{"result": 1}}
}

// graphBody types what a graph does.
func graphBody(c *checker, m *module, d *lang.GraphDecl) {
	g := c.graphs[d]
	gc := newGraphChecker(c, g, newScope(c.sigs[d].scope))
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
	if o.mode != noValue && o.mode != invalid {
		last := d.Body.Stmts[len(d.Body.Stmts)-1].(*lang.ExprStmt).X
		gc.unusedValue(last, gc.describe(o), o).orHelp("assign it to an output, as in `y = ...`, or discard it with `let _ = ...`")
		gc.assignFailed = true
	}
	for _, out := range g.Outputs {
		if _, ok := gc.assigned[out]; !ok && !gc.assignFailed {
			c.Errorf(lang.ErrNeverStored, out.At, "the output %s has no value", out.Name).help("assign it: `%s = ...`", out.Name)
		}
	}
}

// block types statements in the current scope and gives the value of the last.
func (g *graphChecker) block(blk *lang.Block) operand {
	result := operand{mode: noValue, at: blk.Place}
	for i, s := range blk.Stmts {
		last := i == len(blk.Stmts)-1
		switch s := s.(type) {
		case *lang.LetStmt:
			g.let(s)
		case *lang.AssignStmt:
			found := g.found
			g.assign(s)
			g.assignFailed = g.assignFailed || g.found > found && !g.isOutput(s.Target)
		case *lang.AxisStmt:
			g.Errorf(lang.ErrAxisAsValue, s.Place, "a graph works on whole tensors and has no axes").help("do it in a kernel, and call that")
		case *lang.ExprStmt:
			if call, ok := isCheck(s.X); ok && g.scope.lookup("check") == nil {
				g.check(call)
				continue
			}
			o := g.expr(s.X)
			switch {
			case o.mode == noValue:
				if o.graph != nil {
					*g.stmts = append(*g.stmts, &typed.GDo{X: o.graph})
				}
			case last:
				result = o
			case o.mode != invalid:
				g.unusedValue(s.X, g.describe(o), o).orHelp("bind it with `let`, or discard it with `let _ = ...`")
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
	e := g.scope.lookup(n.Name)
	return e != nil && e.output != nil
}

func (g *graphChecker) describe(o operand) string {
	switch o.mode {
	case typedValue:
		return o.graph.GType().String()
	case list:
		return "a list " + typed.SizesText(o.list.sizes())
	}
	return g.describeOperand(o)
}

func graphOperand(e typed.GExpr) operand { return operand{mode: typedValue, at: e.Span(), graph: e} }

// let binds names; constants and sizes keep adapting to their context.
func (g *graphChecker) let(s *lang.LetStmt) {
	o := g.expr(s.Value)
	if o.mode == list {
		o = g.settled(o)
	}
	if s.InOut {
		g.inout(s, o)
		return
	}
	refuse := func() {
		for _, n := range s.Names {
			g.declare(g.scope, &entity{kind: entInvalid, name: n.Name, at: n.Place}, true)
		}
	}
	if o.mode == noValue {
		g.Errorf(lang.ErrValueCount, o.at, "this gives no value")
		o.mode = invalid
	}
	if o.mode == invalid {
		refuse()
		return
	}
	if len(s.Names) == 1 {
		n := s.Names[0]
		if o.isUntyped() {
			g.declare(g.scope, &entity{kind: entGraphValue, name: n.Name, at: n.Place, value: o}, true)
			return
		}
		if o.graph.GType().Kind == typed.GTuple {
			g.Errorf(lang.ErrValueCount, n.Place, "1 name for %s", o.graph.GType()).label(o.at, "gives %s", o.graph.GType())
			refuse()
			return
		}
		l := g.local(n, o.graph.GType(), o)
		g.named[l] = g.dimNames(o.graph)
		*g.stmts = append(*g.stmts, &typed.GLet{Locals: []*typed.GLocal{l}, Value: o.graph, At: s.Place})
		return
	}
	var types []typed.GType
	if o.mode == typedValue && o.graph.GType().Kind == typed.GTuple {
		types = o.graph.GType().Elems
	}
	if len(types) != len(s.Names) {
		n := max(len(types), 1)
		g.Errorf(lang.ErrValueCount, s.Names[0].Place.To(s.Names[len(s.Names)-1].Place), "%s for %s", plural(len(s.Names), "name"), plural(n, "value")).
			label(o.at, "gives %s", plural(n, "value"))
		refuse()
		return
	}
	let := &typed.GLet{Value: o.graph, At: s.Place}
	names := g.namesOf(o.graph, len(types))
	for i, n := range s.Names {
		from := operand{}
		if t, ok := o.graph.(*typed.GTupleOf); ok {
			from = graphOperand(t.Elems[i])
		}
		l := g.local(n, types[i], from)
		for _, x := range mayGive(o.graph, i) {
			g.dependsOn(l, x)
		}
		g.named[l] = names[i]
		let.Locals = append(let.Locals, l)
	}
	*g.stmts = append(*g.stmts, let)
}

// inout declares state: a tensor that kernels may write, which begins as a copy of a value.
func (g *graphChecker) inout(s *lang.LetStmt, o operand) {
	n := s.Names[0]
	switch {
	case o.mode == invalid:
	case o.mode != typedValue || o.graph.GType().Kind != typed.GTensor:
		g.Errorf(lang.ErrWrongType, s.Value.Span(), "the value of inout %s is %s; only tensors are written", n.Name, g.describe(o)).help("give it a shape, as in `zeros(f32, [1])`")
	default:
		t := o.graph.GType()
		l := &typed.GLocal{Name: n.Name, Type: t, At: n.Place}
		g.state[l] = true
		g.declare(g.scope, &entity{kind: entGraphValue, name: n.Name, at: n.Place, graph: &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: n.Place}, Local: l}}, true)
		*g.stmts = append(*g.stmts, &typed.GLet{Locals: []*typed.GLocal{l}, Value: g.copyOf(o.graph), At: s.Place})
		return
	}
	g.declare(g.scope, &entity{kind: entInvalid, name: n.Name, at: n.Place}, true)
}

// local declares a name for a value; nil for "_".
func (g *graphChecker) local(n lang.Ident, t typed.GType, from operand) *typed.GLocal {
	if n.Name == "_" {
		return nil
	}
	l := &typed.GLocal{Name: n.Name, Type: t, At: n.Place}
	if from.graph != nil && g.isMutable(from.graph) {
		g.partOf[l] = from.graph
	}
	if from.graph != nil {
		g.dependsOn(l, from.graph)
	}
	g.declare(g.scope, &entity{kind: entGraphValue, name: n.Name, at: n.Place, graph: &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: n.Place}, Local: l}, value: operand{lin: from.lin}}, true)
	return l
}

// assign gives an output its value.
func (g *graphChecker) assign(s *lang.AssignStmt) {
	o := g.expr(s.Value)
	n, ok := s.Target.(*lang.NameExpr)
	if !ok {
		g.Errorf(lang.ErrReadOnly, s.Target.Span(), "a graph assigns whole outputs, as in `y = ...`").help("elements are stored by a kernel")
		return
	}
	e := g.scope.lookup(n.Name)
	switch {
	case e == nil:
		g.unknown(g.scope, n.Name, n.Place, nil, true)
		return
	case e.kind == entInvalid:
		return
	case e.output == nil && e.graph != nil && g.isMutable(e.graph):
		g.Errorf(lang.ErrReadOnly, n.Place, "%s is state, which changes only where a call writes it", n.Name).label(e.at, "declared here").
			help("pass it to a kernel that has it as `inout` and stores the value")
		return
	case e.output == nil:
		g.Errorf(lang.ErrReadOnly, n.Place, "%s is no output and never changes", n.Name).label(e.at, "bound here").help("bind a new value with `let %s = ...`", n.Name)
		return
	}
	if first, twice := g.assigned[e.output]; twice {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s is assigned twice", n.Name).label(first, "first assigned here").
			help("bind the first value with `let`, and assign the output the last one")
		return
	}
	g.assigned[e.output] = n.Place
	if g.depth > 0 {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s would be assigned at every step of the loop", n.Name).help("carry the value with `with`, and assign it after the loop")
		return
	}
	if g.choices > 0 {
		g.Errorf(lang.ErrAssignedMore, n.Place, "the output %s would be assigned in one branch of the `if` only", n.Name).help("give the value from both branches: `%s = if c { ... } else { ... }`", n.Name)
		return
	}
	if o.mode == noValue {
		g.Errorf(lang.ErrValueCount, s.Value.Span(), "this gives no value")
		return
	}
	if o.mode == invalid {
		return
	}
	t := e.output.Type
	if o.mode == list {
		if o = g.listAs(o, t.DType); o.mode == invalid {
			return
		}
	}
	if o.mode != typedValue || o.graph.GType().Kind != typed.GTensor {
		g.Errorf(lang.ErrWrongType, s.Value.Span(), "the value is %s, and the output %s is %s", g.describe(o), n.Name, t).label(e.at, "declared here")
		return
	}
	if g.fits(o.graph.GType(), t, s.Value.Span(), "the output "+n.Name, e.at) {
		*g.stmts = append(*g.stmts, &typed.GAssign{Output: e.output, Value: g.snapshot(o.graph), At: s.Place})
	}
}

// fits checks a tensor against the type of its place: sizes that can never agree are errors.
func (g *graphChecker) fits(got, want typed.GType, at lang.Span, place string, declared lang.Span) bool {
	switch {
	case got.DType != want.DType:
		g.Errorf(lang.ErrWrongType, at, "the value is %s, and %s is %s: element types differ", got, place, want).label(declared, "declared here").
			castAt(at, want.DType, "convert with `as %s`", want.DType)
	case len(got.Shape) != len(want.Shape):
		g.Errorf(lang.ErrShape, at, "the value is %s, of %s, and %s is %s, of %d", got, plural(len(got.Shape), "dimension"), place, want, len(want.Shape)).
			label(declared, "declared here")
	default:
		for i := range got.Shape {
			if g.prover.Different(got.Shape[i], want.Shape[i]) {
				g.Errorf(lang.ErrShape, at, "the value is %s, and %s is %s: dimension %d is %s, not %s", got, place, want, i, got.Shape[i], want.Shape[i]).
					label(declared, "declared here")
				return false
			}
		}
		return true
	}
	return false
}
