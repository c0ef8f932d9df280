package plan

import (
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/target"
	"tilec/lang"
)

// This file is about an axis that the blocks of a cluster share. Where the grid
// has too few blocks for the machine, a long axis that a block would go through
// by itself is work for several, who then put together what they have.

// splits are the numbers of blocks that an axis is spread over, where nothing pins them.
var splits = []int{1, 2, 4, 8}

// sharingPays is by how much sharing has to be faster before the planner chooses it: what it costs
// that blocks work together is an estimate (an H200, f32 1024x4096x1024 and 1024x3072x768 by two blocks 40.1 and 31.3 us, by one 35.5 and 28.0, predicted to be 1.15 times as long and more; bf16
// 512x8192x2048 39.7 and 40.7, predicted to be 1.19 times).
const sharingPays = 1.25

// mixedPays is that of products of two types (an H200: of bf16 and i8 256x4096x4096 23.1 us where two blocks share the depth, 22.5 where none do, 22.0 and 23.9 predicted; int4_linear of that size 22.1 and
// 22.9, 21.0 and 23.2 predicted). Those that begin while launches before them run, whose weights are there by then, were not.
const mixedPays = 1.1

// gain is that factor for the kernel.
func (m *model) gain() float64 {
	switch {
	case m.repeats && !m.growsWithGrid():
		return repeatedPays
	case m.softmax:
		return softmaxPays
	case m.mixed && !m.f.Dependent:
		return mixedPays
	}
	return sharingPays
}

// pays reports that a candidate in which blocks share an axis is better by a factor than one in which none do.
func (s *scored) pays(alone *scored, by float64) bool {
	return s.e != nil && (alone.e == nil || s.e.time*by < alone.e.time-alone.e.shorter)
}

// shareable finds the axis that the planner may spread over the blocks of a
// cluster, the longest of those that allow it; -1 where there is none. All that
// goes along it must be cut into parts that join element by element, at the top
// of the kernel, and no block may need what another says, writes or changes.
// Where no whole axis is one, that of the loop of an online softmax may be.
func (m *model) shareable() int {
	if !m.target.Has(target.Clusters) || m.split > 1 || m.cluster > 0 || m.f.Spill {
		return -1
	}
	read, written, alone := map[*ir.Tensor]bool{}, map[*ir.Tensor]bool{}, false
	m.f.Walk(func(op *ir.Op) bool {
		switch {
		case op.Code.IsDebug() || op.Code.Row().Effect == lang.Writes && len(op.Results) > 0:
			alone = true
		case op.Code == lang.OpLoad:
			read[op.Tensor] = true
		case op.Tensor != nil:
			written[op.Tensor] = true
		}
		return true
	})
	for t := range written {
		alone = alone || read[t]
	}
	if alone {
		return -1
	}
	best := -1
	for i, a := range m.f.Axes {
		if a.Kind == ir.Whole && a.Split == 0 && m.streamable[i] && m.divides(a) && (best < 0 || m.size[i] > m.size[best]) {
			best = i
		}
	}
	if best >= 0 {
		best = m.outermost(best)
	}
	if best < 0 {
		best = m.softmaxAxis()
	}
	return best
}

// outermost is, of the axes over which products are summed together with one, the first whose steps are enough for all blocks of a cluster: its loop is around the others, and blocks
// that share an inner one put together what they have in each of its steps.
func (m *model) outermost(i int) int {
	for _, s := range m.ops {
		if isContraction(s.op) && slices.Contains(s.op.Over, m.f.Axes[i]) {
			for _, a := range s.op.Over {
				if o := m.place[a]; a.Split == 0 && m.streamable[o] && m.size[o] >= int64(splits[len(splits)-1]) && m.divides(a) {
					return o
				}
			}
		}
	}
	return i
}

// softmaxAxis finds the axis of a loop, at the top of the kernel, that is an online softmax; -1 where there is none.
func (m *model) softmaxAxis() int {
	for _, op := range m.f.Body.Ops {
		if op.Code != lang.OpFor || op.Axis == nil || op.Axis.Split > 0 || op.Axis.Scalar || len(m.loopsOver(op.Axis)) > 1 {
			continue
		}
		if softmax, err := ir.FindOnlineSoftmax(op); err == nil && softmax != nil {
			return m.place[op.Axis]
		}
	}
	return -1
}

// loopsOver are the loops of the kernel over an axis.
func (m *model) loopsOver(a *ir.Axis) []*ir.Op {
	return slices.DeleteFunc(slices.Clone(m.loops), func(op *ir.Op) bool { return op.Axis != a })
}

// sharedLoop is the loop of the kernel whose steps the planner may spread; nil where that is a whole axis, or nothing.
func (m *model) sharedLoop() *ir.Op {
	if m.shared < 0 || m.f.Axes[m.shared].Kind != ir.Loop {
		return nil
	}
	return m.loopsOver(m.f.Axes[m.shared])[0]
}

// growsWithGrid reports that the loop of the shared axis is as long as the grid says, for the most part: by how far a block is along it,
// as that of a prompt. How much of a long cache there is to go through shows only at the launch, and what has few steps loses by joins.
func (m *model) growsWithGrid() bool {
	a := block.Lengthening(m.f)
	return a != nil && 2*m.size[m.place[a]] >= m.size[m.shared]
}

// divides reports a whole axis that something reduces or scans, and all of whose consumers blocks can share.
func (m *model) divides(w *ir.Axis) bool {
	reduced, ok := false, true
	top := map[*ir.Op]bool{}
	for _, op := range m.f.Body.Ops {
		top[op] = true
	}
	m.f.Walk(func(op *ir.Op) bool {
		wide := func(v *ir.Value) bool { return v.Type.Has(w) }
		over := slices.Contains(op.Over, w)
		switch {
		case op.Code.Row().Group == lang.GroupSort && over:
			ok = false
		case !top[op] && (slices.ContainsFunc(op.Args, wide) || slices.ContainsFunc(op.Results, wide)):
			ok = false
		case over:
			reduced = true
		}
		return ok
	})
	return ok && reduced
}

// blocksAlong is over how many blocks an axis is spread.
func (c at) blocksAlong(i int) int64 {
	if n := c.f.Axes[i].Split; n > 1 {
		return n
	}
	if i == c.shared {
		return int64(max(c.sharers, 1))
	}
	return 1
}

// partOf is how many positions of an axis a block has: all, or so many whole steps.
func (c at) partOf(i int) int64 {
	if n := c.blocksAlong(i); n > 1 {
		return ir.PartOf(c.size[i], c.extent[i], n)
	}
	return c.size[i]
}

// sms is how many multiprocessors blocks can be on at once: clusters do not fill all.
func (c at) sms() int64 { return int64(c.target.ClusterSMs(max(int(c.sharing()), c.cluster))) }

// sharing is how many blocks work together.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (c at) sharing() int64 { return max(c.split, int64(c.sharers), 1) }

// spreads reports a candidate whose parts all have steps of the axis that is spread.
func (c at) spreads() bool {
	if c.sharers <= 1 {
		return true
	}
	i := c.shared
	if c.f.Axes[i].Kind == ir.Loop { // of which some blocks have any number of steps, some none
		return true
	}
	return c.streamed(i) && ceilDiv(c.size[i], c.extent[i]) >= int64(c.sharers)
}

// gainsNothing reports a candidate that gains nothing by sharing: the grid keeps all multiprocessors busy, or the loop shows only at the launch how long
// it is and blocks would be launched to share it.
func (c at) gainsNothing() bool {
	return c.fills() && !c.keepsTogether() || c.sharedLoop() != nil && !c.growsWithGrid() && !c.inGrid()
}

// keepsTogether reports a candidate whose blocks keep rows together of which half as many would read some again. More blocks than it takes only wait for one another more often (an H200, 1,024
// rows of 65,535 columns of f32: two and four blocks 207 and 201 us, eight and one 251).
func (c at) keepsTogether() bool {
	if !c.hasLongRows() {
		return false
	}
	half := c
	half.sharers /= 2
	together, _ := c.kept()
	fewer, _ := half.kept()
	return len(together) > len(fewer)
}

// fills reports a candidate whose grid keeps all multiprocessors busy without that blocks share anything.
func (c at) fills() bool {
	each := int64(1)
	if c.softmax {
		each = fullSoftmax
	}
	return c.blocks()/c.forOne() >= each*int64(c.target.SMs)
}

// divided reports an operation of which each block of a cluster does a part.
func (c at) divided(s step) bool {
	for _, i := range s.axes {
		if c.blocksAlong(i) > 1 {
			return true
		}
	}
	return slices.ContainsFunc(s.loops, func(loop *ir.Op) bool { return loop.Axis != nil && c.blocksAlong(c.place[loop.Axis]) > 1 })
}

// softmaxJoins is how often the blocks that share an online softmax wait for one another: for the largest score, and for all sums.
const softmaxJoins = 2

// joining is the time in which the blocks of a cluster put their parts together.
func (c at) joining() float64 {
	n := float64(c.sharing())
	if n <= 1 {
		return 0
	}
	joins, bytes := 0.0, 0.0
	for _, s := range c.ops {
		joined := s.op.Code == lang.OpJoin
		for _, a := range s.op.Over {
			joined = joined || c.blocksAlong(c.place[a]) > 1
		}
		if !joined {
			continue
		}
		joins++
		for _, r := range s.op.Results {
			bytes += float64(c.count(c.tile(r), false) * max(c.tile(r).bytes, 4))
		}
	}
	if c.sharers > 1 && c.sharedLoop() != nil {
		joins, n = softmaxJoins, n-1 // the first block reads what the others have
	}
	latency := c.target.JoinLatency
	// In launches that begin while others run, products that blocks share were held against others only while they met at barriers.
	if c.inGrid() || n*bytes <= block.SentBytes && !c.f.Dependent {
		latency = c.target.SendLatency
	}
	return float64(joins*latency) + float64(n*bytes)/(c.target.RemoteBytesPerClock*c.target.Clock)
}

// shorter is by how much less time a launch takes than if all blocks had as many steps as the longest, as those at the end of causal
// attention, where the planner may spread these steps. Among plans that spread none it decides nothing: they were measured as they are
// found without it.
func (c at) shorter(e *estimate, busy float64) float64 {
	loop := c.sharedLoop()
	along := block.Lengthening(c.f)
	if loop == nil || along == nil {
		return 0
	}
	// The last block goes through all positions, each one before it through those of a block less.
	positions, i := c.length(loop), c.place[along]
	part := max(positions-float64(float64(c.size[i]-c.extent[i])/2), 0) / positions
	blocks, parts := float64(e.blocks), float64(c.blocksAlong(c.shared))
	reckoned := c.trips(loop) / parts * blocks / min(blocks, float64(c.sms())) // steps of a multiprocessor
	longest := math.Ceil(c.trips(loop)/parts) / min(1, float64(c.warps)/8)     // by itself, a block of few warps does not keep one busy
	return max(busy*(1-max(reckoned*part, longest)/reckoned), 0)
}
