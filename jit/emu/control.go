package emu

import (
	"tilec/jit/emu/number"
	"tilec/jit/emu/syntax"
)

var controlOps = map[string]operation{
	"bra":            {classControl, branch},
	"brx":            {classControl, indexedBranch},
	"exit":           {classControl, func(d *decoder) { d.in.control = exit }},
	"ret":            {classControl, func(d *decoder) { d.has("uni"); d.in.control = exit }},
	"trap":           {classControl, trap},
	"brkpt":          {classControl, func(*decoder) {}},
	"pmevent":        {classControl, func(d *decoder) { d.has("mask"); d.constInt() }},
	"nanosleep":      {classControl, func(d *decoder) { d.src(number.Types["u32"]) }},
	"griddepcontrol": {classControl, dependentLaunch},
	"membar":         {classBarrier, memoryBarrier},
	"fence":          {classBarrier, fence},
}

// dependentLaunch is griddepcontrol. Launches come one after the other here, so nobody has to wait; that a thread does, counts.
func dependentLaunch(d *decoder) {
	if d.must("launch_dependents", "wait") == "wait" {
		d.in.run = func(w *warp) { w.waited |= w.active }
	}
}

// checkFinished reports a touch of n bytes that the launches before may still write or read.
func (w *warp) checkFinished(address uint64, n, lane int) {
	if w.waited>>lane&1 == 1 {
		return
	}
	for _, r := range w.block.launch.options.Unfinished {
		if address < r.Address+r.Bytes && r.Address < address+uint64(n) {
			w.report(TooEarly, 1<<lane, "an access of %d bytes at address %#x, which the launches before may still write or read: griddepcontrol.wait comes first", n, address)
			return
		}
	}
}

func (d *decoder) label() int {
	o := d.operand()
	at, ok := d.kernel.Labels[d.st.Prefix+o.Name]
	if o.Kind != syntax.OpName || !ok {
		d.fail("there is no label %s", o.Name)
	}
	return at
}

func branch(d *decoder) {
	uniform := d.has("uni")
	target := d.label()
	d.in.control = func(w *warp, f *fragment) outcome {
		taken := w.active
		switch stay := f.mask &^ taken; {
		case taken == 0:
			return advance
		case stay == 0:
			f.pc = target
		default:
			if uniform && !w.mixed {
				w.report(Divergence, taken, "lanes %s take a branch that is marked as uniform and lanes %s do not", laneList(taken), laneList(stay))
			}
			f.mask = stay
			f.pc++
			w.frags = append(w.frags, fragment{pc: target, mask: taken})
		}
		return moved
	}
}

// exit ends the active lanes.
func exit(w *warp, f *fragment) outcome {
	if w.active == 0 {
		return advance
	}
	w.live &^= w.active
	f.mask &^= w.active
	f.pc++
	w.join()
	w.block.cluster.gate.finish(w.block.cluster)
	if w.live == 0 {
		// Barriers of the whole block wait for the living only.
		for n := range w.block.barriers {
			w.block.barriers[n].finish(w.block, n)
		}
	}
	return moved
}

func trap(d *decoder) {
	d.in.control = func(w *warp, _ *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		w.report(Trap, w.active, "the kernel stops itself")
		w.block.stopped = true
		w.live = 0
		w.frags = w.frags[:0]
		return moved
	}
}

func memoryBarrier(d *decoder) {
	switch d.must("cta", "gl", "sys", "proxy") {
	case "gl", "sys":
		d.synchronises()
	case "proxy":
		proxyFence(d)
	}
}

// fence is a fence of memory: with blocks that execute in program order it
// changes nothing but what is known of other blocks.
func fence(d *decoder) {
	if d.has("proxy") {
		proxyFence(d)
		return
	}
	if d.has("mbarrier_init") {
		d.in.run = func(w *warp) {
			for _, b := range w.block.cluster.barriers {
				b.fenced = b.fenced || b.initThread/warpSize == w.slot
			}
		}
	}
	d.one("sc", "acq_rel", "acquire", "release")
	if scope := d.must("cta", "cluster", "gpu", "sys"); scope == "gpu" || scope == "sys" {
		d.synchronises()
	}
}

// indexedBranch is brx.idx: a branch to the label with the number that a register holds.
func indexedBranch(d *decoder) {
	if !d.has("idx") {
		d.fail("need .idx")
	}
	uniform := d.has("uni")
	index := d.src(number.Types["u32"])
	list := d.operand()
	labels, ok := d.kernel.Targets[d.st.Prefix+list.Name]
	if list.Kind != syntax.OpName || !ok {
		d.fail("there is no .branchtargets list %s", list.Name)
	}
	targets := make([]int, len(labels))
	for i, l := range labels {
		if targets[i], ok = d.kernel.Labels[l]; !ok {
			d.fail("there is no label %s", l)
		}
	}
	in := d.in
	in.control = func(w *warp, f *fragment) outcome {
		if w.active == 0 {
			return advance
		}
		w.execute(in, func(*warp) {})
		groups := make([]uint32, len(targets))
		for m := w.active; m != 0; m &= m - 1 {
			lane := first(m)
			i := uint64(uint32(w.regs[index][lane]))
			if i >= uint64(len(targets)) {
				w.report(UndefinedValue, 1<<lane, "branches to target %d of %d", i, len(targets))
				i = uint64(len(targets) - 1)
			}
			groups[i] |= 1 << lane
		}
		stay, taken := f.mask&^w.active, w.active
		var parts []fragment
		for i, mask := range groups {
			if mask != 0 {
				parts = append(parts, fragment{pc: targets[i], mask: mask})
			}
		}
		if uniform && (len(parts) > 1 || stay != 0) && !w.mixed {
			w.report(Divergence, taken, "lanes %s take a branch that is marked as uniform to %d places, and lanes %s do not", laneList(taken), len(parts), laneList(stay))
		}
		if stay != 0 {
			parts = append(parts, fragment{pc: f.pc + 1, mask: stay})
		}
		*f = parts[0]
		w.frags = append(w.frags, parts[1:]...)
		return moved
	}
}
