package kernel

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file has what a grid over a part of a dimension needs: the ends of its range.

// gridRange types the range of a grid axis. What it gives says, of the declared axis, what proofs may assume.
func (b *bodyChecker) gridRange(x *typed.Axis, a *lang.AxisClause) (declared func(), ok bool) {
	lo, hi := rules.IntOperand(a.Place, 0), rules.SizeOperand(a.Over.Span(), x.Dim)
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
		if !beforeLaunch(o.Expr) {
			b.Errorf(lang.ErrNotConstant, end.written.Span(), "an end of the range of %s has to be known before any block runs", x.Name).
				Help("compute it from constants, dimensions and i32 parameters by `+ - * // %% min max if`, or walk the range in the block: `for %s in %s[lo .. hi] by ...`", x.Name, x.Dim)
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
	return func() { b.between(x, lo, hi) }, true
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
