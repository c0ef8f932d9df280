package interp

import (
	"fmt"

	"tilec/jit/block"
)

// This file executes what schedules say of loops with stages.

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

// stage is how many steps of the ring are before the one that is so many behind the one that runs, and the stage of that.
func (w *warp) stage(r *ring, step int) (seq, stage int) {
	seq = w.at[r] + step
	return seq, seq % r.Stages
}

// act does one act of a schedule that is of no one step's own.
func (w *warp) act(r *ring, a block.Act) {
	s := w.sched()
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
		w.turn(a)
	case block.SkipStages:
		w.at[r] += w.steps(r)
	default:
		failf("the schedule of the loop over %s has %s where it cannot be", r.Op.Axis.Name, a)
	}
}

// turn takes a turn of two teams, or of two warpgroups where there is one team, or passes it on to the other.
func (w *warp) turn(a block.Act) {
	p, mine := w.p(), w.team.n
	if p.Teams() == 1 {
		const groupWarps = 4
		mine = w.n / groupWarps
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
	if a.Do == block.TakeTurn {
		w.sched().sync(b, fmt.Sprintf("its turn at barrier %d", at))
		return
	}
	b.arrive()
	w.sched().yield()
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
