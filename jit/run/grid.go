package run

import (
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file computes the grid of a launch, which scalars of the run may decide.

// ranges makes what depends on the scalars of a run ready, and reports a launch without blocks.
func (s *step) ranges(scalars map[*typed.Param]lang.Literal) (empty bool, err error) {
	for i, p := range s.compiled.Params {
		part, ok := spec.GridRange{}, false
		if p.Kind == ir.ParamDim {
			part, ok = s.compiled.Dims.Ranges[p.Dim.Name]
		}
		if !ok {
			continue
		}
		n, err := part.Size(s.Spec, scalars)
		if err != nil {
			return false, err
		}
		s.args[i].Bits = uint64(n)
		empty = empty || !part.Begin && n == 0
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
	sizes := map[*ir.Dim]int64{}
	for _, a := range s.compiled.Func.Grid() {
		n, err := a.Dim.Value, error(nil)
		if part, ok := s.compiled.Dims.Ranges[a.Dim.Name]; ok {
			n, err = part.Size(s.Spec, scalars)
		} else if !a.Dim.Known() {
			n, err = s.compiled.Dims.Size(a.Dim, s.Spec)
		}
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, spec.Errorf(a.At, lang.ErrArgShape, "%s walks a dimension %s, which is %d and must be 0 or more", s.Spec.Kernel.Name, a.Dim.Name, n)
		}
		sizes[a.Dim] = n
	}
	return ir.Blocks(s.compiled.Func.Grid(), func(d *ir.Dim) int64 { return sizes[d] }), nil
}

// scalarsOf are the kernel's scalars in a run.
func (s *step) scalarsOf(args []lang.Literal) map[*typed.Param]lang.Literal {
	given := map[*typed.Param]lang.Literal{}
	n := 0
	for _, p := range s.Spec.Kernel.Params {
		if !p.IsTensor {
			given[p] = s.Scalars[n].Value(args)
			n++
		}
	}
	return given
}
