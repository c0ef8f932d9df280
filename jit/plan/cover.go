package plan

import (
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

// together is how many neighbours along the run's axis a thread has.
func (c at) neighboursIn(g *covering, axes []int) int64 {
	n := min(g.Most, c.besides(g, axes), nextPow2(c.extent[g.axis]+1)/2)
	return nextPow2(n+1) / 2
}

// wordBytes is the bytes of a word of so many neighbours.
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
	row := ceilDiv(min(c.extent[g.axis], c.size[g.axis]), c.neighboursIn(g, s.axes)) // lanes
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
			n := float64(min(c.extent[c.place[t.Axis]], c.size[c.place[t.Axis]]))
			all *= n
			distinct += float64(float64(max(t.Coef, -t.Coef)) * (n - 1))
		}
		part *= min(distinct/all, 1)
	}
	return part
}

// runLength is how many elements lie side by side that a block has of an access.
func (c at) runLength(g *covering) float64 {
	return float64((min(c.extent[g.axis], c.size[g.axis])-1)*g.Each + max(g.Reach, 1))
}

// held is the registers of 4 bytes that a thread needs for a tile. Of what is computed of windows it has as many as there are elements apart, for the assembler computes one after the
// other.
func (c at) windowElements(t tile) (n int64, windowed bool) {
	for _, g := range c.runsOf {
		if g.Record || len(g.Inside) == 0 || !slices.Contains(t.axes, g.axis) || !slices.Contains(t.axes, c.place[g.Inside[0]]) {
			continue
		}
		along := c.neighboursIn(g, t.axes)
		rows := c.besides(g, t.axes) / along
		for _, i := range g.inside {
			if !slices.Contains(c.places(g.Inside), i) {
				rows *= c.extent[i]
			}
		}
		n = max(n, rows*((along-1)*g.Each+g.Reach))
		windowed = true
	}
	return n, windowed
}
