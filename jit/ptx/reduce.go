package ptx

import (
	"fmt"
	"math"
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// reduction is how one reduction combines: in which type, from what value, and by which code.
type reduction struct {
	d        lang.DType
	identity func(lang.DType) ir.Const
	combine  func(k *kernel, d lang.DType, x, y []asm.Reg) []asm.Reg
}

// pairwise combines by an elementwise operation.
func pairwise(op lang.Op) func(*kernel, lang.DType, []asm.Reg, []asm.Reg) []asm.Reg {
	return func(k *kernel, d lang.DType, x, y []asm.Reg) []asm.Reg {
		return []asm.Reg{elem.Apply(k.a, op, d, []asm.Reg{x[0], y[0]}, false)}
	}
}

func number(n int64) func(lang.DType) ir.Const {
	return func(lang.DType) ir.Const { return ir.Const{Int: n, Float: float64(n)} }
}

// bound is the least (sign -1) or the greatest (sign 1) value of a type.
func bound(sign int) func(lang.DType) ir.Const {
	return func(d lang.DType) ir.Const {
		c := ir.Const{Float: math.Inf(sign)}
		switch {
		case d.IsFloat() && !d.HasInfinity():
			c.Float = d.Largest() * float64(sign)
		case d.IsInt() && sign < 0 && d.IsSigned():
			c.Int = -1 << (d.Bits() - 1)
		case d.IsInt() && sign < 0:
			c.Int = 0
		case d.IsInt() && d.IsSigned():
			c.Int = 1<<(d.Bits()-1) - 1
		case d.IsInt():
			c.Int = -1
		}
		return c
	}
}

var reductions = map[lang.Op]reduction{
	lang.OpSum:       {identity: number(0), combine: pairwise(lang.OpAdd)},
	lang.OpMean:      {identity: number(0), combine: pairwise(lang.OpAdd)},
	lang.OpProd:      {identity: number(1), combine: pairwise(lang.OpMul)},
	lang.OpReduceMax: {identity: bound(-1), combine: pairwise(lang.OpMax)},
	lang.OpReduceMin: {identity: bound(1), combine: pairwise(lang.OpMin)},
	lang.OpAny:       {identity: number(0), combine: pairwise(lang.OpLogicOr)},
	lang.OpAll:       {identity: number(1), combine: pairwise(lang.OpLogicAnd)},
	lang.OpArgMax:    {identity: bound(-1), combine: extreme(lang.OpGt)},
	lang.OpArgMin:    {identity: bound(1), combine: extreme(lang.OpLt)},
}

// extreme combines (value, position) pairs: the better value wins, NaN is better
// than any number, and of equals the lower position wins.
func extreme(better lang.Op) func(*kernel, lang.DType, []asm.Reg, []asm.Reg) []asm.Reg {
	return func(k *kernel, d lang.DType, x, y []asm.Reg) []asm.Reg {
		a := k.a
		wins := elem.Apply(a, better, d, []asm.Reg{y[0], x[0]}, false)
		ties := elem.Apply(a, lang.OpEq, d, []asm.Reg{y[0], x[0]}, false)
		if d.IsFloat() {
			xNaN := elem.Apply(a, lang.OpIsNaN, d, []asm.Reg{x[0]}, false)
			yNaN := elem.Apply(a, lang.OpIsNaN, d, []asm.Reg{y[0]}, false)
			onlyY := a.Op(asm.Pred, "and.pred", yNaN, a.Op(asm.Pred, "not.pred", xNaN))
			wins = a.Op(asm.Pred, "or.pred", wins, onlyY)
			ties = a.Op(asm.Pred, "or.pred", ties, a.Op(asm.Pred, "and.pred", xNaN, yNaN))
		}
		// Positions compare as unsigned: that of the identity is the greatest.
		compare := "setp.lt.u32"
		if x[1].Class == asm.B64 {
			compare = "setp.lt.u64"
		}
		lower := a.Op(asm.Pred, compare, y[1], x[1])
		wins = a.Op(asm.Pred, "or.pred", wins, a.Op(asm.Pred, "and.pred", ties, lower))
		return []asm.Reg{k.selected(wins, y[0], x[0]), k.selected(wins, y[1], x[1])}
	}
}

// noPosition is the position that stands for no element.
const noPosition = -1

// reduce emits a reduction: over a thread's registers, then over lanes by
// shuffles, then over warps through shared memory. The order is fixed, and every
// thread that holds a result computes the same bits.
func (k *kernel) reduce(op *ir.Op) {
	if k.byMoments(op) {
		return
	}
	red := reductions[op.Code]
	v := op.Args[0]
	l := k.Homes[v]
	d := v.Type.DType
	var held [][]asm.Reg
	if accumulates(op, d) {
		held = k.accumulate(op, d, l)
	} else {
		held, d = k.combineRegisters(op, red, d, l)
	}
	if !k.deferred(op) {
		held = k.reduceThreads(op, red, d, held)
	}

	final := make([]asm.Reg, len(held))
	for i, x := range held {
		final[i] = x[len(x)-1]
	}
	if op.Code == lang.OpMean {
		count := k.count(op.Over)
		n, known := count.(asm.Int)
		known = known && d == lang.F32
		for i, x := range final {
			if known {
				final[i] = elem.QuotientBy(k.a, x, int(n))
			} else {
				final[i] = elem.Apply(k.a, lang.OpDiv, d, []asm.Reg{x, elem.Cast(k.a, lang.I32, d, k.a.Register(count))}, false)
			}
		}
	}
	k.reduced(op, final)
}

// reduced holds what a reduction gives, as it comes and at home.
func (k *kernel) reduced(op *ir.Op, final []asm.Reg) {
	v, result := op.Args[0], op.Result()
	out := k.Homes[v].Slice(ir.Without(v.Type.Axes, op.Over))
	k.hold(result, out, final)
	if len(result.Type.Axes) == 0 {
		return
	}
	if _, same := out.Permutation(k.Homes[result], result.Type.Axes); !same {
		k.get(result, k.Homes[result])
	}
}

// combineRegisters combines what a thread holds, in the type that it gives: sums of narrow types are in a wider one.
func (k *kernel) combineRegisters(op *ir.Op, red reduction, d lang.DType, l layout.Layout) ([][]asm.Reg, lang.DType) {
	regs := k.get(op.Args[0], l)
	if rule := op.Code.Row().Rule; rule == lang.RuleSum || rule == lang.RuleMean {
		if acc := d.Accumulator(); acc != d {
			wide := make([]asm.Reg, len(regs))
			for i, r := range regs {
				wide[i] = elem.Cast(k.a, d, acc, r)
			}
			regs, d = wide, acc
		}
	}
	return k.reduceRegisters(op, red, d, l, regs), d
}

// reduceRegisters gathers, for each register of the result, the elements that a thread holds, and combines them. A tuple is a value and, of argmax, its position.
func (k *kernel) reduceRegisters(op *ir.Op, red reduction, d lang.DType, l layout.Layout, regs []asm.Reg) [][]asm.Reg {
	keep := ir.Without(op.Args[0].Type.Axes, op.Over)
	isArg := op.Code.Row().Rule == lang.RuleArg
	parts := make([][][]asm.Reg, l.Slice(keep).Regs())
	var identity asm.Reg
	for r := range regs {
		x := []asm.Reg{regs[r]}
		m := k.mask(l, op.Over, r)
		if m.Valid() {
			if !identity.Valid() {
				c := red.identity(d)
				identity = k.a.Once(fmt.Sprint("identity ", op.Code, d), func() asm.Reg { return elem.Constant(k.a, d, c) })
			}
			x[0] = k.selected(m, x[0], identity)
		}
		if isArg {
			at := op.Result().Type.DType
			pos := k.counted(at, k.a.Add(k.position(l, op.Over[0]), asm.Int(l.RegCoord(r, op.Over[0]))))
			if m.Valid() {
				pos = k.selected(m, pos, k.counted(at, asm.Int(noPosition)))
			}
			x = append(x, pos)
		}
		i := l.Project(r, keep)
		parts[i] = append(parts[i], x)
	}
	if !isArg {
		return k.reduceOverlapping(op, red, d, l, parts)
	}
	held := make([][]asm.Reg, len(parts))
	for i, xs := range parts {
		held[i] = balanced(xs, func(x, y []asm.Reg) []asm.Reg { return red.combine(k, d, x, y) })
	}
	return held
}

// reduceOverlapping combines elements of windows, of which a thread's overlap: what two of them give is computed once, and of windows of several axes, where the order does not
// matter, what each position along one of the axes gives.
func (k *kernel) reduceOverlapping(op *ir.Op, red reduction, d lang.DType, l layout.Layout, parts [][][]asm.Reg) [][]asm.Reg {
	known := map[[2]asm.Reg]asm.Reg{}
	join := func(x, y asm.Reg) asm.Reg {
		from := [2]asm.Reg{x, y}
		if !known[from].Valid() {
			known[from] = red.combine(k, d, []asm.Reg{x}, []asm.Reg{y})[0]
		}
		return known[from]
	}
	keep := ir.Without(op.Args[0].Type.Axes, op.Over)
	all := make([][]int, len(parts)) // registers of the tile by result, as the parts are
	for r := range l.Regs() {
		i := l.Project(r, keep)
		all[i] = append(all[i], r)
	}
	whole := make([][][]asm.Reg, len(parts))
	for i, xs := range parts {
		whole[i] = [][]asm.Reg{firstOf(xs)}
	}
	best, fewest := whole, joins(whole)
	if len(op.Over) > 1 && (!d.IsFloat() || op.Code == lang.OpReduceMax || op.Code == lang.OpReduceMin) {
		for _, a := range op.Over {
			groups := make([][][]asm.Reg, len(parts))
			for i, xs := range parts {
				groups[i] = make([][]asm.Reg, l.Physical(a))
				for n, x := range firstOf(xs) {
					at := l.RegCoord(all[i][n], a)
					groups[i][at] = append(groups[i][at], x)
				}
				groups[i] = slices.DeleteFunc(groups[i], func(g []asm.Reg) bool { return len(g) == 0 })
			}
			if n := joins(groups); n < fewest {
				best, fewest = groups, n
			}
		}
	}
	held := make([][]asm.Reg, len(parts))
	for i, groups := range best {
		var each []asm.Reg
		for _, g := range groups {
			each = append(each, balanced(g, join))
		}
		held[i] = []asm.Reg{balanced(each, join)}
	}
	return held
}

// firstOf takes the values out of tuples.
func firstOf(xs [][]asm.Reg) []asm.Reg {
	out := make([]asm.Reg, len(xs))
	for i, x := range xs {
		out[i] = x[0]
	}
	return out
}

// joins counts how many pairs are combined of groups that are combined first, those that are the same once.
func joins(results [][][]asm.Reg) (n int) {
	known := map[string]bool{}
	for _, groups := range results {
		n += len(groups) - 1
		for _, g := range groups {
			if key := fmt.Sprint(g); !known[key] {
				known[key] = true
				n += len(g) - 1
			}
		}
	}
	return n
}

// balanced joins values as a balanced tree: the way from any of them to the result is short.
func balanced[T any](xs []T, join func(x, y T) T) T {
	for len(xs) > 1 {
		var next []T
		for i := 0; i+1 < len(xs); i += 2 {
			next = append(next, join(xs[i], xs[i+1]))
		}
		if len(xs)%2 == 1 {
			next = append(next, xs[len(xs)-1])
		}
		xs = next
	}
	return xs[0]
}

// sum adds up registers.
func (k *kernel) sum(d lang.DType, xs []asm.Reg) asm.Reg {
	return balanced(xs, func(x, y asm.Reg) asm.Reg { return elem.Apply(k.a, lang.OpAdd, d, []asm.Reg{x, y}, false) })
}

// reduceLanes combines what lanes hold, where they divide a reduced axis.
func (k *kernel) reduceLanes(op *ir.Op, red reduction, d lang.DType, l layout.Layout, held [][]asm.Reg) {
	for _, bit := range lanesOver(l, op.Over) {
		for i, x := range held {
			y := make([]asm.Reg, len(x))
			for j, r := range x {
				y[j] = k.shuffle(r, bit)
			}
			held[i] = red.combine(k, d, x, y)
		}
	}
}

// lanesOver are the bits of a lane's number by which lanes differ along axes.
func lanesOver(l layout.Layout, axes []*ir.Axis) (bits []int) {
	bit := 1
	for _, digit := range l.Lane {
		for n := 1; n < digit.Size; n *= 2 {
			if digit.Axis != nil && slices.Contains(axes, digit.Axis) {
				bits = append(bits, bit)
			}
			bit *= 2
		}
	}
	return bits
}

// count is the number of elements that exist along axes.
func (k *kernel) count(axes []*ir.Axis) asm.Number {
	var n asm.Number = asm.Int(1)
	for _, a := range axes {
		var c asm.Number = asm.Int(a.Extent)
		if k.partial(a) {
			c = k.extent(a)
		}
		if m, known := n.(asm.Int); known {
			n = k.a.Mul(c, int(m))
		} else {
			n = k.a.Calc(asm.B32, "mul.lo.s32", n, c)
		}
	}
	return n
}

// shuffle exchanges a register with the lane whose number differs in one bit.
func (k *kernel) shuffle(x asm.Reg, bit int) asm.Reg { return k.exchange(x, "bfly", asm.Int(bit), 31) }

// exchange reads a register of another lane of the warp.
func (k *kernel) exchange(x asm.Reg, mode string, by asm.Number, clamp int) asm.Reg {
	a := k.a
	const all = asm.AllLanes
	name := "shfl.sync." + mode + ".b32"
	switch x.Class {
	case asm.Pred:
		n := a.Op(asm.B32, "selp.u32", asm.Int(1), asm.Int(0), x)
		return a.Op(asm.Pred, "setp.ne.u32", a.Op(asm.B32, name, n, by, asm.Int(clamp), all), asm.Int(0))
	case asm.B64, asm.F64:
		lo, hi := a.Halves(x)
		lo = a.Op(asm.B32, name, lo, by, asm.Int(clamp), all)
		hi = a.Op(asm.B32, name, hi, by, asm.Int(clamp), all)
		return a.Whole(x.Class, lo, hi)
	}
	return a.Op(x.Class, name, x, by, asm.Int(clamp), all)
}

// reduceWarps combines what the warps hold, where warps divide a reduced axis: each writes its part, each reads all.
func (k *kernel) reduceWarps(op *ir.Op, red reduction, d lang.DType, l, out layout.Layout, held [][]asm.Reg) [][]asm.Reg {
	parts := k.exchangeWarps(op, []lang.DType{d, op.Result().Type.DType}[:len(held[0])], l, out, held) // the values and, of argmax, the positions
	for i, all := range parts {
		held[i] = balanced(all, func(x, y []asm.Reg) []asm.Reg { return red.combine(k, d, x, y) })
	}
	return held
}

// exchangeWarps gives, for each tuple that a thread holds, those that warps have of it, in the order of partsOfWarps.
func (k *kernel) exchangeWarps(op *ir.Op, types []lang.DType, l, out layout.Layout, held [][]asm.Reg) [][][]asm.Reg {
	parts, digits := partsOfWarps(l, op.Over)
	n := int(parts.Len)
	got := make([][][]asm.Reg, len(held))
	if n == 1 {
		for i, x := range held {
			got[i] = [][]asm.Reg{x}
		}
		return got
	}
	from := layout.Layout{Reg: out.Reg, Lane: out.Lane, Warp: slices.Clone(out.Warp)}
	for i, g := range digits {
		if g.Axis == parts { // in the place of a digit that is reduced
			from.Warp[i] = g
		}
	}
	to := layout.Layout{Reg: append([]layout.Digit{{Axis: parts, Stride: 1, Size: n}}, out.Reg...), Lane: out.Lane, Warp: out.Warp}
	kept := ir.Without(op.Args[0].Type.Axes, op.Over)
	// The parts of an element lie together, unless a thread has several elements in a row: then these do, and threads beside one
	// another read from banks beside one another.
	axes := append([]*ir.Axis{parts}, kept...)
	if row := inARow(out); row != nil {
		axes = append(append([]*ir.Axis{row}, ir.Without(kept, []*ir.Axis{row})...), parts)
	}
	var ext []int
	for _, a := range axes {
		if a == parts {
			ext = append(ext, n)
		} else {
			ext = append(ext, out.Physical(a))
		}
	}
	var tiles []*sharedTile
	for c, e := range types {
		t := newShared(e, axes, ext, false)
		t.buffer = k.allocate(t.Bytes(), "reducing "+block.ValueName(op.Args[0])+" over warps")
		xs := make([]asm.Reg, len(held))
		for i, x := range held {
			xs[i] = x[c]
		}
		k.write(t, op.Args[0], from, xs, nil)
		tiles = append(tiles, t)
	}
	for i := range got {
		got[i] = make([][]asm.Reg, n)
	}
	for _, t := range tiles {
		for at, x := range k.fetchTile(t, to) {
			i, p := at/n, at%n
			got[i][p] = append(got[i][p], x)
		}
	}
	k.release(tiles[0].buffer)
	return got
}

// partsOfWarps numbers what warps have of the elements along axes: along an axis of its own, which digits of a warp's number then count.
func partsOfWarps(l layout.Layout, axes []*ir.Axis) (parts *ir.Axis, warp []layout.Digit) {
	parts = &ir.Axis{Name: "part", Kind: ir.Whole, Len: 1}
	for _, g := range l.Warp {
		if g.Axis == nil || !slices.Contains(axes, g.Axis) {
			warp = append(warp, layout.Digit{Size: g.Size})
			continue
		}
		warp = append(warp, layout.Digit{Axis: parts, Stride: int(parts.Len), Size: g.Size})
		parts.Len *= int64(g.Size)
	}
	parts.Extent = parts.Len
	return parts, warp
}

// inARow is the axis along which a thread has a vector of elements or more one behind the other; nil where there is none.
func inARow(l layout.Layout) *ir.Axis {
	for _, d := range l.Reg {
		if d.Axis != nil && d.Stride == 1 && d.Size >= 4 {
			return d.Axis
		}
	}
	return nil
}
