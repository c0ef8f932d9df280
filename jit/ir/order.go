package ir

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// This file has the types and the text form of sort and topk.

// inferSort: the positions of the elements in order; taking from a tile at them sorts it.
func inferSort(op *Op, types []Type) ([]Type, error) {
	if len(types) != 1 || len(op.Over) != 1 || !types[0].Has(op.Over[0]) {
		return nil, fmt.Errorf("needs a tile and one axis of it")
	}
	if d := types[0].DType; !d.IsInt() && !d.IsFloat() {
		return nil, fmt.Errorf("sorts %s, needs numbers", d)
	}
	return []Type{{DType: lang.I32, Axes: append(Without(types[0].Axes, op.Over), op.Over[0])}}, nil
}

// inferTopK: the values and the positions, over the other axes and then over the axis of the results.
func inferTopK(op *Op, types []Type) ([]Type, error) {
	if len(types) != 1 && len(types) != 3 || len(op.Over) != 1 || !types[0].Has(op.Over[0]) {
		return nil, fmt.Errorf("needs a tile and one axis of it")
	}
	if op.Axis == nil || op.Axis.Kind != Whole || op.Axis.Lo != 0 || types[0].Has(op.Axis) {
		return nil, fmt.Errorf("needs a whole axis for its results that the tile has not")
	}
	d := types[0].DType
	if !d.IsInt() && !d.IsFloat() {
		return nil, fmt.Errorf("orders %s, needs numbers", d)
	}
	axes := append(Without(types[0].Axes, op.Over), op.Axis)
	out := []Type{{DType: d, Axes: axes}, {DType: lang.I32, Axes: axes}}
	for i, t := range types[1:] {
		if !t.Same(out[i]) {
			return nil, fmt.Errorf("goes on from %s, needs %s", t, out[i])
		}
	}
	return out, nil
}

// topkConvention is `topk %x into r over v`.
var topkConvention = convention{
	func(b *strings.Builder, op *Op) {
		b.WriteString(" " + uses(op.Args))
		if op.Axis != nil {
			b.WriteString(" into " + quote(op.Axis.Name))
		}
	},
	func(p *parser, op *Op) {
		op.Args = p.uses()
		p.word("into")
		op.Axis = p.axisUse()
	},
}

// resultTypes reads `(type, type)` behind an operation with several results.
func (p *parser) resultTypes(op *Op, at token) {
	if len(op.Results) == 0 {
		return
	}
	p.punct(":")
	p.punct("(")
	n := 0
	p.items(")", func() {
		t := p.typ()
		if n < len(op.Results) {
			op.Results[n].Type = t
		}
		n++
	})
	if n != len(op.Results) {
		p.failAt(at, "%d results and %d types", len(op.Results), n)
	}
}
