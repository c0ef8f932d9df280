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

// keptTogether is by how much less time it must be predicted to take to read rows twice than to have blocks of a cluster keep them (an H200, softmax of 256 rows of 393,216: 327 us where 298,
// 278 and 310 predicted).
const keptTogether = 1.15

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
	margin := 1.0
	if l != nil && asked != onlineAlways && p.contracts(func(*ir.Op) bool { return true }) == 0 {
		if l.Plan.Chunks[softmax.Axis.Name] == 0 { // a block has a row at once, and reads it once
			return l, nil
		}
		if len(l.Plan.Split) > 0 {
			margin = keptTogether
		}
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
	if err == nil && (failed != nil || asked == onlineAlways || o.Plan.Time*margin < l.Plan.Time) {
		o.Plan.Online = onlineAlways
		return o, nil
	}
	return l, failed
}
