package block

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides whether blocks whose rows are copied to shared memory stay: as many as the multiprocessors hold at once, and each goes
// through rows, one after the other. As a block is done with a part of a row, that of its next row is on its way to the same place, so that memory
// is never idle while a block reduces.

// mostParts is in how many parts a row is copied at most.
const mostParts = 64

// rowRegisters is how many registers a thread must have at least for a second block to share a multiprocessor.
const rowRegisters = 128

// goThroughRows decides whether blocks stay that copy rows.
func (p *Program) goThroughRows() {
	f := p.Func
	if p.asks("kept", copiedAhead) != copiedAhead || len(p.RowCopies) == 0 || p.Tiles != nil || p.Producing || p.Split > 1 || p.Cluster > 1 ||
		len(p.Pipelines) > 0 || f.ScratchBytes() > 0 || f.HasDebug() || len(f.Grid()) == 0 || len(p.RaggedGrid) > 0 || p.LongestFirst != nil {
		return
	}
	var kept int64
	for _, t := range f.Tensors {
		if t.Shared {
			kept += t.Bytes()
		}
	}
	for _, copies := range p.RowCopies {
		for _, c := range copies {
			if !p.inParts(c) {
				return
			}
		}
	}
	blocks := 1
	for n := 2; int64(n)*rowRegisters*int64(p.Threads()) <= int64(p.Target.RegistersPerSM) && kept+besideKept <= p.Target.SharedShare(n); n++ {
		blocks = n
	}
	if p.Resident > 0 {
		blocks = min(blocks, p.Resident)
	}
	p.Tiles = &Tiles{Teams: 1, Blocks: blocks * p.Target.SMs, Resident: blocks}
}

// besideKept is how many bytes of shared memory a block may need beside its rows.
const besideKept = 8 << 10

// inParts finds the loops between which a row is needed, and the parts in which they go through it.
func (p *Program) inParts(c *RowCopy) bool {
	found := true
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpLoad && op.Tensor == c.Store.Tensor {
			found = found && p.loopOf(op) != nil
		}
		return true
	})
	if !found {
		return false
	}
	row := c.Load.Tensor.Shape[len(c.Load.Tensor.Shape)-1].Value
	for _, loop := range p.Func.Body.Ops {
		if loop.Code != lang.OpFor || loop != c.Loop && !loads(loop, c.Store.Tensor) {
			continue
		}
		x := loop.Axis
		from, to := loop.Args[0].Def, loop.Args[1].Def
		if x == nil || loop.Reverse || x.Split > 1 || x.Dim == nil || x.Dim.Wide || x.Extent != c.Loop.Axis.Extent ||
			from == nil || from.Code != lang.OpConst || from.Const.Int != 0 || to == nil || to.Code != lang.OpConst || to.Const.Int != row {
			return false
		}
		c.Last = loop
	}
	c.Step = c.Loop.Axis.Extent
	c.Parts = (row + c.Step - 1) / c.Step
	size := int64(c.Load.Tensor.Held().Size())
	return c.Last != c.Loop && c.Parts <= mostParts && c.Step*size%bulkUnit == 0
}

// loads reports a loop that loads a tensor in its own block.
func loads(loop *ir.Op, t *ir.Tensor) bool {
	for _, op := range loop.Blocks[0].Ops {
		if op.Code == lang.OpLoad && op.Tensor == t {
			return true
		}
	}
	return false
}

// loopOf is the loop at the top of the kernel that has an operation in its own block, nil where there is none.
func (p *Program) loopOf(op *ir.Op) *ir.Op {
	for _, loop := range p.Func.Body.Ops {
		if loop.Code != lang.OpFor {
			continue
		}
		for _, x := range loop.Blocks[0].Ops {
			if x == op {
				return loop
			}
		}
	}
	return nil
}
