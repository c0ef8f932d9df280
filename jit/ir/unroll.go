package ir

import (
	"slices"

	"tilec/lang"
)

// This file says which loops are done several steps at a time, and how many.

const (
	// mostLoaded is how many registers a thread has for what the steps at a time load, mostUnrolled how many operations these steps may be.
	mostLoaded, mostUnrolled = 32, 512
)

// Unroll is how many steps of a loop over numbers so many threads do at a time, of which the loads begin before any of the rest: a loop that
// hands something on from step to step waits for each step's loads otherwise. 1 where that is not to be, or cannot: the loop multiplies, or has loops and choices in it, or it
// loads nothing but what depends on the step before. extent is how many positions of an axis a block has at once, steps how many the loop has, 0 where nobody knows.
func (op *Op) Unroll(threads int64, extent func(*Axis) int64, steps int64) int64 {
	if op.Code != lang.OpFor || op.Axis != nil || op.Reverse || threads < 1 {
		return 1
	}
	if _, known := op.Args[0].IsConst(); !known {
		return 1
	}
	body := op.Blocks[0]
	if slices.ContainsFunc(body.Ops, func(op *Op) bool { return len(op.Blocks) > 0 || op.Code.Row().Group == lang.GroupContract }) {
		return 1
	}
	each := int64(0)
	for _, load := range body.aheadOf() {
		if load.Code != lang.OpLoad {
			continue
		}
		elements := int64(1)
		for _, a := range load.Result().Type.Axes {
			elements *= extent(a)
		}
		const register = 4 // bytes
		bytes := (elements + threads - 1) / threads * int64(load.Result().Type.DType.Size())
		each += (bytes + register - 1) / register
	}
	n := int64(1)
	for each > 0 && 2*n*each <= mostLoaded && 2*n*int64(len(body.Ops)) <= mostUnrolled && (steps == 0 || 4*n <= steps) {
		n *= 2
	}
	return n
}

// Ahead are the operations of a loop's step by which it loads what does not depend on the step before, in order.
func (op *Op) Ahead() []*Op { return op.Blocks[0].aheadOf() }

func (b *Block) aheadOf() []*Op {
	depends := map[*Value]bool{}
	for _, v := range b.Params[1:] {
		depends[v] = true
	}
	var loads []*Op
	for _, op := range b.Ops {
		// What is written here may have been written a step before.
		if slices.ContainsFunc(op.Args, func(v *Value) bool { return depends[v] }) || !op.Pure() {
			for _, r := range op.Results {
				depends[r] = true
			}
			continue
		}
		if op.Code == lang.OpLoad {
			loads = append(loads, op)
		}
	}
	needed := map[*Op]bool{}
	var need func(op *Op)
	need = func(op *Op) {
		if op == nil || needed[op] {
			return
		}
		needed[op] = true
		for _, v := range op.Args {
			need(v.Def)
		}
	}
	for _, op := range loads {
		need(op)
	}
	return slices.DeleteFunc(slices.Clone(b.Ops), func(op *Op) bool { return !needed[op] })
}
