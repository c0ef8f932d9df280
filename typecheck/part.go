package typecheck

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file has what a grid over a part of a dimension needs: the ends of its range.

// gridPart types the range of a grid axis. What it gives says, of the declared axis, what proofs may assume.
func (b *bodyChecker) gridPart(x *typed.Axis, a *lang.AxisClause) (declared func(), ok bool) {
	lo, hi := intOperand(a.Place, 0), sizeOperand(a.Over.Span(), x.Dim)
	for _, end := range []struct {
		written lang.Expr
		is      *operand
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
		if !beforeLaunch(o.expr) {
			b.Errorf(lang.ErrNotConstant, end.written.Span(), "an end of the range of %s has to be known before any block runs", x.Name).
				help("compute it from constants, dimensions and i32 parameters by `+ - * // %% min max if`, or walk the range in the block: `for %s in %s[lo .. hi] by ...`", x.Name, x.Dim)
			return nil, false
		}
		*end.is = o
	}
	if from, okFrom := lo.position(); okFrom {
		to, okTo := hi.position()
		if n, isConst := to.Sub(from).Const(); okTo && isConst && n < 1 {
			b.Errorf(lang.ErrTune, a.Range.Place, "a grid over the positions from %s to %s has no blocks: the end is the first position that is left out", from, to)
			return nil, false
		}
	}
	x.From, x.To, x.Part = b.settle(lo).expr, b.settle(hi).expr, a.Range.Place
	return func() { b.between(x, lo, hi) }, true
}

// between notes the range of an axis, for the proof of what is stored (coverage.go), and lets proofs use that its positions lie there.
func (b *bodyChecker) between(x *typed.Axis, lo, hi operand) {
	symbols := []*size.Symbol{b.positions[x]}
	if s := b.starts[x]; s != nil {
		symbols = append(symbols, s)
	}
	if from, ok := lo.position(); ok {
		for _, s := range symbols {
			b.prover.Where(s, size.Of(s).Sub(from))
		}
	}
	if to, ok := hi.position(); ok {
		for _, s := range symbols {
			b.prover.Where(s, to.Sub(size.Const(1)).Sub(size.Of(s)))
		}
		if e := b.ends[x]; e != nil {
			b.prover.Where(e, to.Sub(size.Of(e)))
		}
	}
	b.through[b.positions[x]] = walked(lo, hi, x.Dim)
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
