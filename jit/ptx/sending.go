package ptx

import (
	"math/bits"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
)

// This file has the blocks of a cluster send one another what they join (block.Program.Sends). Each block stores its parts in the others' shared memory, at
// places that are for nothing else, and waits at an mbarrier of its own until the others' parts have come.

// sending is where the parts of a meeting come to lie.
type sending struct {
	block.Meeting
	// at is where in shared memory there lies an mbarrier, and behind it the parts of all blocks, in their order, for each of which there is so much room.
	at, each int
}

// missing is of how many blocks, the first ones, there are no parts.
func (s sending) missing() int {
	if s.FirstAlone {
		return 1
	}
	return 0
}

// partsAlign is by how much the parts of a block are aligned, and lie behind the mbarrier.
const partsAlign = mostMoved

// beginSending gives what is sent its place. The mbarriers are made ready at once, or, where there is a producer, before its warps part from those that compute.
func (k *kernel) beginSending() {
	if !k.Sends() {
		return
	}
	k.a.Require(81)
	k.sendings = map[*ir.Op]sending{}
	for _, m := range k.Meetings() {
		s := sending{Meeting: m, each: (m.Bytes + partsAlign - 1) / partsAlign * partsAlign}
		s.at = k.allocate(partsAlign+s.Place(k.Split)/max(m.Bytes, 1)*s.each, "parts of axis "+m.Joins[0].Axis.Name).at
		k.sendings[m.Joins[0]] = s
	}
	if k.Producing {
		return
	}
	others := k.a.Label()
	k.a.If(k.a.Calc(asm.Pred, "setp.ne.u32", k.tid, asm.Int(0))).Do("bra", others)
	k.expectParts()
	k.a.Place(others)
	k.a.Do("fence.mbarrier_init.release.cluster")
	k.joinCluster()
}

// expectParts makes the mbarriers ready, in one thread.
func (k *kernel) expectParts() {
	for _, m := range k.Meetings() {
		if s, ok := k.sendings[m.Joins[0]]; ok {
			bar := asm.At(k.sharedBase()).Plus(s.at)
			k.a.Do("mbarrier.init.shared::cta.b64", bar, asm.Int(1))
			k.a.Set(asm.Sink, "mbarrier.arrive.expect_tx.shared::cta.b64", bar, asm.Int(s.Place(k.Split)))
		}
	}
}

// joinCluster tells the other blocks that this one's mbarriers are ready: nothing but these is to be seen, and their fence has seen to that.
func (k *kernel) joinCluster() {
	k.a.Do("barrier.cluster.arrive.relaxed.aligned")
}

// awaitCluster waits until all blocks of the cluster have their mbarriers.
func (k *kernel) awaitCluster() {
	if len(k.sendings) > 0 && !k.together {
		k.a.Do("barrier.cluster.wait.acquire.aligned")
		k.together = true
	}
}

// send has the blocks send their parts, and join those that come.
func (k *kernel) send(s sending, all []joined) {
	x := &exchange{k, all, movedTogether(all)}
	a := k.a
	k.awaitCluster()
	if !s.FirstAlone {
		x.send(s, k.Split)
		x.await(s)
		x.join(x.arrived(s))
		return
	}
	begin, first := a.Here(), a.Label()
	a.If(k.firstBlock()).Do("bra.uni", first)
	k.push(begin)
	x.send(s, 1)
	k.pop()
	k.leave()
	a.Place(first)
	x.await(s)
	x.join(x.arrived(s))
}

// await waits until the others' parts have come: what other blocks did is acquired in the cluster's scope.
func (x *exchange) await(s sending) {
	x.k.waitBy("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", x.k.sharedAt(s.at), asm.Int(0))
}

// send stores the block's parts in the memory of so many blocks, the first ones. Of threads that hold the same each sends to another block.
func (x *exchange) send(s sending, blocks int) {
	k, a := x.k, x.k.a
	threads := k.Warps * layout.Lanes
	mine := a.Calc(asm.B32, "mul.lo.u32", a.Register(a.Add(k.rank(), asm.Int(-s.missing()))), asm.Int(s.each))
	for _, m := range x.moved {
		regs := asWords(a, m.regs)
		others := (threads - 1) &^ m.own
		n := 1 << bits.OnesCount(uint(others))
		place := a.Register(a.Add(a.Add(mine, a.Mul(k.holder(m.own), m.bytes)), asm.Int(partsAlign+m.at)))
		for first := 0; first < blocks; first += n {
			to := a.Add(k.holder(others), asm.Int(first))
			there, all := to, first+n <= blocks
			if !all { // an address is computed by all
				there = a.Calc(asm.B32, "min.u32", a.Register(to), asm.Int(blocks-1))
			}
			bar := a.Op(asm.B32, "mapa.shared::cluster.u32", k.sharedAt(s.at), there)
			name, values := m.access("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes", regs)
			at := asm.At(a.Calc(asm.B32, "add.u32", bar, place))
			if all {
				a.Do(name, at, values, asm.At(bar))
			} else {
				a.If(a.Calc(asm.Pred, "setp.lt.u32", a.Register(to), asm.Int(blocks))).Do(name, at, values, asm.At(bar))
			}
		}
	}
}

// arrived reads the parts of a block that have come. The first block, where it alone joins, has its own at hand.
func (x *exchange) arrived(s sending) func(rank int) map[asm.Reg]asm.Reg {
	k, a := x.k, x.k.a
	return func(rank int) map[asm.Reg]asm.Reg {
		parts := map[asm.Reg]asm.Reg{}
		for _, m := range x.moved {
			regs := m.regs
			if !s.FirstAlone || rank > 0 {
				from := asm.At(a.Register(a.Add(k.sharedAt(s.at), a.Mul(k.holder(m.own), m.bytes))))
				regs = x.read("ld.shared", m, from.Plus(partsAlign+(rank-s.missing())*s.each+m.at))
			}
			for i, r := range m.outs {
				parts[r] = regs[i]
			}
		}
		return parts
	}
}
