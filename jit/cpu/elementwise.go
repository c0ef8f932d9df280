package cpu

import (
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// outside is an operand of a group that something else computed.
type outside struct {
	off, size int
	// dense operands have the tile's layout; steady ones are one element for a
	// whole run, fixed ones for the whole tile.
	dense, steady, fixed bool
	// has says along which of the group's axes the operand varies; order gives those in the order that the operand has.
	has   []bool
	order []int
	axes  []int
	// arrange copies an operand whose axes are in another order than the
	// group's to a scratch buffer; nil when they are in order.
	arrange func(fr *frame, dst, src unsafe.Pointer)
}

// source is where an operation of a group finds an operand: the number of an
// outside one, or the offset of a value of the group.
type source struct {
	outside int // -1: of the group
	value   place
}

// place is the buffer of a value of a group: of the tile, or of one piece.
type place struct {
	off, size int
	local     bool
}

// member is one operation of a group, ready to run.
type member struct {
	op   *ir.Op
	row  row
	dst  place
	args [3]source
	n    int
}

// scalarOp compiles an elementwise operation on scalars.
func (c *compiler) scalarOp(op *ir.Op) func(*frame) {
	r := c.rowOf(op)
	dst := c.off(op.Result())
	var off [3]int
	for i, v := range op.Args {
		off[i] = c.off(v)
	}
	return func(fr *frame) { r(fr.at(dst), fr.at(off[0]), fr.at(off[1]), fr.at(off[2]), 1) }
}

func (c *compiler) rowOf(op *ir.Op) row {
	last := op.Args[len(op.Args)-1].Type.DType
	var r row
	switch op.Code {
	case lang.OpCast:
		r = cast(last, op.Result().Type.DType)
	case lang.OpBitcast:
		r = bitcast(last, op.Result().Type.DType)
	default:
		r = elementwise(op.Code, last)
	}
	if r == nil {
		panic(bug(fmt.Sprintf("%s has no implementation for %s", op.Code, last)))
	}
	return r
}

// group compiles the operations of a group that are needed.
func (c *compiler) group(g *group) func(*frame) {
	var outs []outside
	number := map[*ir.Value]int{}
	made := map[*ir.Value]place{}
	var members []member
	for _, op := range g.ops {
		if !c.live[op] {
			continue
		}
		m := member{op: op, row: c.rowOf(op), n: len(op.Args)}
		for i, v := range op.Args {
			root := c.root(v)
			if p, ok := made[root]; ok {
				m.args[i] = source{-1, p}
				continue
			}
			n, ok := number[v]
			if !ok {
				n = len(outs)
				number[v] = n
				outs = append(outs, c.outside(v, g.axes))
			}
			m.args[i] = source{outside: n}
		}
		r := op.Result()
		m.dst = place{c.off(r), kindOfDType[r.Type.DType].size(), c.local(r)}
		made[r] = m.dst
		members = append(members, m)
	}
	return newWalk(outs, members, c.axisNumbers(g.axes)).start
}

func (c *compiler) outside(v *ir.Value, axes []*ir.Axis) outside {
	o := outside{off: c.off(v), size: kindOfDType[v.Type.DType].size(), axes: c.axisNumbers(v.Type.Axes)}
	has, ordered := pattern(v, axes)
	o.has = has
	for _, a := range v.Type.Axes {
		o.order = append(o.order, slices.Index(axes, a))
	}
	if !ordered {
		var in []*ir.Axis
		for i, a := range axes {
			if has[i] {
				in = append(in, a)
			}
		}
		o.arrange = c.spread(ir.Type{DType: v.Type.DType, Axes: in}, v.Type)
	}
	return o
}

// walk runs a group: for each element of the outer axes, the run of the inner
// ones, a chunk at a time.
type walk struct {
	outs              []outside
	members           []member
	outer, inner, all []int
	partial           []int // the operands that are neither dense nor fixed
	spreads           int   // bytes for those that are not dense
	// simple is a walk of one operation whose operands all have its layout.
	simple bool
	// without are the walks for tiles with one position along some axes, which need not be walked: their bits say which.
	without [1 << maxDropped]atomic.Pointer[walk]
}

// maxDropped is how many of a group's last axes are left out where they have one position.
const maxDropped = 3

// newWalk finds how to walk the axes: what lies in one run, and which operands follow.
func newWalk(outs []outside, members []member, all []int) *walk {
	rank := len(all)
	patterns := make([][]bool, len(outs))
	for i := range outs {
		patterns[i] = outs[i].has
	}
	s := denseFrom(patterns, rank)
	w := &walk{outs: outs, members: members, outer: all[:s], inner: all[s:], all: all}
	loose := 0
	w.simple = s == 0 && len(members) == 1 && members[0].n <= 2
	for i := range outs {
		o := &outs[i]
		w.simple = w.simple && o.arrange == nil
		o.fixed = scalarPattern(o.has)
		o.steady = o.fixed || !o.has[rank-1]
		o.dense = len(o.order) == rank // once it is arranged
		if !o.dense {
			loose++
			if !o.fixed {
				w.partial = append(w.partial, i)
			}
		}
	}
	w.simple = w.simple && loose == 0
	w.spreads = loose * rowChunk * 8
	return w
}

// start runs the group, without the axes along which the tile has one position.
func (w *walk) start(fr *frame) {
	single, several := 0, false
	for i, a := range w.all {
		switch at := len(w.all) - 1 - i; {
		case fr.axes[a].n != 1:
			several = true
		case at < maxDropped:
			single |= 1 << at
		}
	}
	if single != 0 && len(w.all) > 1 {
		if !several && len(w.all) <= maxDropped {
			single &^= 1 // an axis stays
		}
		v := w.without[single].Load()
		if v == nil {
			v = w.drop(single)
			w.without[single].Store(v)
		}
		w = v
	}
	if !w.simple {
		w.run(fr)
		return
	}
	m := &w.members[0]
	a := w.outs[m.args[0].outside].off
	b := a
	if m.n == 2 {
		b = w.outs[m.args[1].outside].off
	}
	m.row(fr.at(m.dst.off), fr.at(a), fr.at(b), nil, fr.count(w.all))
}

// drop is the walk without some axes.
func (w *walk) drop(single int) *walk {
	place := make([]int, len(w.all)) // of each axis among those that stay, -1 for none
	var all []int
	for i, a := range w.all {
		if place[i] = -1; single>>(len(w.all)-1-i)&1 == 0 {
			place[i] = len(all)
			all = append(all, a)
		}
	}
	outs := slices.Clone(w.outs)
	for i := range outs {
		o := &outs[i]
		has, order := make([]bool, len(all)), []int(nil)
		for _, at := range o.order {
			if p := place[at]; p >= 0 {
				has[p] = true
				order = append(order, p)
			}
		}
		if o.has, o.order = has, order; slices.IsSorted(order) {
			o.arrange = nil
		}
	}
	return newWalk(outs, w.members, all)
}

// state is where a walk stands: of each operand its first element, the bytes
// from there to the current run, and the piece that the operations read; of
// each outer axis its extent and position.
type state struct {
	from, now        [maxOutside]unsafe.Pointer
	off              [maxOutside]int
	extent, position [maxRank]int
}

// run runs the group. Short runs are taken several at a time: the operands that
// are not dense are copied out to match, which costs less than many small calls.
func (w *walk) run(fr *frame) {
	var s state
	run, rows := fr.count(w.inner), fr.count(w.outer)
	if run == 0 || rows == 0 {
		return
	}
	batch := max(1, min(rowChunk/run, rows))
	w.begin(fr, &s, min(rowChunk, batch*run))
	for row := 0; row < rows; row += batch {
		k := min(batch, rows-row)
		if batch > 1 {
			w.gather(fr, &s, k, run)
			w.piece(fr, &s, row*run, k*run)
			continue
		}
		for i := range w.outs {
			if o := &w.outs[i]; o.steady && !o.fixed {
				fill(s.now[i], unsafe.Add(s.from[i], s.off[i]), o.size, min(run, rowChunk))
			}
		}
		for done := 0; done < run; done += rowChunk {
			for i := range w.outs {
				if o := &w.outs[i]; !o.steady && !o.dense {
					s.now[i] = unsafe.Add(s.from[i], s.off[i]+done*o.size)
				}
			}
			w.piece(fr, &s, row*run+done, min(rowChunk, run-done))
		}
		w.advance(fr, &s)
	}
}

// begin finds the operands, their strides along the outer axes, and room for
// those that are not dense; elements that serve the whole tile are spread here.
func (w *walk) begin(fr *frame, s *state, chunk int) {
	room := fr.temp(tempSpread, w.spreads)
	for i, x := range w.outer {
		s.extent[i], s.position[i] = fr.axes[x].n, 0
	}
	for i := range w.outs {
		o := &w.outs[i]
		s.off[i] = 0
		s.from[i] = fr.at(o.off)
		if o.arrange != nil {
			t := fr.temp(tempA+i, fr.count(o.axes)*o.size)
			o.arrange(fr, t, s.from[i])
			s.from[i] = t
		}
		if o.dense {
			continue
		}
		s.now[i] = room
		room = unsafe.Add(room, rowChunk*8)
		if o.fixed {
			fill(s.now[i], s.from[i], o.size, chunk)
			continue
		}
		stride := o.size
		for a := len(w.all) - 1; a >= 0; a-- {
			along := 0
			if o.has[a] {
				along = stride
				stride *= fr.axes[w.all[a]].n
			}
			if a < len(w.outer) {
				fr.step[i][a] = along
			}
		}
	}
}

// gather copies out the next runs of the operands that are not dense.
func (w *walk) gather(fr *frame, s *state, rows, run int) {
	for r := range rows {
		for _, i := range w.partial {
			o := &w.outs[i]
			dst, src := unsafe.Add(s.now[i], r*run*o.size), unsafe.Add(s.from[i], s.off[i])
			if o.steady {
				fill(dst, src, o.size, run)
			} else {
				copy(slice[byte](dst, run*o.size), slice[byte](src, run*o.size))
			}
		}
		w.advance(fr, s)
	}
}

// advance moves to the next element of the outer axes.
func (w *walk) advance(fr *frame, s *state) {
	for a := len(w.outer) - 1; a >= 0; a-- {
		s.position[a]++
		for _, i := range w.partial {
			s.off[i] += fr.step[i][a]
		}
		if s.position[a] < s.extent[a] {
			return
		}
		for _, i := range w.partial {
			s.off[i] -= s.extent[a] * fr.step[i][a]
		}
		s.position[a] = 0
	}
}

// piece applies the operations, one after another, to n elements from first of the tile on.
func (w *walk) piece(fr *frame, s *state, first, n int) {
	for i := range w.members {
		m := &w.members[i]
		var p [3]unsafe.Pointer
		for j := range m.n {
			switch a := &m.args[j]; {
			case a.outside < 0:
				p[j] = a.value.at(fr, first)
			case w.outs[a.outside].dense:
				p[j] = unsafe.Add(s.from[a.outside], first*w.outs[a.outside].size)
			default:
				p[j] = s.now[a.outside]
			}
		}
		fr.op = m.op
		m.row(m.dst.at(fr, first), p[0], p[1], p[2], n)
	}
}

// at is the address of the piece that begins with an element of the tile.
func (p place) at(fr *frame, first int) unsafe.Pointer {
	if p.local {
		return fr.at(p.off)
	}
	return fr.at(p.off + first*p.size)
}

// fill writes n copies of an element.
func fill(dst, src unsafe.Pointer, size, n int) {
	switch size {
	case 1:
		copyRun[uint8](dst, 1, src, 0, n)
	case 2:
		copyRun[uint16](dst, 1, src, 0, n)
	case 4:
		copyRun[uint32](dst, 1, src, 0, n)
	default:
		copyRun[uint64](dst, 1, src, 0, n)
	}
}
