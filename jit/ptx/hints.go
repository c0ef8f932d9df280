package ptx

import (
	"fmt"

	"tilec/jit/ir"
)

// This file does what the source says of single accesses. A hint changes which
// instructions are used, never what they read or write; what became of it is kept for the explanation of the plan.

// eviction is the part of a load's or a store's mnemonic that tells the cache how long the data is wanted.
func (k *kernel) eviction(op *ir.Op, mnemonic string) string {
	h := op.Hint
	if !h.Given() {
		return ""
	}
	late := ""
	switch {
	case h.Latency > 1 && k.plan.Stages < 2:
		late = "the latency has no effect: the plan has one stage"
	case h.Latency > 1:
		late = "the latency has no effect: no loop loads it for a contraction that could run ahead"
	case h.Latency == 1:
		late = "waited for at once"
	}
	if h.Cache == "" {
		k.hinted[op] = late
		return ""
	}
	k.a.Require(74)
	suffix := ".L1::" + h.Cache
	k.hinted[op] = mnemonic + suffix
	if late != "" {
		k.hinted[op] += "; " + late
	}
	return suffix
}

// deepen gives the pipeline the stages that one of its loads asks for, and says what became of the hints.
func (p *pipeline) deepen() {
	asked := 0
	for _, x := range p.items {
		asked = max(asked, int(x.load.Hint.Latency))
	}
	if asked > 0 {
		p.stages = max(asked, 2)
		p.ahead = p.stages - 1
	}
	for _, x := range p.items {
		h := x.load.Hint
		if !h.Given() {
			continue
		}
		text := fmt.Sprintf("cp.async in %d stages", p.stages)
		if p.ring != nil {
			text = fmt.Sprintf("TMA in %d stages", p.stages)
		}
		// A copy could be given an L2 policy, but the driver's compiler makes an instruction
		// of it (cp.async with createpolicy's result) that an H200 finds illegal, as fuzzing showed.
		switch {
		case h.Cache == "no_allocate" && x.vec*x.tile.d.Size() == 16:
			text += ", past the L1 cache as " + h.Cache + " wants it"
		case h.Cache != "":
			text += fmt.Sprintf("; %s has no effect on a copy that runs ahead", h.Cache)
		}
		p.k.hinted[x.load] = text
	}
}
