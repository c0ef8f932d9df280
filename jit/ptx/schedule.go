package ptx

import (
	"fmt"

	"tilec/jit/block"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file emits the acts of a loop's schedule (block.Schedule), but for those that only loops whose products overlap have.

// doAll emits acts in order.
func (p *pipeline) doAll(acts []block.Act) {
	for _, x := range acts {
		p.do(x)
	}
}

// do emits one act of a loop of which the step begins, or that has none yet.
func (p *pipeline) do(x block.Act) {
	k, a, r := p.k, p.k.a, p.ring
	switch x.Do {
	case block.Barrier:
		k.barrier()
	case block.HandOver:
		a.Do("fence.proxy.async.shared::cta")
		a.Do("bar.warp.sync", asm.AllLanes)
		for s := range p.Stages * len(p.Sets()) {
			p.arrive(a.Register(a.Add(k.sharedBase(), asm.Int(r.empty+s*mbarrierBytes))))
		}
	case block.AwaitCopies:
		p.awaitCopies(x)
	case block.Wipe:
		if k.partial(p.Op.Axis) {
			p.wipe()
		}
	case block.AwaitProducts:
		k.awaitWgmma(x.UnderWay)
	case block.Return:
		a.Do("bar.warp.sync", asm.AllLanes)
		p.arrive(p.mbarrier(p.of(x.Set, r.empty), r.stage))
	case block.Keep:
		p.leaveLater(p.mbarrier(p.of(x.Set, r.empty), r.stage))
	case block.ReturnKept:
		a.Do("bar.warp.sync", asm.AllLanes)
		p.leaveBefore()
	case block.TakeTurn:
		k.takeTurn(x.Turn)
	case block.PassTurn:
		k.leaveTurn(x.Turn)
	case block.SkipStages:
		p.skip(asm.Int(1))
	default:
		panic(fmt.Sprintf("a loop over %s has no act %s", p.Op.Axis.Name, x))
	}
}

// awaitCopies waits for the copies of the step. What a producer has copied is at hand from then on, what threads have when all of them
// have waited.
func (p *pipeline) awaitCopies(x block.Act) {
	if p.Produced {
		p.wait(p.of(x.Set, p.ring.full), p.ring.stage, p.ring.phase)
		p.atHand(x.Set, p.ring.stage)
		return
	}
	a := p.k.a
	a.Do("cp.async.wait_group", asm.Int(x.UnderWay))
	for _, c := range p.items {
		if c.tile.Async {
			a.Do("fence.proxy.async.shared::cta")
			break
		}
	}
}

// atHand has the copies of a set at hand that are in a stage.
func (p *pipeline) atHand(set int, stage asm.Reg) {
	for _, i := range p.Sets()[set] {
		v := p.items[i].Load.Result()
		p.k.scope.tiles[v] = append(p.k.scope.tiles[v], p.at(p.items[i], stage))
	}
}

// next begins a step of the loop: it emits what its schedule has before what the step computes.
func (p *pipeline) next(position asm.Reg) {
	if len(p.items) == 0 {
		return
	}
	a := p.k.a
	if p.Produced {
		a.Changes(p.ring.changes()...)
	} else {
		a.Changes(p.read, p.write)
	}
	for _, x := range p.Schedule.Step {
		switch x.Do {
		case block.Compute:
			return
		case block.Barrier:
			p.do(x)
			p.atHand(0, p.read)
		case block.StartCopies: // of a step to come, to the stage that the last step has left
			if p.Steps == 0 || x.Step < p.Steps {
				p.copies(a.Op(position.Class, position.Class.Signed("add"), position, asm.Int(int64(x.Step)*p.step)), p.write, p.items)
			}
			a.Do("cp.async.commit_group")
			for _, r := range []asm.Reg{p.read, p.write} {
				a.Set(r, "add.s32", r, asm.Int(1))
				wrap := a.Op(asm.Pred, "setp.eq.s32", r, asm.Int(p.Stages))
				a.Set(r, "selp.b32", asm.Int(0), r, wrap)
			}
		default:
			p.do(x)
		}
	}
}

// end ends a step: it emits what its schedule has behind what the step computes.
func (p *pipeline) end() {
	if !p.Produced {
		return
	}
	p.mbarrier(p.of(0, p.ring.empty), p.ring.stage) // is computed before the warp waits for its lanes
	computed := false
	for _, x := range p.Schedule.Step {
		if computed {
			p.do(x)
		}
		computed = computed || x.Do == block.Compute
	}
	p.advance(p.ring.stage, p.ring.phase)
}

// finish ends the loop, and gives the stages' memory back.
func (p *pipeline) finish() {
	k := p.k
	if p.Produced {
		k.awaitBeside()
	}
	for _, x := range p.Schedule.End {
		if x.Do == block.ReturnKept {
			k.a.Changes(p.ring.changes()...)
		}
		p.do(x)
		if x.Do == block.ReturnKept {
			k.a.Set(p.ring.before, "mov.b32", asm.Int(0))
		}
	}
	switch {
	case k.Tiles != nil && k.Teams() == 1:
		k.storesAreRead()
	case k.Tiles == nil && len(p.items) > 0:
		k.forgetAbove(p.base.at)
		k.release(p.base)
	}
}

// takeTurn waits until another team, or the other warpgroup, has passed a turn on, and leaveTurn passes it on.
func (k *kernel) takeTurn(turn int) {
	k.a.Do("bar.sync", k.a.Calc(asm.B32, "add.s32", k.taker(), asm.Int(turn)), k.takers())
}

func (k *kernel) leaveTurn(turn int) {
	other := k.a.Calc(asm.B32, "sub.s32", asm.Int(turn+1), k.taker())
	k.a.Do("bar.arrive", other, k.takers())
}

// taker is which of those who take turns a thread belongs to: a team, or a warpgroup where there is one team. takers is how many
// threads they have together.
func (k *kernel) taker() asm.Reg {
	if k.Teams() > 1 {
		return k.walk.team
	}
	return k.a.Calc(asm.B32, "shr.u32", k.tid, asm.Int(7))
}

func (k *kernel) takers() asm.Int { return asm.Int(k.Teams() * k.Warps * layout.Lanes) }
