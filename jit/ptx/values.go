package ptx

import (
	"slices"

	"tilec/jit/block"
	"tilec/jit/ir"
	"tilec/jit/layout"
	"tilec/jit/ptx/asm"
	"tilec/jit/ptx/elem"
	"tilec/lang"
)

// get gives a value's registers in a layout: those at hand, those computed
// again when that is cheap, or those converted through shared memory.
func (k *kernel) get(v *ir.Value, want layout.Layout) []asm.Reg {
	axes := v.Type.Axes
	copies := k.copies(v)
	for _, h := range copies {
		from, ok := h.layout.Permutation(want, axes)
		if !ok {
			continue
		}
		regs := make([]asm.Reg, len(from))
		for i, r := range from {
			regs[i] = h.regs[max(r, 0)]
		}
		return regs
	}
	if v.Def != nil && v.Def.Code == lang.OpLoad && k.RunsAhead(v.Def) {
		if ts := k.copiesInShared(v); len(ts) > 0 {
			regs := k.fetchTile(ts[0], want)
			k.hold(v, want, regs)
			return regs
		}
	}
	if v.Def != nil && (k.Cheap(v) || k.Again(v) || v.Def.Code == lang.OpConst) {
		regs := k.recompute(v.Def, want)
		k.hold(v, want, regs)
		return regs
	}
	if len(copies) == 0 {
		failf("value %s is used before it is computed", block.ValueName(v))
	}
	regs := k.convert(v, copies[0], want)
	k.hold(v, want, regs)
	return regs
}

// scalar gives the register of a scalar.
func (k *kernel) scalar(v *ir.Value) asm.Reg { return k.get(v, layout.Uniform(k.Warps))[0] }

// recompute emits an operation for a result in the layout l.
func (k *kernel) recompute(op *ir.Op, l layout.Layout) []asm.Reg {
	switch op.Code {
	case lang.OpLoad:
		return k.bring(op, l)
	case lang.OpConst:
		return []asm.Reg{elem.EntryConstant(k.a, op.Result().Type.DType, op.Const)}
	case lang.OpFull:
		axes := op.Args[0].Type.Axes
		x := k.get(op.Args[0], l.Slice(axes))
		regs := make([]asm.Reg, l.Regs())
		for i := range regs {
			regs[i] = x[l.Project(i, axes)]
		}
		return regs
	case lang.OpIndex:
		base := k.position(l, op.Axis)
		regs := make([]asm.Reg, l.Regs())
		for i := range regs {
			regs[i] = k.counted(op.Axis.Counts(), k.a.Add(base, asm.Int(l.RegCoord(i, op.Axis))))
		}
		return regs
	case lang.OpStart:
		return []asm.Reg{k.counted(op.Axis.Counts(), k.state(op.Axis).start)}
	case lang.OpEnd:
		return []asm.Reg{k.counted(op.Axis.Counts(), k.state(op.Axis).end)}
	case lang.OpSize:
		return []asm.Reg{k.counted(op.Dim.Counts(), k.size(op.Dim))}
	case lang.OpRename:
		return k.get(op.Args[0], l.Rename(op.Axis, op.From))
	}
	return k.elementwise(op, l)
}

// counted is a position of a type, i32 or i64, in a register.
func (k *kernel) counted(d lang.DType, x asm.Number) asm.Reg {
	r, ok := x.(asm.Reg)
	switch {
	case !ok && d == lang.I64:
		return k.a.Calc(asm.B64, "mov.b64", x)
	case d == lang.I64:
		return k.a.Wide(r)
	}
	return k.a.Register(x)
}

// create emits an operation of the create group, or a rename, at home.
func (k *kernel) create(op *ir.Op) {
	v := op.Result()
	k.hold(v, k.Homes[v], k.recompute(op, k.Homes[v]))
}

// elementwise emits an elementwise operation or a conversion, for a result in the layout l.
func (k *kernel) elementwise(op *ir.Op, l layout.Layout) []asm.Reg {
	if op.Code == lang.OpWhere && op.Args[0] == k.holds {
		v := op.Args[1]
		x, regs := k.get(v, l.Slice(v.Type.Axes)), make([]asm.Reg, l.Regs())
		for r := range regs {
			regs[r] = x[l.Project(r, v.Type.Axes)]
		}
		return regs
	}
	if op.Code == lang.OpWhere && k.guard.holds != nil && op.Args[0] == k.guard.holds {
		return k.chosenUnless(op, l)
	}
	if n := k.Remainder(op, l); n > 0 {
		return k.remainders(op, l, n)
	}
	args := make([][]asm.Reg, len(op.Args))
	for i, v := range op.Args {
		args[i] = k.get(v, l.Slice(v.Type.Axes))
	}
	if op.Code == lang.OpRandomBits {
		return k.randomBits(op, l, args)
	}
	if k.Quotients[op] > 0 {
		return k.quotients(op, l, args)
	}
	// What follows from the same is the same.
	regs, repeats, known := make([]asm.Reg, l.Regs()), k.Repeats(op, l), map[[mostArgs]asm.Reg]asm.Reg{}
	for r := range regs {
		if repeats != nil && repeats[r] < r {
			regs[r] = regs[repeats[r]]
			continue
		}
		xs := make([]asm.Reg, len(args))
		for i, v := range op.Args {
			xs[i] = args[i][l.Project(r, v.Type.Axes)]
		}
		from := [mostArgs]asm.Reg(append(xs[:len(xs):len(xs)], make([]asm.Reg, mostArgs-len(xs))...))
		if !known[from].Valid() {
			known[from] = k.apply(op, xs)
		}
		regs[r] = known[from]
	}
	return regs
}

// remainders are those of positions by n, which do not change as steps and blocks begin elsewhere.
func (k *kernel) remainders(op *ir.Op, l layout.Layout, n int64) []asm.Reg {
	a, d := op.Args[0].Def.Axis, op.Result().Type.DType
	thread := k.threadCoord(l, a)
	if r, ok := thread.(asm.Reg); ok {
		thread = k.a.Calc(asm.B32, "and.b32", r, asm.Int(n-1))
	}
	moves := false
	for _, digits := range [][]layout.Digit{l.Lane, l.Warp} {
		moves = moves || slices.ContainsFunc(digits, func(x layout.Digit) bool { return x.Axis == a && int64(x.Stride)%n != 0 })
	}
	regs := make([]asm.Reg, l.Regs())
	for r := range regs {
		at := int64(l.RegCoord(r, a)) % n
		if !moves {
			regs[r] = elem.EntryConstant(k.a, d, ir.Const{Int: at})
			continue
		}
		regs[r] = k.counted(d, k.a.Add(thread, asm.Int(at)))
		if d.Bits() <= 32 {
			k.a.Within(regs[r], 0, n-1)
		}
	}
	return regs
}

// mostArgs is how many arguments an elementwise operation has at most.
const mostArgs = 3

// apply is an elementwise operation on one element.
func (k *kernel) apply(op *ir.Op, xs []asm.Reg) asm.Reg {
	if op.Code == lang.OpCast {
		from, to := op.Args[0].Type.DType, op.Result().Type.DType
		if from == to {
			return xs[0]
		}
		return elem.Cast(k.a, from, to, xs[0])
	}
	if op.Code == lang.OpBitcast {
		return elem.Bitcast(k.a, op.Args[0].Type.DType, op.Result().Type.DType, xs[0])
	}
	d := op.Args[0].Type.DType
	if op.Code == lang.OpWhere {
		d = op.Args[1].Type.DType
	}
	if op.Coarse {
		return elem.Coarse(k.a, op.Code, xs)
	}
	if (d == lang.I32 || d == lang.I64) && len(op.Args) == 2 {
		if n, ok := op.Args[1].IsConst(); ok && n.Int > 1 {
			switch op.Code {
			case lang.OpDiv, lang.OpFloorDiv, lang.OpMod:
				return elem.DivideBy(k.a, op.Code, xs[0], n.Int)
			}
		}
	}
	return elem.Apply(k.a, op.Code, d, xs, k.Func.Approx)
}

// selected is x where p holds and y elsewhere; without p it is x.
func (k *kernel) selected(p, x, y asm.Reg) asm.Reg {
	if !p.Valid() || x == y {
		return x
	}
	switch x.Class {
	case asm.Pred:
		t := k.a.Op(asm.Pred, "and.pred", x, p)
		n := k.a.Op(asm.Pred, "not.pred", p)
		n = k.a.Op(asm.Pred, "and.pred", y, n)
		return k.a.Op(asm.Pred, "or.pred", t, n)
	case asm.B32:
		return k.a.Op(asm.B32, "selp.b32", x, y, p)
	case asm.B64:
		return k.a.Op(asm.B64, "selp.b64", x, y, p)
	case asm.F64:
		return k.a.Op(asm.F64, "selp.f64", x, y, p)
	}
	return k.a.Op(asm.F32, "selp.f32", x, y, p)
}
