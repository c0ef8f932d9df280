package cpu

import (
	"math"
	"sort"

	"tilec/jit/ir"
	"tilec/lang"
)

// slot is a buffer in the arena, for the values that hold it one after another.
type slot struct {
	size, off  int
	begin, end int // the operations during which it is in use
	holder     *ir.Value
}

// place gives every value that is needed a place in the arena.
func (c *compiler) place() {
	c.slot = map[*ir.Value]*slot{}
	for _, s := range c.f.Scalars {
		c.newSlot(s, 0)
	}
	c.placeBlock(c.f.Body)
	for v, s := range c.slot {
		s.end = max(s.end, c.last[v])
	}
	// A group runs piece by piece: what it reads from outside and what it leaves
	// behind are in use until its last piece.
	for op, g := range c.groupOf {
		if !c.live[op] {
			continue
		}
		_, last := c.within(g)
		for _, v := range append([]*ir.Value{op.Result()}, op.Args...) {
			if !c.local(v) {
				s := c.slot[c.root(v)]
				s.end = max(s.end, last)
			}
		}
	}
	c.layOut()
}

func (c *compiler) newSlot(v *ir.Value, begin int) *slot {
	size := bytes(v.Type)
	if c.local(v) {
		size = min(size, rowChunk*kindOfDType[v.Type.DType].size())
	}
	s := &slot{size: (size + cacheLine - 1) &^ (cacheLine - 1), begin: begin, end: begin}
	c.slots = append(c.slots, s)
	c.hold(s, v)
	return s
}

func (c *compiler) hold(s *slot, v *ir.Value) {
	s.holder = v
	c.slot[v] = s
}

func (c *compiler) placeBlock(b *ir.Block) {
	for _, op := range c.schedule(b) {
		if !c.live[op] || c.isAlias(op) || c.lazy[op] {
			continue
		}
		switch {
		case op.Code == lang.OpFor:
			c.placeLoop(op)
		case op.Code == lang.OpIf:
			for _, r := range op.Results {
				c.newSlot(r, c.pos[op]).end = c.done[op]
			}
			c.placeBlock(op.Blocks[0])
			c.placeBlock(op.Blocks[1])
		case op.Combines():
			for _, r := range op.Results {
				c.newSlot(r, c.pos[op])
			}
		case len(op.Results) == 1:
			if s := c.reusable(op); s != nil {
				c.hold(s, op.Result())
				break
			}
			begin := c.pos[op]
			if c.constant(op) {
				begin = 0
			} else if g := c.groupOf[op]; g != nil && !c.local(op.Result()) {
				begin, _ = c.within(g)
			}
			c.newSlot(op.Result(), begin)
		default:
			for _, r := range op.Results {
				c.newSlot(r, c.pos[op])
			}
		}
	}
}

// reusable is the buffer of an operand that the operation may write its result over.
func (c *compiler) reusable(op *ir.Op) *slot {
	candidates := op.Args
	switch {
	case op.Code == lang.OpMma:
		candidates = op.Args[2:]
	case !op.Code.Row().Elementwise:
		return nil
	}
	r := op.Result()
	for _, v := range candidates {
		s := c.slot[c.root(v)]
		if s == nil || !c.dies(v, c.pos[op]) || s.holder != c.root(v) || !sameTile(v.Type, r.Type) {
			continue
		}
		if op.Code == lang.OpMma && (c.root(op.Args[0]) == c.root(v) || c.root(op.Args[1]) == c.root(v)) {
			continue
		}
		if g := c.groupOf[op]; g != nil && (c.local(v) != c.local(r) || g.readsOtherwise(c.liveness, c.root(v))) {
			continue
		}
		return s
	}
	return nil
}

// readsOtherwise reports that a group reads a value under a name with other axes: not element by element.
func (g *group) readsOtherwise(l *liveness, root *ir.Value) bool {
	for _, op := range g.ops {
		for _, w := range op.Args {
			if l.root(w) == root && !sameOrder(w.Type.Axes, g.axes) {
				return true
			}
		}
	}
	return false
}

// dies reports that nothing reads v after the operation at a position.
func (c *compiler) dies(v *ir.Value, at int) bool { return c.last[c.root(v)] == at }

// sameTile reports buffers of one layout.
func sameTile(a, b ir.Type) bool {
	return kindOfDType[a.DType].size() == kindOfDType[b.DType].size() && sameOrder(a.Axes, b.Axes)
}

func sameOrder(a, b []*ir.Axis) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// placeLoop gives each carried value one buffer for the whole loop: the initial
// value's where that is not needed afterwards.
func (c *compiler) placeLoop(op *ir.Op) {
	body := op.Blocks[0]
	c.newSlot(body.Params[0], c.pos[op]).end = c.done[op]
	for i, p := range body.Params[1:] {
		init := op.Args[2+i]
		s := c.slot[c.root(init)]
		if s != nil && s.holder == c.root(init) && c.dies(init, c.pos[op]) && sameTile(init.Type, p.Type) {
			c.hold(s, p)
		} else {
			s = c.newSlot(p, c.pos[op])
		}
		s.end = max(s.end, c.done[op])
	}
	c.placeBlock(body)
	for i, r := range op.Results {
		c.hold(c.slot[body.Params[1+i]], r)
	}
}

// layOut gives slots that are in use at the same time different places.
func (c *compiler) layOut() {
	sort.SliceStable(c.slots, func(i, j int) bool { return c.slots[i].begin < c.slots[j].begin })
	var active []*slot // by offset
	for _, s := range c.slots {
		kept := active[:0]
		for _, a := range active {
			if a.end >= s.begin {
				kept = append(kept, a)
			}
		}
		active = kept
		// The smallest gap that fits.
		off, best, at := 0, math.MaxInt, -1
		for i := range len(active) + 1 {
			gap := math.MaxInt - 1
			if i < len(active) {
				gap = active[i].off - off
			}
			if gap >= s.size && gap < best {
				best, at, s.off = gap, i, off
			}
			if i < len(active) {
				off = active[i].off + active[i].size
			}
		}
		active = append(active[:at], append([]*slot{s}, active[at:]...)...)
		c.arena = max(c.arena, s.off+s.size)
	}
}
