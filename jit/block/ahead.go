package block

import (
	"fmt"
	"math"
	"slices"

	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/target"
	"tilec/lang"
)

// This file cuts loops: the slice that loads the operands of a loop's products runs some steps ahead of the rest. Its copies go
// from global to shared memory without passing through registers, by cp.async, or by a warp that does nothing else.

// Pipeline is a cut through a loop.
type Pipeline struct {
	Op *ir.Op // the loop
	// Stages is how many steps' copies have room in shared memory, ahead how many steps the copies run before the rest.
	Stages, Ahead int
	// Steps is how many steps the loop has at most, where all of them have room at once; 0 where there may be more.
	Steps  int
	Copies []Copy
	// Overlapped: a step's products are waited for in the next step.
	Overlapped bool
	// Produced: a warp of its own does the copies, all of them boxes.
	Produced bool
	// Early are the copies of constants, as weights are, that a producer begins for its first stages before the launches before have ended, where it
	// waits for these for the others' sake; nil where all wait.
	Early []int
	// Overlap is how the loop's two products overlap, each of which reads one of the copies: these then come and go apart; nil
	// where they do not.
	Overlap *Overlap
	// Schedule is in which order copies and products begin, are waited for, and give their stages back.
	Schedule Schedule
}

// Copy is one load of the slice.
type Copy struct {
	Load   *ir.Op
	Tile   *Tile         // of a stage
	Layout layout.Layout // in which threads copy
	Vector int           // neighbours that one copy moves
	Box    *Box          // where the TMA copies; nil where threads do
	Shared bool          // two blocks have the same tile, and each copies half of its rows for both
}

// Bytes is what the copies of one step bring.
func (x *Pipeline) Bytes() int {
	n := 0
	for _, c := range x.Copies {
		n += c.Tile.Bytes()
	}
	return n
}

// OfStep reports a scalar that follows from where a step of the loop begins, and is another for another step.
func (x *Pipeline) OfStep(v *ir.Value) bool { return OfSteps(v) && ofStep(v, x.Op) }

// OfSteps reports a scalar that is computed of where a step of some loop begins.
func OfSteps(v *ir.Value) bool {
	op := v.Def
	switch {
	case op == nil || !v.Type.IsScalar():
		return false
	case op.Code == lang.OpStart:
		return op.Axis.Kind == ir.Loop
	}
	return op.Code.Row().Elementwise && slices.ContainsFunc(op.Args, OfSteps)
}

// runAhead decides of which loops loads run ahead. A producer serves loops of the kernel's body alone, whose bounds it knows.
func (p *Program) runAhead() {
	p.Pipelines, p.Producing, p.Maps = map[*ir.Op]*Pipeline{}, false, nil
	clear(p.Hinted)
	if p.Target.Has(target.TMA) && p.Stages >= 2 {
		for _, op := range p.Func.Body.Ops {
			if op.Code == lang.OpFor && op.Axis != nil && !op.Reverse && !p.unserved[op] && p.soon(op.Args[0]) && p.soon(op.Args[1]) {
				if x := p.newRing(op); x != nil {
					p.Pipelines[op], p.Producing = x, true
				}
			}
		}
	}
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor && p.Pipelines[op] == nil {
			if x := p.newPipeline(op); x != nil {
				p.Pipelines[op] = x
			}
		}
		return true
	})
	for _, x := range p.Pipelines {
		if all := p.overlaps(x.Op, x.Copies); len(all) > 0 && x.Stages >= 3 {
			// The stage of the step before is still being read.
			x.Overlapped, x.Ahead = true, x.Stages-2
			for _, c := range all {
				c.Overlapped = all
			}
		}
	}
}

// newPipeline cuts a loop whose loads threads copy; nil for one with nothing to run ahead.
func (p *Program) newPipeline(op *ir.Op) *Pipeline {
	if op.Axis == nil || op.Reverse || p.Stages < 2 || !p.Target.Has(target.CpAsync) {
		return nil
	}
	x := &Pipeline{Op: op, Stages: p.Stages, Ahead: p.Stages - 1, Copies: p.slice(op)}
	x.Copies = slices.DeleteFunc(x.Copies, func(c Copy) bool {
		return c.Tile.BytesOf(c.Vector) < 4 // cp.async moves 4, 8 or 16 bytes
	})
	if len(x.Copies) == 0 {
		return nil
	}
	p.deepen(x)
	if n := x.mostSteps(); 0 < n && n <= x.Stages && !p.LoopsByWords(op.Axis) { // which may have one more
		x.Steps, x.Stages, x.Ahead = n, n, n
	}
	return x
}

// mostSteps is how many steps of the loop a block has at most; 0 where that is not known.
func (x *Pipeline) mostSteps() int {
	n, known := x.Op.MostPositions()
	if !known {
		return 0
	}
	step, blocks := x.Op.Axis.Extent, max(x.Op.Axis.Split, 1)
	return int(min(((n+step-1)/step+blocks-1)/blocks, math.MaxInt32))
}

// slice finds the loads that may run ahead: those that contractions of this
// loop read, through addresses that depend on nothing that the loop computes. What else a step computes of them, as the squares of rows that are multiplied, takes them from where they came.
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
		if op.Code != lang.OpLoad || !p.AsFound(op) || !ZeroElse(op) || !p.Again(op.Result()) {
			continue
		}
		v := op.Result()
		dims := p.CopiedAccess(op)
		c := Contiguous(dims)
		ok := c != nil && p.toldBefore(dims, loop)
		var tile *Tile
		beside, rounded := false, false
		for _, u := range p.Uses[v] {
			c := p.Products[u.Op]
			if c == nil && u.Op.Code.Row().Elementwise && slices.Contains(loop.Blocks[0].Ops, u.Op) {
				beside = true
				continue
			}
			if c == nil || u.Arg > 1 || c.MMA == nil || c.InShared(u.Arg) != v.Type.DType || !inside[u.Op.Result()] {
				ok = false
				break
			}
			want := c.Tiles[u.Arg]
			if tile != nil && !(tile.Holds(want) && want.Holds(tile)) {
				ok = false
				break
			}
			tile, rounded = want, rounded || c.Wgmma && c.MMA.InRegister == 0
		}
		if beside && tile != nil && (rounded || tile.Spans != nil) { // who reads what the TMA has rounded for a product, or several positions' elements, would have other numbers
			continue
		}
		if !ok || tile == nil || tile.Contiguous() != c {
			continue
		}
		vec := min(p.Vector(op.Tensor, dims, c), tile.Vector())
		if slices.ContainsFunc(dims, func(d DimAccess) bool { return d.Span > 1 && p.startOf(d)%d.Span != 0 }) {
			continue
		}
		items = append(items, Copy{Load: op, Tile: tile, Layout: p.CopyLayout(tile, vec), Vector: vec})
	}
	return items
}

// toldBefore reports an access of which a step to come is known: its places follow from where that step begins, and from what was computed before the loop,
// as the rows are that a list names, or that a step's part of a list does.
func (p *Program) toldBefore(dims []DimAccess, loop *ir.Op) bool {
	body := loop.Blocks[0]
	before := func(v *ir.Value) bool {
		return !slices.Contains(body.Params, v) && (v.Def == nil || !slices.Contains(body.Ops, v.Def))
	}
	scalar := func(v *ir.Value) bool { return before(v) || ofStep(v, loop) }
	var listed func(v *ir.Value) bool
	listed = func(v *ir.Value) bool {
		switch op := v.Def; {
		case v.Type.IsScalar():
			return scalar(v)
		case before(v):
			return true
		case len(ir.Without(v.Type.Axes, []*ir.Axis{loop.Axis})) > 0, op == nil, p.price(v, true) > mostOfIndex:
			return false
		default: // computed again by who copies
			return !slices.ContainsFunc(op.Args, func(x *ir.Value) bool { return !listed(x) })
		}
	}
	return follows(dims, scalar, func(v *ir.Value) bool { return before(v) || loop.Axis != nil && listed(v) })
}

// mostOfIndex is how many instructions an index may take that a thread computes for each element that it copies.
const mostOfIndex = 10

// Inside reports a value that a step of the loop computes.
func (x *Pipeline) Inside(v *ir.Value) bool {
	return v.Def != nil && slices.Contains(x.Op.Blocks[0].Ops, v.Def)
}

// follows reports an access whose places follow from what is known: scalars, and indices that are tiles.
func follows(dims []DimAccess, scalar, index func(*ir.Value) bool) bool {
	for _, d := range dims {
		if d.Gather && !index(d.Index) {
			return false
		}
		for _, s := range d.Affine.Scalars {
			if !scalar(s.Value) {
				return false
			}
		}
	}
	return true
}

// CopyLayout is the layout in which threads copy a tile, so many neighbours at once.
func (p *Program) CopyLayout(t *Tile, vector int) layout.Layout {
	if t.Spans == nil {
		return layout.Blocked(t.Axes, t.Extents, vector, p.Warps)
	}
	// Of positions that share an element across the rows one is copied.
	extents := slices.Clone(t.Extents)
	for i := 1; i < len(extents); i++ {
		extents[i] /= t.Span(i)
	}
	l := layout.Blocked(t.Axes, extents, vector, p.Warps)
	for _, digits := range []*[]layout.Digit{&l.Reg, &l.Lane, &l.Warp} {
		*digits = slices.Clone(*digits)
		for n := range *digits {
			d := &(*digits)[n]
			if i := slices.Index(t.Axes, d.Axis); i > 0 {
				d.Stride *= t.Span(i)
			}
		}
	}
	return l
}

// ZeroElse reports a load that gives 0 for what its tensor has not, or that reads nothing but what it has: copies leave zeros there.
func ZeroElse(load *ir.Op) bool {
	v := load.Else()
	if v == nil {
		return true
	}
	c, ok := v.IsConst()
	return ok && c == (ir.Const{}) && !math.Signbit(c.Float)
}

// ofStep reports a scalar that follows from where the step of a loop begins and from where the block stands, so that it is known for a step to come.
func ofStep(v *ir.Value, loop *ir.Op) bool {
	op := v.Def
	switch {
	case op == nil || !v.Type.IsScalar():
		return false
	case op.Code == lang.OpConst:
		return true
	case op.Code == lang.OpStart:
		return op.Axis == loop.Axis || op.Axis.Kind == ir.Grid
	case !op.Code.Row().Elementwise:
		return false
	}
	for _, x := range op.Args {
		if !ofStep(x, loop) {
			return false
		}
	}
	return true
}

// overlaps gives the contractions of a loop whose products may still be under way when the next step begins: all that it has, by wgmma, from operands that all run
// ahead, each into an accumulator that nothing but the next step reads.
func (p *Program) overlaps(loop *ir.Op, items []Copy) (all []*Product) {
	for _, op := range loop.Blocks[0].Ops {
		if len(op.Blocks) > 0 {
			return nil
		}
		if c := p.Products[op]; c != nil {
			if !p.accumulates(c, loop, items) {
				return nil
			}
			all = append(all, c)
		}
	}
	unread := slices.ContainsFunc(items, func(x Copy) bool {
		return !slices.ContainsFunc(all, func(c *Product) bool { return slices.Contains(c.Op.Args[:2], x.Load.Result()) })
	})
	inRegisters := slices.ContainsFunc(all, func(c *Product) bool { return c.RowsInRegisters })
	if unread || inRegisters && len(all) > 1 {
		return nil
	}
	return all
}

// accumulates reports a product of what runs ahead that is added to what the loop carries for nothing else.
func (p *Program) accumulates(c *Product, loop *ir.Op, items []Copy) bool {
	if !c.Wgmma || c.Stepwise || c.Op.Code != lang.OpMma {
		return false
	}
	if c.RowsInRegisters && c.instructions() < 2 { // the next step's rows would come to registers that are still multiplied
		return false
	}
	body, acc, result := loop.Blocks[0], c.Op.Args[2], c.Op.Result()
	if result.Type.DType != c.MMA.Sum || len(p.Uses[acc]) != 1 || len(p.Uses[result]) > 0 {
		return false
	}
	for i, v := range body.Yield {
		if (v == result) != (body.Params[i+1] == acc) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Op.Args[:2], func(v *ir.Value) bool {
		return !slices.ContainsFunc(items, func(x Copy) bool { return x.Load.Result() == v })
	})
}

// deepen gives the pipeline the stages that one of its loads asks for.
func (p *Program) deepen(x *Pipeline) {
	asked := 0
	for _, c := range x.Copies {
		asked = max(asked, int(c.Load.Hint.Latency))
	}
	if asked > 0 {
		x.Stages = max(asked, 2)
		x.Ahead = x.Stages - 1
	}
	p.hint(x)
}

// hint says what became of the hints of a pipeline's loads.
func (p *Program) hint(x *Pipeline) {
	for _, c := range x.Copies {
		h := c.Load.Hint
		if !h.Given() {
			continue
		}
		text := fmt.Sprintf("cp.async in %d stages", x.Stages)
		if x.Produced {
			text = fmt.Sprintf("TMA in %d stages", x.Stages)
		}
		// A copy could be given an L2 policy, but the driver's compiler makes an instruction
		// of it (cp.async with createpolicy's result) that an H200 finds illegal, as fuzzing showed.
		switch {
		case h.Cache == "no_allocate" && c.Vector*c.Tile.DType.Size() == 16:
			text += ", past the L1 cache as " + h.Cache + " wants it"
		case h.Cache != "":
			text += fmt.Sprintf("; %s has no effect on a copy that runs ahead", h.Cache)
		}
		p.Hinted[c.Load] = text
	}
}

// newRing cuts a loop whose loads are all boxes; nil when it is not one.
func (p *Program) newRing(op *ir.Op) *Pipeline {
	x := &Pipeline{Op: op, Stages: p.Stages, Ahead: p.Stages - 1, Copies: p.slice(op), Produced: true}
	if len(x.Copies) == 0 || !p.worthProducer(x) {
		return nil
	}
	for i := range x.Copies {
		c := &x.Copies[i]
		b, ok := p.boxFor(c.Load, c.Tile, op)
		if !ok {
			return nil
		}
		c.Box = b
	}
	for _, c := range x.Copies {
		p.nameMap(c.Box)
	}
	p.deepen(x)
	return x
}

// servedBehindMeeting finds a loop that a producer serves behind a meeting of blocks that it cannot come past; nil where there is none. A producer goes from one of its loops to the next. At a barrier
// of the cluster, as blocks meet at that do not send one another what they have, the others would wait for it, while it waits for room in the loop; and of a meeting that only the first block needs, the
// warps of the others leave.
func (p *Program) servedBehindMeeting() *Pipeline {
	sends, ops := p.Sends(), p.Func.Body.Ops
	met := false
	for at, op := range ops {
		if x := p.Pipelines[op]; met && x != nil && x.Produced {
			return x
		}
		met = met || op.Code == lang.OpJoin && (!sends || p.MeetingAt(p.Func.Body, at).FirstAlone)
	}
	return nil
}

// shortLoop is of how many steps a loop may be so short that starting a producer - its barriers, the first look at
// a tensor map - takes longer than it gains (decoding, whose loops have 2 to 6 steps, got slower by it: bench/TRIALS.md).
const shortLoop = 16

// worthProducer reports a loop that multiplies by wgmma, or one of many steps.
func (p *Program) worthProducer(x *Pipeline) bool {
	for _, c := range x.Copies {
		for _, u := range p.Uses[c.Load.Result()] {
			if c := p.Products[u.Op]; c != nil && c.Wgmma {
				return true
			}
		}
	}
	lo, hi, step := x.Op.Args[0].Def, x.Op.Args[1].Def, x.Op.Axis.Extent
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
