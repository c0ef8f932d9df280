package graph

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types elementwise expressions on whole tensors in graphs. Each
// becomes a kernel of its own: `gelu(x + y) * 2` reads x and y once and stores
// once. Tensors have no axis names in a graph, so they are of one shape;
// scalars broadcast.

// pointwise is a kernel that computes an expression, element by element. It is
// grown from those of its operands; the last one is called.
type pointwise struct {
	leaves []typed.GExpr // the tensors and scalars that it reads, one a parameter
	params []*typed.Param
	shapes [][]size.Size // of what it makes itself, such as random numbers
	lets   []typed.Stmt
	value  typed.Expr
}

// grid is the axes of all pointwise kernels of one rank, and the dimensions that they walk.
type grid struct {
	axes  []*typed.Axis
	sizes []size.Size
	dims  []*size.Symbol
	index []typed.Expr
}

// gridOf makes the axes of a rank, once.
func (g *graphChecker) gridOf(rank int) *grid {
	if made := g.grids[rank]; made != nil {
		return made
	}
	made := &grid{}
	for i := range rank {
		dim := g.Hidden.Dim(fmt.Sprintf("d%d", i))
		size := size.Of(dim)
		axis := &typed.Axis{Name: fmt.Sprintf("i%d", i), Kind: typed.GridAxis, Dim: size, Len: size, Tile: fmt.Sprintf("B%d", i)}
		made.axes = append(made.axes, axis)
		made.dims = append(made.dims, dim)
		made.sizes = append(made.sizes, size)
		made.index = append(made.index, &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.I32), Axes: []*typed.Axis{axis}}}, Op: lang.OpIndex, Axis: axis})
	}
	g.grids[rank] = made
	return made
}

// tensorOp types an operation of the table of which an operand is a tensor.
func (g *graphChecker) tensorOp(op lang.Op, at, opAt lang.Span, args []rules.Operand, exprs []lang.Expr) rules.Operand {
	row := op.Row()
	if len(args) != len(row.Operands) {
		g.Errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, report.Plural(len(row.Operands), "argument"), len(args))
		return rules.Bad(at)
	}
	shape, ok := g.oneShape("`"+row.Spelling+"`", opAt, args)
	if !ok {
		return rules.Bad(at)
	}
	k := &pointwise{}
	lent := make([]rules.Operand, len(args))
	read := map[typed.Expr]typed.Expr{} // what the type rules saw of an operand, and what reads it
	for i, a := range args {
		lent[i] = a
		if a.Mode == rules.TypedValue {
			x := g.operandOf(k, a.Graph)
			c := &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: x.Types()[0].DType}, At: a.At}}
			read[c] = x
			lent[i].Expr = c
		}
	}
	o := g.Checker.Apply(op, at, opAt, lent, exprs)
	x, isApply := o.Expr.(*typed.Apply)
	if o.Mode != rules.TypedValue || !isApply {
		return rules.Bad(at)
	}
	out := &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: x.Type.DType}, At: at}, Op: op}
	var types []typed.Type
	for i, a := range x.Args {
		if read[a] != nil {
			a = read[a]
		} else if _, isConst := a.(*typed.Const); !isConst {
			a = g.operandOf(k, g.toScalar(args[i], a.Types()[0].DType).Graph)
		}
		out.Args = append(out.Args, a)
		types = append(types, a.Types()[0])
	}
	out.Type.Axes = typed.UnionAxes(types...)
	k.value = out
	return g.tensorValue(k, shape, at)
}

// oneShape checks that all tensors among the operands have one shape.
func (g *graphChecker) oneShape(what string, at lang.Span, args []rules.Operand) ([]size.Size, bool) {
	var first rules.Operand
	for _, a := range args {
		if a.Mode != rules.TypedValue || a.Graph.GType().Kind != typed.GTensor {
			continue
		}
		if first.Graph == nil {
			first = a
			continue
		}
		x, y := first.Graph.GType(), a.Graph.GType()
		same := len(x.Shape) == len(y.Shape)
		for i := 0; same && i < len(x.Shape); i++ {
			same = !g.prover.Different(x.Shape[i], y.Shape[i])
		}
		if !same {
			g.Errorf(lang.ErrShape, at, "%s of %s and %s: whole tensors are combined element by element, so they have one shape", what, x, y).
				LabelAt(first.At, "%s", x).LabelAt(a.At, "%s", y).
				Help("broadcast in a kernel, where axes have names, and call that")
			return nil, false
		}
	}
	return first.Graph.GType().Shape, true
}

// operandOf gives what reads a tensor or a scalar inside the kernel k. What
// another pointwise kernel computes is computed in k instead.
func (g *graphChecker) operandOf(k *pointwise, x typed.GExpr) typed.Expr {
	if call, ok := x.(*typed.GCall); ok {
		if inner := g.pointwise[call]; inner != nil {
			k.add(inner)
			return inner.value
		}
	}
	t := x.GType()
	if c, ok := x.(*typed.GConst); ok {
		return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: t.DType}, At: x.Span()}, Int: c.Value.Int, Float: c.Value.Float}
	}
	p := g.leaf(x)
	k.leaf(x, p)
	if t.Kind == typed.GScalar {
		return &typed.ScalarRef{Typed: typed.Typed{Type: typed.Type{DType: t.DType}, At: x.Span()}, Param: p}
	}
	grid := g.gridOf(len(t.Shape))
	return &typed.Load{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: grid.axes}, At: x.Span()}, Param: p, Indices: grid.index, Checked: make([]bool, len(grid.index))}
}

// leaf is the parameter of pointwise kernels for a tensor or a scalar of the
// graph: the same for every use of one name, so that it is read once.
func (g *graphChecker) leaf(x typed.GExpr) *typed.Param {
	var key any = x
	name := "x"
	if x.GType().Kind == typed.GScalar {
		name = "s"
	}
	switch x := x.(type) {
	case *typed.GParamRef:
		key, name = x.Param, x.Param.Name
	case *typed.GLocalRef:
		key, name = x.Local, x.Local.Name
	}
	if p := g.leaves[key]; p != nil {
		return p
	}
	for base := name; g.leafNames[name] > 0; {
		name = fmt.Sprintf("%s_%d", base, g.leafNames[base])
		g.leafNames[base]++
	}
	g.leafNames[name] = 1
	t := x.GType()
	p := &typed.Param{Name: name, DType: t.DType, At: x.Span()}
	if t.Kind == typed.GTensor {
		p.IsTensor, p.Shape = true, g.gridOf(len(t.Shape)).sizes
	}
	g.leaves[key] = p
	return p
}

func (k *pointwise) leaf(x typed.GExpr, p *typed.Param) {
	for _, have := range k.params {
		if have == p {
			return
		}
	}
	k.leaves, k.params = append(k.leaves, x), append(k.params, p)
}

// add takes over what another kernel reads and binds.
func (k *pointwise) add(inner *pointwise) {
	for i, p := range inner.params {
		k.leaf(inner.leaves[i], p)
	}
	k.shapes = append(k.shapes, inner.shapes...)
	for _, s := range inner.lets {
		seen := false
		for _, have := range k.lets {
			seen = seen || have == s
		}
		if !seen {
			k.lets = append(k.lets, s)
		}
	}
}

// tensorValue is the tensor that a pointwise kernel gives, as a value of the graph.
func (g *graphChecker) tensorValue(k *pointwise, shape []size.Size, at lang.Span) rules.Operand {
	line, _ := at.Position()
	name := lang.Ident{At: lang.At{Place: at}, Name: fmt.Sprintf("elementwise_%d", line)}
	grid := g.gridOf(len(shape))
	d := k.value.Types()[0].DType
	out := &typed.Param{Name: "result", Mode: lang.Out, DType: d, IsTensor: true, Shape: grid.sizes, At: at}
	kernel := &typed.Kernel{Name: name.Name, Decl: &lang.KernelDecl{Head: lang.Head{At: name.At, Name: name}},
		Dims: grid.dims, Axes: grid.axes, Params: k.params, Outputs: []*typed.Param{out},
		Body: &typed.Body{Stmts: append(k.lets[:len(k.lets):len(k.lets)],
			&typed.Store{Op: lang.OpStore, Param: out, Indices: grid.index, Checked: make([]bool, len(grid.index)), Value: k.value, At: at})}}
	call := &typed.GCall{GTyped: typed.GTyped{Type: typed.GType{Kind: typed.GTensor, DType: d, Shape: shape}, At: at}, Kernel: kernel, Args: k.leaves, Types: map[*typed.TypeParam]typed.DType{}, Shapes: k.shapes}
	for _, t := range g.graph.TypeParams { // the kernel's are the graph's own
		kernel.TypeParams = append(kernel.TypeParams, t)
		call.Types[t] = typed.DType{Param: t}
	}
	g.pointwise[call] = k
	return graphOperand(call)
}

// once gives a value that is used several times a name, so that it is computed
// once: inside the pointwise kernel that computes it, or in the graph.
func (g *graphChecker) once(o rules.Operand, name lang.Ident) rules.Operand {
	if o.Mode != rules.TypedValue || o.Graph.GType().Kind != typed.GTensor {
		return o
	}
	switch x := o.Graph.(type) {
	case *typed.GParamRef, *typed.GLocalRef:
		return o
	case *typed.GCall:
		if k := g.pointwise[x]; k != nil {
			l := &typed.Local{Name: name.Name, Type: k.value.Types()[0], At: name.Place}
			named := &pointwise{leaves: k.leaves, params: k.params, shapes: k.shapes, value: &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: x.At}, Local: l}}
			named.lets = append(k.lets[:len(k.lets):len(k.lets)], &typed.Let{Locals: []*typed.Local{l}, Value: k.value, At: x.At})
			return g.tensorValue(named, x.Type.Shape, x.At)
		}
	}
	l := &typed.GLocal{Name: name.Name, Type: o.Graph.GType(), At: name.Place}
	if g.isMutable(o.Graph) {
		g.aliasOf[l] = o.Graph
	}
	*g.stmts = append(*g.stmts, &typed.GLet{Locals: []*typed.GLocal{l}, Value: o.Graph, At: o.At})
	return graphOperand(&typed.GLocalRef{GTyped: typed.GTyped{Type: l.Type, At: o.At}, Local: l})
}

// snapshot copies a part of the graph's state, so that what is written to it
// later does not show; other values never change and are given back as they are.
func (g *graphChecker) snapshot(x typed.GExpr) typed.GExpr {
	if t := x.GType(); t.Kind != typed.GTensor || !g.isMutable(x) {
		return x
	}
	return g.copyOf(x)
}

// values makes what a choice or a loop gives or carries values, which do not change with the graph's state, in their
// place: of a tensor that is a part of the state, a copy. What holds such tensors, a struct or an array, is refused.
func (g *graphChecker) values(xs []typed.GExpr, what string) bool {
	ok := true
	for i, x := range xs {
		if xs[i] = g.snapshot(x); g.isMutable(xs[i]) {
			g.Errorf(lang.ErrNotMutable, x.Span(), "%s values, and %s is state that calls write", what, x.GType()).
				Help("use it by its name, or give the tensors of it one by one")
			ok = false
		}
	}
	return ok
}

// copyOf is a copy of a tensor in memory of its own.
func (g *graphChecker) copyOf(x typed.GExpr) typed.GExpr {
	k := &pointwise{}
	k.value = g.operandOf(k, x)
	return g.tensorValue(k, x.GType().Shape, x.Span()).Graph
}
