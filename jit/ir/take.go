package ir

import (
	"fmt"
	"strings"

	"tilec/lang"
)

// This file is about `take`, the one operation behind splitting, merging,
// slicing and joining tiles: some axes of a tile give way to positions along
// them, which are tiles themselves. With an index h * E + e for d it splits d,
// with d / E for h and d % E for e it merges h and e.

// Taken is the positions at which a take reads, in the order of its Axes.
func (op *Op) Taken() []*Value { return op.Args[1:] }

// TakeAxes is the axes of a take's result: those of the tile, with those of the
// positions in place of the axes that are taken.
func TakeAxes(x Type, axes []*Axis, positions []Type) []*Axis {
	var out Type
	add := func(a *Axis) {
		if !out.Has(a) {
			out.Axes = append(out.Axes, a)
		}
	}
	for _, a := range x.Axes {
		taken := false
		for i, t := range axes {
			if a == t {
				taken = true
				for _, p := range positions[i].Axes {
					add(p)
				}
			}
		}
		if !taken {
			add(a)
		}
	}
	return out.Axes
}

// Take emits a take, or gives x where nothing is taken.
func (b *Builder) Take(x *Value, axes []*Axis, positions []*Value) *Value {
	if len(axes) == 0 {
		return x
	}
	return b.Emit(&Op{Code: lang.OpTake, Args: append([]*Value{x}, positions...), Axes: axes})[0]
}

func inferTake(op *Op, types []Type) ([]Type, error) {
	if len(op.Axes) == 0 || len(types) != len(op.Axes)+1 {
		return nil, fmt.Errorf("needs a tile, and a position for each of its axes")
	}
	for i, a := range op.Axes {
		if !types[0].Has(a) {
			return nil, fmt.Errorf("takes from axis %s, which %s has not", a.Name, types[0])
		}
		if d := types[i+1].DType; d != a.Counts() {
			return nil, fmt.Errorf("position of type %s along %s, needs %s", d, a.Name, a.Counts())
		}
	}
	return []Type{{DType: types[0].DType, Axes: TakeAxes(types[0], op.Axes, types[1:])}}, nil
}

// takenInRange wants axes of which a block has the whole, and refuses constant positions outside.
func takenInRange(op *Op) error {
	for i, a := range op.Axes {
		if a.Kind != Whole {
			return fmt.Errorf("takes from %s, which is a %s axis: a block has only a part of it", a.Name, a.Kind)
		}
		if i+1 >= len(op.Args) {
			continue // Infer says so
		}
		if c, ok := op.Args[i+1].IsConst(); ok && a.Len > 0 && (c.Int < a.Lo || c.Int >= a.Lo+a.Len) {
			return fmt.Errorf("position %d along %s, which has %d to %d", c.Int, a.Name, a.Lo, a.Lo+a.Len-1)
		}
	}
	return nil
}

func printTake(b *strings.Builder, op *Op) {
	if len(op.Args) == 0 {
		return
	}
	b.WriteString(" " + use(op.Args[0]) + "[")
	for i, a := range op.Axes {
		if i > 0 {
			b.WriteString(", ")
		}
		at := "%?"
		if i+1 < len(op.Args) {
			at = use(op.Args[i+1])
		}
		b.WriteString(quote(a.Name) + " = " + at)
	}
	b.WriteByte(']')
}

func (p *parser) take(op *Op) {
	op.Args = []*Value{p.use()}
	p.punct("[")
	p.items("]", func() {
		op.Axes = append(op.Axes, p.axisUse())
		p.punct("=")
		op.Args = append(op.Args, p.use())
	})
}
