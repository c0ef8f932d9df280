package plan

import (
	"slices"
)

// Costs of the CPU backend, which runs the IR operation by operation, blocks
// in parallel: coarse, but they order the candidates.
const (
	// opOverhead is the time to start one operation on a tile, in seconds.
	opOverhead = 150e-9
	// elementTime is for one element of a simple operation.
	elementTime = 0.5e-9
	// flopTime is for one multiplication or addition of the blocked matrix product, packTime for one element of an operand.
	flopTime, packTime = 1.0 / 30e9, 0.7e-9
	// runTime is to start on a run of neighbours in memory.
	runTime = 4e-9
	// coldFactor slows work on tiles that do not fit the core's cache, remoteFactor on
	// those of which which are larger still by remoteSets.
	coldFactor, remoteFactor, remoteSets = 3, 6, 16
	// blocksPerCore is from how many blocks a core on that the cores are balanced.
	blocksPerCore = 4
)

// maxWorkingSet is the most memory that the tiles of one block may take, in bytes.
const maxWorkingSet = 4 << 30

// cpu predicts the cost on the CPU. Tiles are in memory: only a pin can make them too large.
func (c at) cpu() (*estimate, *violation) {
	e := &estimate{blocks: c.blocks()}
	cores := int64(max(c.target.SMs, 1))
	if e.workingSet = c.workingSet(); e.workingSet > maxWorkingSet {
		return nil, &violation{what: "bytes of memory a block", need: e.workingSet, have: maxWorkingSet}
	}
	cold := 1.0
	switch {
	case e.workingSet > remoteSets*c.target.L2Size:
		cold = remoteFactor
	case e.workingSet > c.target.L2Size:
		cold = coldFactor
	}
	for _, s := range c.ops {
		n, _ := c.elements(s, false)
		runs := float64(e.blocks)
		for _, loop := range s.loops {
			runs *= c.trips(loop)
		}
		e.latency += float64(runs * opOverhead)
		switch {
		case isContraction(s.op):
			e.compute += float64(2 * n * flopTime)
			m, k := float64(c.free(s.op.Args[0], s.op.Args[1])), float64(c.free(s.op.Args[1], s.op.Args[0]))
			e.issue += float64(n * (1/m + 1/k) * packTime * cold)
		case len(s.axes) > 0:
			if s.op.Tensor != nil {
				e.issue += float64(n * (float64(elementTime*cold) + runTime/c.run(s.op)))
				continue
			}
			e.issue += float64(n * c.weight(s.op) * elementTime * cold)
		}
	}
	share := float64(ceilDiv(e.blocks, cores)) / float64(e.blocks) // of the busiest core
	e.compute, e.issue, e.latency = float64(e.compute*share), float64(e.issue*share), float64(e.latency*share)
	e.waves = 1 / (share * float64(cores))
	e.time = e.compute + e.issue + e.latency
	if n := cores * blocksPerCore; e.blocks < n {
		e.time *= 1 + float64(0.1*float64(n-e.blocks))/float64(n)
	}
	return e, nil
}

// workingSet is the bytes of the tiles that are live at once, and of those that contractions read.
func (c at) workingSet() int64 {
	most := int64(0)
	for _, live := range c.live {
		n := int64(0)
		for _, t := range live {
			n += c.count(t, false) * t.bytes
		}
		most = max(most, n)
	}
	for _, o := range c.operands {
		t := o.tile
		// The matrix product packs a panel of a long operand at a time.
		axes := slices.DeleteFunc(slices.Clone(t.axes), func(i int) bool { return slices.Contains(o.over, i) })
		most += c.count(tile{axes: axes}, false) * t.bytes * 256
	}
	return most
}
