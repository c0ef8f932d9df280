package jit

// Plans gives the plan of each launch of the program, in order, a line each.
func (p *Program) Plans() []string {
	if p == nil {
		return nil
	}
	plans := make([]string, len(p.steps))
	for i, s := range p.steps {
		plans[i] = s.compiled.Plan.String()
	}
	return plans
}
