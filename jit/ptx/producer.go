package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
)

// This file divides the work of a block. One warp more than compute, the
// producer, goes through the loops whose loads are boxes (block.Box) and does
// nothing but copy them, as far ahead as the stages of the pipeline allow. For
// each stage there are two mbarriers: "full" counts the bytes that have come,
// "empty" the warps that have done with it. Nobody else waits for anybody: warps
// that compute need not meet at each step.

// ring is the stages of one loop that the producer fills.
type ring struct {
	// full and empty are where the mbarriers lie in shared memory, those of all stages for each set of copies that come and go together.
	full, empty int
	// stage and phase say where the consumers are. Where products overlap, before is the empty mbarrier of the stage that the step
	// before still reads, in the first lane of a warp, or in two where two blocks share copies; 0 in the others, and where there is no such step.
	stage, phase, before asm.Reg
}

// mbarrierBytes is the size of an mbarrier.
const mbarrierBytes = 8

// startProducer emits what comes before anything else where there is a producer: the mbarriers, and the parting of the ways.
func (k *kernel) startProducer() {
	if !k.Producing {
		return
	}
	var loops []*pipeline
	for _, op := range k.Func.Body.Ops {
		if x := k.Pipelines[op]; x != nil && x.Produced {
			p := k.pipelineOf(op)
			p.step, p.ring = op.Axis.Extent, &ring{}
			loops = append(loops, p)
			k.produced[op] = p
		}
	}
	a := k.a
	k.inProducer(func() {
		initialise := func(at, count int) {
			a.Do("mbarrier.init.shared::cta.b64", asm.At(k.sharedBase()).Plus(at), asm.Int(count))
		}
		initialised := a.Label()
		a.If(a.Op(asm.Pred, "setp.ne.u32", k.thread, asm.Int(0))).Do("bra", initialised) // under a predicate each would be a branch, with a fence behind it
		for _, p := range loops {
			r := p.ring
			n := p.Stages * len(p.Sets())
			b := k.allocate(2*n*mbarrierBytes, "a ring of mbarriers")
			r.full, r.empty = b.at, b.at+n*mbarrierBytes
			for s := range n {
				initialise(r.full+s*mbarrierBytes, 1)
				warps := k.Warps
				if k.paired() {
					warps *= 2
				}
				initialise(r.empty+s*mbarrierBytes, warps)
			}
		}
		k.initialiseLoads(initialise)
		k.expectParts()
		a.Place(initialised)
		a.Do("fence.mbarrier_init.release.cluster")
		if k.paired() { // nothing but the mbarriers is to be seen, and their fence has seen to that: a release would wait for a fence of the whole GPU
			a.Do("barrier.cluster.arrive.relaxed.aligned")
			a.Do("barrier.cluster.wait.acquire.aligned")
		} else {
			a.Do("bar.sync", asm.Int(0))
		}
		if len(k.sendings) > 0 {
			k.joinCluster()
		}
		k.consume = a.Label()
		computing := asm.Int(k.Warps * k.Teams() * layout.Lanes)
		a.If(a.Op(asm.Pred, "setp.lt.u32", k.thread, computing)).Do("bra.uni", k.consume)
		if d := k.Donation; d != nil {
			a.Do("setmaxnreg.dec.sync.aligned.u32", asm.Int(d.Producer))
		}
		a.Comment("the producer is one thread")
		a.If(a.Op(asm.Pred, "setp.ne.u32", k.thread, computing)).Do("ret")
		if early := len(loops) == 1 && loops[0].Early != nil; k.Dependent() && !early { // the warps that compute wait by themselves: what they wait for may be what is copied here
			a.Do("griddepcontrol.wait")
		}
	})
}

// of is where the mbarriers of a set lie, of those that lie from at on.
func (p *pipeline) of(set, at int) int { return at + set*p.Stages*mbarrierBytes }

// inProducer emits code that only the producer runs, behind what it has got already.
// What the body of the kernel computes is not at hand there.
func (k *kernel) inProducer(emit func()) {
	scope := k.scope
	k.scope = k.root
	k.a.Aside(&k.producer, func() {
		k.scope = k.newScope()
		emit()
	})
	k.scope = scope
}

// fill emits the producer's run through a loop.
func (p *pipeline) fill() {
	k, a := p.k, p.k.a
	k.inProducer(func() {
		a.Comment("copy for the loop over %s", p.Op.Axis.Name)
		stage, phase := a.Reg(asm.B32), a.Reg(asm.B32)
		a.Set(stage, "mov.b32", asm.Int(0))
		changed := []asm.Reg{stage, phase}
		if p.Early != nil {
			p.begun = a.Reg(asm.B32)
			a.Set(p.begun, "mov.b32", asm.Int(notBegun))
			changed = append(changed, p.begun)
		}
		if k.Tiles == nil {
			a.Set(phase, "mov.b32", asm.Int(0))
			p.fillSteps(stage, phase)
			return
		}
		a.Set(phase, "mov.b32", asm.Int(1)) // at first all stages are empty
		k.eachTile(k.firstTile(), k.walk.stride, changed, func(asm.Reg) { p.fillSteps(stage, phase) })
		if k.paired() {
			p.awaitReturns(stage, phase)
		}
	})
}

// awaitReturns keeps a block of a pair, whose shared memory the other one's warps arrive in, until they have given all stages back.
func (p *pipeline) awaitReturns(stage, phase asm.Reg) {
	a := p.k.a
	a.Comment("the other block has given all stages back")
	left, top := a.Reg(asm.B32), a.Label()
	a.Set(left, "mov.b32", asm.Int(p.Stages))
	begin := a.Here()
	a.Place(top)
	p.k.push(begin)
	for _, x := range []asm.Reg{left, stage, phase} {
		a.Changes(x)
	}
	for set := range p.Sets() {
		p.wait(p.of(set, p.ring.empty), stage, phase)
	}
	p.advance(stage, phase)
	a.Set(left, "sub.s32", left, asm.Int(1))
	p.k.pop()
	a.If(a.Op(asm.Pred, "setp.gt.s32", left, asm.Int(0))).Do("bra.uni", top)
}

// fillSteps emits the copies of all steps of a loop, from a stage on.
func (p *pipeline) fillSteps(stage, phase asm.Reg) {
	k, a, r := p.k, p.k.a, p.ring
	k.provide(p.Op.Args[0])
	k.provide(p.Op.Args[1])
	p.provideScalars(false)
	lo, hi := k.bounds(p.Op.Axis, p.Op.Args[0], p.Op.Args[1])
	if p.Op.Axis.Split > 1 {
		lo, hi = k.part(lo, hi, p.step)
	}
	if p.Early != nil {
		p.fillEarly(lo, hi)
	}
	position := a.Reg(asm.B32)
	k.a.Move(position, lo)
	top, done := a.Label(), a.Label()
	begin := a.Here()
	a.If(a.Op(asm.Pred, "setp.ge.s32", position, hi)).Do("bra.uni", done)
	a.Place(top)
	k.push(begin)
	for _, x := range append([]asm.Reg{position, stage, phase}, p.counts()...) {
		a.Changes(x)
	}
	k.enter(p.Op.Axis, position, hi, true)
	p.provideScalars(true)
	for _, x := range p.Schedule.Producer {
		if x.Do == block.AwaitRoom {
			p.wait(p.of(x.Set, r.empty), stage, phase)
			continue
		}
		set, full := p.Sets()[x.Set], p.mbarrier(p.of(x.Set, r.full), stage)
		if p.Early == nil {
			p.announce(set, full)
			p.copy(set, stage, full)
			continue
		}
		others := slices.DeleteFunc(slices.Clone(set), func(i int) bool { return slices.Contains(p.Early, i) })
		there, under := a.Label(), a.Here()
		a.If(a.Op(asm.Pred, "setp.gt.s32", p.begun, asm.Int(0))).Do("bra.uni", there)
		k.push(under)
		p.announce(set, full)
		p.copy(p.Early, stage, full)
		k.pop()
		a.Place(there)
		p.copy(others, stage, full)
		a.Set(p.begun, "sub.s32", p.begun, asm.Int(1))
		a.Set(p.begun, "max.s32", p.begun, asm.Int(0))
	}
	p.advance(stage, phase)
	a.Set(position, "add.s32", position, asm.Int(p.step))
	k.pop()
	a.If(a.Op(asm.Pred, "setp.lt.s32", position, hi)).Do("bra.uni", top)
	a.Place(done)
}

// notBegun is of how many steps the early copies are under way, before any are and the block has waited for the launches before.
const notBegun = -1

// counts is the register with of how many steps to come the early copies are under way, where there are such.
func (p *pipeline) counts() []asm.Reg {
	if p.Early == nil {
		return nil
	}
	return []asm.Reg{p.begun}
}

// announce tells an mbarrier how many bytes a set of copies brings.
func (p *pipeline) announce(set []int, full asm.Reg) {
	bytes := 0
	for _, i := range set {
		bytes += p.items[i].tile.Filled()
	}
	p.k.a.Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", asm.At(full), asm.Int(bytes))
}

// copy emits copies to a stage.
func (p *pipeline) copy(items []int, stage, full asm.Reg) {
	for _, i := range items {
		c := p.items[i]
		p.k.a.Comment("copy %s", describe(c.Load))
		p.k.copyBoxes(c.Box, p.at(c, stage), full, c.Shared)
	}
}

// fillEarly emits, for the first tile of a block, the early copies of as many steps as there are stages, which all have room, and the wait for the
// launches before.
func (p *pipeline) fillEarly(lo, hi asm.Reg) {
	k, a, r := p.k, p.k.a, p.ring
	waited, began := a.Label(), a.Here()
	a.If(a.Op(asm.Pred, "setp.ne.s32", p.begun, asm.Int(notBegun))).Do("bra.uni", waited)
	k.push(began)
	a.Changes(p.begun)
	position, stage := a.Reg(asm.B32), a.Reg(asm.B32)
	a.Set(p.begun, "mov.b32", asm.Int(0))
	a.Move(position, lo)
	a.Set(stage, "mov.b32", asm.Int(0))
	last := a.Op(asm.B32, "min.s32", hi, a.Op(asm.B32, "add.s32", lo, asm.Int(int64(p.Stages)*p.step)))
	top, done := a.Label(), a.Label()
	begin := a.Here()
	a.If(a.Op(asm.Pred, "setp.ge.s32", position, last)).Do("bra.uni", done)
	a.Place(top)
	k.push(begin)
	for _, x := range []asm.Reg{position, stage, p.begun} {
		a.Changes(x)
	}
	k.enter(p.Op.Axis, position, hi, true)
	full := p.mbarrier(p.of(0, r.full), stage)
	p.announce(p.Sets()[0], full)
	p.copy(p.Early, stage, full)
	a.Set(stage, "add.s32", stage, asm.Int(1))
	a.Set(p.begun, "add.s32", p.begun, asm.Int(1))
	a.Set(position, "add.s32", position, asm.Int(p.step))
	k.pop()
	a.If(a.Op(asm.Pred, "setp.lt.s32", position, last)).Do("bra.uni", top)
	a.Place(done)
	a.Do("griddepcontrol.wait")
	k.pop()
	a.Place(waited)
}

// start puts those that compute at the first stage.
func (r *ring) start(a *asm.Builder) {
	r.stage, r.phase, r.before = a.Reg(asm.B32), a.Reg(asm.B32), a.Reg(asm.B32)
	for _, x := range r.changes() {
		a.Set(x, "mov.b32", asm.Int(0))
	}
}

// changes are the registers that each step changes.
func (r *ring) changes() []asm.Reg { return []asm.Reg{r.stage, r.phase, r.before} }

// wipe puts 0 where elements have come from beyond the end of the loop and a product would count them.
func (p *pipeline) wipe() {
	k, wiped := p.k, false
	for _, x := range p.items {
		if !x.Box.Wiped {
			continue
		}
		t, vec := p.at(x, p.ring.stage), x.tile.Vector()
		if t.Contiguous() == p.Op.Axis {
			vec = 1
		}
		l := layout.Blocked(t.Axes, t.Extents, vec, k.Warps)
		to := k.accessing(t, l)
		groups, n := l.Groups(t.Contiguous(), vec)
		zeros := slices.Repeat([]asm.Reg{elem.Zero(k.a, t.DType)}, n)
		for _, g := range groups {
			there, ok := k.room(t, t.Extents, l, g[0], k.owner(l))
			if !ok {
				continue
			}
			missing := k.a.Op(asm.Pred, "not.pred", k.mask(l, []*ir.Axis{p.Op.Axis}, g[0]))
			k.put(t.DType, zeros, "st.shared", k.both(there, missing), to.at(g[0]))
		}
		wiped = true
	}
	if wiped {
		k.a.Do("fence.proxy.async.shared::cta")
		k.barrier()
	}
}

// leaveLater has the next step hand back a stage, whose mbarrier this is.
func (p *pipeline) leaveLater(mine asm.Reg) {
	k, a, r := p.k, p.k.a, p.ring
	if !k.paired() {
		a.If(k.firstLane()).Set(r.before, "mov.b32", mine)
		return
	}
	// The first lane hands it to the first block of the cluster, the second to the second.
	lane := a.Calc(asm.B32, "and.b32", k.tid, asm.Int(layout.Lanes-1))
	a.If(a.Calc(asm.Pred, "setp.lt.u32", lane, asm.Int(2))).Set(r.before, "mapa.shared::cluster.u32", mine, lane)
}

// leaveBefore hands back the stage of the step before, where there is one. What an arrival at another block's mbarrier has to order is that
// this block has read its own stage, which is over by then: a release of the block's scope, which costs nothing. Of a release of the cluster's
// scope ptxas makes a fence of the whole GPU, in each step: products of pairs took 1.4 to 1.8 times their time with it.
func (p *pipeline) leaveBefore() {
	a, r, name := p.k.a, p.ring, "mbarrier.arrive.shared::cta.b64"
	if p.k.paired() {
		name = "mbarrier.arrive.shared::cluster.b64"
	}
	a.If(a.Op(asm.Pred, "setp.ne.u32", r.before, asm.Int(0))).Set(asm.Sink, name, asm.At(r.before))
}

// mbarrier is the address of a stage's mbarrier among those that lie from at on.
func (p *pipeline) mbarrier(at int, stage asm.Reg) asm.Reg {
	k := p.k
	return k.a.Calc(asm.B32, "mad.lo.s32", stage, asm.Int(mbarrierBytes), k.a.Calc(asm.B32, "add.s32", k.sharedBase(), asm.Int(at)))
}

// wait waits until the phase of a stage's mbarrier is over.
func (p *pipeline) wait(at int, stage, phase asm.Reg) {
	p.k.waitFor(p.mbarrier(at, stage), phase)
}

// waitFor waits until a phase of an mbarrier is over.
func (k *kernel) waitFor(bar asm.Reg, phase asm.Number) {
	k.waitBy("mbarrier.try_wait.parity.shared::cta.b64", bar, phase)
}

func (k *kernel) waitBy(name string, bar asm.Reg, phase asm.Number) {
	a := k.a
	again := a.Label()
	over := a.Reg(asm.Pred)
	a.Place(again)
	a.Set(over, name, asm.At(bar), phase)
	a.Unless(over).Do("bra", again)
}

// arrive is one arrival of the warp.
func (p *pipeline) arrive(bar asm.Reg) { p.k.arriveAt(bar) }

// arriveAt is one arrival of the warp.
func (k *kernel) arriveAt(bar asm.Reg) {
	k.a.If(k.firstLane()).Set(asm.Sink, "mbarrier.arrive.shared::cta.b64", asm.At(bar))
}

// firstLane is the predicate of the first lane of each warp.
func (k *kernel) firstLane() asm.Reg {
	return k.a.Calc(asm.Pred, "setp.eq.u32", k.a.Calc(asm.B32, "and.b32", k.tid, asm.Int(layout.Lanes-1)), asm.Int(0))
}

// advance moves on to the next stage; the phase changes with each round.
func (p *pipeline) advance(stage, phase asm.Reg) {
	a := p.k.a
	a.Set(stage, "add.s32", stage, asm.Int(1))
	wrap := a.Op(asm.Pred, "setp.eq.s32", stage, asm.Int(p.Stages))
	a.Set(stage, "selp.b32", asm.Int(0), stage, wrap)
	flipped := a.Op(asm.B32, "xor.b32", phase, asm.Int(1))
	a.Set(phase, "selp.b32", flipped, phase, wrap)
}
