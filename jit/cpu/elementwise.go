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
	// steady operands are one element for a whole run; fixed ones for the whole tile.
	steady, fixed bool
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
	if op.Code == lang.OpCast {
		r = cast(last, op.Result().Type.DType)
	} else {
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
	s := split(patterns, rank)
	steady := 0
	aligned := s == 0 && len(members) == 1
	for i := range outs {
		o := &outs[i]
		aligned = aligned && o.arrange == nil
		o.fixed = scalarPattern(o.has)
		o.steady = o.fixed || !o.has[rank-1]
		if o.steady {
			steady++
		}
	}
	w := &walk{outs: outs, members: members, outer: c.axisNumbers(g.axes[:s]), inner: c.axisNumbers(g.axes[s:]), all: c.axisNumbers(g.axes), spreads: steady * rowChunk * 8}
	if aligned && steady == 0 && members[0].n <= 2 {
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
	spreads           int // bytes for the steady operands
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

func (w *walk) run(fr *frame) {
	run := fr.count(w.inner)
	total := run * fr.count(w.outer)
	if total == 0 {
		return
	}
	chunk := min(rowChunk, run)
	var at, size [maxRank]int
	var base, now [maxOutside]unsafe.Pointer
	var off, spreadOff [maxOutside]int
	for i, x := range w.outer {
		size[i] = fr.axes[x].n
	}
	step := &fr.step
	spread := fr.temp(tempSpread, w.spreads)
	for i := range w.outs {
		o := &w.outs[i]
		base[i] = fr.at(o.off)
		if o.arrange != nil {
			t := fr.temp(tempA+i, fr.count(o.axes)*o.size)
			o.arrange(fr, t, base[i])
			base[i] = t
		}
		spreadOff[i] = -1
		if o.steady {
			now[i] = spread
			spread = unsafe.Add(spread, rowChunk*8)
		}
		s := o.size
		for a := len(w.all) - 1; a >= 0; a-- {
			along := 0
			if o.has[a] {
				along = s
				s *= fr.axes[w.all[a]].n
			}
			if a < len(w.outer) {
				step[i][a] = along
			}
		}
	}
	for first := 0; ; first += run {
		for i := range w.outs {
			if o := &w.outs[i]; o.steady && spreadOff[i] != off[i] {
				fill(now[i], unsafe.Add(base[i], off[i]), o.size, chunk)
				spreadOff[i] = off[i]
			}
		}
		for done := 0; done < run; done += chunk {
			n := min(chunk, run-done)
			for i := range w.outs {
				if o := &w.outs[i]; !o.steady {
					now[i] = unsafe.Add(base[i], off[i]+done*o.size)
				}
			}
			for i := range w.members {
				m := &w.members[i]
				var p [3]unsafe.Pointer
				for j := range m.n {
					if a := &m.args[j]; a.outside >= 0 {
						p[j] = now[a.outside]
					} else {
						p[j] = a.value.at(fr, first+done)
					}
				}
				fr.op = m.op
				m.row(m.dst.at(fr, first+done), p[0], p[1], p[2], n)
			}
		}
		a := len(w.outer) - 1
		for ; a >= 0; a-- {
			at[a]++
			for i := range w.outs {
				off[i] += step[i][a]
			}
			if at[a] < size[a] {
				break
			}
			for i := range w.outs {
				off[i] -= size[a] * step[i][a]
			}
			at[a] = 0
		}
		if a < 0 {
			return
		}
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
