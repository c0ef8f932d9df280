package plan

import (
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/lang"
)

// This file counts what accesses move that threads make by words that cover windows and records (block.RunOf).

// registerBytes is what a register has: a word with less takes the time of one.
const registerBytes = 4

// warpLanes are the threads that make an access together.
const warpLanes = 32

// How many warps keep a multiprocessor's units busy, and of threads with windows, which load for long and then compute (an H200, bf16 windows of 7x7 of 32x192x56x56: 117 us by 12 warps a
// multiprocessor that have all of a window, 86 to 96 by 16 and more that go through its rows).
const enoughWarps, enoughWithWindows = 8, 20

// besideWindowed is what part of the L2's time for windows is not hidden behind the longest of the terms: of tiles that are alike otherwise, those with less around them take less (an
// H200, windows of 7x7 of bf16 of 32x192x56x56 by their rows: 86 us by 64 columns, 94 by 32).
const besideWindowed = 0.02

// narrowRecord is how much longer blocks take whose threads have one record where they could have several, as a part of their time (an H200, bytes of RGB to three planes of f32 of
// 32x512x512: 60.4 us with two records a thread, 35.3 with four).
const narrowRecord = 0.5

// covering is an access of which threads have neighbours that lie side by side in memory.
type covering struct {
	block.Run
	axis   int
	inside []int // the axes of which a thread has all, those along other dimensions too
	fields int64 // of a record at a number, how many loads or stores there are of others; 0 for windows and axes through records
}

// findRuns notes the accesses that threads make by words.
func (m *model) findRuns() {
	m.runsOf = map[*ir.Op]*covering{}
	if m.contracts || !m.target.IsGPU() {
		return
	}
	for _, s := range m.ops {
		if s.op.Tensor == nil || s.op.Code != lang.OpLoad && s.op.Code != lang.OpStore {
			continue
		}
		r, ok := block.RunOf(s.op)
		if !ok {
			continue
		}
		g := &covering{Run: r, axis: m.place[r.Axis], inside: m.places(r.Inside)}
		for a := range block.WindowOf(s.op) {
			if i := m.place[a]; !slices.Contains(g.inside, i) {
				g.inside = append(g.inside, i)
			}
		}
		if len(r.Inside) == 0 && r.Record {
			last := len(s.op.Indices()) - 1
			for _, o := range m.ops {
				if o.op.Code == s.op.Code && o.op.Tensor == s.op.Tensor && slices.Equal(o.op.Indices()[:last], s.op.Indices()[:last]) {
					g.fields++
				}
			}
		}
		m.runsOf[s.op] = g
	}
	m.rowsHeld = math.MaxInt64
	if reduced := m.reductions(); len(reduced) > 0 && !slices.ContainsFunc(reduced, func(op *ir.Op) bool { return !inAnyOrder(op) }) {
		m.rowsHeld = 2 // while a row of windows is combined with those before, the next is loaded
	}
}

// reductions are those of a kernel.
func (m *model) reductions() (all []*ir.Op) {
	for _, s := range m.ops {
		if s.op.Code.Row().Group == lang.GroupReduce {
			all = append(all, s.op)
		}
	}
	return all
}

// inAnyOrder reports a reduction of several axes that gives the same in whichever order it combines.
func inAnyOrder(op *ir.Op) bool {
	return len(op.Over) > 1 && (!op.Args[0].Type.DType.IsFloat() || op.Code == lang.OpReduceMax || op.Code == lang.OpReduceMin)
}

// besides is how many positions of a tile a thread has of the axes that are not inside of a window or a record.
func (c at) besides(g *covering, axes []int) int64 {
	n := int64(1)
	for _, i := range axes {
		if !slices.Contains(g.inside, i) {
			n = times(n, nextPow2(c.extent[i]))
		}
	}
	return max(n/c.threads(), 1)
}

// neighboursIn is how many neighbours along the run's axis a thread has.
func (c at) neighboursIn(g *covering, axes []int) int64 {
	n := min(g.Most, c.besides(g, axes), nextPow2(c.extent[g.axis]+1)/2)
	return nextPow2(n+1) / 2
}

// word is the bytes of a word of so many neighbours.
func (g *covering) word(op *ir.Op, n int64) int64 {
	size := int64(op.Tensor.DType.Size())
	bytes := n * g.Each * size
	return min(bytes&-bytes, vectorBytes)
}

// wordsOf is how many words a thread moves of an access for each of its elements, and how many bytes such a word has.
func (c at) wordsOf(s step, g *covering) (each float64, bytes int64) {
	size := int64(s.op.Tensor.DType.Size())
	n := c.neighboursIn(g, s.axes)
	bytes = g.word(s.op, n)
	if n == 1 || bytes <= size {
		return 1, size
	}
	elements := n
	for _, i := range c.places(g.Inside) {
		elements *= c.size[i]
	}
	reach := (n-1)*g.Each + g.Reach // elements from the first to the last
	if g.Record {
		return float64(n*g.Each*size) / float64(bytes) / float64(elements*max(g.fields, 1)), bytes
	}
	words := (reach*size + bytes/2 + bytes - 1) / bytes // where in a word the first lies depends
	return min(float64(words)/float64(elements), 1), bytes
}

// linesOf is how many bytes of the L1's time a thread's part of such an access takes, which looks up a line of memory at a time: where few lanes have neighbours, each line gives
// few words.
func (c at) linesOf(s step, g *covering, bytes int64) float64 {
	row := ceilDiv(max(min(c.extent[g.axis], c.size[g.axis]), 1), c.neighboursIn(g, s.axes)) // lanes
	lanes := min(row, warpLanes)
	lines := ceilDiv(warpLanes, lanes) * ceilDiv(lanes*bytes, lineBytes)
	return float64(max(bytes, registerBytes, lines*lineBytes/warpLanes))
}

// halo is which part of the elements of an access along windows a block has no two of.
func (c at) halo(op *ir.Op, g *covering) float64 {
	if g.Record {
		return float64(g.Each) / float64(max(g.fields, 1)) / float64(max(g.Reach, 1))
	}
	return c.windowPart(op)
}

// windowPart is which part of what a block loads of windows is not the same as what lies in another of them.
func (c at) windowPart(op *ir.Op) float64 {
	part := 1.0
	if c.contracts || !c.target.IsGPU() {
		return part
	}
	for _, d := range block.AccessOf(op) {
		if len(d.Terms()) < 2 {
			continue
		}
		all, distinct := 1.0, 1.0
		for _, t := range d.Terms() {
			n := float64(max(min(c.extent[c.place[t.Axis]], c.size[c.place[t.Axis]]), 1))
			all *= n
			distinct += float64(float64(max(t.Coef, -t.Coef)) * (n - 1))
		}
		part *= min(distinct/all, 1)
	}
	return part
}

// runLength is how many elements lie side by side that a block has of an access.
func (c at) runLength(g *covering) float64 {
	return float64((max(min(c.extent[g.axis], c.size[g.axis]), 1)-1)*g.Each + max(g.Reach, 1))
}

// busyWarps is how many warps of a multiprocessor keep it busy.
func (c at) busyWarps() float64 {
	for _, g := range c.runsOf {
		if len(g.inside) > 0 && !g.Record {
			return enoughWithWindows
		}
	}
	return enoughWarps
}

// windowRegisters is what threads have room for at least that add up windows.
const windowRegisters = 64

// besideWindows is how many blocks the assembler is told that are to share a multiprocessor, where threads have windows; 0 where it is told nothing. By itself it loads many windows at
// once (an H200, waves of 8th order over 256 cubed: 102 registers 121 us, 64 and four blocks 102), but functions of what is in them take registers of their own.
func (c at) besideWindows(e *estimate) int64 {
	if e.registers < manyHeld && c.hasFunctions() {
		return 0
	}
	need := int64(0) // what a thread has of each of its windows
	for _, s := range c.ops {
		if g := c.runsOf[s.op]; g != nil && !g.Record {
			need += (c.neighboursIn(g, s.axes)-1)*g.Each + g.Reach
		}
	}
	n := min(e.perSM, int64(c.target.RegistersPerSM)/(c.threads()*max(need+windowRegisters/2, windowRegisters)))
	if n < 2 {
		return 0
	}
	return n
}

// rowsOfWindows reports an axis along the rows of windows of which threads have columns side by side.
func (m *model) rowsOfWindows(i int) bool {
	for _, g := range m.runsOf {
		if !g.Record && slices.Contains(g.inside, i) && !slices.Contains(g.Inside, m.f.Axes[i]) {
			return true
		}
	}
	return false
}

// narrowRecords is how much longer blocks take whose threads have fewer records than they could, where records are most of what is moved: tiles of nothing else are larger, and nothing is
// looked up.
func (c at) narrowRecords() float64 {
	most, records, others := 0.0, int64(0), int64(0)
	for _, s := range c.ops {
		switch g := c.runsOf[s.op]; {
		case g != nil && g.Record:
			records = max(records, c.count(tile{axes: s.axes}, false))
			most = max(most, narrowRecord*(1-float64(c.neighboursIn(g, s.axes))/float64(g.Most)))
		case s.op.Code == lang.OpLoad && gathered(s.op):
			return 1
		case s.op.Tensor != nil:
			others = max(others, c.count(tile{axes: s.axes}, false))
		}
	}
	if others > records {
		return 1
	}
	return 1 + most
}

// inCommon is which part of a reduction of windows of several axes a thread computes, where the order does not matter: what windows have in common along the other axes is combined once.
func (c at) inCommon(s step) float64 {
	if s.op.Code.Row().Group != lang.GroupReduce || !inAnyOrder(s.op) {
		return 1
	}
	if _, windowed := c.windowElements(tile{axes: s.axes}); !windowed {
		return 1
	}
	part := 0.0
	for _, i := range c.places(s.op.Over) {
		if c.streamed(i) {
			return 1
		}
		part += 1 / float64(c.size[i])
	}
	return min(part, 1)
}

// functionsOfWindows reports functions of each element of a window, as the weights of a bilateral filter have: their registers are those of other elements.
func (c at) functionsOfWindows() bool {
	return slices.ContainsFunc(c.ops, func(s step) bool {
		_, windowed := c.windowElements(tile{axes: s.axes})
		return windowed && s.op.Code.Row().Elementwise && c.weight(s.op) > 1
	})
}

// windowElements is how many elements a thread has of a tile along windows that are apart: it has no more registers, and computes no more, of what the windows have in common. windowed
// is false for other tiles.
func (c at) windowElements(t tile) (n int64, windowed bool) {
	for _, g := range c.runsOf {
		if g.Record || len(g.Inside) == 0 || !slices.Contains(t.axes, g.axis) || !slices.Contains(t.axes, c.place[g.Inside[0]]) {
			continue
		}
		along := c.neighboursIn(g, t.axes)
		rows := c.besides(g, t.axes) / along
		if len(g.inside) == len(g.Inside) { // while the assembler computes one run of a filter along rows, it has not loaded the next
			rows = max(rows-1, 1)
		}
		sums := false // what a loop adds up is in registers of its own
		for _, i := range g.inside {
			if !slices.Contains(c.places(g.Inside), i) {
				rows *= min(c.extent[i], c.rowsHeld)
				sums = sums || c.streamed(i) && !slices.Contains(t.axes, i)
			}
		}
		if sums {
			continue
		}
		n = max(n, rows*((along-1)*g.Each+g.Reach))
		windowed = true
	}
	return n, windowed
}
