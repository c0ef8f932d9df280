package plan

import "tilec/jit/ir"

// This file plans which loops have code of their own for steps in which all of a mask holds (block.Phase).

// phaseSteps is from how many steps of a loop on a phase of its own is worth its code (an H100, causal attention of bf16, 64 channels, three blocks a
// multiprocessor: loops of 16 and 8 steps took 0.93 and 0.96 times as long with it, one of 4 steps 1.01 times where a pin that changes no code took 0.98, and one of 2 steps 1.02).
const phaseSteps = 4

// onePhase reports loops with products that have too few steps for a phase.
func (c at) onePhase() bool {
	few := false
	for _, loop := range c.loops {
		if loop.Axis == nil || !multiplies(loop) {
			continue
		}
		i := c.place[loop.Axis]
		if ceilDiv(c.size[i], c.extent[i]) >= phaseSteps {
			return false
		}
		few = true
	}
	return few
}

// multiplies reports a loop whose steps have a product.
func multiplies(loop *ir.Op) bool {
	for _, op := range loop.Blocks[0].Ops {
		if isContraction(op) {
			return true
		}
	}
	return false
}
