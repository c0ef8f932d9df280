package plan

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file has what sorts take: see block.SortRow.

// sorted is the shared memory that a sort takes, in bytes.
func (c at) sorted(op *ir.Op) int64 {
	n := block.SortBytes(op.Args[0].Type.DType)
	for _, a := range op.Result().Type.Axes {
		e := c.extent[c.place[a]]
		if a == op.Over[0] {
			e = block.SortRow(e)
		}
		n *= e
	}
	return n
}

// sorts lists the kernel's sorts.
func (m *model) sorts() []*ir.Op {
	var all []*ir.Op
	for _, s := range m.ops {
		if s.op.Code == lang.OpSort {
			all = append(all, s.op)
		}
	}
	return all
}

// tooLongToSort is a sort whose rows the shared memory of a block cannot hold; nil where there is none.
func (c at) tooLongToSort(limit int64) *violation {
	for _, op := range c.sorts() {
		n := c.sorted(op)
		if n <= limit {
			continue
		}
		d := op.Args[0].Type.DType
		fits := int64(1)
		for 2*fits*block.SortBytes(d) <= limit {
			fits *= 2
		}
		return &violation{what: fmt.Sprintf("bytes of shared memory a block to sort %d elements of %s along %s, where at most %d fit", op.Over[0].Len, d, op.Over[0].Name, fits), need: n, have: limit}
	}
	return nil
}

// mergeWeight is how many simple operations a step of a bisection costs, in merging sorted chunks.
const mergeWeight = 20

// sortWeight is how many simple operations an element of a sort or a topk costs.
func (c at) sortWeight(op *ir.Op) float64 {
	if op.Code == lang.OpTopK {
		return 12 * float64(op.Axis.Len)
	}
	rounds := 1.0
	for n := int64(2); n < c.extent[c.place[op.Over[0]]]; n *= 2 {
		rounds++
	}
	weight := 10 * rounds * (rounds + 1) / 2
	if i := c.place[op.Over[0]]; c.streamed(i) { // chunks are merged by bisection
		for n := c.extent[i]; n < c.size[i]; n *= 2 {
			rounds++
			weight += float64(mergeWeight * rounds)
		}
	}
	return weight
}
