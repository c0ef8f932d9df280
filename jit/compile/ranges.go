package compile

import (
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/spec"
)

// orSideBySide gives the code whose blocks have several ranges that are read from memory, as the rows of a sparse matrix, side by side,
// where there are such and the planner expects it to take less time than l, or a pin asks for so many.
func (p *planning) orSideBySide(s *spec.Spec, pins map[string]int64, l *Lowered) (*Lowered, error) {
	asked, pinned := pins[pass.RangesParameter]
	if !pinned {
		asked = p.f.Hints[pass.RangesParameter]
	}
	if !p.target.IsGPU() || asked == 1 || !pass.HasRanges(p.f) {
		return l, nil
	}
	other := *p
	other.f = ir.Clone(p.f)
	if err := pass.Run(other.f, pass.Options{Verify: true, Ranges: true}); err != nil {
		return nil, asBug("passes", err)
	}
	o, err := other.fitWith(s, pins)
	if isBug(err) {
		return nil, err
	}
	if err == nil && (asked > 1 || o.Plan.Time < l.Plan.Time) {
		return o, nil
	}
	return l, nil
}
