package typecheck

import (
	"fmt"

	"tilec/lang"
)

// This file types elementwise expressions on whole tensors in graphs. Each
// becomes a kernel of its own: `gelu(x + y) * 2` reads x and y once and stores
// once. Tensors have no axis names in a graph, so they are of one shape;
// scalars broadcast.

// pointwise is a kernel that computes an expression, element by element. It is
// grown from those of its operands; the last one is called.
type pointwise struct {
	leaves []GExpr // the tensors and scalars that it reads, one a parameter
	params []*Param
	shapes [][]Size // of what it makes itself, such as random numbers
	lets   []Stmt
	value  Expr
}

// grid is the axes of all pointwise kernels of one rank, and the dimensions that they walk.
type grid struct {
	axes  []*Axis
	sizes []Size
	dims  []*Symbol
	index []Expr
}

// gridOf makes the axes of a rank, once.
func (g *graphChecker) gridOf(rank int) *grid {
	if made := g.grids[rank]; made != nil {
		return made
	}
	made := &grid{}
	for i := range rank {
		dim := g.newDim(fmt.Sprintf("d%d", i))
		size := SymbolSize(dim)
		axis := &Axis{Name: fmt.Sprintf("i%d", i), Kind: GridAxis, Dim: size, Len: size, Tile: fmt.Sprintf("B%d", i)}
		made.axes = append(made.axes, axis)
		made.dims = append(made.dims, dim)
		made.sizes = append(made.sizes, size)
		made.index = append(made.index, &Apply{Typed: Typed{Type: Type{DType: Concrete(lang.I32), Axes: []*Axis{axis}}}, Op: lang.OpIndex, Axis: axis})
	}
	g.grids[rank] = made
	return made
}

func (c *checker) newDim(name string) *Symbol {
	c.serial++
	return &Symbol{Name: name, Kind: DimSymbol, DType: lang.I32, Serial: c.serial}
}

// tensorOp types an operation of the table of which an operand is a tensor.
func (g *graphChecker) tensorOp(op lang.Op, at, opAt lang.Span, args []operand, exprs []lang.Expr) operand {
	row := op.Row()
	if len(args) != len(row.Operands) {
		g.errorf(lang.ErrArgCount, at, "%s takes %s, not %d", row.Spelling, plural(len(row.Operands), "argument"), len(args))
		return bad(at)
	}
	shape, ok := g.oneShape("`"+row.Spelling+"`", opAt, args)
	if !ok {
		return bad(at)
	}
	k := &pointwise{}
	lent := make([]operand, len(args))
	read := map[Expr]Expr{} // what the type rules saw of an operand, and what reads it
	for i, a := range args {
		lent[i] = a
		if a.mode == typedValue {
			x := g.operandOf(k, a.graph)
			c := &Const{Typed: Typed{Type{DType: x.Types()[0].DType}, a.at}}
			read[c] = x
			lent[i].expr = c
		}
	}
	o := g.checker.apply(op, at, opAt, lent, exprs)
	x, isApply := o.expr.(*Apply)
	if o.mode != typedValue || !isApply {
		return bad(at)
	}
	out := &Apply{Typed: Typed{Type{DType: x.Type.DType}, at}, Op: op}
	var types []Type
	for i, a := range x.Args {
		if read[a] != nil {
			a = read[a]
		} else if _, isConst := a.(*Const); !isConst {
			a = g.operandOf(k, g.toScalar(args[i], a.Types()[0].DType).graph)
		}
		out.Args = append(out.Args, a)
		types = append(types, a.Types()[0])
	}
	out.Type.Axes = unionAxes(types...)
	k.value = out
	return g.tensorValue(k, shape, at)
}

// oneShape checks that all tensors among the operands have one shape.
func (g *graphChecker) oneShape(what string, at lang.Span, args []operand) ([]Size, bool) {
	var first operand
	for _, a := range args {
		if a.mode != typedValue || a.graph.GType().Kind != GTensor {
			continue
		}
		if first.graph == nil {
			first = a
			continue
		}
		x, y := first.graph.GType(), a.graph.GType()
		same := len(x.Shape) == len(y.Shape)
		for i := 0; same && i < len(x.Shape); i++ {
			same = !g.prover.different(x.Shape[i], y.Shape[i])
		}
		if !same {
			g.errorf(lang.ErrShape, at, "%s of %s and %s: whole tensors are combined element by element, so they have one shape", what, x, y).
				label(first.at, "%s", x).label(a.at, "%s", y).
				help("broadcast in a kernel, where axes have names, and call that")
			return nil, false
		}
	}
	return first.graph.GType().Shape, true
}

// operandOf gives what reads a tensor or a scalar inside the kernel k. What
// another pointwise kernel computes is computed in k instead.
func (g *graphChecker) operandOf(k *pointwise, x GExpr) Expr {
	if call, ok := x.(*GCall); ok {
		if inner := g.pointwise[call]; inner != nil {
			k.add(inner)
			return inner.value
		}
	}
	t := x.GType()
	if c, ok := x.(*GConst); ok {
		return &Const{Typed: Typed{Type{DType: t.DType}, x.Span()}, Int: c.Value.Int, Float: c.Value.Float}
	}
	p := g.leaf(x)
	k.leaf(x, p)
	if t.Kind == GScalar {
		return &ScalarRef{Typed{Type{DType: t.DType}, x.Span()}, p}
	}
	grid := g.gridOf(len(t.Shape))
	return &Load{Typed: Typed{Type{DType: t.DType, Axes: grid.axes}, x.Span()}, Param: p, Indices: grid.index, Checked: make([]bool, len(grid.index))}
}

// leaf is the parameter of pointwise kernels for a tensor or a scalar of the
// graph: the same for every use of one name, so that it is read once.
func (g *graphChecker) leaf(x GExpr) *Param {
	var key any = x
	name := "x"
	if x.GType().Kind == GScalar {
		name = "s"
	}
	switch x := x.(type) {
	case *GParamRef:
		key, name = x.Param, x.Param.Name
	case *GLocalRef:
		key, name = x.Local, x.Local.Name
	}
	if p := g.leaves[key]; p != nil {
		return p
	}
	for base, n := name, 1; g.leafNames[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	g.leafNames[name] = true
	t := x.GType()
	p := &Param{Name: name, DType: t.DType, At: x.Span()}
	if t.Kind == GTensor {
		p.IsTensor, p.Shape = true, g.gridOf(len(t.Shape)).sizes
	}
	g.leaves[key] = p
	return p
}

func (k *pointwise) leaf(x GExpr, p *Param) {
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
func (g *graphChecker) tensorValue(k *pointwise, shape []Size, at lang.Span) operand {
	line, _ := at.Position()
	name := lang.Ident{At: lang.At{Place: at}, Name: fmt.Sprintf("elementwise_%d", line)}
	grid := g.gridOf(len(shape))
	d := k.value.Types()[0].DType
	out := &Param{Name: "result", Mode: lang.Out, DType: d, IsTensor: true, Shape: grid.sizes, At: at}
	kernel := &Kernel{Name: name.Name, Decl: &lang.KernelDecl{Head: lang.Head{At: name.At, Name: name}},
		Dims: grid.dims, Axes: grid.axes, Params: k.params, Outputs: []*Param{out},
		Body: &Body{Stmts: append(k.lets[:len(k.lets):len(k.lets)],
			&Store{Op: lang.OpStore, Param: out, Indices: grid.index, Checked: make([]bool, len(grid.index)), Value: k.value, At: at})}}
	call := &GCall{GTyped: GTyped{GType{Kind: GTensor, DType: d, Shape: shape}, at}, Kernel: kernel, Args: k.leaves, Types: map[*TypeParam]DType{}, Shapes: k.shapes}
	for _, t := range g.graph.TypeParams { // the kernel's are the graph's own
		kernel.TypeParams = append(kernel.TypeParams, t)
		call.Types[t] = DType{Param: t}
	}
	g.pointwise[call] = k
	return graphOperand(call)
}

// once gives a value that is used several times a name, so that it is computed
// once: inside the pointwise kernel that computes it, or in the graph.
func (g *graphChecker) once(o operand, name lang.Ident) operand {
	if o.mode != typedValue || o.graph.GType().Kind != GTensor {
		return o
	}
	switch x := o.graph.(type) {
	case *GParamRef, *GLocalRef:
		return o
	case *GCall:
		if k := g.pointwise[x]; k != nil {
			l := &Local{Name: name.Name, Type: k.value.Types()[0], At: name.Place}
			named := &pointwise{leaves: k.leaves, params: k.params, shapes: k.shapes, value: &LocalRef{Typed{l.Type, x.At}, l}}
			named.lets = append(k.lets[:len(k.lets):len(k.lets)], &Let{Locals: []*Local{l}, Value: k.value, At: x.At})
			return g.tensorValue(named, x.Type.Shape, x.At)
		}
	}
	l := &GLocal{Name: name.Name, Type: o.graph.GType(), At: name.Place}
	if g.isMutable(o.graph) {
		g.partOf[l] = o.graph
	}
	*g.stmts = append(*g.stmts, &GLet{Locals: []*GLocal{l}, Value: o.graph, At: o.at})
	return graphOperand(&GLocalRef{GTyped{l.Type, o.at}, l})
}

// snapshot copies a part of the graph's state, so that what is written to it
// later does not show; other values never change and are given back as they are.
func (g *graphChecker) snapshot(x GExpr) GExpr {
	if t := x.GType(); t.Kind != GTensor || !g.isMutable(x) {
		return x
	}
	return g.copyOf(x)
}

// copyOf is a copy of a tensor in memory of its own.
func (g *graphChecker) copyOf(x GExpr) GExpr {
	k := &pointwise{}
	k.value = g.operandOf(k, x)
	return g.tensorValue(k, x.GType().Shape, x.Span()).graph
}
