package emu

var controlOps = map[string]operation{
	"bra":            {classControl, branch},
	"brx":            {classControl, indexedBranch},
	"exit":           {classControl, func(d *decoder) { d.in.control = exit }},
	"ret":            {classControl, func(d *decoder) { d.has("uni"); d.in.control = exit }},
	"trap":           {classControl, trap},
	"brkpt":          {classControl, func(*decoder) {}},
	"pmevent":        {classControl, func(d *decoder) { d.has("mask"); d.constInt() }},
	"nanosleep":      {classControl, func(d *decoder) { d.src(types["u32"]) }},
	"griddepcontrol": {classControl, func(d *decoder) { d.must("launch_dependents", "wait") }},
	"membar":         {classBarrier, memoryBarrier},
	"fence":          {classBarrier, fence},
}

func (d *decoder) label() int {
	o := d.operand()
	at, ok := d.f.labels[d.st.prefix+o.name]
	if o.kind != opName || !ok {
		d.fail("there is no label %s", o.name)
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
	d.has("mbarrier_init")
	d.one("sc", "acq_rel", "acquire", "release")
	if scope := d.must("cta", "cluster", "gpu", "sys"); scope == "gpu" || scope == "sys" {
		d.synchronises()
	}
}
