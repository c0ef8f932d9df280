package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// maxWorkingSet is the most memory that the tiles of one block may take, in bytes.
const maxWorkingSet = 4 << 30

// cpu predicts the cost on the CPU, which runs the IR operation by operation, blocks in parallel: coarse, but it orders
// the candidates. Tiles are in memory: only a pin can make them too large.
func (c at) cpu() (*estimate, *violation) {
	e, t := &estimate{blocks: c.blocks()}, &c.target
	cores := int64(max(t.SMs, 1))
	if e.workingSet = c.workingSet(); e.workingSet > maxWorkingSet {
		return nil, &violation{what: "bytes of memory a block", need: e.workingSet, have: maxWorkingSet}
	}
	cold := 1.0
	switch {
	case e.workingSet > t.RemoteSets*t.L2Size:
		cold = t.RemoteFactor
	case e.workingSet > t.L2Size:
		cold = t.ColdFactor
	}
	for _, s := range c.ops {
		n, _ := c.elements(s, false)
		runs := float64(e.blocks)
		for _, loop := range s.loops {
			runs *= c.trips(loop)
		}
		e.latency += float64(runs * t.OpOverhead)
		switch {
		case isContraction(s.op):
			e.compute += float64(2 * n * t.FlopTime)
			m, k := float64(c.free(s.op.Args[0], s.op.Args[1])), float64(c.free(s.op.Args[1], s.op.Args[0]))
			e.issue += float64(n * (1/m + 1/k) * t.PackTime * cold)
			if load := s.op.Args[1].Def; load != nil && load.Code == lang.OpLoad {
				e.issue += float64(n / m * t.RunTime / c.run(load))
			}
		case len(s.axes) > 0:
			if s.op.Tensor != nil {
				e.issue += float64(n * (float64(t.ElementTime*cold) + t.RunTime/c.run(s.op)))
				continue
			}
			e.issue += float64(n * c.weight(s.op) * t.ElementTime * cold)
		}
	}
	// One core begins, and the others come to what is left.
	all := e.compute + e.issue + e.latency
	alone := min(all, t.Alone)
	share := c.busiest(cores)
	if all > 0 {
		share = float64(alone+float64((all-alone)*share)) / all
	}
	e.compute, e.issue, e.latency = float64(e.compute*share), float64(e.issue*share), float64(e.latency*share)
	e.waves = 1 / (share * float64(cores))
	e.time = e.compute + e.issue + e.latency
	if n := cores * t.BlocksPerCore; e.blocks < n {
		e.time *= 1 + float64(0.1*float64(n-e.blocks))/float64(n)
	}
	return e, nil
}

// busiest is the share of the work that the busiest core has: of blocks of the full extents it has its part, and the ragged
// ones, which are smaller, fill up the others.
func (c at) busiest(cores int64) float64 {
	full, part := int64(1), 1.0 // how many blocks of the full extents, and the share of each
	for i, a := range c.f.Axes {
		if a.Kind == ir.Grid && c.size[i] > 0 {
			n := min(c.extent[i], c.size[i])
			full *= c.size[i] / n
			part *= float64(n) / float64(c.size[i])
		}
	}
	return max(float64(ceilDiv(full, cores))*part, 1/float64(min(cores, c.blocks())))
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
