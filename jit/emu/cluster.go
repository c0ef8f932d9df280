package emu

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"tilec/jit/emu/number"
	"tilec/jit/emu/race"
	"tilec/jit/emu/syntax"
)

// maxCluster is the most blocks that a cluster may have, with a kernel that asks for more than the portable 8.
const maxCluster = 16

// A cluster is the blocks that run together and reach each other's shared memory.
type cluster struct {
	launch *launch
	place  [3]int // %clusterid
	blocks []*block
	time   race.Timeline
	random *rand.Rand

	operations []*operationInFlight
	tags       []tag // of asynchronous writes to shared memory, from 1
	barriers   []*mbarrier
	gate       clusterGate
	// events counts what may let a waiting thread go on; quiet the rounds without one.
	events, seenEvents, quiet int
}

func (l *launch) warps() int {
	return (l.block[0]*l.block[1]*l.block[2] + warpSize - 1) / warpSize
}

func (l *launch) clusterSize() int { return l.cluster[0] * l.cluster[1] * l.cluster[2] }

// checkCluster finds the shape of clusters and whether it fits the grid.
func (l *launch) checkCluster() error {
	asked, own := l.options.Cluster, l.kernel.Cluster
	l.cluster = [3]int{1, 1, 1}
	switch {
	case own != [3]int{}:
		for i, n := range asked {
			if asked != [3]int{} && max(n, 1) != own[i] {
				return fmt.Errorf("clusters of %v, and .reqnctapercluster demands %v", asked, own)
			}
		}
		l.cluster = own
	case asked != [3]int{}:
		l.cluster = asked
	}
	for i := range l.cluster {
		l.cluster[i] = max(l.cluster[i], 1)
		if l.grid[i]%l.cluster[i] != 0 {
			return fmt.Errorf("the grid %v is no multiple of the cluster %v", l.grid, l.cluster)
		}
	}
	if n := l.clusterSize(); n > maxCluster {
		return fmt.Errorf("clusters of %d blocks, at most %d are possible", n, maxCluster)
	}
	return nil
}

// newCluster makes the blocks that a worker uses for one cluster after the other.
func newCluster(l *launch) *cluster {
	c := &cluster{launch: l}
	for rank := range l.clusterSize() {
		c.blocks = append(c.blocks, newBlock(l, c, rank))
	}
	return c
}

// start puts all blocks at the beginning of their program.
func (c *cluster) start(id int) {
	l := c.launch
	var clusters [3]int
	for i := range clusters {
		clusters[i] = l.grid[i] / l.cluster[i]
	}
	c.place = [3]int{id % clusters[0], id / clusters[0] % clusters[1], id / (clusters[0] * clusters[1])}
	if c.time.Begin() { // stretches of earlier blocks have ended
		for _, b := range c.blocks {
			b.shared.accesses.Forget()
		}
	}
	c.operations, c.tags, c.barriers = c.operations[:0], c.tags[:0], c.barriers[:0]
	c.gate = clusterGate{}
	c.events, c.seenEvents, c.quiet = 0, 0, 0
	if l.options.Seed != 0 {
		c.random = rand.New(rand.NewPCG(uint64(l.options.Seed), uint64(id)))
	}
	for rank, b := range c.blocks {
		s := l.cluster
		at := [3]int{rank % s[0], rank / s[0] % s[1], rank / (s[0] * s[1])}
		for i := range at {
			at[i] += c.place[i] * s[i]
		}
		b.start(at)
	}
}

// run executes the blocks to their end.
func (c *cluster) run() {
	for {
		progress, alive := 0, false
		for _, b := range c.blocks {
			n, lives := b.turn()
			progress, alive = progress+n, alive || lives
			if b.stopped {
				return
			}
		}
		switch {
		case !alive:
			c.finish()
			return
		case progress == 0 && !c.endOperation() && !c.expire():
			c.deadlock()
			return
		case progress > 0 && c.random != nil:
			for n := c.random.IntN(2 + len(c.operations)/2); n > 0 && c.endOperation(); n-- {
			}
		}
		if c.launch.ended.Load() {
			return
		}
		if c.launch.spend(progress) {
			w := c.firstAlive()
			w.report(Runaway, w.live, "the launch has executed more than %d warp instructions and not ended", c.launch.options.MaxSteps)
			return
		}
	}
}

func (c *cluster) firstAlive() *warp {
	for _, b := range c.blocks {
		if w := b.firstAlive(); w.live != 0 {
			return w
		}
	}
	return c.blocks[0].warps[0]
}

// deadlock reports who waits for what.
func (c *cluster) deadlock() {
	var waits []string
	for _, b := range c.blocks {
		waits = append(waits, b.waits()...)
	}
	const most = 8
	if n := len(waits); n > most {
		waits = append(waits[:most], fmt.Sprintf("and %d more", n-most))
	}
	for _, b := range c.blocks {
		b.finishGroups()
	}
	w := c.firstAlive()
	w.in = &c.launch.kernel.code[w.frags[0].pc]
	who := "block"
	if len(c.blocks) > 1 {
		who = "cluster"
	}
	w.report(Deadlock, w.live, "no thread of the %s can run: %s", who, strings.Join(waits, "; "))
}

// threadName names a thread by its number in the cluster.
func (c *cluster) threadName(thread int) string {
	size := c.launch.warps() * warpSize
	if len(c.blocks) == 1 {
		return fmt.Sprintf("thread %d", thread)
	}
	return fmt.Sprintf("thread %d of block %d", thread%size, thread/size)
}

// blockWindow is how far the shared memories of a cluster's blocks lie apart in .shared::cluster addresses. Addresses of a block's own
// variables are of these too, as on sm_90, where the bits from 24 on are the block's rank: a descriptor that has no room for them has to be made of the others.
const blockWindow = 1 << 24

// window is where the addresses of a block's shared memory begin.
func (b *block) window() uint64 { return uint64(b.rank) * blockWindow }

// owner is the block whose shared memory holds an address; nil, with a finding, when there is none.
func (w *warp) owner(s syntax.Space, address uint64, n, lane int) *block {
	rank := int(address / blockWindow)
	switch {
	case rank == w.block.rank:
		return w.block
	case rank >= len(w.block.cluster.blocks):
		w.report(OutOfBounds, 1<<lane, "an access of %d bytes at %s address %#x, which is in no block of the cluster", n, s, address)
		return nil
	case s == syntax.SpaceShared:
		w.report(OutOfBounds, 1<<lane, "an access of %d bytes at shared address %#x of block %d of the cluster: that memory is .shared::cluster", n, address, rank)
		return nil
	}
	b := w.block.cluster.blocks[rank]
	for _, o := range b.warps {
		if o.live != 0 {
			return b
		}
	}
	w.report(OutOfBounds, 1<<lane, "an access of %d bytes at shared address %#x of block %d of the cluster, which has exited", n, address%blockWindow, rank)
	return nil
}

var clusterOps = map[string]operation{
	"mapa":       {classMove, mapAddress},
	"getctarank": {classMove, blockRank},
	"setmaxnreg": {classControl, setMaxRegisters},
}

// mapAddress is mapa: the address in another block's shared memory.
func mapAddress(d *decoder) {
	generic := !d.has("shared::cluster")
	t := d.typeOf("u32", "u64")
	dst := d.dst(t)
	var a row
	if o := d.ops[0]; o.Kind == syntax.OpName && d.st.Scope.Variable(o.Name) != nil {
		d.operand()
		a = d.addressOf(d.st.Scope.Variable(o.Name), o.Offset)
	} else {
		a = d.src(t)
	}
	rank := d.src(number.Types["u32"])
	d.in.run = func(w *warp) {
		out := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			v, to := w.regs[a][lane], w.regs[rank][lane]&0xffffffff
			var base uint64
			if generic {
				if base = v &^ (windowSize - 1); base != sharedWindow {
					w.report(OutOfBounds, 1<<lane, "generic address %#x is not in shared memory", v)
					continue
				}
			}
			if to >= uint64(len(w.block.cluster.blocks)) {
				w.report(OutOfBounds, 1<<lane, "block %d of a cluster of %d", to, len(w.block.cluster.blocks))
				to = 0
			}
			out[lane] = (base | to*blockWindow | v&(blockWindow-1)) & dst.mask
		}
	}
}

// blockRank is getctarank: whose shared memory an address is in.
func blockRank(d *decoder) {
	generic := !d.has("shared::cluster")
	t := d.typeOf("u32", "u64")
	dst := d.dst(number.Types["u32"])
	a := d.src(t)
	d.in.run = func(w *warp) {
		out := w.out(dst)
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			v := w.regs[a][lane]
			if generic {
				v -= sharedWindow
			}
			out[lane] = v / blockWindow
		}
	}
}

// A clusterGate is the barrier of a cluster: every thread arrives, then waits.
type clusterGate struct {
	phase   int
	arrived [maxCluster * 32]uint32 // lanes, by warp of the cluster
	clock   race.Clock
	done    race.Clock
}

// clusterBarrier decodes barrier.cluster: .arrive and .wait.
func clusterBarrier(d *decoder, aligned bool) {
	arrives := d.must("arrive", "wait") == "arrive"
	sem := d.one("release", "relaxed", "acquire")
	if arrives && sem == "acquire" || !arrives && (sem == "release" || sem == "relaxed") {
		d.fail(".%s does not go here", sem)
	}
	aligned = d.has("aligned") || aligned
	in := d.in
	in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		if aligned && !w.together(f, w.live) {
			return moved
		}
		g := &w.block.cluster.gate
		if arrives {
			if again := w.active & g.arrived[w.slot]; again != 0 {
				w.report(BarrierMisuse, again, "arrives at the barrier of the cluster twice in a phase")
			}
			if g.clock.Seen == nil || g.clock.Stretch != uint32(g.phase) {
				g.clock.Clear(len(w.clock.Seen))
				g.clock.Stretch = uint32(g.phase)
			}
			if sem != "relaxed" {
				w.releaseLanes()
				g.clock.Join(&w.clock)
			}
			for _, b := range w.block.cluster.barriers {
				if b.fenced && b.shownIn == 0 && b.initThread/warpSize == w.slot {
					b.shownIn = g.phase + 1
				}
			}
			g.arrived[w.slot] |= w.active
			for m := w.active; m != 0; m &= m - 1 {
				w.gates[first(m)] = g.phase + 1
			}
			f.pc++
			g.finish(w.block.cluster)
			return moved
		}
		// To wait without having arrived in the phase is undefined.
		var need int
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			if w.gates[lane] == 0 {
				w.report(BarrierMisuse, 1<<lane, "waits at the barrier of the cluster and has not arrived")
			}
			need = max(need, w.gates[lane])
		}
		if g.phase >= need {
			w.clock.Join(&g.done)
			w.passed = max(w.passed, need)
			for m := w.active; m != 0; m &= m - 1 {
				w.gates[first(m)] = 0
			}
			return advance
		}
		return w.await(f, gateEvent{g})
	}
}

type gateEvent struct{ gate *clusterGate }

func (e gateEvent) key() any         { return e.gate }
func (e gateEvent) describe() string { return "the barrier of the cluster" }

// finish completes the barrier when all threads that live have arrived.
func (g *clusterGate) finish(c *cluster) {
	any := false
	for _, b := range c.blocks {
		for _, w := range b.warps {
			if w.live&^g.arrived[w.slot] != 0 {
				return
			}
			any = any || g.arrived[w.slot] != 0
		}
	}
	if !any {
		return
	}
	if len(g.done.Seen) != len(g.clock.Seen) {
		g.done.Clear(len(g.clock.Seen))
	}
	g.done.Join(&g.clock)
	g.phase++
	clear(g.arrived[:])
	c.happened()
	c.wake(g)
	c.settle()
}
