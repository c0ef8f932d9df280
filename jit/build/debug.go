package build

import (
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file has the IR of print and assert. Package ir describes the memory that
// they leave their words in.

// print builds a print.
func (b *builder) print(s *typed.Print) {
	var args []*ir.Value
	for _, x := range s.Args {
		args = append(args, b.value(x))
	}
	b.At = s.At
	b.Emit(&ir.Op{Code: lang.OpPrint, Args: args, Text: s.Text})
}

// assert builds an assert. Its positions tell which of all that fails is named: along the axes of the grid, then the
// loops around, then the whole axes, each in the order of their declaration. Of a tile, the first element that fails is
// found axis by axis in that order; the values of the message are those at that element.
func (b *builder) assert(s *typed.Assert) {
	if s.Debug && !b.spec.Debug {
		return
	}
	cond := b.value(s.Cond)
	var values []*ir.Value
	for _, x := range s.Args {
		values = append(values, b.value(x))
	}
	b.At = s.At
	if holds, known := constBool(cond); known && holds {
		return
	}
	reduce := func(code lang.Op, x *ir.Value) *ir.Value {
		if x.Type.IsScalar() {
			return x
		}
		return b.Emit(&ir.Op{Code: code, Args: []*ir.Value{x}, Over: x.Type.Axes})[0]
	}
	fails := b.Op(lang.OpLogicNot, cond)
	op := &ir.Op{Code: lang.OpAssert, Text: s.Text, Args: []*ir.Value{reduce(lang.OpAny, fails)}}
	here := fails // at the elements that may still be the first
	for _, p := range b.coordinates(fails.Type) {
		if at := p.at; !at.Type.IsScalar() {
			most := b.Const(at.Type.DType, ir.Const{Int: 1<<(at.Type.DType.Bits()-1) - 1})
			p.at = reduce(lang.OpReduceMin, b.Op(lang.OpWhere, here, at, most))
			here = b.Op(lang.OpLogicAnd, here, b.Op(lang.OpEq, at, p.at))
		}
		op.Names = append(op.Names, p.name)
		op.Args = append(op.Args, p.at)
	}
	for _, v := range values {
		op.Args = append(op.Args, b.elementAt(here, v, reduce))
	}
	b.Emit(op)
}

// elementAt is the element of v at the one position where a tile of bool is true.
func (b *builder) elementAt(here, v *ir.Value, reduce func(lang.Op, *ir.Value) *ir.Value) *ir.Value {
	d := v.Type.DType
	switch {
	case v.Type.IsScalar():
		return v
	case d.Packed(): // no integer has its width
		return b.Cast(b.elementAt(here, b.Cast(v, d.WholeBytes()), reduce), d)
	case d == lang.Bool:
		return reduce(lang.OpAny, b.Op(lang.OpLogicAnd, here, v))
	}
	bits := d
	if d.IsFloat() { // a sum of numbers would make 0 of -0 where the tile has other elements
		bits = map[int]lang.DType{8: lang.U8, 16: lang.U16, 32: lang.U32, 64: lang.U64}[d.Bits()]
		v = b.Bitcast(v, bits)
	}
	v = b.Op(lang.OpWhere, here, v, b.constant(bits, 0, 0))
	if !d.IsFloat() {
		return reduce(lang.OpSum, v)
	}
	return b.Bitcast(reduce(lang.OpReduceMax, v), d)
}

// coordinate is where something is along an axis or in a loop. The name is "" where the element that is there does not
// depend on it, but the part that a block or a step has.
type coordinate struct {
	name string
	at   *ir.Value
}

// coordinates are where the elements of a tile are, in the order in which a program goes through them.
func (b *builder) coordinates(t ir.Type) []coordinate {
	var all []coordinate
	done := map[*ir.Axis]bool{}
	along := func(a *ir.Axis) {
		done[a] = true
		all = append(all, coordinate{a.Name, b.positionsAlong(a)})
	}
	for _, a := range b.f.Grid() {
		if t.Has(a) || a.Scalar {
			along(a)
		} else {
			all = append(all, coordinate{"", b.Emit(&ir.Op{Code: lang.OpStart, Axis: a})[0]})
		}
	}
	for _, l := range b.loops {
		switch {
		case l.axis == nil:
			all = append(all, coordinate{l.position.Name, l.position})
		case t.Has(l.axis):
			along(l.axis)
		default:
			all = append(all, coordinate{"", l.position})
		}
	}
	for _, a := range b.f.InOrder(t.Axes) {
		if !done[a] {
			along(a)
		}
	}
	return all
}
