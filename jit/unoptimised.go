package jit

import "tilec/jit/ir"

// BuildIR gives the tile IR of a specialisation as its source says it, before
// any pass and any plan. sizes evaluates the dimensions that the IR does not know.
func BuildIR(s *Spec) (f *ir.Func, sizes func(*ir.Dim) (int64, error), err error) {
	if err := s.check("BuildIR"); err != nil {
		return nil, nil, err
	}
	f, dims, err := buildIR(s, "")
	if err != nil {
		return nil, nil, err
	}
	return f, func(d *ir.Dim) (int64, error) {
		if d.Known() {
			return d.Value, nil
		}
		return dims.size(d, s)
	}, nil
}
