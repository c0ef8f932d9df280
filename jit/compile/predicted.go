package compile

import (
	"tilec/jit/misuse"
	"tilec/jit/plan"
	"tilec/jit/spec"
	"tilec/jit/target"
)

// prediction is what the planner reckoned of a launch, or why there is no plan.
type prediction struct {
	estimate *plan.Estimate
	err      error
}

// Predicted is what a launch of a specialisation is predicted to take on the compiler's device, or the error of one that has no plan. It serves to
// choose among launches before any is compiled; each is lowered once.
func (c *Compiler) Predicted(s *spec.Spec) (*plan.Estimate, error) {
	key := compiledKey{c.Device.Space(), c.Device.Target().Name, s.Key()}
	c.mu.Lock()
	p, found := c.predictions[key]
	c.mu.Unlock()
	if !found {
		l, err := lowerFor(s, c.Device.Target(), lowering{store: c.Cache})
		if p.err = err; err == nil {
			p.estimate = &plan.Estimate{Seconds: l.Plan.Time}
			if l.Plan.Estimate != nil {
				p.estimate = l.Plan.Estimate
			}
		}
		if s.Vary == nil { // the next may be another
			c.mu.Lock()
			if c.predictions == nil {
				c.predictions = map[compiledKey]prediction{}
			}
			c.predictions[key] = p
			c.mu.Unlock()
		}
	}
	return p.estimate, p.err
}

// PredictedOn is how many seconds the plan is predicted to take on another machine, or on the same one with other figures: nothing is chosen
// anew. It is an error if the plan does not fit that machine.
func (l *Lowered) PredictedOn(t target.Machine) (float64, error) {
	if l == nil || l.Plan == nil {
		return 0, misuse.Unset("Lowered.PredictedOn", "the kernel is nothing that Lower gave")
	}
	p, err := plan.ChooseAt(l.effort, l.uncut, t, l.sizes, l.Choice())
	if err != nil {
		return 0, err
	}
	return p.Time, nil
}
