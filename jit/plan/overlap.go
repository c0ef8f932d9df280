package plan

import (
	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about loops of two products of which the last takes what is computed of the first, as attention's. Where a thread has
// registers for both, they overlap with what lies between (block.Overlap); where not, each is waited for.

// awaitedProducts is by how much a kernel takes longer whose products are waited for one after the other, where others overlap: as
// FlashAttention-3 reports of its own loop on an H100 (661 TFLOP/s with overlap, 570 without).
const awaitedProducts = 1.16

// overlapRegisters is how many registers a thread takes while both products of a step are under way; 0 where no loop has two such
// products.
func (c at) overlapRegisters() int64 {
	most := int64(0)
	for _, loop := range c.loops {
		first, last := c.dependentProducts(loop)
		if first == nil || !c.byWarpgroups(first) || !c.byWarpgroups(last) {
			continue
		}
		words := func(v *ir.Value) int64 {
			return c.count(tile{axes: c.places(v.Type.Axes)}, true) * int64(v.Type.DType.Size()) / 4 / c.threads()
		}
		most = max(most, words(first.Result())+words(last.Result())+words(last.Args[0])+block.RegistersBeside)
	}
	return most
}

// awaits reports a loop whose two products do not overlap for want of registers, where so many blocks share a multiprocessor.
func (c at) awaits(resident int64) bool {
	return c.overlapRegisters() > int64(block.RegistersBesideProducer(c.target, c.warps, c.producer, int(resident)))
}

// turnSteps is up to how many steps of such a loop two warpgroups take turns: while one starts products, the other computes what lies between. In five calls on H100s,
// attention of 128 channels by 128 queries took 508 to 536 us with turns and 538 to 550 without, of 32 steps (4x16x4096 positions), and 3,520 to 3,781 and 3,592 to 3,765
// of 128 (2x16x16384); on an H200 532 and 533, and 3,756 to 3,800 and 3,639 to 3,685.
const turnSteps = 64

// inTurns is the form of block.Overlap in which two warpgroups take turns.
const inTurns = 3

// alternates reports a candidate of two warpgroups that take turns at the products of a loop.
func (c at) alternates() bool {
	if c.warps != 2*teamWarps || !c.softmax || c.overlapRegisters() == 0 || c.awaits(1) {
		return false
	}
	for _, loop := range c.loops {
		if loop.Axis != nil && multiplies(loop) {
			i := c.place[loop.Axis]
			return ceilDiv(c.size[i], c.extent[i]) <= turnSteps
		}
	}
	return false
}

// dependentProducts are the two products of a loop of which the last takes what is computed of the first; nil where it has none.
func (c at) dependentProducts(loop *ir.Op) (first, last *ir.Op) {
	from := map[*ir.Value]bool{} // what is computed of the first product
	for _, op := range loop.Blocks[0].Ops {
		takes := false
		for _, v := range op.Args {
			takes = takes || from[v]
		}
		switch {
		case isContraction(op) && first == nil && op.Code == lang.OpDot:
			first, takes = op, true
		case isContraction(op) && first != nil && last == nil && op.Code == lang.OpMma && from[op.Args[0]]:
			last = op
		case isContraction(op):
			return nil, nil
		}
		for _, v := range op.Results {
			from[v] = takes
		}
	}
	if last == nil {
		return nil, nil
	}
	return first, last
}
