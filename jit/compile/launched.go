package compile

import (
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/jit/spec"
)

// This file says what a launch of a lowered kernel passes, to those who launch without this program.

// Size is the size of a dimension for the sizes of a specialisation.
func (l *Lowered) Size(d *ir.Dim, s *spec.Spec) (int64, error) {
	if d.Known() {
		return d.Value, nil
	}
	return l.dims.Size(d, s)
}

// Stride is a stride in elements that the kernel takes as a parameter, where all tensors lie row-major without gaps: shapes are those
// of the specialisation's parameters, in order.
func (l *Lowered) Stride(d *ir.Dim, shapes [][]int64) (int64, error) {
	at, ok := l.dims.Strides[d.Name]
	if !ok || at.Tensor >= len(shapes) {
		return 0, bug.New("bundle", "kernel %s has a stride %s that no launch can compute", l.Func.Name, d.Name)
	}
	n := int64(1)
	for _, size := range shapes[at.Tensor][at.Dim+1:] {
		n *= size
	}
	return n * at.Times / at.By, nil
}

// Pointers gives, for each pointer that the kernel takes, its tensor's place among the parameters of the specialisation.
func (l *Lowered) Pointers(s *spec.Spec) []int {
	var places []int
	for i, p := range s.Params() {
		if p.IsTensor {
			places = append(places, i)
		}
	}
	return append(places, l.dims.Views...)
}

// ByScalars reports a grid, or the place where it begins, that scalars of a launch decide.
func (l *Lowered) ByScalars() bool {
	for _, part := range l.dims.Ranges {
		if part.ByScalars() {
			return true
		}
	}
	return false
}

// CheckLaunch reports the first size of the specialisation with which the kernel cannot be launched.
func (l *Lowered) CheckLaunch(s *spec.Spec) error { return l.dims.CheckNonEmpty(s) }
