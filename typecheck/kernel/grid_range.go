package kernel

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/blocks"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file has what a grid over a part of a dimension needs: the ends of its range.

// gridRange types the range of a grid axis. What it gives says, of the declared axis, what proofs may assume.
func (b *bodyChecker) gridRange(x *typed.Axis, a *lang.AxisClause) (declared func(), ok bool) {
	lo, hi := rules.IntOperand(a.Place, 0), rules.SizeOperand(a.Over.Span(), x.Dim)
	var of *typed.Axis
	for _, end := range []struct {
		written lang.Expr
		is      *rules.Operand
	}{{a.Range.Lo, &lo}, {a.Range.Hi, &hi}} {
		if end.written == nil {
			continue
		}
		b.inGrid = true
		o, typedOK := b.bound(end.written)
		b.inGrid = false
		if !typedOK {
			return nil, false
		}
		if e := rangeOf(o.Expr); e != nil {
			if of == nil {
				of = e
			}
			if of != e || a.Range.Lo != nil && a.Range.Hi != nil && beforeLaunch(b.Settle(lo).Expr) && end.is == &hi {
				b.Errorf(lang.ErrNotConstant, a.Range.Place, "one end of the range of %s is read from memory for %s, and the other is not", x.Name, e.Name).
					Help("read both at the same position, as in `%s in %s[first[%s] .. first[%s + 1]]`, or leave one out", x.Name, x.Dim, e.Name, e.Name)
				return nil, false
			}
			*end.is = o
			continue
		}
		if of != nil || !beforeLaunch(o.Expr) {
			b.Errorf(lang.ErrNotConstant, end.written.Span(), "an end of the range of %s has to be known before any block runs", x.Name).
				Help("compute it from constants, dimensions and i32 parameters by `+ - * // %% min max if`, read both ends at one position of an axis of the grid, as in `grid e in E, %s in %s[first[e] .. first[e + 1]]`, or walk the range in the block: `for %s in %s[lo .. hi] by ...`", x.Name, x.Dim, x.Name, x.Dim)
			return nil, false
		}
		*end.is = o
	}
	if from, okFrom := lo.Position(); okFrom {
		to, okTo := hi.Position()
		if n, isConst := to.Sub(from).Const(); okTo && isConst && n < 1 {
			b.Errorf(lang.ErrTune, a.Range.Place, "a grid over the positions from %s to %s has no blocks: the end is the first position that is left out", from, to)
			return nil, false
		}
	}
	x.From, x.To, x.RangeAt = b.Settle(lo).Expr, b.Settle(hi).Expr, a.Range.Place
	if of != nil && !b.rangesInMemory(x, of) {
		return nil, false
	}
	return func() { b.between(x, lo, hi) }, true
}

// rangesInMemory notes that an axis of the grid goes through ranges that lie in memory, one for each position of another axis.
func (b *bodyChecker) rangesInMemory(x, of *typed.Axis) bool {
	for _, other := range b.Kernel.Axes {
		if other.Of != nil {
			b.Errorf(lang.ErrNotConstant, x.RangeAt, "the ranges of %s and of %s are both read from memory, where one axis of a grid can have such", other.Name, x.Name).
				LabelAt(other.RangeAt, "the ranges of %s", other.Name)
			return false
		}
	}
	x.Of = of
	return true
}

// rangeOf is the axis of the grid at whose position an expression is an element of an input of one dimension, or so much further on; nil
// where it is something else.
func rangeOf(x typed.Expr) *typed.Axis {
	l, ok := x.(*typed.Load)
	if !ok || len(l.Indices) != 1 || l.Param.Mode != lang.In || l.Param.Of != nil || l.Else != nil || l.Hints != (typed.AccessHints{}) {
		return nil
	}
	a, _, _ := typed.FurtherOn(l.Indices[0])
	if a == nil || a.Kind != typed.GridAxis || !a.Scalar || a.From != nil {
		return nil
	}
	return a
}

// wholeOver refuses what would have to know, of an axis over ranges in memory, more than each element by itself: a block has a part of a
// range, in a tile in which rows of the next one stand behind it.
func (b *bodyChecker) wholeOver() {
	i := slices.IndexFunc(b.Kernel.Axes, func(a *typed.Axis) bool { return a.Of != nil })
	if i < 0 {
		return
	}
	x := b.Kernel.Axes[i]
	refuse := func(at lang.Span, what string) {
		b.Errorf(lang.ErrNotConstant, at, "%s %s, whose ranges are read from memory", what, x.Name).LabelAt(x.RangeAt, "the ranges of %s", x.Name).
			Help("walk the range in the block: `for %s in %s[lo .. hi] by ...`", x.Name, x.Dim)
	}
	// Spans of two ranges may lie closer than a span is long, so no element is told by them; a loop walks positions of its own.
	ofLoops := map[*typed.Apply]bool{}
	typed.Walk(b.Kernel.Body, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.For:
			for _, end := range []typed.Expr{n.Lo, n.Hi} {
				typed.Walk(end, func(n typed.Node) bool {
					if bound, ok := n.(*typed.Apply); ok && boundOf(bound, x) {
						ofLoops[bound] = true
					}
					return true
				})
			}
		case *typed.Apply:
			if slices.Contains(n.Over, x) {
				refuse(n.At, n.Op.String()+" goes over")
			}
			if boundOf(n, x) && !ofLoops[n] {
				refuse(n.At, "only the range of a loop may say where a block's part begins or ends along")
			}
		case *typed.Combine:
			if slices.Contains(n.Over, x) {
				refuse(n.At, "a reduction goes over")
			}
		case *typed.Sort:
			if n.Over == x {
				refuse(n.At, "a sort goes over")
			}
		case *typed.Print:
			refuse(n.At, "a print stands in a grid over")
		case *typed.Assert:
			refuse(n.At, "an assert stands in a grid over")
		}
		return true
	})
}

// boundOf reports `x.start` or `x.end`.
func boundOf(n *typed.Apply, x *typed.Axis) bool {
	return n.Axis == x && (n.Op == lang.OpEnd || n.Op == lang.OpStart && !x.Scalar)
}

// between notes the range of an axis, for the proof of what is stored (coverage.go), and lets proofs use that its positions lie there.
func (b *bodyChecker) between(x *typed.Axis, lo, hi rules.Operand) {
	symbols := []*size.Symbol{b.Positions[x]}
	if s := b.Starts[x]; s != nil {
		symbols = append(symbols, s)
	}
	if from, ok := lo.Position(); ok {
		for _, s := range symbols {
			b.Prover.Where(s, size.Of(s).Sub(from))
		}
	}
	if to, ok := hi.Position(); ok {
		for _, s := range symbols {
			b.Prover.Where(s, to.Sub(size.Const(1)).Sub(size.Of(s)))
		}
		if e := b.Ends[x]; e != nil {
			b.Prover.Where(e, to.Sub(size.Of(e)))
		}
	}
	if x.Of != nil { // nobody knows which positions the ranges leave out
		b.Through[b.Positions[x]] = blocks.Walk{}
		return
	}
	b.Through[b.Positions[x]] = walked(lo, hi, x.Dim)
}

// beforeLaunch reports a scalar that a launch can compute: package jit does.
func beforeLaunch(x typed.Expr) bool {
	return typed.All(x, func(n typed.Node) bool {
		switch n := n.(type) {
		case *typed.Const, *typed.SizeExpr, *typed.ConstRef, *typed.ScalarRef:
			return true
		case *typed.If:
			return n.Then != nil && n.Else != nil
		case *typed.Body: // a branch
			return len(n.Stmts) == 0 && len(n.Results) == 1
		case *typed.Apply:
			return launchOps[n.Op] && !slices.ContainsFunc(n.Args, func(a typed.Expr) bool {
				d := a.Types()[0].DType
				return !typed.IsInt(d) && d != typed.Concrete(lang.Bool)
			})
		}
		return false
	})
}

// launchOps are what a launch computes of integers and conditions.
var launchOps = map[lang.Op]bool{
	lang.OpAdd: true, lang.OpSub: true, lang.OpMul: true, lang.OpDiv: true, lang.OpFloorDiv: true, lang.OpMod: true,
	lang.OpMin: true, lang.OpMax: true, lang.OpNeg: true,
	lang.OpEq: true, lang.OpNe: true, lang.OpLt: true, lang.OpLe: true, lang.OpGt: true, lang.OpGe: true,
	lang.OpLogicAnd: true, lang.OpLogicOr: true, lang.OpLogicNot: true,
}
