package blocks

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file says which atomics make of the tiles that blocks have what the whole
// would give: `atomic_add` of sums, `atomic_max` of maxima, and neither of the
// other's. What is computed from a tile before the atomic keeps that or loses it:
// twice a sum is still a sum, a sum plus one is one too many with every block.

// joins is a set of the atomics that put tiles together.
type joins uint8

const (
	byAdd joins = 1 << iota
	byMax
	byMin
	byAnd
	byOr
	byXor
	byMul // no atomic does it; a loop's carried product does

	// idempotent are those to which it is the same how often a value comes.
	idempotent = byMax | byMin | byAnd | byOr
)

// joinOf is by what the results of a reduction of tiles, or of an elementwise operation, are put together.
var joinOf = map[lang.Op]joins{
	lang.OpSum: byAdd, lang.OpProd: byMul, lang.OpDot: byAdd, lang.OpMma: byAdd, lang.OpReduceMax: byMax, lang.OpReduceMin: byMin,
	lang.OpAny: byOr | byMax, lang.OpAll: byAnd | byMin,
	lang.OpAdd: byAdd, lang.OpMul: byMul, lang.OpMax: byMax, lang.OpMin: byMin, lang.OpAnd: byAnd, lang.OpOr: byOr, lang.OpXor: byXor,
	lang.OpLogicAnd: byAnd | byMin, lang.OpLogicOr: byOr | byMax,
}

// with is the atomic that puts tiles together by one of the set; false where none does.
func (j joins) with() (lang.Op, bool) {
	for _, op := range []lang.Op{lang.OpAtomicAdd, lang.OpAtomicMax, lang.OpAtomicMin, lang.OpAtomicAnd, lang.OpAtomicOr, lang.OpAtomicXor} {
		if j&joinOf[op.Combines()] != 0 {
			return op, true
		}
	}
	return 0, false
}

// blockwise is what one value has to do with how the planner cuts the grid.
type blockwise struct {
	// of is the reduction of a tile of an axis that the value depends on; nil for a value that every plan gives.
	of *partial
	// axes are the grid axes of whose tiles it is.
	axes []*typed.Axis
	// by is the atomics that make of the blocks' values that of the whole.
	by joins
	// mentions are the grid axes on which the value depends in any way: blocks apart along others have the same.
	mentions []*typed.Axis
}

// Of values that every plan gives, 0 changes nothing that it is added to.
var (
	plain = blockwise{by: idempotent}
	zero  = blockwise{by: idempotent | byAdd | byXor}
)

// together is a value that depends on all of the tiles, with the atomics that are left.
func together(by joins, ps ...blockwise) blockwise {
	all := plain
	for _, p := range ps {
		if p.of != nil && (all.of == nil || all.of.axis.Given() && !p.of.axis.Given()) {
			all.of = p.of
		}
		all.axes = append(all.axes, p.axes...)
		all.mentions = unionOf(all.mentions, p.mentions)
	}
	if all.of != nil {
		all.by = by
	}
	return all
}

// mentioning is the value with the grid axes that others mention.
func (p blockwise) mentioning(others ...blockwise) blockwise {
	for _, o := range others {
		p.mentions = unionOf(p.mentions, o.mentions)
	}
	return p
}

// unionOf is the axes of both, each once.
func unionOf(a, b []*typed.Axis) []*typed.Axis {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(slices.Clip(a), x)
		}
	}
	return a
}

// mixed is a value of which no atomic makes that of the whole where any of the tiles is one.
func mixed(ps ...blockwise) blockwise { return together(0, ps...) }

// either is one of several values, whichever every plan chooses.
func either(ps ...blockwise) blockwise {
	by := ^joins(0)
	for _, p := range ps {
		by &= p.by
	}
	all := together(by, ps...)
	if all.of == nil {
		all.by = by
	}
	return all
}

// is reports a value of which the same is known.
func (p blockwise) is(o blockwise) bool {
	return p.of == o.of && p.by == o.by && slices.Equal(p.axes, o.axes)
}

// computed is what an elementwise operation makes of tiles.
func computed(x *typed.Apply, args []blockwise) blockwise {
	from := func(i int) typed.DType { return x.Args[i].Types()[0].DType }
	switch op := x.Op; op {
	case lang.OpAdd, lang.OpMax, lang.OpMin, lang.OpAnd, lang.OpOr, lang.OpXor, lang.OpLogicAnd, lang.OpLogicOr:
		return together(joinOf[op]&args[0].by&args[1].by, args...)
	case lang.OpSub:
		return together(byAdd&args[0].by&args[1].by, args...)
	case lang.OpMul:
		switch {
		case args[1].of == nil:
			return together(byAdd&args[0].by, args...)
		case args[0].of == nil:
			return together(byAdd&args[1].by, args...)
		}
	case lang.OpDiv:
		if args[1].of == nil && typed.IsFloat(from(0)) {
			return together(byAdd&args[0].by, args...)
		}
	case lang.OpNeg:
		by := byAdd & args[0].by
		if typed.IsFloat(from(0)) { // the least integer is its own negation
			by |= (args[0].by & byMax << 1) | (args[0].by & byMin >> 1)
		}
		return together(by, args...)
	case lang.OpWhere:
		if args[0].of == nil {
			return either(args[1], args[2])
		}
	case lang.OpFull, lang.OpRename:
		return args[0]
	case lang.OpCast:
		p := args[0]
		p.by &= keeps(from(0), x.Type.DType)
		return p
	}
	return mixed(args...)
}

// keeps is what a conversion leaves of the ways to put tiles together.
func keeps(from, to typed.DType) joins {
	switch {
	case from == to, typed.IsFloat(from) && typed.IsFloat(to): // sums up to rounding, as always
		return ^joins(0)
	case from.Param != nil || to.Param != nil || typed.IsFloat(from): // what is cut off each tile adds up, and NaN becomes 0
		return 0
	case from.Of == lang.Bool:
		return idempotent
	case typed.IsFloat(to):
		return byMax | byMin
	case to.Of.Bits() <= from.Of.Bits(): // wraps around, as the sums do
		return byAdd | byMul | byAnd | byOr | byXor
	case from.Of.IsSigned() && !to.Of.IsSigned():
		return byAnd | byOr | byXor
	}
	return idempotent | byXor // a tile's sum may have wrapped around already
}

// onlyOp is the operation on the function's two parameters that is all that it does; OpInvalid where it is more.
func onlyOp(c *typed.Combine) lang.Op {
	if c.Op != lang.OpReduce || len(c.Params) != 2 || len(c.Fn.Stmts) > 0 || len(c.Fn.Results) != 1 {
		return lang.OpInvalid
	}
	x := c.Fn.Results[0]
	for in, ok := x.(*typed.Inline); ok && len(in.Body.Stmts) == 0 && len(in.Body.Results) == 1; in, ok = x.(*typed.Inline) {
		x = in.Body.Results[0]
	}
	of, ok := x.(*typed.Apply)
	if !ok || len(of.Args) != 2 {
		return lang.OpInvalid
	}
	a, _ := of.Args[0].(*typed.LocalRef)
	b, _ := of.Args[1].(*typed.LocalRef)
	both := a != nil && b != nil && (a.Local == c.Params[0] && b.Local == c.Params[1] || a.Local == c.Params[1] && b.Local == c.Params[0])
	if !both || !of.Op.Row().Associative {
		return lang.OpInvalid
	}
	return of.Op
}
