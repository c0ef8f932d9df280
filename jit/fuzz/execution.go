package fuzz

import (
	"errors"

	"tilec/jit/build"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file makes a launch ready for the reference.

var errTooMuch = errors.New("reference: the run computes more elements than the reference may")

// machine makes the run of one launch on tensors and scalars by the names of the parameters; given are those of the
// scalars that ranges of the grid depend on. An axis whose extent nothing pins is cut into pieces of so many elements; 0 is all of it.
func (a Arithmetic) machine(spec *spec.Spec, given map[*typed.Param]lang.Literal, tensors map[string]*array, scalars map[string]*tile, cut func(*ir.Axis) int64) (*machine, *Problem) {
	u, err := build.Unoptimised(spec, given)
	if err != nil {
		return nil, problem(Crash, "%v", err)
	}
	f := u.Func
	m := &machine{fn: f, sizes: u.Size, arith: a, precision: spec.Precision, limit: maxWork,
		tensors: map[*ir.Tensor]*array{}, values: map[*ir.Value]*tile{}, at: map[*ir.Axis]span{}, walked: map[*ir.Axis]span{}, loose: map[*ir.Value]float64{}}
	if p := spec.Kernel.Precision; p != "" {
		m.precision = p
	}
	pinned := func(a *ir.Axis) int64 {
		name := a.Tile
		if name == "" {
			name = a.Name
		}
		if n, ok := spec.Pins[name]; ok {
			return n
		}
		if len(a.Choices) == 1 {
			return a.Choices[0]
		}
		return 0
	}
	spans := map[*ir.Axis]int64{}
	f.Walk(func(op *ir.Op) bool {
		if op.Span > 0 {
			spans[op.Axis] = op.Span
		}
		return true
	})
	// Blocks that share an axis begin at several places of it, whatever its steps are.
	m.fixed = func(a *ir.Axis) bool { return pinned(a) > 0 && a.Split <= 1 && spec.Pins["split"] <= 1 }
	m.extent = func(a *ir.Axis) int64 {
		if n := pinned(a); n > 0 {
			return n
		}
		open := cut(a)
		if n := spans[a]; n > 0 { // what the program sees is a multiple of it
			for step := open; 0 < step && step < n; step++ {
				if n%step == 0 {
					return step
				}
			}
			return n
		}
		if open > 0 {
			return open
		}
		n, err := m.sizes(a.Dim)
		if err != nil {
			panic(fault{err})
		}
		return max(n, 1)
	}
	for _, t := range f.Tensors {
		p := u.Params[t]
		x := tensors[p.Name]
		if t.Name != p.Name { // a view of an input
			shape := make([]int64, len(t.Shape))
			for i, d := range t.Shape {
				if shape[i], err = m.sizes(d); err != nil {
					return nil, problem(Crash, "%v", err)
				}
			}
			x = newArray(t.DType, shape, x.data)
		}
		m.tensors[t] = x
	}
	scalar := 0
	for _, p := range spec.Kernel.Params {
		if !p.IsTensor {
			m.values[f.Scalars[scalar]] = scalars[p.Name]
			scalar++
		}
	}
	return m, nil
}

// scalarTile is a scalar argument.
func scalarTile(d lang.DType, v ir.Const) *tile {
	t := &tile{dtype: d}
	if d.IsFloat() {
		t.f = []interval{point(v.Float)}
	} else {
		t.n = []whole{{v.Int, true}}
	}
	return t
}

// problemOf says what an error of a run is.
func problemOf(err error) *Problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTooMuch):
		return problem(TooLarge, "%v", err)
	}
	return problem(Unproven, "%v", err)
}
