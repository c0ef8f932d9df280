package emu

// A specialRegister says how a special register's row is filled when a warp
// starts; fill is nil for the registers that change while it runs.
type specialRegister struct {
	fill func(w *warp, lane int) uint64
	read func(w *warp) uint64
}

// specials are the special registers by name.
var specials = func() map[string]specialRegister {
	fixed := func(f func(w *warp, lane int) uint64) specialRegister { return specialRegister{fill: f} }
	table := map[string]specialRegister{
		"%laneid":      fixed(func(_ *warp, lane int) uint64 { return uint64(lane) }),
		"%warpid":      fixed(func(w *warp, _ int) uint64 { return uint64(w.index) }),
		"%nwarpid":     fixed(func(w *warp, _ int) uint64 { return uint64(len(w.block.warps)) }),
		"%smid":        fixed(func(w *warp, _ int) uint64 { return 0 }),
		"%nsmid":       fixed(func(w *warp, _ int) uint64 { return 1 }),
		"%gridid":      fixed(func(w *warp, _ int) uint64 { return uint64(w.block.launch.serial) }),
		"%lanemask_eq": fixed(func(_ *warp, lane int) uint64 { return 1 << lane }),
		"%lanemask_lt": fixed(func(_ *warp, lane int) uint64 { return 1<<lane - 1 }),
		"%lanemask_le": fixed(func(_ *warp, lane int) uint64 { return 2<<lane - 1 }),
		"%lanemask_gt": fixed(func(_ *warp, lane int) uint64 { return allLanes &^ (2<<lane - 1) }),
		"%lanemask_ge": fixed(func(_ *warp, lane int) uint64 { return allLanes &^ (1<<lane - 1) }),

		"%cluster_ctarank":   fixed(func(w *warp, _ int) uint64 { return uint64(w.block.rank) }),
		"%cluster_nctarank":  fixed(func(w *warp, _ int) uint64 { return uint64(len(w.block.cluster.blocks)) }),
		"%dynamic_smem_size": fixed(func(w *warp, _ int) uint64 { return uint64(w.block.launch.dynamic) }),
		"%total_smem_size":   fixed(func(w *warp, _ int) uint64 { return uint64(len(w.block.shared.data)) }),

		"%clock":          {read: func(w *warp) uint64 { return w.block.steps }},
		"%clock_hi":       {read: func(w *warp) uint64 { return w.block.steps >> 32 }},
		"%clock64":        {read: func(w *warp) uint64 { return w.block.steps }},
		"%globaltimer":    {read: func(w *warp) uint64 { return w.block.time() }},
		"%globaltimer_lo": {read: func(w *warp) uint64 { return w.block.time() }},
		"%globaltimer_hi": {read: func(w *warp) uint64 { return w.block.time() >> 32 }},
	}
	for axis, suffix := range []string{".x", ".y", ".z"} {
		table["%tid"+suffix] = fixed(func(w *warp, lane int) uint64 {
			t := w.index*warpSize + lane
			size := w.block.launch.block
			return uint64([3]int{t % size[0], t / size[0] % size[1], t / (size[0] * size[1])}[axis])
		})
		table["%ntid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.launch.block[axis]) })
		table["%ctaid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.place[axis]) })
		table["%nctaid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.launch.grid[axis]) })
		table["%clusterid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.cluster.place[axis]) })
		table["%nclusterid"+suffix] = fixed(func(w *warp, _ int) uint64 {
			return uint64(w.block.launch.grid[axis] / w.block.launch.cluster[axis])
		})
		table["%cluster_ctaid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.place[axis] % w.block.launch.cluster[axis]) })
		table["%cluster_nctaid"+suffix] = fixed(func(w *warp, _ int) uint64 { return uint64(w.block.launch.cluster[axis]) })
	}
	return table
}()
