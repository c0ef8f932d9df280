package block

import (
	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides in which parts rows are copied to shared memory, so that a loop begins with the first part before the others are there, and
// whether the blocks that copy them stay: as many as the multiprocessors hold at once, and each goes through rows, one after the other. As a block
// is done with a part of a row, that of its next row is on its way to the same place, so that memory is not idle while a block reduces.

// mostParts is in how many parts a row is copied at most.
const mostParts = 64

// rowRegisters is how many registers a thread must have at least for a second block to share a multiprocessor.
const rowRegisters = 128

// copyInParts decides in which parts rows are copied: those that the steps of the first loop take.
func (p *Program) copyInParts() {
	for _, copies := range p.RowCopies {
		for _, c := range copies {
			row, step := lastDim(c.Load.Tensor), c.Loop.Axis.Extent
			if parts := (row + step - 1) / step; throughRow(c.Loop, row) && parts <= mostParts && step*int64(c.Load.Tensor.Held().Size())%bulkUnit == 0 {
				c.Step, c.Parts = step, parts
			}
		}
	}
}

// throughRow reports a loop through all positions of a row, in steps of one extent.
func throughRow(loop *ir.Op, row int64) bool {
	x := loop.Axis
	from, to := loop.Args[0].Def, loop.Args[1].Def
	return x != nil && !loop.Reverse && x.Split <= 1 && x.Dim != nil && !x.Dim.Wide &&
		from != nil && from.Code == lang.OpConst && from.Const.Int == 0 && to != nil && to.Code == lang.OpConst && to.Const.Int == row
}

// goThroughRows decides whether blocks stay that copy rows.
func (p *Program) goThroughRows() {
	f := p.Func
	if p.asks("kept", copiedAhead) != copiedAhead || len(p.RowCopies) == 0 || p.Tiles != nil || p.Producing || p.Split > 1 || p.Cluster > 1 ||
		len(p.Pipelines) > 0 || f.ScratchBytes() > 0 || f.HasDebug() || len(f.Grid()) == 0 || len(p.RaggedGrid) > 0 || p.LongestFirst != nil {
		return
	}
	rows := 0
	for _, copies := range p.RowCopies {
		for _, c := range copies {
			if rows++; p.lastLoop(c) == nil {
				return
			}
		}
	}
	blocks := p.withRows()
	if p.Forms["kept"] == 0 && (blocks > 1 || rows < rowsAhead) {
		return
	}
	p.Tiles = &Tiles{Teams: 1, Blocks: blocks * p.Target.SMs, Resident: blocks}
	p.leaveInParts()
}

// withRows is how many blocks a multiprocessor holds at once, each with its rows.
func (p *Program) withRows() int {
	kept := int64(0)
	for _, t := range p.Func.Tensors {
		if t.Shared {
			kept += t.Bytes()
		}
	}
	blocks := 1
	for n := 2; int64(n)*rowRegisters*int64(p.Threads()) <= int64(p.Target.RegistersPerSM) && kept+besideKept <= p.Target.SharedShare(n); n++ {
		blocks = n
	}
	if p.Resident > 0 {
		blocks = min(blocks, p.Resident)
	}
	return blocks
}

// stagger decides whether every second block begins later. Blocks that begin together and have as much to do stay together: all of them wait for
// the memory, and then it waits for all of them.
func (p *Program) stagger() {
	for _, copies := range p.RowCopies {
		for _, c := range copies {
			if c.Parts > 1 && p.asks("stagger", 1) > 1 {
				p.Staggered = p.withRows() * p.Target.SMs
			}
		}
	}
}

// rowsAhead is from how many rows on a block copies those of its next ones ahead, where it has a multiprocessor alone. Where others share the
// multiprocessor, they compute while its rows come; and of one row, blocks that go are as fast as the memory, while those that stay are all at
// the same place of their rows, and wait for one another in each step of the last loop (an H200, rows of 50,304 columns: softmax of bf16, two
// blocks, 242 us where they stay, 209 where they go; of f32, one block, 481 and 457; the sum of two rows of bf16 and its layernorm 470 and 498).
const rowsAhead = 2

// besideKept is how many bytes of shared memory a block may need beside its rows.
const besideKept = 8 << 10

// leaveInParts says of each row which loop needs it last.
func (p *Program) leaveInParts() {
	for _, copies := range p.RowCopies {
		for _, c := range copies {
			c.Last = p.lastLoop(c)
		}
	}
}

// lastLoop finds the last loop that needs a row; nil where that is the first too, or does not go through the same parts of the row.
func (p *Program) lastLoop(c *RowCopy) (last *ir.Op) {
	found := c.Parts > 0
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpLoad && op.Tensor == c.Store.Tensor {
			found = found && p.loopOf(op) != nil
		}
		return true
	})
	for _, loop := range p.Func.Body.Ops {
		if !found || loop.Code != lang.OpFor || loop != c.Loop && !loads(loop, c.Store.Tensor) {
			continue
		}
		found = throughRow(loop, lastDim(c.Load.Tensor)) && loop.Axis.Extent == c.Step
		last = loop
	}
	if !found || last == c.Loop {
		return nil
	}
	return last
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
