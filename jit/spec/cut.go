package spec

import (
	"slices"

	"tilec/lang"
)

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

// inHalf is where a tensor that the whole kernel has at a place among its operands stands among those of a half; -1 where the half has none.
func (s *Spec) inHalf(place int) int {
	operands := s.Whole().Operands()
	read := func(all []Operand) (n int) {
		for _, o := range all {
			if !o.IsOutput() {
				n++
			}
		}
		return n
	}
	before := read(operands[:place])
	switch {
	case !operands[place].IsOutput():
		return before
	case !s.Cut.Behind:
		return -1
	}
	return read(operands) + 1 + place - before
}

// operandsOfHalf are those of a half of a kernel that others are fused into: what the whole reads, the tensor between the halves, and, of the second, what the whole stores.
func (s *Spec) operandsOfHalf() []Operand {
	var read, stored []Operand
	for _, o := range s.Whole().Operands() {
		if o.IsOutput() {
			stored = append(stored, o)
		} else {
			read = append(read, o)
		}
	}
	inputs := len(s.Cut.Of.Kernel.Params)
	between := Operand{Param: Params(s.Kernel)[inputs], Layout: &s.Layouts[inputs], Of: s}
	if !s.Cut.Behind {
		return append(read, between)
	}
	return append(append(read, between), stored...)
}

// IsOutput reports a tensor that a launch stores.
func (o *Operand) IsOutput() bool { return o.IsTensor && o.Mode == lang.Out }
