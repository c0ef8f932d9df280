package interp

import (
	"fmt"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
)

// This file executes loops, and what schedules say of those with stages.

// ring is the stages of a loop.
type ring struct {
	*block.Pipeline
	// slots are the stages of each copy; full and empty, by set and stage, say when copies have come and when they are done with.
	slots       [][]*slot
	full, empty [][]*phases
}

// makeRings makes the mbarriers of the loops whose copies the producer does, and of what it loads outside of loops.
func (b *blockState) makeRings() {
	p := b.l.p
	warps := p.Warps
	if b.paired() {
		warps *= 2
	}
	for op, x := range p.Pipelines {
		r := &ring{Pipeline: x, slots: make([][]*slot, len(x.Copies))}
		for range x.Sets() {
			var full, empty []*phases
			for range x.Stages {
				full, empty = append(full, &phases{need: 1}), append(empty, &phases{need: warps})
			}
			r.full, r.empty = append(r.full, full), append(r.empty, empty)
		}
		b.rings[op] = r
	}
	for op := range p.Loads {
		b.loads[op] = &loaded{empty: &phases{need: p.Warps}, full: &phases{need: 1}}
	}
}

// makeSlots gives the stages of a ring their places.
func (w *warp) makeSlots(r *ring) {
	for i, c := range r.Copies {
		name := block.ValueName(c.Load.Result())
		at, size := w.arena.Take(c.Tile.Bytes() * r.Stages)
		x := w.block.memory.roomFor(c.Load, "the stages of "+name, at, size)
		if r.slots[i] == nil {
			for s := range r.Stages {
				r.slots[i] = append(r.slots[i], newSlot(x, stageName(name, s), s*c.Tile.Bytes()))
			}
			x.slots = r.slots[i]
		}
	}
}

func newSlot(x *room, name string, at int) *slot {
	return &slot{room: x, name: name, at: at, seq: -1, awaited: map[*warp]int{}, landed: map[*warp]int{}, read: map[*warp]int{}, readers: map[*pending]bool{}}
}

// step is the position of the step that is so many behind the one that runs, and stage its stage.
func (w *warp) stage(r *ring, step int) (seq, stage int) {
	seq = w.at[r] + step
	return seq, seq % r.Stages
}

// act does one act of a schedule that is of no one step's own.
func (w *warp) act(r *ring, a block.Act) {
	s, p := w.sched(), w.p()
	switch a.Do {
	case block.Barrier:
		w.meet("meet at a barrier", nil)
	case block.HandOver:
		for set := range r.Sets() {
			for stage := range r.Stages {
				r.empty[set][stage].arrive()
			}
		}
		s.yield()
	case block.AwaitCopies:
		w.awaitCopies(r, a)
	case block.AwaitLoads:
		for _, op := range w.readLoads(r) {
			x := w.block.loads[op]
			s.wait("the load of "+block.ValueName(op.Result()), func() bool { return x.full.over(0) })
			x.slot.awaited[w] = x.slot.fill
		}
	case block.Wipe:
		w.wipe(r)
	case block.AwaitProducts:
		w.awaitProducts(a.UnderWay)
	case block.Return:
		_, stage := w.stage(r, a.Step)
		w.giveBack(r, a.Set, stage)
	case block.Keep:
		_, stage := w.stage(r, a.Step)
		if w.kept[r] == nil {
			w.kept[r] = map[int]int{}
		}
		w.kept[r][a.Set] = stage
	case block.ReturnKept:
		if stage, ok := w.kept[r][a.Set]; ok {
			delete(w.kept[r], a.Set)
			w.giveBack(r, a.Set, stage)
		}
	case block.TakeTurn, block.PassTurn:
		takers, mine := p.Teams(), 0
		if w.team != nil {
			mine = w.team.n
		}
		if takers == 1 { // warpgroups
			const groupWarps = 4
			takers, mine = p.Warps/groupWarps, w.n/groupWarps
		}
		if a.By > 0 && a.By != mine+1 {
			return
		}
		at := a.Turn + mine
		if a.Do == block.PassTurn {
			at = a.Turn + 1 - mine
		}
		b := w.block.named[at]
		if b == nil {
			b = &barrier{need: p.Teams() * p.Warps}
			w.block.named[at] = b
		}

		if a.Do == block.PassTurn {
			b.arrive()
			s.yield()
			return
		}
		s.sync(b, fmt.Sprintf("its turn at barrier %d", at))
	case block.SkipStages:
		w.at[r] += w.steps(r)
	default:
		failf("the schedule of the loop over %s has %s where it cannot be", r.Op.Axis.Name, a)
	}
}

// giveBack says that the warp is done with a stage, of both blocks where two share copies.
func (w *warp) giveBack(r *ring, set, stage int) {
	if !w.block.paired() {
		r.empty[set][stage].arrive()
	} else {
		for _, b := range w.block.c.blocks {
			b.rings[r.Op].empty[set][stage].arrive()
		}
	}
	w.sched().yield()
}

// awaitCopies waits for the copies of a step.
func (w *warp) awaitCopies(r *ring, a block.Act) {
	if !r.Produced {
		for len(w.groups) > a.UnderWay {
			for _, land := range w.groups[0] {
				land()
			}
			w.groups = w.groups[1:]
		}
		return
	}
	seq, stage := w.stage(r, a.Step)
	full := r.full[a.Set][stage]
	w.sched().wait(fmt.Sprintf("the copies to stage %d of the loop over %s", stage, r.Op.Axis.Name), func() bool { return full.over(seq / r.Stages) })
	for _, i := range r.Sets()[a.Set] {
		s := r.slots[i][stage]
		s.awaited[w] = s.fill
	}
}

// steps is how many steps a loop has.
func (w *warp) steps(r *ring) int {
	lo, hi := w.span(r.Op)
	step := r.Op.Axis.Extent
	return int((max(hi-lo, 0) + step - 1) / step)
}

// span is from where and up to where a loop goes in this block.
func (w *warp) span(op *ir.Op) (lo, hi int64) {
	lo, hi = w.bounds(op.Axis, w.anewScalar(op.Args[0]), w.anewScalar(op.Args[1]), op.Args[0], op.Args[1])
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
	mark = w.arena.Top
	w.makeSlots(r)
	for _, a := range r.Schedule.Begin {
		if a.Do == block.StartCopies {
			w.copies(r, lo+int64(a.Step)*step, hi, a.Step)
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
	if f := w.p().Phases[op]; f != nil && at+step <= hi && w.inPhase(f, at+step-1) {
		w.holds = f.Holds
	}
}

// inPhase reports a step of a phase: the condition holds up to its last position, whatever the element.
func (w *warp) inPhase(f *block.Phase, last int64) bool {
	least := int32(f.Limit.Offset)
	for _, s := range f.Limit.Scalars {
		least += int32(w.scalar(s).Int)
	}
	most := least
	if f.Along != nil {
		least += int32(w.axis(f.Along).start)
		most = least + int32(f.Along.Extent-1)
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

// copies starts the copies of a step to its stage, of a loop whose threads copy; none where there is no such step.
func (w *warp) copies(r *ring, at, hi int64, seq int) {
	var group []func()
	if at < hi {
		x := w.elsewhere(r.Op, at, hi)
		for i := range r.Copies {
			c := &r.Copies[i]
			s := r.slots[i][seq%r.Stages]
			s.begin(w, at, seq)
			group = append(group, x.copyThreads(c.Load, c.Tile, c.Layout, s.room, s.at, "the copies of "+s.name), func() { s.landed[w] = w.epoch })
		}
	}
	w.groups = append(w.groups, group)
}

// elsewhere is what a warp knows in another step of a loop: nothing that the loop's body has computed.
func (w *warp) elsewhere(op *ir.Op, at, hi int64) *warp {
	x := *w
	x.anew = true
	x.values = map[*ir.Value][]held{}
	inside := map[*ir.Value]bool{}
	op.Blocks[0].Walk(func(op *ir.Op) bool {
		for _, v := range op.Results {
			inside[v] = true
		}
		return true
	})
	for v, hs := range w.values {
		if !inside[v] && !slices.Contains(op.Blocks[0].Params, v) {
			x.values[v] = hs
		}
	}
	x.axes = map[*ir.Axis]position{}
	for a, st := range w.axes {
		x.axes[a] = st
	}
	x.enter(op.Axis, at, min(at+op.Axis.Extent, hi))
	x.values[op.Blocks[0].Params[0]] = []held{{layout: layout.Uniform(w.p().Warps), cells: []cell{{ir.Const{Int: at}, true}}}}
	return &x
}

// copyThreads marks the elements of a load that the warp's threads copy as being on their way, and gives what brings them. What does
// not exist comes as 0.
func (w *warp) copyThreads(load *ir.Op, t *block.Tile, l layout.Layout, to *room, base int, what string) func() {
	coords, _ := w.block.l.spreadOf(l, t.Axes).of(w)
	axes := load.Result().Type.Axes
	exists := w.masked(l, t.Axes)
	idx := w.indices(load, l, axes)
	data := w.block.tensor(load.Tensor)
	type element struct {
		offset int
		c      ir.Const
	}
	var all []element
	n := l.Regs() * layout.Lanes
	at := make([]int64, len(data.shape))
	for i := range n {
		inside := true
		for j := range t.Axes {
			inside = inside && int(coords[j][i]) < t.Extents[j]
		}
		if !inside {
			continue
		}
		row, column := t.Place(func(a *ir.Axis) int { return int(coords[slices.Index(t.Axes, a)][i]) })
		e := element{offset: base + t.Offset(row, column)}
		if exists[i] {
			for d := range at {
				at[d] = idx[d][i].Int
			}
			if place := w.locate(load, data, at); place >= 0 {
				e.c = data.get(place)
			}
		}
		to.take(e.offset, t.DType.Size(), what)
		all = append(all, e)
	}
	return func() {
		for _, e := range all {
			to.put(e.offset, t.DType, e.c)
		}
	}
}

// wipe puts 0 where what lies beyond the end of the loop has come.
func (w *warp) wipe(r *ring) {
	st := w.axis(r.Op.Axis)
	left := st.end - st.start
	if left >= r.Op.Axis.Extent || !slices.ContainsFunc(r.Copies, func(c block.Copy) bool { return c.Box.Wiped }) {
		return
	}
	_, stage := w.stage(r, 0)
	w.meet("wipe", nil)
	for i, c := range r.Copies {
		if !c.Box.Wiped || w.n > 0 {
			continue
		}
		s, t := r.slots[i][stage], c.Tile
		walkTile(t, func(coord func(*ir.Axis) int) {
			if int64(coord(r.Op.Axis)) >= left {
				row, column := t.Place(coord)
				s.room.put(s.at+t.Offset(row, column), t.DType, ir.Const{})
			}
		})
	}
	w.meet("wiped", nil)
}

// walkTile goes over all elements of a tile.
func walkTile(t *block.Tile, visit func(coord func(*ir.Axis) int)) {
	counts := make([]int, len(t.Axes))
	coord := func(a *ir.Axis) int {
		if i := slices.Index(t.Axes, a); i >= 0 {
			return counts[i]
		}
		return 0
	}
	for {
		visit(coord)
		i := 0
		for i < len(counts) {
			counts[i]++
			if counts[i] < t.Extents[i] {
				break
			}
			counts[i] = 0
			i++
		}
		if i == len(counts) {
			return
		}
	}
}
