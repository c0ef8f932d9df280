package ptx

import (
	"fmt"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file cuts loops: the slice that loads the operands of a loop's products runs some steps ahead of the rest. Its copies go
// from global to shared memory without passing through registers, by cp.async, or by a warp that does nothing else.

// Pipeline is a cut through a loop.
type Pipeline struct {
	op *ir.Op // the loop
	// stages is how many steps' copies have room in shared memory, ahead how many steps the copies run before the rest.
	stages, ahead int
	items         []Copy
	// overlapped: a step's product is waited for in the next step.
	overlapped bool
	// produced: a warp of its own does the copies, all of them boxes.
	produced bool
}

// Copy is one load of the slice.
type Copy struct {
	load *ir.Op
	tile *Tile         // of a stage
	l    layout.Layout // in which threads copy
	vec  int           // neighbours that one copy moves
	box  *Box          // where the TMA copies; nil where threads do
}

// bytes is what the copies of one step bring.
func (x *Pipeline) bytes() int {
	n := 0
	for _, c := range x.items {
		n += c.tile.bytes()
	}
	return n
}

// runAhead decides of which loops loads run ahead. A producer serves loops of the kernel's body alone, whose bounds it knows.
func (p *Program) runAhead() {
	if p.target.Has(target.TMA) && p.clusterSize() <= 1 && p.Stages >= 2 {
		for _, op := range p.f.Body.Ops {
			if op.Code == lang.OpFor && op.Axis != nil && !op.Reverse && p.early(op.Args[0]) && p.early(op.Args[1]) {
				if x := p.newRing(op); x != nil {
					p.pipelines[op], p.producing = x, true
				}
			}
		}
	}
	p.f.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor && p.pipelines[op] == nil {
			if x := p.newPipeline(op); x != nil {
				p.pipelines[op] = x
			}
		}
		return true
	})
	for _, x := range p.pipelines {
		if c := p.overlaps(x.op, x.items); c != nil && x.stages >= 3 {
			// The stage of the step before is still being read.
			c.overlapped, x.overlapped, x.ahead = true, true, x.stages-2
		}
	}
}

// newPipeline cuts a loop whose loads threads copy; nil for one with nothing to run ahead.
func (p *Program) newPipeline(op *ir.Op) *Pipeline {
	if op.Axis == nil || op.Reverse || p.Stages < 2 || !p.target.Has(target.CpAsync) {
		return nil
	}
	x := &Pipeline{op: op, stages: p.Stages, ahead: p.Stages - 1, items: p.slice(op)}
	if len(x.items) == 0 {
		return nil
	}
	p.deepen(x)
	return x
}

// slice finds the loads that may run ahead: those that only contractions of this
// loop read, through addresses that depend on nothing that the loop computes.
func (p *Program) slice(loop *ir.Op) []Copy {
	inside := map[*ir.Value]bool{}
	for _, v := range loop.Blocks[0].Params {
		inside[v] = true
	}
	for _, op := range loop.Blocks[0].Ops {
		for _, v := range op.Results {
			inside[v] = true
		}
	}
	var items []Copy
	for _, op := range loop.Blocks[0].Ops {
		if op.Code != lang.OpLoad || !op.Tensor.ReadOnly() || op.Else() != nil || !p.again(op.Result()) {
			continue
		}
		v := op.Result()
		dims := p.access(op)
		c := contiguous(dims)
		ok := c != nil
		for _, d := range dims {
			ok = ok && !d.gather
			for _, s := range d.affine.scalars {
				ok = ok && !inside[s.value]
			}
		}
		var tile *Tile
		for _, u := range p.uses[v] {
			c := p.products[u.op]
			if c == nil || u.arg > 1 || c.mma == nil || c.element(u.arg) != v.Type.DType || !inside[u.op.Result()] {
				ok = false
				break
			}
			want := c.tiles[u.arg]
			if tile != nil && !(tile.holds(want) && want.holds(tile)) {
				ok = false
				break
			}
			tile = want
		}
		if !ok || tile == nil || tile.contiguous() != c {
			continue
		}
		vec := min(p.vector(op.Tensor, dims, c), tile.vector())
		if vec*v.Type.DType.Size() < 4 {
			continue // cp.async moves 4, 8 or 16 bytes
		}
		items = append(items, Copy{load: op, tile: tile, l: layout.Blocked(tile.axes, tile.ext, vec, p.Warps), vec: vec})
	}
	return items
}

// overlaps gives the contraction of a loop whose product may still be under way
// when the next step begins: the only one, by wgmma, from operands that all run
// ahead, into an accumulator that nothing but the next step reads.
func (p *Program) overlaps(loop *ir.Op, items []Copy) *Product {
	body := loop.Blocks[0]
	var only *Product
	for _, op := range body.Ops {
		if len(op.Blocks) > 0 {
			return nil
		}
		if c := p.products[op]; c != nil {
			if only != nil {
				return nil
			}
			only = c
		}
	}
	if only == nil || !only.wide || only.op.Code != lang.OpMma || len(items) != 2 {
		return nil
	}
	acc, result := only.op.Args[2], only.op.Result()
	if result.Type.DType != only.mma.sum || len(p.uses[acc]) != 1 || len(p.uses[result]) > 0 {
		return nil
	}
	for i, v := range body.Yield {
		if (v == result) != (body.Params[i+1] == acc) {
			return nil
		}
	}
	for _, v := range only.op.Args[:2] {
		if v != items[0].load.Result() && v != items[1].load.Result() {
			return nil
		}
	}
	return only
}

// deepen gives the pipeline the stages that one of its loads asks for, and says what became of the hints.
func (p *Program) deepen(x *Pipeline) {
	asked := 0
	for _, c := range x.items {
		asked = max(asked, int(c.load.Hint.Latency))
	}
	if asked > 0 {
		x.stages = max(asked, 2)
		x.ahead = x.stages - 1
	}
	for _, c := range x.items {
		h := c.load.Hint
		if !h.Given() {
			continue
		}
		text := fmt.Sprintf("cp.async in %d stages", x.stages)
		if x.produced {
			text = fmt.Sprintf("TMA in %d stages", x.stages)
		}
		// A copy could be given an L2 policy, but the driver's compiler makes an instruction
		// of it (cp.async with createpolicy's result) that an H200 finds illegal, as fuzzing showed.
		switch {
		case h.Cache == "no_allocate" && c.vec*c.tile.d.Size() == 16:
			text += ", past the L1 cache as " + h.Cache + " wants it"
		case h.Cache != "":
			text += fmt.Sprintf("; %s has no effect on a copy that runs ahead", h.Cache)
		}
		p.hinted[c.load] = text
	}
}

// newRing cuts a loop whose loads are all boxes; nil when it is not one.
func (p *Program) newRing(op *ir.Op) *Pipeline {
	x := &Pipeline{op: op, stages: p.Stages, ahead: p.Stages - 1, items: p.slice(op), produced: true}
	if len(x.items) == 0 || !p.worthProducer(x) {
		return nil
	}
	for i := range x.items {
		c := &x.items[i]
		b, ok := p.boxFor(c.load, c.tile, op)
		if !ok {
			return nil
		}
		c.box = b
	}
	for _, c := range x.items {
		p.nameMap(c.box)
	}
	p.deepen(x)
	return x
}

// shortLoop is of how many steps a loop may be so short that starting a producer - its barriers, the first look at
// a tensor map - takes longer than it gains (decoding, whose loops have 2 to 6 steps, got slower by it: bench/RESULTS.md).
const shortLoop = 16

// worthProducer reports a loop that multiplies by wgmma, or one of many steps.
func (p *Program) worthProducer(x *Pipeline) bool {
	for _, c := range x.items {
		for _, u := range p.uses[c.load.Result()] {
			if p.products[u.op].wide {
				return true
			}
		}
	}
	lo, hi, step := x.op.Args[0].Def, x.op.Args[1].Def, x.op.Axis.Extent
	if lo == nil || hi == nil || lo.Code != lang.OpConst {
		return false
	}
	switch {
	case hi.Code == lang.OpConst:
		return hi.Const.Int-lo.Const.Int > shortLoop*step
	case hi.Code == lang.OpSize && hi.Dim.Known():
		return hi.Dim.Value-lo.Const.Int > shortLoop*step
	}
	return false
}
