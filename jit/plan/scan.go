package plan

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file has what scans cost beside the bytes that they move.

// scanTime is what a scan takes, be it of a step of a loop, until the warps of a block know what those before them have together, and columnTime that
// for each of the scans side by side (an H200: prefix sums along rows and columns, of 1 to 32 side by side).
const scanTime, columnTime = 0.7e-6, 0.125e-6

// runCycles is what a run takes that is shorter than a line, and halfSector by how much more one that is shorter than a sector, which the L2 puts together.
const runCycles, halfSector = 1.5, 1.5

// waysAlong is how often a loop goes through what each block has of a streamed axis.
func (c at) waysAlong(i int) float64 {
	if c.blocksAlong(i) > 1 && slices.ContainsFunc(c.ops, func(s step) bool { return c.scanned[s.op][i] }) {
		return 2 // for the total of each block's part first
	}
	return 1
}

// scanning is the time, in seconds, that a block waits for its scans.
func (c at) scanning() float64 {
	t := 0.0
	for _, s := range c.ops {
		if s.op.Code != lang.OpScan || len(s.op.Over) == 0 {
			continue
		}
		i := c.place[s.op.Over[0]]
		columns := c.count(tile{axes: c.places(ir.Without(s.op.Args[0].Type.Axes, s.op.Over))}, false)
		each := scanTime + float64(columnTime*float64(columns))
		steps := 1.0
		if c.streamed(i) {
			steps = float64(c.waysAlong(i) * float64(ceilDiv(c.size[i], c.extent[i]*c.blocksAlong(i))))
		}
		for _, loop := range s.loops {
			steps *= c.trips(loop)
		}
		t += float64(steps * each)
	}
	return t
}

// pieces is the time, in seconds, in which so many multiprocessors read and store what lies in pieces of sectors, each of which takes them as long as a whole one (an H200: norms of 64 channels of images of
// 2 x 3,136 places, by blocks of one channel, 4.8 us, and 10.4 stored with the channels innermost). What goes through shared memory is not asked about: plans of it were measured without.
func (c at) pieces(active float64) float64 {
	if c.contracts {
		return 0
	}
	t := 0.0
	for _, s := range c.ops {
		if s.op.Code != lang.OpLoad && s.op.Code != lang.OpStore || s.op.Tensor.Strides != nil || c.turned[s.op] {
			continue
		}
		run, plain := int64(1), len(s.op.Indices()) > 0
		for _, v := range slices.Backward(s.op.Indices()) {
			if plain = v.Def != nil && (v.Def.Code == lang.OpIndex || v.Def.Code == lang.OpStart); !plain {
				break
			}
			i := c.place[v.Def.Axis]
			if run *= min(c.extent[i], c.size[i]); c.extent[i] < c.size[i] {
				break
			}
		}
		if !plain || float64(run)*float64(s.op.Tensor.DType.Bits())/8 >= c.target.SectorBytes {
			continue
		}
		all, _ := c.elements(s, false)
		if all == 0 { // and no multiprocessor is active
			continue
		}
		t += float64(float64(runCycles*halfSector) * all / float64(run) / (active * c.target.Clock))
	}
	return t
}

// runs is the time, in seconds, in which so many multiprocessors look up the lines of what is scanned: of each run of neighbours that is shorter than a line, one.
func (c at) runs(active float64) float64 {
	if !slices.ContainsFunc(c.ops, func(s step) bool { return s.op.Code == lang.OpScan }) {
		return 0
	}
	t := 0.0
	for _, s := range c.ops {
		if s.op.Tensor == nil {
			continue
		}
		run := c.run(s.op)
		bytes := run * float64(s.op.Tensor.DType.Bits()) / 8
		if bytes >= lineBytes {
			continue
		}
		all, _ := c.elements(s, false)
		cycles := runCycles * all / run
		if bytes < c.target.SectorBytes {
			cycles *= halfSector
		}
		t += float64(cycles / (active * c.target.Clock))
	}
	return t
}
