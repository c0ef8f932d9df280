package plan

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/lang/elementary"
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

// orders reports a sort or a topk.
func (c at) orders() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool { return s.op.Code.Row().Group == lang.GroupSort })
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

// Of a topk, in simple operations: rankWeight is what an element takes to be given a rank, stepWeight to be looked at in a step, and
// mergeRankWeight each pair of results when a chunk is merged. mergeExchanges is how often warps tell one another of a chunk.
const rankWeight, stepWeight, mergeRankWeight, mergeExchanges = 24, 8, 16, 6

// Of a topk that finds a threshold: thresholdSteps is how many bits are halved until as many elements reach the middle as are wanted, of f32 that are spread as
// products and activations are; countWeight is what an element takes to be counted, foundWeight to be looked at when those at the threshold are
// put together, placeWeight what each pair of these takes to find their order, and chunkWeight what a thread does once a chunk (counted in the machine code
// for sm_90a); keepWeight is what it does once a row whose results are kept from chunk to chunk (an H200: rows of 4096 in 1, 2 and 4 chunks, 56, 71 and 83 us); thresholdExchanges is how often warps tell one another of a chunk beside.
const thresholdSteps, countWeight, foundWeight, placeWeight, chunkWeight, keepWeight, thresholdExchanges = 16, 3, 14, 5, 300, 500, 4

// findsThreshold reports a topk that finds a threshold.
func (c at) findsThreshold(op *ir.Op) bool {
	return c.target.IsGPU() && block.FindsThreshold(op, c.rowsOf(op), c.forms["selection"])
}

// orderRegisters is the registers of a thread for what puts elements into order: the ranks of a topk that finds a threshold, the words of a sort.
func (c at) orderRegisters() int64 {
	most := int64(0)
	for _, s := range c.ops {
		switch {
		case s.op.Code == lang.OpTopK && c.findsThreshold(s.op):
			most = max(most, c.count(c.tile(s.op.Args[0]), true)/c.threads())
		case s.op.Code == lang.OpSort:
			most = max(most, 3<<c.sortBits(s.op)) // two for each word, one for where it lies
		}
	}
	return most
}

// sortBits is block.SortBits of a sort.
func (c at) sortBits(op *ir.Op) int {
	return block.SortBits(op.Args[0].Type.DType, c.rowsOf(op), block.SortRow(c.extent[c.place[op.Over[0]]]), int(c.threads()))
}

// A sort takes its words through registers several times, each way ended by a barrier. passTime is by how much a way takes longer than what its threads do,
// and turnTime that for each warp that a multiprocessor has, and each of a thread's turns at words: a trip to shared memory and back (an H200: 11 sorts of
// rows of 128 to 4096 with 4 to 16 warps took 0.55 to 1.35 us a way more than their instructions).
const passTime, turnTime = 0.1e-6, 0.046e-6

// passing is the time, in seconds, that a sort waits in its ways, where so many blocks share a multiprocessor.
func (c at) passing(op *ir.Op, resident int64) float64 {
	length, bits := block.SortRow(c.extent[c.place[op.Over[0]]]), c.sortBits(op)
	turns := ceilDiv(c.rowsOf(op)*length>>bits, c.threads())
	each := passTime + float64(turnTime*float64(int64(c.warps)*turns*resident))
	return float64(float64(block.SortPasses(int64(bits), length)) * c.chunksOf(op) * each)
}

// chunksOf is how many chunks of a row a topk goes through.
func (c at) chunksOf(op *ir.Op) float64 {
	i := c.place[op.Over[0]]
	if op.Over[0].Kind != ir.Loop && !c.streamed(i) {
		return 1
	}
	return float64(max(ceilDiv(c.size[i], c.extent[i]), 1))
}

// selections is how many steps a topk takes for a chunk of a row, on average, and how many chunks there are. The first chunk takes
// one step for each result. Of n chunks each has the n-th part of the largest so far.
func (c at) selections(op *ir.Op) (steps, chunks float64) {
	k := float64(op.Axis.Len)
	if chunks = c.chunksOf(op); chunks == 1 {
		return k, 1
	}
	steps = float64(k*(1+elementary.Log(chunks))) / chunks
	if c.rowsOf(op) > 1 { // all take as many as the one that takes most
		steps *= unevenRows
	}
	return steps, chunks
}

// topKWeight is how many simple operations an element of a topk costs.
func (c at) topKWeight(op *ir.Op) float64 {
	if c.findsThreshold(op) {
		// The first chunk alone has more than are wanted.
		chunks, k := c.chunksOf(op), float64(op.Axis.Len)
		w := rankWeight + foundWeight + countWeight + float64(countWeight*thresholdSteps)/chunks
		once := float64(placeWeight*k*k) + float64(chunkWeight*c.threads())
		if chunks > 1 {
			once += float64(keepWeight*c.threads()) / chunks
		}
		return w + once/float64(max(c.extent[c.place[op.Over[0]]], 1))
	}
	steps, chunks := c.selections(op)
	w := rankWeight + float64(stepWeight*steps)
	if chunks > 1 {
		w += float64(mergeRankWeight*op.Axis.Len*op.Axis.Len) / float64(max(c.extent[c.place[op.Over[0]]], 1))
	}
	return w
}

// selecting is the time, in seconds, that sorts wait for their passes, and topk for what warps tell one another; those that have rows of their own tell nothing.
func (c at) selecting(resident int64) float64 {
	t := 0.0
	for _, s := range c.ops {
		if s.op.Code == lang.OpSort {
			t += c.passing(s.op, resident)
		}
		if s.op.Code != lang.OpTopK {
			continue
		}
		if c.findsThreshold(s.op) {
			t += float64((thresholdSteps + float64(thresholdExchanges*c.chunksOf(s.op))) * c.target.ExchangeLatency)
			continue
		}
		steps, chunks := c.selections(s.op)
		n := float64(steps * chunks)
		if chunks > 1 {
			n += float64(mergeExchanges * chunks)
		}
		if c.rowsOf(s.op) >= int64(c.warps) {
			n /= lanesExchange
		}
		t += float64(n * c.target.ExchangeLatency)
	}
	return t
}

// rowsOf is how many rows of a topk a block has.
func (c at) rowsOf(op *ir.Op) int64 {
	return c.count(tile{axes: c.places(ir.Without(op.Args[0].Type.Axes, op.Over))}, false)
}

// unevenRows is how many more steps rows of a block take together than each alone.
const unevenRows = 1.25

// lanesExchange is how many times faster the lanes of a warp put together what they have than warps do.
const lanesExchange = 3

// exchangeWeight is how many simple operations an element costs in a step of the network of a sort, counted in the machine code for sm_90a: 446 instructions for the 78
// steps of a row of 4096, 387 for the 55 of one of 1024.
const exchangeWeight = 6

// sortWeight is how many simple operations an element of a sort or a topk costs.
func (c at) sortWeight(op *ir.Op) float64 {
	if op.Code == lang.OpTopK {
		return c.topKWeight(op)
	}
	rounds := 1.0
	for n := int64(2); n < c.extent[c.place[op.Over[0]]]; n *= 2 {
		rounds++
	}
	weight := exchangeWeight * rounds * (rounds + 1) / 2
	if i := c.place[op.Over[0]]; c.streamed(i) { // chunks are merged by bisection
		for n := c.extent[i]; n < c.size[i]; n *= 2 {
			rounds++
			weight += float64(mergeWeight * rounds)
		}
	}
	return weight
}
