package ir

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// This file is what `reduce` and `scan` have in common: operands that are
// combined along one axis by a function, which is a block of scalar operations.
//
//	%5, %6 = reduce %1, %2 from %3, %4 over j by (%7, %8, %9, %10) : (f32{i}, i32{i}) {
//	  ...
//	  yield %11, %12
//	}
//
// The arguments are n operands, which broadcast by axis name; n scalars, which
// are the results over nothing; and the scalars that the function takes from
// outside, after the word `using`. The function's parameters are the n values of
// the earlier elements, the n of the later ones, and those from outside. It uses
// nothing else, so no pass that looks at values has to look into it.

// Combines reports a reduce or a scan, which have a function.
func (op *Op) Combines() bool { return op.Code == lang.OpReduce || op.Code == lang.OpScan }

// Operands are the tiles that a reduce or a scan combines.
func (op *Op) Operands() []*Value { return op.Args[:len(op.Fn.Yield)] }

// Identity is what a reduce gives of nothing, by operand.
func (op *Op) Identity() []*Value { return op.Args[len(op.Fn.Yield) : 2*len(op.Fn.Yield)] }

// Captured are the scalars that the function takes from outside.
func (op *Op) Captured() []*Value { return op.Args[2*len(op.Fn.Yield):] }

// Combined is the axes of a reduce's or a scan's operands together.
func (op *Op) Combined() []*Axis {
	var types []Type
	for _, v := range op.Operands() {
		types = append(types, v.Type)
	}
	return Union(types...)
}

func inferCombine(op *Op, types []Type) ([]Type, error) {
	if op.Fn == nil || len(op.Fn.Yield) == 0 {
		return nil, fmt.Errorf("has no function")
	}
	n := len(op.Fn.Yield)
	if len(types) < 2*n || len(op.Fn.Params) != len(types) {
		return nil, fmt.Errorf("has %d arguments, its function %d parameters and %d results", len(types), len(op.Fn.Params), n)
	}
	if len(op.Over) != 1 {
		return nil, fmt.Errorf("needs exactly one axis")
	}
	over := op.Over[0]
	axes := op.Combined()
	if !(Type{Axes: axes}).Has(over) {
		return nil, fmt.Errorf("goes along %s, which no operand has", over.Name)
	}
	if op.Code == lang.OpReduce {
		axes = Without(axes, op.Over)
	}
	out := make([]Type, n)
	for i := range out {
		d := types[i].DType
		if !types[n+i].Same(Scalar(d)) {
			return nil, fmt.Errorf("operand %d is %s, its identity %s", i, types[i], types[n+i])
		}
		if y := op.Fn.Yield[i]; !y.Type.Same(Scalar(d)) {
			return nil, fmt.Errorf("operand %d is %s, its function gives %s", i, types[i], y.Type)
		}
		out[i] = Type{DType: d, Axes: axes}
	}
	for i, p := range op.Fn.Params {
		d := types[i].DType
		if !p.Type.Same(Scalar(d)) || i >= 2*n && !types[i].IsScalar() {
			return nil, fmt.Errorf("parameter %d is %s, its argument %s", i, p.Type, types[i])
		}
	}
	return out, nil
}

// combiner checks the function of a reduce or a scan: scalar operations on its parameters and on nothing else.
func (v *verifier) combiner(op *Op) error {
	outer := v.scope
	v.scope = map[*Value]bool{}
	defer func() { v.scope = outer }()
	for _, p := range op.Fn.Params {
		if p == nil || p.Def != nil {
			return fmt.Errorf("parameter %s of the function has a definition", use(p))
		}
		if err := v.define(p); err != nil {
			return err
		}
	}
	for _, inner := range op.Fn.Ops {
		if inner == nil || !inner.Code.Row().Elementwise && inner.Code != lang.OpConst {
			return fmt.Errorf("its function is not of elementwise operations alone: `%s`", inner)
		}
	}
	return v.block(op.Fn)
}

var combineConvention = convention{printCombine, (*parser).combine}

func printCombine(b *strings.Builder, op *Op) {
	if op.Fn == nil || len(op.Args) < 2*len(op.Fn.Yield) {
		b.WriteString(" " + uses(op.Args))
		return // malformed: the verifier prints what it refuses
	}
	fmt.Fprintf(b, " %s from %s", uses(op.Operands()), uses(op.Identity()))
	if c := op.Captured(); len(c) > 0 {
		b.WriteString(" using " + uses(c))
	}
}

func (p *parser) combine(op *Op) {
	op.Args = p.uses()
	n := len(op.Args)
	p.word("from")
	at := p.tok
	op.Args = append(op.Args, p.uses()...)
	if len(op.Args) != 2*n {
		p.failAt(at, "%d operands from %d values", n, len(op.Args)-n)
	}
	if p.acceptWord("using") {
		op.Args = append(op.Args, p.uses()...)
	}
	op.Fn = &Block{Yield: make([]*Value, n)} // what it will have to give
}

// functionHead reads the parameters of the function: two for each tile, of a contraction one for its second factor, and one for each value from outside.
func (p *parser) functionHead(op *Op, at token) {
	p.word("by")
	p.punct("(")
	p.items(")", func() { op.Fn.Params = append(op.Fn.Params, p.define()) })
	tiles := op.Args[:len(op.Fn.Yield)]
	given := slices.Concat(tiles, tiles, op.Using())
	if op.Code.Row().Group == lang.GroupContract {
		tiles = op.Args[1:2]
		given = slices.Concat(tiles, op.Using())
	}
	if len(op.Fn.Params) != len(given) {
		p.failAt(at, "%d tiles, %d values from outside and %d parameters", len(tiles), len(op.Using()), len(op.Fn.Params))
	}
	for i, v := range given {
		op.Fn.Params[i].Type = Scalar(v.Type.DType)
	}
}

// Inline emits the function of a reduce or a scan on tiles, which broadcast, and
// gives its results over the given axes.
func (b *Builder) Inline(fn *Block, args []*Value, axes []*Axis) []*Value {
	m := map[*Value]*Value{}
	for i, p := range fn.Params {
		m[p] = args[i]
	}
	for _, op := range fn.Ops {
		xs := make([]*Value, len(op.Args))
		for i, a := range op.Args {
			xs[i] = m[a]
		}
		m[op.Result()] = b.Like(op, xs...)
	}
	out := make([]*Value, len(fn.Yield))
	for i, y := range fn.Yield {
		out[i] = b.Broadcast(m[y], axes)
	}
	return out
}

// Like emits an elementwise operation, or a constant, as another one is, of other arguments.
func (b *Builder) Like(op *Op, args ...*Value) *Value {
	d := op.Result().Type.DType
	switch op.Code {
	case lang.OpConst:
		return b.Const(d, op.Const)
	case lang.OpCast:
		return b.Cast(args[0], d)
	case lang.OpBitcast:
		return b.Bitcast(args[0], d)
	}
	return b.Emit(&Op{Code: op.Code, Args: args, Coarse: op.Coarse})[0]
}

// Broadcast gives v over all of the axes.
func (b *Builder) Broadcast(v *Value, axes []*Axis) *Value {
	if len(Without(axes, v.Type.Axes)) == 0 {
		return v
	}
	if v.Type.IsScalar() {
		return b.Emit(&Op{Code: lang.OpFull, Args: []*Value{v}, Axes: axes})[0]
	}
	all := b.Emit(&Op{Code: lang.OpFull, Args: []*Value{b.Const(lang.Bool, Const{Int: 1})}, Axes: axes})[0]
	return b.Op(lang.OpWhere, all, v, v)
}

// Text is the function's text with its values numbered from 0: equal for functions that compute the same in the same way.
func (b *Block) Text() string {
	ids := map[*Value]string{}
	name := func(v *Value) string {
		if ids[v] == "" {
			ids[v] = fmt.Sprint("%", len(ids))
		}
		return ids[v]
	}
	var s strings.Builder
	s.WriteString(list(b.Params, name) + ":")
	for _, op := range b.Ops {
		d := op.Result().Type.DType
		fmt.Fprintf(&s, " %s = %s %s", name(op.Result()), op.Code, list(op.Args, name))
		if op.Code == lang.OpConst {
			s.WriteString(literal(op.Const, d))
		}
		fmt.Fprintf(&s, " %s;", d)
	}
	return s.String() + " yield " + list(b.Yield, name)
}

// Way is a set of directions in which an axis is walked.
type Way uint8

// The directions: from the first position to the last, and the reverse.
const (
	Forward Way = 1 << iota
	Backward
	AnyWay   Way = 0
	BothWays     = Forward | Backward
)

// Direction is the way in which parts of an axis that an operation consumes must come one after the other:
// a scan goes on where the chunk before ended, and some reductions tell the first from the last.
func (op *Op) Direction(a *Axis) Way {
	needs := AnyWay
	switch op.Code {
	case lang.OpArgMax, lang.OpArgMin, lang.OpReduce, lang.OpTopK:
		needs = Forward
	}
	seen := map[*Op]bool{}
	var visit func(op *Op)
	visit = func(op *Op) {
		if op == nil || seen[op] {
			return
		}
		seen[op] = true
		if op.Code == lang.OpScan && op.Over[0] == a {
			if op.Reverse {
				needs |= Backward
			} else {
				needs |= Forward
			}
		}
		for _, v := range op.Args {
			if v.Type.Has(a) {
				visit(v.Def)
			}
		}
	}
	for _, v := range op.Args {
		if v.Type.Has(a) {
			visit(v.Def)
		}
	}
	return needs
}
