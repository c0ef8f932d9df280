package ptx

import (
	"slices"

	"tilec/jit/ir"
	"tilec/jit/ptx/asm"
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

// passing is how a bulk copy of a tensor that the launch reads once says so to the L2: the end of the mnemonic, and the last operand. Nothing for another tensor.
// A `cp.async` with such an operand is an illegal instruction on an H200, so what threads copy or load has nothing: the launch says it (cuda.LaunchConfig).
func (k *kernel) passing(t *ir.Tensor) (suffix string, policy []asm.Operand) {
	if !slices.Contains(k.Once, t.Name) {
		return "", nil
	}
	return ".L2::cache_hint", []asm.Operand{k.a.Once("passing", func() asm.Reg {
		return k.a.Op(asm.B64, "createpolicy.fractional.L2::evict_first.b64", asm.Float32(1))
	})}
}
