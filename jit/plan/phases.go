package plan

import "tilec/jit/ir"

// This file plans which loops have code of their own for steps in which all of a mask holds (block.Phase).

// phaseSteps is from how many steps of a loop on a phase of its own is worth its code (an H100, causal attention of bf16, 64 channels, three blocks a
// multiprocessor: loops of 4, 8 and 16 steps took 0.95 to 0.96 times as long with it, one of 2 steps 1.03 times).
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
