package compile

import "tilec/jit/spec"

// prediction is what the planner reckoned of a launch, or why there is no plan.
type prediction struct {
	seconds float64
	err     error
}

// Predicted is how many seconds a launch of a specialisation is predicted to take on the compiler's device, or the error of one that has no plan. It serves to
// choose among launches before any is compiled; each is lowered once.
func (c *Compiler) Predicted(s *spec.Spec) (float64, error) {
	key := compiledKey{c.Device.Space(), c.Device.Target().Name, s.Key()}
	c.mu.Lock()
	p, found := c.predictions[key]
	c.mu.Unlock()
	if !found {
		l, err := Lower(s, c.Device.Target(), nil)
		if p.err = err; err == nil {
			p.seconds = l.Plan.Time
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
	return p.seconds, p.err
}
