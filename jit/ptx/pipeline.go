package ptx

import "tilec/jit/ir"

// pipeline is the slice of a loop that loads the operands of its contractions.
type pipeline struct{ k *kernel }

func (k *kernel) newPipeline(op *ir.Op, lo, hi reg, step int64) *pipeline { return &pipeline{k} }
func (p *pipeline) step(position reg)                                     {}
func (p *pipeline) finish()                                               {}
