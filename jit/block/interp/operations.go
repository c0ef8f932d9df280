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
	if p.Alike() && w.sharing == nil && op.Code.Row().Effect == lang.Writes && (op.Tensor == nil || !op.Tensor.Scratch) && w.block.rank > 0 {
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
	case lang.OpPrint, lang.OpAssert: // what is said is no matter of the block, but where it is held is
		for _, v := range op.Args {
			w.get(v, p.DebugLayout(v))
		}
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

// deferred reports a reduction of which each thread carries a part until its loop ends. Scalars a warp has once: their parts are joined in each step.
func (w *warp) deferred(op *ir.Op) bool {
	if op.Result().Type.IsScalar() {
		return false
	}
	for _, ds := range w.p().Deferred {
		if slices.ContainsFunc(ds, func(d *block.Deferral) bool { return d.Reduce == op }) {
			return true
		}
	}
	return false
}
