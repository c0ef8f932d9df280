package compile

import (
	"tilec/jit/ir"
	"tilec/jit/pass"
	"tilec/jit/spec"
)

const (
	// onlineNever and onlineAlways are what the setting `online` asks for.
	onlineNever, onlineAlways = 1, 2
)

// orOnline gives the code in which a softmax goes through its scores once, where there is one and the planner expects that to take less time than l, or a pin asks for it; failed is why
// there is no l.
func (p *planning) orOnline(s *spec.Spec, pins map[string]int64, l *Lowered, failed error) (*Lowered, error) {
	asked, pinned := pins["online"]
	if !pinned {
		asked = p.f.Hints["online"]
	}
	softmax := ir.FindSoftmax(p.f)
	if !p.target.IsGPU() || asked == onlineNever || softmax == nil {
		return l, failed
	}
	if l != nil && asked != onlineAlways && p.contracts(func(*ir.Op) bool { return true }) == 0 && l.Plan.Chunks[softmax.Axis.Name] == 0 { // a block has a row at once, and reads it once
		return l, nil
	}
	other := *p
	other.f = ir.Clone(p.f)
	if err := pass.Run(other.f, pass.Options{Verify: true, Matrix: hasMatrixUnit(p.target), Online: true}); err != nil {
		return nil, asBug("passes", err)
	}
	o, err := other.fitWith(s, pins)
	if isBug(err) {
		return nil, err
	}
	if err == nil && (failed != nil || asked == onlineAlways || o.Plan.Time < l.Plan.Estimate.AgainstReading()) {
		o.Plan.Online = onlineAlways
		return o, nil
	}
	return l, failed
}
