package graph

import (
	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types random numbers of graphs: an elementwise kernel draws what the
// kernel's `rand(seed, i, j)` gives at the position [i, j].

// random types `rand(f32, [M, N], seed)`, `randn(f32, [M, N], seed)` and `random_bits([M, N], seed)`.
func (g *graphChecker) random(name string, e *lang.CallExpr) rules.Operand {
	usage, want := name+"(f32, [M, N], seed)", 3
	if name == "random_bits" {
		usage, want = "random_bits([M, N], seed)", 2
	}
	if !g.plainArgs(name, usage, want, e) {
		return rules.Bad(e.Place)
	}
	d, ok := typed.Concrete(lang.U64), true
	if x := e.Args[0].Value; want == 3 {
		if d, ok = g.madeType(name, usage, x); !ok {
			return rules.Bad(e.Place)
		}
		if ok = typed.IsFloat(d); !ok {
			g.Errorf(lang.ErrOperandType, x.Span(), "%s makes floats, not %s", name, g.DescribeDType(d)).Help("for integers scale and convert them: `(rand(f32, [N], 1) * 10) as i32`")
		}
	}
	list := e.Args[want-2].Value
	shape, shapeOK := g.shapeList(list)
	if shapeOK && len(shape) > rules.MaxCoordinates {
		g.Errorf(lang.ErrView, list.Span(), "%s of %d dimensions: a position of random numbers has at most %d coordinates", name, len(shape), rules.MaxCoordinates).
			Help("make them with fewer dimensions and view them: `view(%s, [...])`", usage)
		shapeOK = false
	}
	k := &pointwise{shapes: [][]size.Size{shape}}
	key, keyOK := g.seed(k, e.Args[want-1].Value)
	if !ok || !shapeOK || !keyOK {
		return rules.Bad(e.Place)
	}
	m := rules.RandomMaker{}
	words := make([]typed.Expr, rules.MaxCoordinates)
	index := g.gridOf(len(shape)).index
	for i, x := range index { // the last coordinate is the first word
		words[len(index)-1-i] = m.Cast(x, lang.U64)
	}
	bits := m.Op(lang.OpRandomBits, key, m.Counter(words[0], words[1]), m.Counter(words[2], words[3]))
	switch name {
	case "rand":
		k.value = below1(m, k, m.Uniform(m.Cast(bits, lang.U32)), d)
	case "randn":
		k.value = m.To(m.Normal(k.named("bits", bits)), d)
	default:
		k.value = bits
	}
	return g.tensorValue(k, shape, e.Place)
}

// seed types the seed of random numbers: an integer, as u64. It is a parameter
// of the kernel, so that another seed needs no other kernel.
func (g *graphChecker) seed(k *pointwise, x lang.Expr) (typed.Expr, bool) {
	o := g.scalar(x, "the seed")
	if o.Mode == rules.UntypedInt {
		o = g.toScalar(o, typed.Concrete(lang.I64))
	}
	o = g.settled(o)
	if o.Mode != rules.TypedValue {
		return nil, false
	}
	d := o.Graph.GType().DType
	if !typed.IsInt(d) {
		g.Errorf(lang.ErrWrongType, x.Span(), "the seed is %s; an integer is needed", g.describe(o)).CastFix(x, typed.Concrete(lang.I32))
		return nil, false
	}
	p := g.leaf(o.Graph)
	k.leaf(o.Graph, p)
	key := &typed.ScalarRef{Typed: typed.Typed{Type: typed.Type{DType: d}, At: x.Span()}, Param: p}
	if d == typed.Concrete(lang.U64) {
		return key, true
	}
	return rules.RandomMaker{}.Cast(key, lang.U64), true
}

// named gives a value that is used twice a name inside the kernel.
func (k *pointwise) named(name string, x typed.Expr) typed.Expr {
	l := &typed.Local{Name: name, Type: x.Types()[0]}
	k.lets = append(k.lets, &typed.Let{Locals: []*typed.Local{l}, Value: x})
	return &typed.LocalRef{Typed: typed.Typed{Type: l.Type, At: lang.Span{}}, Local: l}
}

// below1 converts numbers in [0, 1) to d. In a narrow type the largest round to 1, which becomes 0.
func below1(m rules.RandomMaker, k *pointwise, x typed.Expr, d typed.DType) typed.Expr {
	y := m.To(x, d)
	if d == typed.Concrete(lang.F32) || d == typed.Concrete(lang.F64) {
		return y
	}
	y = k.named("rounded", y)
	number := func(v float64) typed.Expr {
		return &typed.Const{Typed: typed.Typed{Type: typed.Type{DType: d}, At: m.At}, Float: v, Int: int64(v)}
	}
	one := &typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: typed.Concrete(lang.Bool), Axes: y.Types()[0].Axes}, At: m.At}, Op: lang.OpEq, Args: []typed.Expr{y, number(1)}}
	return m.Op(lang.OpWhere, one, number(0), y)
}
