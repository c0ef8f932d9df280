package run

// FLOP is how many operations on floating-point numbers one run of the program has to do at least; what several blocks compute alike
// counts once.
func (p *Program) FLOP() int64 {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := int64(0)
	for i := range p.steps {
		if s := &p.steps[i]; !s.empty && s.compiled != nil {
			n += s.compiled.Work(s.Spec, p.device.Target()).FLOP
		}
	}
	return n
}
