package emu

// A warpgroup is four warps that must execute some instructions alike. Its warps
// run on their own; what each executes is compared with what the first did.
type warpgroup struct {
	log  []groupStep // that some warp has yet to execute
	base int         // number of the first in the log
	at   [groupWarps]int
}

// A groupStep is an instruction of all four warps and the operands that must agree.
type groupStep struct {
	in       *inst
	warp     int
	operands [3]uint64
}

// uniform notes that the warp executes an instruction that its whole warpgroup
// must execute, and reports where it differs from the others.
func (w *warp) uniform(operands ...uint64) {
	g, i := &w.block.groups[w.index/groupWarps], w.index%groupWarps
	if w.index/groupWarps*groupWarps+groupWarps > len(w.block.warps) {
		w.report(Divergence, w.active, "needs a warpgroup of %d warps, and the block has %d warps", groupWarps, len(w.block.warps))
		return
	}
	step := groupStep{in: w.in, warp: w.index}
	copy(step.operands[:], operands)
	at := g.at[i] - g.base
	g.at[i]++
	if at == len(g.log) {
		g.log = append(g.log, step)
	} else if o := g.log[at]; o.in != step.in {
		w.report(Divergence, w.active, "the warpgroup must execute it together, and warp %d executes %s", o.warp, o.in.site)
	} else if o.operands != step.operands {
		w.report(Divergence, w.active, "the operands must be the same in the whole warpgroup, and are %#x here and %#x in warp %d", step.operands, o.operands, o.warp)
	}
	lowest := min(g.at[0], g.at[1], g.at[2], g.at[3])
	g.log = append(g.log[:0], g.log[lowest-g.base:]...)
	g.base = lowest
}

// finishGroups reports the warps that have exited without an instruction of their warpgroup.
func (b *block) finishGroups() {
	for n := range b.groups {
		g := &b.groups[n]
		if len(g.log) == 0 {
			continue
		}
		step := g.log[0]
		for i, at := range g.at {
			if at == g.base && b.warps[n*groupWarps+i].live == 0 {
				w := b.warps[n*groupWarps+step.warp%groupWarps]
				w.in = step.in
				w.report(Divergence, allLanes, "the warpgroup must execute it together, and warp %d never does", n*groupWarps+i)
				break
			}
		}
	}
}
