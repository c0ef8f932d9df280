package interp

import (
	"fmt"
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/ir/eval"
	"tilec/jit/layout"
	"tilec/lang"
)

// This file executes operations one after the other, and those that bring elements of several threads together.

// UnsupportedError says what of a program the interpreter does not know.
type UnsupportedError struct{ What string }

// Error says what is not known.
func (e *UnsupportedError) Error() string { return "not interpreted: " + e.What }

func unsupported(what string) { panic(fault{&UnsupportedError{what}}) }

// body executes the operations of a region.
func (w *warp) body(b *ir.Block) {
	for _, op := range b.Ops {
		w.do(op)
	}
}

// do executes an operation where it stands.
func (w *warp) do(op *ir.Op) {
	p := w.p()
	if p.OnDemand(op) || w.emitted[op] || p.Late[op] != nil {
		return
	}
	if p.Split > 1 && w.sharing == nil && op.Code.Row().Effect == lang.Writes && (op.Tensor == nil || !op.Tensor.Scratch) && w.b().rank > 0 {
		return // outside of loops that they share all blocks hold the same, and the first of them stores
	}
	switch row := op.Code.Row(); {
	case row.Elementwise:
		w.hold(op.Result(), p.Homes[op.Result()], w.elementwise(op, p.Homes[op.Result()]))
		return
	case op.Code == lang.OpArgMax || op.Code == lang.OpArgMin:
		w.argExtreme(op)
		return
	case op.Code.Row().Group == lang.GroupReduce:
		w.reduce(op)
		return
	case op.Code.IsAtomic():
		w.atomic(op)
		return
	}
	switch op.Code {
	case lang.OpConst, lang.OpFull, lang.OpIndex, lang.OpStart, lang.OpEnd, lang.OpSize, lang.OpRename:
		w.hold(op.Result(), p.Homes[op.Result()], w.compute(op, p.Homes[op.Result()]))
	case lang.OpLoad:
		w.order(op.Tensor)
		w.hold(op.Result(), p.Homes[op.Result()], w.load(op, p.Homes[op.Result()]))
	case lang.OpStore:
		w.store(op)
	case lang.OpDot, lang.OpMma:
		w.contract(op)
	case lang.OpFor:
		w.loop(op)
	case lang.OpIf:
		branch := op.Blocks[1]
		if w.scalar(op.Args[0]).Int != 0 {
			branch = op.Blocks[0]
		}
		w.region(func() {
			w.body(branch)
			for i, v := range op.Results {
				w.hold(v, p.Homes[v], slices.Clone(w.get(branch.Yield[i], p.Homes[v])))
			}
		})
	case lang.OpTake:
		w.take(op)
	case lang.OpReduce:
		w.reduceBy(op)
	case lang.OpScan:
		w.scan(op)
	case lang.OpSort:
		w.sort(op)
	case lang.OpJoin:
		w.join(op)
	default:
		unsupported(op.Code.String())
	}
}

// region executes what has shared memory of its own, which is given back behind it.
func (w *warp) region(run func()) {
	mark := w.arena.Top
	run()
	w.arena.Top = mark
}

// reduction is how a reduction combines two elements, and what it gives of none.
type reduction struct {
	op       lang.Op
	identity func(d lang.DType) ir.Const
}

func number(n int64) func(lang.DType) ir.Const {
	return func(lang.DType) ir.Const { return ir.Const{Int: n, Float: float64(n)} }
}

// bound is the least (sign -1) or the greatest (sign 1) value of a type.
func bound(sign int) func(lang.DType) ir.Const {
	return func(d lang.DType) ir.Const {
		lo, hi := int64(0), int64(0)
		if !d.IsFloat() {
			lo, hi = eval.Limits(d)
		}
		c := ir.Const{Int: lo, Float: math.Inf(sign)}
		if sign > 0 {
			c.Int = hi
		}
		if d.IsFloat() && !d.HasInfinity() {
			c.Float = d.Largest() * float64(sign)
		}
		return c
	}
}

var reductions = map[lang.Op]reduction{
	lang.OpSum: {lang.OpAdd, number(0)}, lang.OpMean: {lang.OpAdd, number(0)}, lang.OpProd: {lang.OpMul, number(1)},
	lang.OpReduceMax: {lang.OpMax, bound(-1)}, lang.OpReduceMin: {lang.OpMin, bound(1)},
	lang.OpAny: {lang.OpLogicOr, number(0)}, lang.OpAll: {lang.OpLogicAnd, number(1)},
}

// reduce combines the registers of threads, then lanes, then warps.
func (w *warp) reduce(op *ir.Op) {
	p, v, red := w.p(), op.Args[0], reductions[op.Code]
	if red.identity == nil {
		unsupported(op.Code.String())
	}
	l, d := p.Homes[v], v.Type.DType
	keep := ir.Without(v.Type.Axes, op.Over)
	out := l.Slice(keep)
	cells := w.get(v, l)
	if rule := op.Code.Row().Rule; rule == lang.RuleSum || rule == lang.RuleMean {
		if acc := d.Accumulator(); acc != d {
			cells = slices.Clone(cells)
			for i := range cells {
				cells[i].Const = eval.Cast(cells[i].Const, d, acc)
			}
			d = acc
		}
	}
	exists := w.masked(l, op.Over)
	parts := make([]cell, out.Regs()*layout.Lanes)
	for i := range parts {
		parts[i] = cell{red.identity(d), true}
	}
	for r := range l.Regs() {
		to := l.Project(r, keep)
		for n := range layout.Lanes {
			if x := cells[r*layout.Lanes+n]; exists[r*layout.Lanes+n] {
				parts[to*layout.Lanes+n] = combine(red.op, d, parts[to*layout.Lanes+n], x)
			}
		}
	}
	if !w.deferred(op) {
		parts = w.joinThreads(op, red.op, d, l, parts)
	}
	if op.Code == lang.OpMean {
		count := int64(1)
		for _, a := range op.Over {
			st := w.axis(a)
			count *= st.end - st.start
		}
		n := cell{eval.Cast(ir.Const{Int: count}, lang.I64, d), true}
		for i := range parts {
			parts[i] = combine(lang.OpDiv, d, parts[i], n)
		}
	}
	w.result(op.Result(), out, parts)
}

// result holds a result in the layout in which it comes, and at home.
func (w *warp) result(v *ir.Value, l layout.Layout, cells []cell) {
	if v.Type.IsScalar() {
		w.hold(v, l, cells[:1])
		return
	}
	w.hold(v, l, cells)
	if home := w.p().Homes[v]; !l.Equal(home) {
		w.get(v, home)
	}
}

// combine is an operation of two elements.
func combine(op lang.Op, d lang.DType, x, y cell) cell {
	return cell{eval.Apply(op, d, x.Const, y.Const), x.ok && y.ok}
}

// joinThreads combines what the threads of the block have of a reduction.
func (w *warp) joinThreads(op *ir.Op, by lang.Op, d lang.DType, l layout.Layout, parts []cell) []cell {
	parts = w.joinLanes(op, l, parts, func(x, y cell) cell { return combine(by, d, x, y) })
	return w.joinWarps(op, l, parts, func(x, y cell) cell { return combine(by, d, x, y) })
}

// joinLanes combines what lanes hold that divide a reduced axis.
func (w *warp) joinLanes(op *ir.Op, l layout.Layout, parts []cell, combine func(x, y cell) cell) []cell {
	bit := 1
	for _, digit := range l.Lane {
		for n := 1; n < digit.Size; n *= 2 {
			if digit.Axis != nil && slices.Contains(op.Over, digit.Axis) {
				next := make([]cell, len(parts))
				for i := range parts {
					lane := i % layout.Lanes
					low, high := i-lane+lane&^bit, i-lane+lane|bit
					next[i] = combine(parts[low], parts[high])
				}
				parts = next
			}
			bit *= 2
		}
	}
	return parts
}

// joinWarps combines what warps hold that divide a reduced axis.
func (w *warp) joinWarps(op *ir.Op, l layout.Layout, parts []cell, combine func(x, y cell) cell) []cell {
	if !slices.ContainsFunc(l.Warp, func(d layout.Digit) bool { return d.Axis != nil && d.Size > 1 && slices.Contains(op.Over, d.Axis) }) {
		return parts
	}
	others := func(n int) string { // the digits of a warp that are not reduced
		s := ""
		for _, d := range l.Warp {
			if d.Axis == nil || !slices.Contains(op.Over, d.Axis) {
				s += fmt.Sprint(n%d.Size, " ")
			}
			n /= d.Size
		}
		return s
	}
	var out []cell
	all := w.meet("join warps of "+block.ValueName(op.Results[0]), parts)
	for n, x := range all {
		switch theirs := x.([]cell); {
		case others(n) != others(w.n):
		case out == nil:
			out = slices.Clone(theirs)
		default:
			for i := range out {
				out[i] = combine(out[i], theirs[i])
			}
		}
	}
	w.meet("joined warps of "+block.ValueName(op.Results[0]), nil)
	return out
}

// deferred reports a reduction of which each thread carries a part until its loop ends.
func (w *warp) deferred(op *ir.Op) bool {
	for _, ds := range w.p().Deferred {
		if slices.ContainsFunc(ds, func(d *block.Deferral) bool { return d.Reduce == op }) {
			return true
		}
	}
	return false
}

// dense is all elements of a value, of those that exist: from where it is held, or computed again by each warp for itself.
func (w *warp) dense(v *ir.Value) []cell {
	if v.Type.IsScalar() {
		return w.get(v, layout.Uniform(w.p().Warps))
	}
	var cells []cell
	if copies := w.values[v]; len(copies) > 0 && !w.p().Cheap(v) {
		exists := w.masked(copies[0].layout, v.Type.Axes)
		mine := slices.Clone(copies[0].cells)
		for i := range mine {
			mine[i].ok = mine[i].ok && exists[i]
		}
		return w.collect("gather "+block.ValueName(v), v, held{layout: copies[0].layout, cells: mine})
	}
	axes := slices.Clone(v.Type.Axes)
	slices.Reverse(axes)
	l := layout.Blocked(axes, block.Extents(axes), 1, 1)
	cells = slices.Clone(w.get(v, l))
	_, index := w.b().l.spreadOf(l, v.Type.Axes).of(w)
	exists := w.masked(l, v.Type.Axes)
	out := make([]cell, block.Volume(v.Type.Axes))
	for i, e := range index {
		if e >= 0 && exists[i] {
			out[e] = cells[i]
		}
	}
	return out
}

// strides is how far apart the elements of a tile are along its axes.
func strides(axes []*ir.Axis) map[*ir.Axis]int {
	s, n := map[*ir.Axis]int{}, 1
	for i := len(axes) - 1; i >= 0; i-- {
		s[axes[i]] = n
		n *= int(axes[i].Extent)
	}
	return s
}

// walk goes over all positions along axes, and gives the number of the element that tiles over axes of theirs have there.
func walk(axes []*ir.Axis, visit func(at func(of []*ir.Axis) int)) {
	if slices.ContainsFunc(axes, func(a *ir.Axis) bool { return a.Extent <= 0 }) {
		return
	}
	counts := make([]int, len(axes))
	where := map[*ir.Axis]int{}
	at := func(of []*ir.Axis) int {
		n := 0
		for _, a := range of {
			n = n*int(a.Extent) + where[a]
		}
		return n
	}
	for {
		for i, a := range axes {
			where[a] = counts[i]
		}
		visit(at)
		i := len(axes) - 1
		for i >= 0 {
			counts[i]++
			if counts[i] < int(axes[i].Extent) {
				break
			}
			counts[i] = 0
			i--
		}
		if i < 0 {
			return
		}
	}
}

// take gives elements at positions that are computed.
func (w *warp) take(op *ir.Op) {
	x, v := op.Args[0], op.Result()
	dense := w.dense(x)
	home := w.p().Homes[v]
	coords, index := w.b().l.spreadOf(home, v.Type.Axes).of(w)
	n := len(index)
	if v.Type.IsScalar() {
		n = 1
	}
	positions := make([][]cell, len(op.Axes))
	for i, at := range op.Taken() {
		positions[i] = w.broadcast(w.get(at, home.Slice(at.Type.Axes)), at, v, home)
	}
	out := make([]cell, n)
	for i := range out {
		e, ok := 0, v.Type.IsScalar() || index[i] >= 0
		for _, a := range x.Type.Axes {
			c := int64(0)
			if j := slices.Index(op.Axes, a); j >= 0 {
				ok = ok && positions[j][i].ok
				c = positions[j][i].Int - a.Lo
			} else {
				c = int64(coords[slices.Index(v.Type.Axes, a)][i])
			}
			ok = ok && c >= 0 && c < a.Extent
			e = e*int(a.Extent) + int(c)
		}
		if ok {
			out[i] = dense[e]
		}
	}
	w.hold(v, home, out)
}

// argExtreme finds where the greatest or the least element along an axis is.
func (w *warp) argExtreme(op *ir.Op) {
	v, over := op.Args[0], op.Over[0]
	d, better := v.Type.DType, lang.OpGt
	if op.Code == lang.OpArgMin {
		better = lang.OpLt
	}
	dense := w.dense(v)
	keep := ir.Without(v.Type.Axes, op.Over)
	best := make([]cell, block.Volume(keep))
	where := slices.Repeat([]cell{{ir.Const{Int: -1}, true}}, len(best)) // of nothing, a position that is none
	nan := func(c ir.Const) bool { return d.IsFloat() && c.Float != c.Float }
	walk(append(slices.Clone(keep), over), func(at func([]*ir.Axis) int) {
		x, to := dense[at(v.Type.Axes)], at(keep)
		if !x.ok {
			return
		}
		if b := best[to]; !b.ok || nan(x.Const) && !nan(b.Const) || !nan(b.Const) && eval.Apply(better, d, x.Const, b.Const).Int != 0 {
			best[to], where[to] = x, cell{ir.Const{Int: w.axis(over).start + int64(at([]*ir.Axis{over}))}, true}
		}
	})
	w.spreadResult(op.Result(), keep, where)
}

// spreadResult holds at home what is known of all elements of a tile over axes.
func (w *warp) spreadResult(v *ir.Value, axes []*ir.Axis, dense []cell) {
	if v.Type.IsScalar() {
		w.hold(v, w.p().Homes[v], dense[:1])
		return
	}
	_, index := w.b().l.spreadOf(w.p().Homes[v], axes).of(w)
	out := make([]cell, len(index))
	for i, e := range index {
		if e >= 0 {
			out[i] = dense[e]
		}
	}
	w.hold(v, w.p().Homes[v], out)
}

// function is the function of a reduce, a scan or a join, of scalars.
func function(fn *ir.Block, args []cell) []cell {
	known := map[*ir.Value]cell{}
	for i, p := range fn.Params {
		known[p] = args[i]
	}
	for _, op := range fn.Ops {
		v := op.Result()
		if op.Code == lang.OpConst {
			known[v] = cell{op.Const, true}
			continue
		}
		xs := make([]ir.Const, len(op.Args))
		for i, a := range op.Args {
			xs[i] = known[a].Const
		}
		d := op.Args[0].Type.DType
		if op.Code == lang.OpWhere {
			d = op.Args[1].Type.DType
		}
		known[v] = cell{apply(op, d, xs), true}
	}
	out := make([]cell, len(fn.Yield))
	for i, y := range fn.Yield {
		out[i] = known[y]
	}
	return out
}

// combined goes along the axis of a reduce or a scan, in its direction, and gives what has been combined up to each position.
func (w *warp) combined(op *ir.Op, visit func(at func([]*ir.Axis) int, so []cell)) {
	over := op.Over[0]
	var tiles [][]cell
	for _, v := range op.Operands() {
		tiles = append(tiles, w.dense(v))
	}
	var using, identity []cell
	for _, v := range op.Captured() {
		using = append(using, cell{w.scalar(v), true})
	}
	for _, v := range op.Identity() {
		identity = append(identity, cell{w.scalar(v), true})
	}
	keep := ir.Without(op.Combined(), op.Over)
	so := make([][]cell, block.Volume(keep))
	st := w.axis(over)
	n := min(st.end-st.start, over.Extent)
	walk(append([]*ir.Axis{over}, keep...), func(at func([]*ir.Axis) int) {
		where := at
		if op.Reverse {
			where = func(of []*ir.Axis) int {
				i := slices.Index(of, over)
				if i < 0 {
					return at(of)
				}
				step := 1
				for _, a := range of[i+1:] {
					step *= int(a.Extent)
				}
				return at(of) + (int(over.Extent)-1-2*at([]*ir.Axis{over}))*step
			}
		}
		if int64(where([]*ir.Axis{over})) >= n {
			return
		}
		xs := make([]cell, len(tiles))
		for i, v := range op.Operands() {
			e := 0
			if !v.Type.IsScalar() {
				e = where(v.Type.Axes)
			}
			if xs[i] = tiles[i][e]; !xs[i].ok {
				return
			}
		}
		k := at(keep)
		if so[k] == nil {
			so[k] = xs
		} else {
			so[k] = function(op.Fn, slices.Concat(so[k], xs, using))
		}
		visit(where, so[k])
	})
	if op.Code == lang.OpReduce {
		walk(keep, func(at func([]*ir.Axis) int) {
			if so[at(keep)] == nil {
				visit(at, identity)
			}
		})
	}
}

// reduceBy combines the elements along an axis by a function.
func (w *warp) reduceBy(op *ir.Op) {
	keep := op.Results[0].Type.Axes
	dense := make([][]cell, len(op.Results))
	for i := range dense {
		dense[i] = make([]cell, block.Volume(keep))
	}
	w.combined(op, func(at func([]*ir.Axis) int, so []cell) {
		for i, c := range so {
			dense[i][at(keep)] = c
		}
	})
	for i, v := range op.Results {
		w.spreadResult(v, keep, dense[i])
	}
}

// scan combines the elements along an axis up to each position.
func (w *warp) scan(op *ir.Op) {
	axes := op.Results[0].Type.Axes
	dense := make([][]cell, len(op.Results))
	for i := range dense {
		dense[i] = make([]cell, block.Volume(axes))
	}
	w.combined(op, func(at func([]*ir.Axis) int, so []cell) {
		for i, c := range so {
			dense[i][at(axes)] = c
		}
	})
	for i, v := range op.Results {
		w.spreadResult(v, axes, dense[i])
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sort gives the positions of the elements along an axis in order; equal ones stay in theirs.
func (w *warp) sort(op *ir.Op) {
	x, v, over := op.Args[0], op.Result(), op.Over[0]
	d, tile := x.Type.DType, w.dense(x)
	keep := ir.Without(v.Type.Axes, op.Over)
	dense := make([]cell, block.Volume(v.Type.Axes))
	st := strides(x.Type.Axes)[over]
	to := strides(v.Type.Axes)[over]
	less := func(a, b ir.Const) int {
		an, bn := d.IsFloat() && a.Float != a.Float, d.IsFloat() && b.Float != b.Float
		switch {
		case an || bn: // what is not a number comes behind all that is
			return truth(an) - truth(bn)
		case eval.Apply(lang.OpLt, d, a, b).Int != 0:
			return -1
		case eval.Apply(lang.OpLt, d, b, a).Int != 0:
			return 1
		}
		return 0
	}
	walk(keep, func(at func([]*ir.Axis) int) {
		from, put := 0, 0
		for _, a := range keep {
			i := at([]*ir.Axis{a})
			from += i * strides(x.Type.Axes)[a]
			put += i * strides(v.Type.Axes)[a]
		}
		var places []int
		for i := range int(over.Extent) {
			if tile[from+i*st].ok {
				places = append(places, i)
			}
		}
		slices.SortStableFunc(places, func(i, j int) int {
			c := less(tile[from+i*st].Const, tile[from+j*st].Const)
			if op.Descending {
				return -c
			}
			return c
		})
		for i, place := range places {
			dense[put+i*to] = cell{ir.Const{Int: int64(place) + w.axis(over).start}, true}
		}
	})
	w.spreadResult(v, v.Type.Axes, dense)
}
