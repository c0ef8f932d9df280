package interp

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file executes loops: their steps, the phases of these, and those whose products overlap.

// steps is how many steps a loop has.
func (w *warp) steps(r *ring) int {
	lo, hi := w.span(r.Op)
	step := r.Op.Axis.Extent
	return int((max(hi-lo, 0) + step - 1) / step)
}

// span is from where and up to where a loop goes in this block.
func (w *warp) span(op *ir.Op) (lo, hi int64) {
	lo, hi = w.bounds(op.Axis, w.anewScalar(op.Args[0]), w.anewScalar(op.Args[1]), op.Args[1])
	if w.p().LoopsByWords(op.Axis) {
		lo = -w.lead()
	}
	if op.Axis != nil && op.Axis.Split > 1 {
		_, each := w.share(lo, hi, op.Axis.Extent)
		length, rank := max(hi-lo, 0), int64(w.block.rank)
		return lo + min(rank*each, length), lo + min((rank+1)*each, length)
	}
	return lo, hi
}

// anewScalar is a scalar, computed where it is not at hand.
func (w *warp) anewScalar(v *ir.Value) int64 {
	anew := w.anew
	w.anew = true
	defer func() { w.anew = anew }()
	return w.scalar(v).Int
}

// loop executes a `for`.
func (w *warp) loop(op *ir.Op) {
	p, body := w.p(), op.Blocks[0]
	w.copyRows(op)
	lo, hi := w.span(op)
	step := int64(1)
	if op.Axis != nil {
		step = op.Axis.Extent
	}
	carried := make([]held, len(op.Results))
	for i, v := range op.Args[2:] {
		home := p.Homes[body.Params[i+1]]
		carried[i] = held{layout: home, cells: slices.Clone(w.get(v, home))}
	}
	if op.Axis != nil && op.Axis.Split > 1 {
		w.sharing = op
	}
	mark := w.arena.Top
	r := w.block.rings[op]
	if r != nil {
		mark = w.begin(r, lo, hi, step)
	}
	var positions []int64
	for at := lo; at < hi; at += step {
		positions = append(positions, at)
	}
	if op.Reverse {
		slices.Reverse(positions)
	}
	around := w.holds
	if r != nil && r.Overlap != nil {
		w.overlapped(r, positions, hi, carried)
	} else {
		for _, at := range positions {
			w.step(op, r, at, hi, step, carried)
		}
	}
	w.holds = around
	if r != nil {
		w.finish(r)
	}
	if p.Tiles == nil { // the ring goes on otherwise
		w.arena.Top = mark
	}
	if op.Axis != nil && op.Axis.Split > 1 {
		w.sharing = nil
	}
	delete(w.axes, op.Axis)
	for _, d := range p.Deferred[op] {
		if !w.deferred(d.Reduce) {
			continue
		}
		l := p.Homes[d.Reduce.Args[0]]
		by := reductions[d.Reduce.Code].op
		carried[d.Carried].cells = w.joinThreads(d.Reduce, by, d.Reduce.Result().Type.DType, l, carried[d.Carried].cells)
	}
	for i, v := range op.Results {
		w.values[v] = []held{carried[i]}
	}
}

// begin makes room for the stages of a loop, and begins what comes before its first step. It gives what the stages begin at.
func (w *warp) begin(r *ring, lo, hi, step int64) (mark int) {
	if r.Produced {
		w.askBeside()
		w.askLoads(r)
	}
	w.provideGathered(r)
	mark = w.arena.Top
	w.makeSlots(r)
	for _, a := range r.Schedule.Begin {
		if a.Do == block.StartCopies {
			w.copies(r, lo+int64(a.Step)*step, hi, a.Step)
			if a.Step == 0 {
				w.bringOperands()
			}
			continue
		}
		w.act(r, a)
	}
	if !r.Produced {
		w.at[r] = 0
	}
	if r.Overlap != nil && r.Produced && w.p().Tiles == nil {
		w.at[r] = 0
	}
	return mark
}

// finish ends a loop with stages.
func (w *warp) finish(r *ring) {
	if r.Produced {
		w.awaitBeside()
	}
	for _, a := range r.Schedule.End {
		w.act(r, a)
	}
}

// enterStep is the first part of a step: where its axis stands, and what it carries.
func (w *warp) enterStep(op *ir.Op, at, hi, step int64, carried []held) {
	body := op.Blocks[0]
	w.running[op] = at
	if op.Axis != nil {
		w.enter(op.Axis, at, min(at+step, hi))
	}
	w.hold(body.Params[0], layout.Uniform(w.p().Warps), []cell{{ir.Const{Int: at}, true}})
	for i, v := range body.Params[1:] {
		w.values[v] = []held{carried[i]}
	}
	w.holds = nil
	if f := w.p().Phases[op]; f != nil && at+step <= hi && w.inPhase(f, at, at+step-1) {
		w.holds = f.Holds
	}
}

// inPhase reports a step of a phase: the condition holds up to its last position, or from its first on, whatever the element.
func (w *warp) inPhase(f *block.Phase, first, last int64) bool {
	least := int32(f.Limit.Offset)
	for _, s := range f.Limit.Scalars {
		least += int32(w.scalar(s).Int)
	}
	most := least
	if f.Along != nil {
		least += int32(w.axis(f.Along).start)
		most = least + int32(f.Along.Extent-1)
	}
	if f.Last {
		return least <= most && first >= int64(most)
	}
	return least <= most && last <= int64(least)
}

// step executes a step of a loop.
func (w *warp) step(op *ir.Op, r *ring, at, hi, step int64, carried []held) {
	body := op.Blocks[0]
	w.region(func() {
		w.enterStep(op, at, hi, step, carried)
		compute := func() {
			w.rowArrives(op, at)
			first := w.p().First[op]
			if len(first) > 0 && r != nil { // whose places follow from where the step begins
				for _, x := range body.Ops {
					if x.Code == lang.OpConst || len(x.Results) == 1 && r.OfStep(x.Result()) {
						w.do(x)
					}
				}
			}
			for _, x := range first {
				w.do(x)
				w.emitted[x] = true
			}
			w.body(body)
			for _, x := range first {
				delete(w.emitted, x)
			}
			w.yield(op, carried, -1)
			w.rowLeaves(op, at)
		}
		if r == nil {
			compute()
			return
		}
		for _, a := range r.Schedule.Step {
			switch a.Do {
			case block.Compute:
				compute()
			case block.StartCopies:
				w.copies(r, at+int64(a.Step)*step, hi, w.at[r]+a.Step)
			default:
				w.act(r, a)
			}
		}
		w.at[r]++
	})
}

// yield hands on what a loop carries, but for what a product adds to in place.
func (w *warp) yield(op *ir.Op, carried []held, but int) {
	body := op.Blocks[0]
	next := make([]held, len(carried))
	for i, v := range body.Yield {
		home := w.p().Homes[body.Params[i+1]]
		switch {
		case i == but:
			next[i] = carried[i]
		case len(w.values[v]) == 1 && w.values[v][0].by != nil: // a product under way leaves it there
			next[i] = w.values[v][0]
		default:
			next[i] = held{layout: home, cells: slices.Clone(w.get(v, home))}
		}
	}
	copy(carried, next)
}

// overlapped executes the steps of a loop whose products overlap.
func (w *warp) overlapped(r *ring, positions []int64, hi int64, carried []held) {
	o, op := r.Overlap, r.Op
	step := op.Axis.Extent
	if len(positions) == 0 {
		for _, a := range r.Schedule.First {
			if a.Do == block.AwaitLoads {
				w.act(r, a)
			}
		}
		return
	}
	w.enterStep(op, positions[0], hi, step, carried)
	position := func(n int) int64 { return positions[max(0, min(n, len(positions)-1))] }
	acts := func(list []block.Act, n int) {
		for _, a := range list {
			w.overlapAct(r, a, position(n+a.Step), carried)
		}
	}
	acts(r.Schedule.First, 0)
	for n, at := range positions {
		w.region(func() {
			w.enterStep(op, at, hi, step, carried)
			w.values[o.First.Op.Result()] = []held{w.scores}
			acts(r.Schedule.Step, n)
			if n+1 < len(positions) {
				acts(r.Schedule.Next, n)
			} else {
				acts(r.Schedule.Last, n)
			}
			w.at[r]++
		})
	}
}

// overlapAct does one act of a loop whose products overlap, about the step at a position.
func (w *warp) overlapAct(r *ring, a block.Act, at int64, carried []held) {
	o, body := r.Overlap, r.Op.Blocks[0]
	switch a.Do {
	case block.Compute:
		for _, x := range body.Ops {
			if x != o.First.Op && x != o.Last.Op && x != o.Rescale {
				w.do(x)
			}
		}
	case block.Ready:
		w.ready[a.Product] = w.operandsOf(a.Product)
	case block.StartProduct:
		x := w.ready[a.Product]
		if x == nil {
			failf("%s is started before its operands are ready", block.ValueName(a.Product.Op.Result()))
		}
		var acc []cell
		if a.Product == o.Last {
			acc = carried[o.Carried].cells
		}
		w.find(a.Product, x, a.Step, at)
		out := w.startProduct(a.Product, x, acc)
		if a.Product == o.First {
			w.scores = out
		} else {
			carried[o.Carried] = out
		}
	case block.Rescale:
		if o.Rescale != nil {
			w.values[body.Params[o.Carried+1]] = []held{carried[o.Carried]}
			l := w.p().Homes[o.Rescale.Result()]
			carried[o.Carried] = held{layout: carried[o.Carried].layout, cells: w.elementwise(o.Rescale, l)}
		}
	case block.Carry:
		w.yield(r.Op, carried, o.Carried)
	default:
		w.act(r, a)
	}
}
