package ptx

import (
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
	case h.Latency > 1 && k.Stages < 2:
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
