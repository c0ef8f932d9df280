package jit

import (
	"math"

	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file has grids over a part of a dimension. `grid i in N[lo .. hi] by B`
// is a grid over a dimension of its own, of hi - lo elements, whose positions
// are moved by lo: what one would write by hand. So no pass and no backend knows
// of it, and its accesses are the shifted ones that they all know.

// gridPart is a number that a launch computes: how many positions a grid axis has, or where it begins.
type gridPart struct {
	axis  *typed.Axis
	begin bool
}

// size is the number, given the scalars of a run; nil where they are not known
// yet, which gives the most that it can be.
func (p gridPart) size(s *Spec, scalars map[*typed.Param]lang.Literal) (int64, error) {
	dim, err := p.axis.Dim.Eval(s.value)
	if err != nil {
		return 0, err
	}
	e := &evaluator{spec: s, scalars: scalars}
	from, okFrom := e.value(p.axis.From)
	to, okTo := e.value(p.axis.To)
	if (!okFrom || !okTo) && scalars != nil {
		return 0, launchError(p.axis.At, lang.ErrArgShape, "the range of %s of %s overflows for %s", p.axis.Name, s.Kernel.Name, e.given(p.axis.From))
	}
	if !okFrom {
		from = number{}
	}
	if !okTo {
		to = number{int: dim}
	}
	begin := min(max(from.int, 0), dim)
	if p.begin {
		return begin, nil
	}
	return max(min(to.int, dim)-begin, 0), nil
}

// byScalars reports a number that differs from run to run.
func (p gridPart) byScalars() bool { return usesScalars(p.axis.From) || usesScalars(p.axis.To) }

func usesScalars(x typed.Expr) bool {
	_, found := typed.Find(x, func(*typed.ScalarRef) bool { return true })
	return found
}

// part makes the dimension that a grid axis over a part of its own walks, and notes where it begins.
func (b *irBuilder) part(a *typed.Axis, name string) *ir.Dim {
	limit := int64(math.MaxInt32)
	if b.wide(a.Dim) {
		limit = math.MaxInt64
	}
	number := func(what string, p gridPart, exprs ...typed.Expr) *ir.Dim {
		d := &ir.Dim{Name: name + what, Value: -1, Divisor: 1, Wide: b.wide(a.Dim)}
		_, known := b.known(a.Dim)
		for _, x := range exprs {
			known = known && b.fixedScalar(x)
		}
		e := &evaluator{spec: b.spec}
		from, _ := e.value(a.From)
		switch {
		case p.begin && b.fixedScalar(a.From): // where it is beyond the dimension, there are no blocks
			d.Value = min(max(from.int, 0), limit)
		case known:
			n, err := p.size(b.spec, nil)
			if err != nil {
				panic(err)
			}
			d.Value = n
		default:
			b.launch.parts[d.Name] = p
		}
		b.f.Dims = append(b.f.Dims, d)
		return d
	}
	b.begins[a] = number(".begin", gridPart{a, true}, a.From)
	return number(".count", gridPart{a, false}, a.From, a.To)
}

// fixedScalar reports a scalar that the specialisation decides.
func (b *irBuilder) fixedScalar(x typed.Expr) bool {
	return typed.All(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.SizeExpr:
			_, ok := b.known(n.Size)
			return ok
		case *typed.Const, *typed.ConstRef, *typed.Apply, *typed.If, *typed.Body:
			return true
		}
		return false
	})
}

// moved is a position along an axis, or a tile of them, in the axis's dimension.
func (b *irBuilder) moved(v *ir.Value, a *typed.Axis) *ir.Value {
	begin := b.begins[a]
	if begin == nil || begin.Known() && begin.Value == 0 {
		return v
	}
	switch v.Def.Code {
	case lang.OpIndex, lang.OpStart, lang.OpEnd:
		return b.Op(lang.OpAdd, v, b.sizeOf(begin))
	}
	return v
}

// positionsAlong is the tile of the positions of an axis of the IR, and of a scalar one its position.
func (b *irBuilder) positionsAlong(x *ir.Axis) *ir.Value {
	code := lang.OpIndex
	if x.Scalar {
		code = lang.OpStart
	}
	v := b.Emit(&ir.Op{Code: code, Axis: x})[0]
	for a, y := range b.axes {
		if x == y {
			return b.moved(v, a)
		}
	}
	return v
}

// ofPart reports positions that a grid axis over a part of its dimension gives: those inside the dimension, whatever its size.
func ofPart(x typed.Expr) bool {
	a, ok := x.(*typed.Apply)
	return ok && a.Axis != nil && a.Axis.From != nil && (a.Op == lang.OpIndex || a.Op == lang.OpStart)
}

// ranges makes what depends on the scalars of a run ready, and reports a launch without blocks.
func (s *step) ranges(scalars map[*typed.Param]lang.Literal) (empty bool, err error) {
	for i, p := range s.compiled.params {
		part, ok := gridPart{}, false
		if p.Kind == ir.ParamDim {
			part, ok = s.compiled.dims.parts[p.Dim.Name]
		}
		if !ok {
			continue
		}
		n, err := part.size(s.spec, scalars)
		if err != nil {
			return false, err
		}
		s.args[i].bits = uint64(n)
		empty = empty || !part.begin && n == 0
	}
	if s.debug != nil {
		if s.debug.grid, err = s.grid(scalars); err != nil {
			return false, err
		}
	}
	return empty, nil
}

// grid is how many blocks the launch has along each axis of its grid.
func (s *step) grid(scalars map[*typed.Param]lang.Literal) ([]int64, error) {
	var grid []int64
	for _, a := range s.compiled.Func.Grid() {
		n, err := a.Dim.Value, error(nil)
		if part, ok := s.compiled.dims.parts[a.Dim.Name]; ok {
			n, err = part.size(s.spec, scalars)
		} else if !a.Dim.Known() {
			n, err = s.compiled.dims.size(a.Dim, s.spec)
		}
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, launchError(a.At, lang.ErrArgShape, "%s walks a dimension %s, which is %d and must be 0 or more", s.spec.Kernel.Name, a.Dim.Name, n)
		}
		grid = append(grid, (n+a.Extent-1)/a.Extent)
	}
	return grid, nil
}

// scalarsOf are the kernel's scalars in a run.
func (s *step) scalarsOf(args []lang.Literal) map[*typed.Param]lang.Literal {
	given := map[*typed.Param]lang.Literal{}
	n := 0
	for _, p := range s.spec.Kernel.Params {
		if !p.IsTensor {
			given[p] = s.scalars[n].value(args)
			n++
		}
	}
	return given
}
