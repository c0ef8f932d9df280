package build

import (
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/spec"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// UnoptimisedIR is the tile IR of a specialisation as its source says it, before any pass and any plan.
type UnoptimisedIR struct {
	Func *ir.Func
	// Size evaluates a dimension.
	Size func(*ir.Dim) (int64, error)
	// Params are the parameters that the tensors are, or are views of.
	Params map[*ir.Tensor]*typed.Param
}

// Unoptimised builds the tile IR of a specialisation. Scalars are those of a run, which may decide what part
// of a dimension the grid walks; where they are nil, it is all of what it may be.
func Unoptimised(s *spec.Spec, scalars map[*typed.Param]lang.Literal) (*UnoptimisedIR, error) {
	if err := s.Check("Unoptimised"); err != nil {
		return nil, err
	}
	f, dims, err := Kernel(s, "")
	if err != nil {
		return nil, err
	}
	u := &UnoptimisedIR{Func: f, Params: map[*ir.Tensor]*typed.Param{}}
	u.Size = func(d *ir.Dim) (int64, error) {
		if d.Known() {
			return d.Value, nil
		}
		if p, ok := dims.Ranges[d.Name]; ok {
			return p.Size(s, scalars)
		}
		return dims.Size(d, s)
	}
	all := s.Params()
	var tensors []*typed.Param
	for _, p := range all {
		if p.IsTensor {
			tensors = append(tensors, p)
		}
	}
	for _, place := range dims.Views {
		tensors = append(tensors, all[place])
	}
	if len(tensors) != len(f.Tensors) {
		return nil, bug.New("build", "kernel %s has %d tensors, and %d are known", s.Kernel.Name, len(f.Tensors), len(tensors))
	}
	for i, t := range f.Tensors {
		u.Params[t] = tensors[i]
	}
	return u, nil
}

// IR gives the tile IR of a specialisation as its source says it, before
// any pass and any plan. sizes evaluates the dimensions that the IR does not know.
func IR(s *spec.Spec) (f *ir.Func, sizes func(*ir.Dim) (int64, error), err error) {
	u, err := Unoptimised(s, nil)
	if err != nil {
		return nil, nil, err
	}
	return u.Func, u.Size, nil
}
