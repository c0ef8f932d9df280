package cpu

import (
	"fmt"
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
	// has says along which of the group's axes the operand varies.
	has  []bool
	axes []int
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
	rank := len(g.axes)
	var outs []outside
	number := map[*ir.Value]int{}
	made := map[*ir.Value]place{}
	var members []member
	var patterns [][]bool
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
				patterns = append(patterns, outs[n].has)
			}
			m.args[i] = source{outside: n}
		}
		r := op.Result()
		m.dst = place{c.off(r), kindOfDType[r.Type.DType].size(), c.local(r)}
		made[r] = m.dst
		members = append(members, m)
	}
	s := denseFrom(patterns, rank)
	var partial []int
	loose := 0
	aligned := s == 0 && len(members) == 1
	for i := range outs {
		o := &outs[i]
		aligned = aligned && o.arrange == nil
		o.fixed = scalarPattern(o.has)
		o.steady = o.fixed || !o.has[rank-1]
		o.dense = len(o.axes) == rank // once it is arranged
		if !o.dense {
			loose++
			if !o.fixed {
				partial = append(partial, i)
			}
		}
	}
	w := &walk{outs: outs, members: members, outer: c.axisNumbers(g.axes[:s]), inner: c.axisNumbers(g.axes[s:]), all: c.axisNumbers(g.axes), partial: partial, spreads: loose * rowChunk * 8}
	if aligned && loose == 0 && members[0].n <= 2 {
		return w.simple()
	}
	return w.run
}

func (c *compiler) outside(v *ir.Value, axes []*ir.Axis) outside {
	o := outside{off: c.off(v), size: kindOfDType[v.Type.DType].size(), axes: c.axisNumbers(v.Type.Axes)}
	has, ordered := pattern(v, axes)
	o.has = has
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
}

// simple is the walk of one operation whose operands all have its layout.
func (w *walk) simple() func(*frame) {
	m, all := w.members[0], w.all
	a := w.outs[m.args[0].outside].off
	b := a
	if m.n == 2 {
		b = w.outs[m.args[1].outside].off
	}
	dst, r := m.dst.off, m.row
	return func(fr *frame) { r(fr.at(dst), fr.at(a), fr.at(b), nil, fr.count(all)) }
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
