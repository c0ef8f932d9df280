package spec

import "slices"

// Cut says that a launch is one of two that a kernel is cut in, with a tensor between them; see pass.Halves. The launch's Kernel is that of Of, but
// that the first has the tensor as its only output, and the second as its last input.
type Cut struct {
	// Of is the specialisation of the whole kernel.
	Of *Spec
	// Behind: the launch is the second.
	Behind bool
}

// Whole is the specialisation of the whole kernel, of which the launch computes a half; the specialisation itself where it is not cut.
func (s *Spec) Whole() *Spec {
	if s.Cut == nil {
		return s
	}
	w := *s.Cut.Of
	w.Dependent, w.Timed = s.Dependent, s.Timed
	w.Layouts = slices.Clone(w.Layouts)
	own := Params(s.Kernel)
	for i, p := range Params(w.Kernel) {
		if at := slices.Index(own, p); at >= 0 {
			w.Layouts[i] = s.Layouts[at]
		}
	}
	return &w
}
