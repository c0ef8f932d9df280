package spec

import (
	"cmp"

	"tilec/typecheck/typed"
)

// This file has what the program sees of how an axis is cut, which no plan decides: what a launch gives for the
// extent wins, as everywhere, and is then what the program sees.

// Span is the run of positions whose bounds are an axis's start and end; 0 of an axis that is not cut.
func (s *Spec) Span(a *typed.Axis) int64 { return s.given(a, a.Span) }

// Extent is what the language gives an axis; 0 where the planner chooses.
func (s *Spec) Extent(a *typed.Axis) int64 { return s.given(a, a.Extent) }

func (s *Spec) given(a *typed.Axis, n int64) int64 {
	if pin := s.Pins[cmp.Or(a.Tile, a.Name)]; n > 0 && pin > 0 {
		return pin
	}
	return n
}
