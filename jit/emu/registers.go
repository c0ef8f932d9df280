package emu

import "fmt"

const (
	groupWarps   = 4 // of a warpgroup
	mostPerEntry = 256
)

// A registerPool accounts for setmaxnreg. Counts are registers a thread, alike for all of a warp.
type registerPool struct {
	free   int // over all warps
	entry  int // each warp's at the start; 0 when the kernel does not say
	byWarp []int
}

// start gives every warp what the kernel's directives say.
func (p *registerPool) start(l *launch) {
	k := l.kernel
	threads := max(k.MaxThreads[0]*k.MaxThreads[1]*k.MaxThreads[2], k.Threads[0]*k.Threads[1]*k.Threads[2])
	*p = registerPool{entry: k.MaxRegisters, byWarp: p.byWarp}
	if p.entry == 0 && threads > 0 && k.MinBlocks > 0 {
		p.entry = min(k.machine().RegistersPerSM/(threads*k.MinBlocks)/8*8, mostPerEntry)
	}
	p.byWarp = p.byWarp[:0]
	for range l.warps() {
		p.byWarp = append(p.byWarp, p.entry)
	}
}

type registerEvent struct {
	pool *registerPool
	need int
}

func (e registerEvent) key() any { return e.pool }
func (e registerEvent) describe() string {
	return fmt.Sprintf("%d registers a thread more, where the pool of the block has %d", e.need, e.pool.free)
}

// setMaxRegisters is setmaxnreg: it takes registers from the block's pool, and waits for them, or gives some back.
func setMaxRegisters(d *decoder) {
	inc := d.must("inc", "dec") == "inc"
	if !d.has("sync") || !d.has("aligned") {
		d.fail("need .sync.aligned")
	}
	d.typeOf("u32")
	n := int(d.constInt())
	if n < 24 || n > 256 || n%8 != 0 {
		d.fail("%d registers: need a multiple of 8 from 24 to 256", n)
	}
	d.in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		if !w.together(f, w.live) {
			return moved
		}
		p := &w.block.registers
		if p.entry == 0 {
			w.report(Registers, w.active, "has no effect: the kernel does not say how many registers it starts with: need .reqntid or .maxntid, and .minnctapersm, or .maxnreg")
			return advance
		}
		have := p.byWarp[w.index]
		switch {
		case inc && n < have:
			w.report(Registers, w.active, "raises the registers of a thread to %d and it has %d", n, have)
		case !inc && n > have:
			w.report(Registers, w.active, "lowers the registers of a thread to %d and it has %d", n, have)
			return advance
		case inc && n-have > p.free:
			return w.await(f, registerEvent{p, n - have})
		}
		w.uniform()
		p.free += have - n
		p.byWarp[w.index] = n
		w.block.cluster.happened()
		w.block.cluster.wake(p)
		return advance
	}
}
