package run

import "tilec/jit/tensor"

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

// Outputs are the types and shapes of the program's results; their memory is not set.
func (p *Program) Outputs() []*tensor.Tensor {
	if p == nil {
		return nil
	}
	out := make([]*tensor.Tensor, len(p.bound.Outputs))
	for i, v := range p.bound.Outputs {
		out[i] = &tensor.Tensor{DType: v.DType, Shape: v.Shape}
	}
	return out
}
