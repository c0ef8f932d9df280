package plan

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file has what matrix products cost.

// contract gives, for a contraction, its FLOP/s, by how much padding makes it
// larger, and the bytes of shared memory traffic for each multiplication.
func (c at) contract(op *ir.Op) (rate, padding, bytes float64) {
	t := &c.target
	d := op.Args[0].Type.DType
	m, n := c.free(op.Args[0], op.Args[1]), c.free(op.Args[1], op.Args[0])
	e := float64(d.Size())
	rate, matrix := contractRate(t, op)
	if !matrix {
		return rate, 1, 2 * e / 8 // each operand is used from registers a few times
	}
	rows, depth := int64(16), int64(1)
	if d == lang.I8 || d == lang.U8 {
		depth = int64(block.Depth(d)) // less takes as long
	}
	// B is read again by each group of four warps, or for each 64 rows.
	reads := float64(max(c.warps/4, 1))
	switch {
	case c.byWarpgroups(op):
		rows = max(16*int64(c.warps), wgmmaRows)
		reads = float64(roundUp(m, rows)) / wgmmaRows
	case t.Has(target.Wgmma) && d != lang.F64:
		rows = wgmmaRows
		if d.Size() == 2 {
			rate *= t.MmaSync16
		}
	}
	k := c.count(tile{axes: c.places(op.Over)}, false)
	padded := func(n, to int64) float64 { return float64(roundUp(n, to)) / float64(n) }
	if c.deep { // the many are the instruction's rows, and each of them is written once and read once
		few, many := min(m, n), max(m, n)
		return rate, padded(many, 16) * padded(few, 8) * padded(k, depth) * c.depthPadding(op), 2 * e / float64(few)
	}
	padding = padded(m, rows) * padded(n, 8) * padded(k, depth) * c.depthPadding(op)
	// Both are written once, A is read once.
	bytes = e * (2/float64(n) + (1+reads)/float64(m))
	return rate, padding, bytes
}

// contractRate is the most FLOP/s of a contraction, and whether a matrix unit does it.
func contractRate(t *target.Machine, op *ir.Op) (rate float64, matrix bool) {
	switch d := op.Args[0].Type.DType; {
	case d.IsFloat() && d.Bits() <= 16:
		return t.Tensor16, true
	case d == lang.I8 || d == lang.U8:
		return t.Tensor8, true
	case d == lang.F64 && t.Has(target.MmaF64):
		return t.Tensor64, true
	case d == lang.F32 && op.Precision != "ieee":
		return t.Tensor32, true
	}
	return t.FMA32, false
}

// byWarpgroups reports a product that the backend computes by wgmma: warpgroups
// read both operands from shared memory, which a warp of its own fills.
func (c at) byWarpgroups(op *ir.Op) bool {
	d, m, n := op.Args[0].Type.DType, c.free(op.Args[0], op.Args[1]), c.free(op.Args[1], op.Args[0])
	return c.target.Has(target.Wgmma) && d.IsFloat() && d.Size() == 2 && n >= block.WgmmaColumns && c.warps%4 == 0 && nextPow2(ceilDiv(m, 16)) >= int64(c.warps) &&
		c.oneDepth(op)
}

// oneDepth reports a product that one axis has all the depth of, along which rows of several axes lie contiguous.
func (c at) oneDepth(op *ir.Op) bool {
	long := func(axes []*ir.Axis) (places []int) {
		for _, i := range c.places(axes) {
			if c.extent[i] > 1 {
				places = append(places, i)
			}
		}
		return places
	}
	x, y := op.Args[0], op.Args[1]
	if len(op.Over) > 1 && len(long(op.Over)) > 1 || len(long(ir.Without(y.Type.Axes, x.Type.Axes))) > 1 {
		return false
	}
	if len(long(ir.Without(x.Type.Axes, y.Type.Axes))) < 2 || x.Def == nil || x.Def.Code != lang.OpLoad {
		return true
	}
	return slices.Contains(op.Over, block.Contiguous(block.AccessOf(x.Def)))
}

// allByWarpgroups reports products, each of them by wgmma.
func (c at) allByWarpgroups() bool {
	for _, s := range c.ops {
		if isContraction(s.op) && !c.byWarpgroups(s.op) {
			return false
		}
	}
	return c.contracts
}

// loadsOperands reports products of nothing but what is loaded: such operands stay in shared memory.
func (c at) loadsOperands() bool {
	for _, s := range c.ops {
		if !isContraction(s.op) {
			continue
		}
		for _, v := range s.op.Args[:2] {
			if v.Def == nil || v.Def.Code != lang.OpLoad {
				return false
			}
		}
	}
	return true
}

// together is by how much the products of a launch take longer than at full rate
// where so many blocks share a multiprocessor: the last of them do not spread over
// all, and one warpgroup does not keep the tensor cores busy.
func (c at) together(resident int64) float64 {
	sms := int64(c.target.SMs)
	longer := float64(ceilDiv(c.blocks(), sms*resident)*resident) / float64(ceilDiv(c.blocks(), sms))
	if resident*int64(c.warps) < 4*warpgroupsBusy && !c.takesTurns() {
		longer /= c.target.OneWarpgroup
	}
	return longer
}
