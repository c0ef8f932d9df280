package block

import (
	"math/bits"
	"slices"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file is about where the blocks of a cluster put together what they have of loops that they share (ir.OpJoin), and how it comes from one to another.

// Meeting is joins of one axis that follow one another: blocks exchange for all of them at once.
type Meeting struct {
	Joins []*ir.Op
	// Bytes is what a block has for it; what several threads hold counts once.
	Bytes int
	// FirstAlone: only the first block needs what they give.
	FirstAlone bool
}

// MeetingAt is the meeting that begins with an operation of a region, by its number; of no joins where none does.
func (p *Program) MeetingAt(b *ir.Block, at int) Meeting {
	ops, n := b.Ops[at:], 0
	for n < len(ops) && ops[n].Code == lang.OpJoin && ops[n].Axis == ops[0].Axis && !uses(ops[n], ops[:n]) {
		n++
	}
	m := Meeting{Joins: ops[:n]}
	m.FirstAlone = n > 0 && b == p.Func.Body && p.Alike() && !ops[0].Exclusive && !sharedIn(ops[n:])
	for _, op := range m.Joins {
		home := p.Homes[op.Results[0]]
		for _, v := range op.Joined() {
			m.Bytes += home.Regs() * max(v.Type.DType.Size(), wordBytes) << bits.OnesCount(uint(home.Own()))
		}
	}
	return m
}

// wordBytes is the least that an element takes in a register.
const wordBytes = 4

// uses reports an operation that takes what others give.
func uses(op *ir.Op, others []*ir.Op) bool {
	return slices.ContainsFunc(op.Args, func(v *ir.Value) bool { return slices.Contains(others, v.Def) })
}

// Meetings are those in the kernel's body.
func (p *Program) Meetings() (all []Meeting) {
	for at := 0; at < len(p.Func.Body.Ops); {
		m := p.MeetingAt(p.Func.Body, at)
		if len(m.Joins) > 0 {
			all = append(all, m)
		}
		at += max(len(m.Joins), 1)
	}
	return all
}

// sharedIn reports operations by which blocks still share something.
func sharedIn(ops []*ir.Op) (found bool) {
	(&ir.Block{Ops: ops}).Walk(func(op *ir.Op) bool {
		found = found || op.Code == lang.OpJoin || op.Code == lang.OpFor && op.Axis != nil && op.Axis.Split > 1
		return !found
	})
	return found
}

// Place is the bytes of shared memory in which a block gets the others' parts; the first block, where it alone needs them, has its own at hand.
func (m Meeting) Place(blocks int) int {
	if m.FirstAlone {
		blocks--
	}
	return m.Bytes * blocks
}

// SentBytes is how many bytes of parts a block gets at most of what blocks send one another, and fewSentBytes where no producer feeds the loops: several such
// blocks may share a multiprocessor.
const SentBytes, fewSentBytes = 32 << 10, 8 << 10

// Sends reports that blocks send one another what they have for their meetings: each stores its parts in the others' shared memory, where these have a place as
// long as the block runs, and waits for theirs. To read the others' memory instead takes two barriers of the cluster, and of the release of the first
// ptxas makes a fence of the whole GPU: on an H100 an attention of one query that two blocks shared, with two meetings, took 1.1 us more for each.
func (p *Program) Sends() bool {
	place := 0
	for _, m := range p.Meetings() {
		place += m.Place(p.Split)
	}
	most := fewSentBytes
	if p.Producing {
		most = SentBytes
	}
	return 0 < place && place <= most && p.roomForParts(place)
}

// roomForParts reports a block that has so many bytes left beside what lies in shared memory while its loops run.
func (p *Program) roomForParts(bytes int) bool {
	counted := map[*Tile]bool{nil: true}
	for _, x := range p.Pipelines {
		bytes += x.Stages * x.Bytes()
		for _, c := range x.Copies {
			counted[c.Tile] = true
		}
		if o := x.Overlap; o != nil { // whose last product takes its rows from registers
			counted[o.Last.Tiles[o.Last.A]] = true
		}
	}
	count := func(t *Tile) {
		if !counted[t] {
			bytes += t.Bytes()
		}
		counted[t] = true
	}
	for _, c := range p.Products {
		for _, t := range c.Tiles {
			count(t)
		}
	}
	for _, x := range p.Loads {
		count(x.Tile)
	}
	for _, c := range p.Constants {
		bytes += c.Bytes(p)
	}
	return bytes+besideStages <= int(p.Target.SharedShare(max(p.Resident, p.Occupancy, 1)))
}
