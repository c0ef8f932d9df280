package cpu

import (
	"unsafe"

	"tilec/jit/ir"
	"tilec/lang"
)

// This file runs reduce and scan. The operands are put in order with the axis
// outermost, so that each step along it is a row of all other elements, and the
// function works on rows.

// combine compiles a reduce or a scan.
func (c *compiler) combine(op *ir.Op) func(*frame) {
	over := op.Over[0]
	rest := ir.Without(op.Combined(), op.Over)
	order := append([]*ir.Axis{over}, rest...)
	x := &combination{reduce: op.Code == lang.OpReduce, reverse: op.Reverse, fn: c.rowsOf(op.Fn), single: runnerOf(op.Fn), along: c.axisNumber(over), rest: c.axisNumbers(rest)}
	for i, v := range op.Operands() {
		t := ir.Type{DType: v.Type.DType, Axes: order}
		r := op.Results[i]
		col := column{src: c.off(v), dst: c.off(r), identity: c.off(op.Identity()[i]), size: kindOfDType[t.DType].size(), arrange: c.spread(t, v.Type)}
		if x.reduce {
			t.Axes = rest
		}
		col.put = c.spread(r.Type, t)
		x.columns = append(x.columns, col)
	}
	for _, v := range op.Captured() {
		x.captured = append(x.captured, scalarAt{c.off(v), kindOfDType[v.Type.DType].size()})
	}
	return x.run
}

// scalarAt is a scalar in the arena.
type scalarAt struct{ off, size int }

// column is one operand with its result.
type column struct {
	src, dst, identity, size int
	// arrange puts the operand in order; put gives the result the order that its value has.
	arrange, put func(fr *frame, dst, src unsafe.Pointer)
}

// combination is a reduce or a scan, ready to run.
type combination struct {
	reduce, reverse bool
	columns         []column
	captured        []scalarAt
	fn              *rowFunction
	single          runner // of a function that is one operation; nil otherwise
	along           int
	rest            []int
}

// run combines a part of a row at a time, from the first step to the last.
func (x *combination) run(fr *frame) {
	n, width := fr.axes[x.along].n, fr.count(x.rest)
	if width == 0 || n == 0 && !x.reduce {
		return
	}
	// One buffer for each column's elements in order, and its results in order.
	room := 0
	for _, c := range x.columns {
		room += round(n*width*c.size) + round(width*c.size)
	}
	next := fr.temp(tempTile, room)
	take := func(bytes int) unsafe.Pointer {
		p := next
		next = unsafe.Add(next, round(bytes))
		return p
	}
	tiles, rows := make([]unsafe.Pointer, len(x.columns)), make([]unsafe.Pointer, len(x.columns))
	for i, c := range x.columns {
		tiles[i], rows[i] = take(n*width*c.size), take(width*c.size)
		if n > 0 {
			c.arrange(fr, tiles[i], fr.at(c.src))
		} else {
			fill(rows[i], fr.at(c.identity), c.size, width)
		}
	}
	if x.picks() && n > 0 {
		for i, c := range x.columns {
			from, at := x.fn.yields[i], 0
			if from >= len(x.columns) {
				from, at = from-len(x.columns), n-1
			}
			c.put(fr, fr.at(c.dst), unsafe.Add(tiles[from], at*width*c.size))
		}
		return
	}
	if x.single != nil && width == 1 && n > 0 {
		x.single(tiles[0], n, x.reverse, x.reduce)
		x.columns[0].put(fr, fr.at(x.columns[0].dst), tiles[0])
		return
	}
	f := x.fn.begin(fr, min(width, rowChunk))
	for first := 0; first < width; first += rowChunk {
		w := min(rowChunk, width-first)
		for i, s := range x.captured {
			fill(f.value(2*len(x.columns)+i), fr.at(s.off), s.size, w)
		}
		for k := range n {
			at := k
			if x.reverse {
				at = n - 1 - k
			}
			for i, c := range x.columns {
				f.set(len(x.columns)+i, unsafe.Add(tiles[i], (at*width+first)*c.size))
			}
			if k > 0 {
				f.run(w)
			}
			for i, c := range x.columns {
				from := f.param(len(x.columns) + i)
				if k > 0 {
					from = f.result(i)
				}
				// The accumulator: of a scan the result's own row, else one apart.
				to := unsafe.Add(rows[i], first*c.size)
				if !x.reduce {
					to = unsafe.Add(tiles[i], (at*width+first)*c.size)
				}
				f.yield(i, to, from, w*c.size)
			}
			f.settle()
		}
	}
	for i, c := range x.columns {
		switch {
		case x.reduce:
			c.put(fr, fr.at(c.dst), rows[i])
		default:
			c.put(fr, fr.at(c.dst), tiles[i])
		}
	}
}

// picks reports a reduce that gives the first or the last of the elements.
func (x *combination) picks() bool {
	if !x.reduce || len(x.fn.steps)+len(x.fn.consts) > 0 {
		return false
	}
	for i, y := range x.fn.yields {
		if y != i && y != i+len(x.columns) {
			return false
		}
	}
	return true
}

func round(bytes int) int { return (bytes + cacheLine - 1) &^ (cacheLine - 1) }

// rowFunction is the function of a reduce or a scan, on rows of elements.
type rowFunction struct {
	params int
	sizes  []int // of each value, the parameters first
	steps  []rowStep
	consts []rowConst
	yields []int
}

// rowStep is one operation: its result and operands by number.
type rowStep struct {
	row  row
	dst  int
	args [3]int
}

type rowConst struct {
	dst  int
	bits uint64
}

func (c *compiler) rowsOf(fn *ir.Block) *rowFunction {
	f := &rowFunction{params: len(fn.Params)}
	number := map[*ir.Value]int{}
	add := func(v *ir.Value) int {
		number[v] = len(f.sizes)
		f.sizes = append(f.sizes, kindOfDType[v.Type.DType].size())
		return number[v]
	}
	for _, p := range fn.Params {
		add(p)
	}
	for _, op := range fn.Ops {
		r := op.Result()
		if op.Code == lang.OpConst {
			f.consts = append(f.consts, rowConst{add(r), bitsOf(r.Type.DType, op.Const)})
			continue
		}
		s := rowStep{row: c.rowOf(op)}
		for i, a := range op.Args {
			s.args[i] = number[a]
		}
		s.dst = add(r)
		f.steps = append(f.steps, s)
	}
	for _, y := range fn.Yield {
		f.yields = append(f.yields, number[y])
	}
	return f
}

// activation is a rowFunction with the places of its values.
type activation struct {
	*rowFunction
	at      []unsafe.Pointer
	own     []unsafe.Pointer // room of each value that is no operand's
	pending []copied
}

// copied is a result on its way to its place: results may be operands, so none is moved before all are known.
type copied struct {
	param    int
	to, from unsafe.Pointer
	bytes    int
}

// begin gives every value room for a row, and fills those of constants.
func (f *rowFunction) begin(fr *frame, width int) *activation {
	room := 0
	for _, s := range f.sizes {
		room += 2 * round(s*width)
	}
	next := fr.temp(tempWide, room)
	a := &activation{rowFunction: f}
	for _, s := range f.sizes {
		a.at, a.own = append(a.at, next), append(a.own, unsafe.Add(next, round(s*width)))
		next = unsafe.Add(next, 2*round(s*width))
	}
	for _, c := range f.consts {
		bits := c.bits
		fill(a.at[c.dst], unsafe.Pointer(&bits), f.sizes[c.dst], width)
	}
	return a
}

// value is the room of a value; set gives a parameter another place; param is where it is.
func (a *activation) value(i int) unsafe.Pointer  { return a.at[i] }
func (a *activation) set(i int, p unsafe.Pointer) { a.at[i] = p }
func (a *activation) param(i int) unsafe.Pointer  { return a.at[i] }
func (a *activation) result(i int) unsafe.Pointer { return a.at[a.yields[i]] }

// run applies the function to w elements.
func (a *activation) run(w int) {
	for _, s := range a.steps {
		s.row(a.at[s.dst], a.at[s.args[0]], a.at[s.args[1]], a.at[s.args[2]], w)
	}
}

// yield sends result i to its place, which is the first parameter i from then on.
func (a *activation) yield(i int, to, from unsafe.Pointer, bytes int) {
	a.pending = append(a.pending, copied{i, to, from, bytes})
}

// settle moves what was sent. A result that lies where another goes is set aside first.
func (a *activation) settle() {
	for i := range a.pending {
		p := &a.pending[i]
		for _, q := range a.pending {
			if q.param != p.param && p.from == q.to {
				copy(slice[byte](a.own[p.param], p.bytes), slice[byte](p.from, p.bytes))
				p.from = a.own[p.param]
				break
			}
		}
	}
	for _, p := range a.pending {
		if p.from != p.to {
			copy(slice[byte](p.to, p.bytes), slice[byte](p.from, p.bytes))
		}
		a.at[p.param] = p.to
	}
	a.pending = a.pending[:0]
}
