package block

import (
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file decides, of a launch that may begin before those before it have ended, what it computes meanwhile, besides loading
// constants, and what it does first behind them.

// Prefetch is what a block asks the L2 for before the launches before have ended: nothing that they write is read so, and what lies
// in main memory is on its way.
type Prefetch struct {
	Load *ir.Op
	// Under is a condition under which the block loads it, nil for none.
	Under *ir.Value
	// Loop is the loop around, of which so many steps are asked for; nil for none.
	Loop  *ir.Op
	Steps int
}

// computeAhead finds the scalars that a block can compute at its start, from constants that it loads, and the few constants that
// it loads under conditions.
func (p *Program) computeAhead() {
	if !p.Dependent() {
		return
	}
	for _, op := range p.Func.Body.Ops {
		if op.Code == lang.OpIf {
			for _, inner := range op.Blocks[0].Ops {
				if p.smallConstant(inner) {
					p.Ahead = append(p.Ahead, inner)
				}
			}
		}
		if len(op.Results) != 1 || !op.Result().Type.IsScalar() || p.OnDemand(op) {
			continue
		}
		loads := op.Code == lang.OpLoad && op.Tensor.Constant && op.Else() == nil && !slices.Contains(op.Checked, true)
		late := slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return !p.known(v) })
		if (loads || op.Code.Row().Elementwise) && !late {
			p.Ahead = append(p.Ahead, op)
		}
	}
}

// smallConstant reports a load of a few constants under a condition, at positions of the block's own, which may as well be done where
// the condition does not hold. What a position is computed of may lie in the tensor only where it does.
func (p *Program) smallConstant(op *ir.Op) bool {
	if op.Code != lang.OpLoad || !op.Tensor.Constant || op.Else() != nil || slices.Contains(op.Checked, true) || p.OnDemand(op) || p.Homes[op.Result()].Regs() > 2 {
		return false
	}
	return !slices.ContainsFunc(p.Access(op), func(d DimAccess) bool {
		own := len(d.Affine.Terms) == 1 && d.Affine.Terms[0].Coef == 1 && d.Affine.Terms[0].Axis.Kind == ir.Grid
		return d.Gather || !own || len(d.Affine.Scalars) > 0 || d.Affine.Offset != 0
	})
}

// known reports a scalar that a block knows before the launches before it have ended.
func (p *Program) known(v *ir.Value) bool {
	return p.early(v) || v.Def != nil && slices.Contains(p.Ahead, v.Def)
}

// byAhead reports an index that takes scalars which are computed ahead.
func (p *Program) byAhead(d DimAccess) bool {
	for _, s := range d.Affine.Scalars {
		if !p.early(s.Value) {
			return true
		}
	}
	return false
}

// knownAtStart reports an access by addresses that a block knows at its start.
func (p *Program) knownAtStart(dims []DimAccess) bool {
	for _, d := range dims {
		if d.Gather {
			return false
		}
		for _, s := range d.Affine.Scalars {
			if !p.known(s.Value) {
				return false
			}
		}
	}
	return true
}

// fewRegisters is the most registers of a thread for a load that is asked for early.
const fewRegisters = 8

// loadEarly finds what a block loads outside of loops, beside the operands of products: the time of these loads goes by together.
// With products, it is worth the registers where warps share the depth, which takes few.
func (p *Program) loadEarly() {
	shared := p.Dependent() && len(p.Products) == 0
	for _, c := range p.Products {
		shared = shared || c.Parts > 1
	}
	for _, op := range p.Func.Body.Ops {
		ahead := slices.ContainsFunc(p.Constants, func(c *Constant) bool { return c.Load == op })
		if shared && !ahead && op.Code == lang.OpLoad && op.Tensor.ReadOnly() && op.Else() == nil && !op.Result().Type.IsScalar() && !p.OnDemand(op) &&
			p.Homes[op.Result()].Regs() <= fewRegisters && p.knownAtStart(p.Access(op)) {
			p.Early = append(p.Early, op)
		}
	}
}

// stepRegisters is the most registers of 32 bits of a thread for what one step of a loop loads first of all.
const stepRegisters = 64

// mostBesideCopies is how many elements a thread has of one such load where it waits for copies beside, and for wgmma then (an H200, 1024x4096x4096 of f8 with scales for groups, 34 elements a
// step: 64 us with all of them loaded first, 56 with none; of bf16 and i8, 2 elements: 66 and 70).
const mostBesideCopies = 8

// mostForFunction is that of what the function of a product takes, which it waits for: as scales for 32 positions of a step of 256, of two rows.
const mostForFunction = 32

// forFunction reports a value that the function of a product takes, or from which follows what it takes.
func (p *Program) forFunction(v *ir.Value) bool {
	return slices.ContainsFunc(p.Uses[v], func(u Use) bool {
		_, ok := p.wantedByFunction(u)
		return ok || u.Op.Code.Row().Elementwise && p.forFunction(u.Op.Result())
	})
}

// loadFirst finds what the steps of loops load behind a reduction or a product, though its addresses are known when a step begins:
// loaded first of all, beside what the reduction is of, these loads take no time of their own.
func (p *Program) loadFirst() {
	for _, loops := range p.loops {
		for _, loop := range loops {
			if x := p.Pipelines[loop]; x == nil || x.Overlap == nil {
				p.loadFirstIn(loop)
			}
		}
	}
}

func (p *Program) loadFirstIn(loop *ir.Op) {
	body, x := loop.Blocks[0], p.Pipelines[loop]
	inside := map[*ir.Value]bool{}
	var first []*ir.Op
	waited, words, pipelined := false, 0, p.Pipelines[loop] != nil
	for _, op := range body.Ops {
		for _, v := range op.Results {
			inside[v] = true
		}
		switch {
		case len(op.Over) > 0, p.Products[op] != nil:
			waited = true
		case len(op.Blocks) > 0, op.Code.Row().Effect == lang.Writes:
			return // blocks have loads and loops of their own, and what is written may be read
		case op.Code == lang.OpLoad && (pipelined || !op.Result().Type.IsScalar()) && !p.OnDemand(op) && !p.runsAhead(loop, op):
			regs := p.loaded(op, p.Homes[op.Result()])
			words += regs * op.Tensor.DType.Size() / 4
			most, behind := mostBesideCopies, waited && !(pipelined && x.Overlapped)
			if p.forFunction(op.Result()) {
				most, behind = mostForFunction, true
			}
			if behind && !(pipelined && regs > most) && op.Tensor.ReadOnly() && op.Else() == nil && p.knownBefore(p.Access(op), loop, inside) {
				first = append(first, op)
			}
		}
	}
	if len(first) > 0 && words <= stepRegisters {
		p.First[loop] = first
	}
}

// LoadedFirst reports a load with which a step of a loop begins.
func (p *Program) LoadedFirst(op *ir.Op) bool {
	for _, first := range p.First {
		if slices.Contains(first, op) {
			return true
		}
	}
	return false
}

// runsAhead reports a load that a loop's copies bring.
func (p *Program) runsAhead(loop, load *ir.Op) bool {
	x := p.Pipelines[loop]
	return x != nil && slices.ContainsFunc(x.Copies, func(c Copy) bool { return c.Load == load })
}

// knownBefore reports indices that need nothing of what a step computes; of a loop with copies, whose scalars are computed for those too, they may need where the step begins.
func (p *Program) knownBefore(dims []DimAccess, loop *ir.Op, inside map[*ir.Value]bool) bool {
	pipelined := p.Pipelines[loop] != nil
	scalar := func(v *ir.Value) bool { return !inside[v] || pipelined && ofStep(v, loop) }
	index := func(v *ir.Value) bool {
		return pipelined && v.Def != nil && (!inside[v] || p.ofPositions(v, loop, inside))
	}
	return follows(dims, scalar, index)
}

// ofPositions reports an index that is computed wherever it is used, of nothing but positions and of what is known when the step begins.
func (p *Program) ofPositions(v *ir.Value, loop *ir.Op, inside map[*ir.Value]bool) bool {
	switch op := v.Def; {
	case v.Type.IsScalar():
		return !inside[v] || ofStep(v, loop)
	case !p.Cheap(v):
		return false
	default:
		return !slices.ContainsFunc(op.Args, func(x *ir.Value) bool { return !p.ofPositions(x, loop, inside) })
	}
}

// smallTile is how many bytes a tile has that is not worth asking the L2 for, and fewRowsAhead how many rows a product has at most
// of which it is: with more, blocks are many, and share what they load. Of constants, as weights are, each block of a product of up to
// fewRowsOfConstants rows has its own.
const smallTile, fewRowsAhead, fewRowsOfConstants = 1 << 10, 16, 32

// stepsAskedFor is of how many steps of a loop the L2 is asked for at most.
const stepsAskedFor = 16

// shareL2 decides of how many steps of its loops a block asks for what they load: all blocks that run at once ask for half of what the L2 holds, which
// keeps a line in both of its halves. More drives out what was asked for before anybody reads it: of a head of 77 MB, asked for as a whole, a
// step of decoding took 141 us on an H200, and 137 with three steps of each block.
func (p *Program) shareL2() {
	share := p.Target.L2Size / 2 / int64(p.Target.SMs*max(p.Resident, 1))
	bytes := map[*ir.Op]int64{}
	for _, x := range p.Prefetches {
		bytes[x.Loop] += int64(tileBytes(x.Load))
	}
	for i := range p.Prefetches {
		if x := &p.Prefetches[i]; x.Loop != nil {
			x.Steps = int(min(max(share/bytes[x.Loop], 1), stepsAskedFor))
		}
	}
}

// tileBytes is how many bytes a load brings.
func tileBytes(load *ir.Op) int { return Volume(load.Result().Type.Axes) * load.Tensor.DType.Size() }

// prefetch finds what is loaded in a loop whose bounds are known, or under a condition that is, where launches before may write it, and the constants
// that the steps of a loop load.
func (p *Program) prefetch() {
	few := p.fewRows(fewRowsAhead)
	if !p.Dependent() || !few && !p.fewRows(fewRowsOfConstants) {
		return
	}
	for _, op := range p.Func.Body.Ops {
		switch op.Code {
		case lang.OpFor:
			x := p.Pipelines[op]
			switch {
			case op.Axis == nil || !p.known(op.Args[0]) || !p.known(op.Args[1]) || p.LoopsByWords(op.Axis): // over numbers, or whose steps begin elsewhere
			case x == nil:
				for _, inner := range op.Blocks[0].Ops {
					if few && inner.Code == lang.OpLoad && !inner.Tensor.Constant {
						p.prefetchLoad(Prefetch{Load: inner, Loop: op})
					}
				}
			case !x.Produced:
				for _, c := range x.Copies {
					if few || c.Load.Tensor.Constant {
						p.prefetchLoad(Prefetch{Load: c.Load, Loop: op})
					}
				}
			}
		case lang.OpIf:
			if few && p.known(op.Args[0]) {
				for _, inner := range op.Blocks[0].Ops {
					if inner.Code == lang.OpLoad && !inner.Tensor.Constant {
						p.prefetchLoad(Prefetch{Load: inner, Under: op.Args[0]})
					}
				}
			}
		}
	}
	p.shareL2()
}

// copyEarly finds the constants, and the tensors that grow, of which the first steps' are copied before the launches before have ended: what the block's
// first steps wait for then is what the launches before wrote alone. A producer waits for these once, so it serves one loop; threads that copy themselves do
// so at the kernel's start, so the loop's stages have their place from there on.
func (p *Program) copyEarly() {
	if !p.Dependent() || len(p.Pipelines) != 1 || len(p.Loads) > 0 {
		return
	}
	for _, x := range p.Pipelines {
		place := p.freeBefore(x.Op) && (x.Produced || p.Alone(x.Op)) || !x.Produced && p.roomBefore(x)
		if x.Produced && len(x.Sets()) > 1 || !x.Produced && (p.Tiles != nil || p.LoopsByWords(x.Op.Axis)) ||
			!p.known(x.Op.Args[0]) || !p.known(x.Op.Args[1]) || x.Produced && !(p.early(x.Op.Args[0]) && p.early(x.Op.Args[1])) || !place {
			return
		}
		var early []int
		for i, c := range x.Copies {
			if slices.ContainsFunc(p.Access(c.Load), func(d DimAccess) bool {
				return slices.ContainsFunc(d.Affine.Scalars, func(s scalarTerm) bool { return !p.known(s.Value) || x.Produced && !p.early(s.Value) })
			}) {
				return
			}
			if c.Load.Tensor.Constant || !x.Produced && p.GrownFrom(c.Load) != nil {
				early = append(early, i)
			}
		}
		x.Early = early
		if x.Steps > 0 { // all of them are copied, so that there is nothing left to ask for
			p.Prefetches = slices.DeleteFunc(p.Prefetches, func(f Prefetch) bool {
				return f.Loop == x.Op && slices.ContainsFunc(early, func(i int) bool { return x.Copies[i].Load == f.Load })
			})
		}
	}
}

// Alone reports a kernel's only loop, before which there are no products: what lies in shared memory for its steps lies above its stages, and is gone
// with them; what products behind the loop need comes to lie there then.
func (p *Program) Alone(loop *ir.Op) bool {
	loops, before := 0, false
	at := p.statement(loop)
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor {
			loops++
		}
		before = before || p.Products[op] != nil && p.statement(op) < at
		return true
	})
	return loops == 1 && !before
}

// roomBefore reports a kernel's only loop, behind which there are no products, whose stages have room beside what the products before the loop need: what
// lies above the stages is gone with them.
func (p *Program) roomBefore(x *Pipeline) bool {
	at, loops, bytes := p.statement(x.Op), 0, 0
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpFor {
			loops++
		}
		return true
	})
	for _, c := range p.Products {
		if n := p.statement(c.Op); n > at {
			return false
		} else if n < at {
			for _, t := range c.Tiles {
				bytes += t.Bytes()
			}
		}
	}
	for _, c := range p.Constants {
		if c.Tile == nil { // others are operands
			bytes += c.Bytes(p)
		}
	}
	for _, c := range x.Copies {
		bytes += c.Tile.Bytes() * x.Stages
	}
	return loops == 1 && slices.Contains(p.Func.Body.Ops, x.Op) && bytes+besideStages <= int(p.Target.SharedShare(max(p.Resident, 1)))
}

// freeBefore reports a loop of the kernel's body before which nothing needs shared memory, which is the loop's stages' from the start then.
func (p *Program) freeBefore(loop *ir.Op) bool {
	for _, op := range p.Func.Body.Ops {
		if !p.inPlace(op) {
			return false
		}
		row := op.Code.Row()
		switch {
		case op == loop:
			return true
		case row.Elementwise, row.Group == lang.GroupCreate, op.Code == lang.OpLoad:
		case row.Group == lang.GroupReduce && !divided(p.Homes[op.Args[0]].Warp, op.Over): // warps exchange nothing for it
		default:
			return false
		}
	}
	return false
}

// mostSoon is how many bytes a load may bring that the L2 is asked for at a block's start.
const mostSoon = 32 << 10

// askSoon finds the loads outside of loops that come behind a reduction although a block knows their addresses at its start, as those of a
// norm's factors: the L2 is asked for them then, and what lies in main memory is on its way while the block waits for what it reduces. Only the
// first blocks ask, one a multiprocessor: those behind them find the lines in a cache, and a slice of the L2 answers requests for one line one after
// the other. Asked by every block, a layernorm of 8,192 rows of 768 took 13.7 us on an H200 (22.1 with a block a row), and 12.0 (12.7) asked by none.
func (p *Program) askSoon() {
	if len(p.Products) > 0 {
		return
	}
	reduced, loaded := false, map[*ir.Tensor]bool{}
	for _, op := range p.Func.Body.Ops {
		reduced = reduced || len(op.Over) > 0
		if op.Code != lang.OpLoad || op.Result().Type.IsScalar() {
			continue
		}
		if bytes := tileBytes(op); reduced && !loaded[op.Tensor] && op.Tensor.ReadOnly() && !op.Tensor.DType.Packed() &&
			smallTile <= bytes && bytes <= mostSoon && !p.begunEarlier(op) {
			if dims := p.Access(op); Contiguous(dims) != nil && p.knownAtStart(dims) {
				p.Soon = append(p.Soon, op)
			}
		}
		loaded[op.Tensor] = true
	}
}

// prefetchLoad takes a prefetch of a load whose addresses are known.
func (p *Program) prefetchLoad(x Prefetch) {
	op := x.Load
	if op.Result().Type.IsScalar() || op.Tensor.DType.Packed() || op.Tensor.Shared || tileBytes(op) < smallTile {
		return
	}
	dims := p.Access(op)
	if c := Contiguous(dims); c == nil || !p.knownAtStart(dims) {
		return
	}
	p.Prefetches = append(p.Prefetches, x)
}

// fewRows reports that every product has so few rows or columns, or is a sum of what elements multiply to.
func (p *Program) fewRows(most int) bool {
	for _, c := range p.Products {
		if min(Volume(c.M), Volume(c.N)) > most {
			return false
		}
	}
	return len(p.Products) > 0 || p.sumsProducts()
}

// sumsProducts reports a sum of products of which the factors are over different axes: a product of matrices without a matrix unit.
func (p *Program) sumsProducts() (found bool) {
	p.Func.Walk(func(op *ir.Op) bool {
		if op.Code == lang.OpSum && op.Args[0].Def != nil && op.Args[0].Def.Code == lang.OpMul {
			x, y := op.Args[0].Def.Args[0].Type.Axes, op.Args[0].Def.Args[1].Type.Axes
			found = found || len(ir.Without(x, y)) > 0 || len(ir.Without(y, x)) > 0
		}
		return true
	})
	return found
}
