package typecheck

import "tilec/lang"

// This file has what a grid over a part of a dimension needs: the ends of its range.

// gridPart types the range of a grid axis. What it gives says, of the declared axis, what proofs may assume.
func (b *bodyChecker) gridPart(x *Axis, a *lang.AxisClause) (declared func(), ok bool) {
	lo, hi := intOperand(a.Place, 0), sizeOperand(a.Over.Span(), x.Dim)
	for _, end := range []struct {
		written lang.Expr
		is      *operand
	}{{a.Range.Lo, &lo}, {a.Range.Hi, &hi}} {
		if end.written == nil {
			continue
		}
		o, typedOK := b.bound(end.written)
		if !typedOK {
			return nil, false
		}
		if !beforeLaunch(o.expr) {
			b.errorf(lang.ErrNotConstant, end.written.Span(), "an end of the range of %s has to be known before any block runs", x.Name).
				help("compute it from constants, dimensions and i32 parameters by `+ - * // %% min max if`, or walk the range in the block: `for %s in %s[lo .. hi] by ...`", x.Name, x.Dim)
			return nil, false
		}
		*end.is = o
	}
	if from, okFrom := lo.position(); okFrom {
		to, okTo := hi.position()
		if n, isConst := to.Sub(from).Const(); okTo && isConst && n < 1 {
			b.errorf(lang.ErrTune, a.Range.Place, "a grid over the positions from %s to %s has no blocks: the end is the first position that is left out", from, to)
			return nil, false
		}
	}
	x.From, x.To, x.Part = b.settle(lo).expr, b.settle(hi).expr, a.Range.Place
	return func() { b.between(x, lo, hi) }, true
}

// between notes the range of an axis, for the proof of what is stored (coverage.go), and lets proofs use that its positions lie there.
func (b *bodyChecker) between(x *Axis, lo, hi operand) {
	symbols := []*Symbol{b.positions[x]}
	if s := b.starts[x]; s != nil {
		symbols = append(symbols, s)
	}
	if from, ok := lo.position(); ok {
		for _, s := range symbols {
			b.prover.where(s, SymbolSize(s).Sub(from))
		}
	}
	if to, ok := hi.position(); ok {
		for _, s := range symbols {
			b.prover.where(s, to.Sub(ConstSize(1)).Sub(SymbolSize(s)))
		}
		if e := b.ends[x]; e != nil {
			b.prover.where(e, to.Sub(SymbolSize(e)))
		}
	}
	b.through[b.positions[x]] = walked(lo, hi, x.Dim)
}

// beforeLaunch reports a scalar that a launch can compute: package jit does.
func beforeLaunch(x Expr) bool {
	switch x := x.(type) {
	case *Const, *SizeExpr, *ConstRef, *ScalarRef:
		return true
	case *If:
		return beforeLaunch(x.Cond) && gives(x.Then) && gives(x.Else)
	case *Apply:
		for _, a := range x.Args {
			if !beforeLaunch(a) || !isInt(a.Types()[0].DType) && a.Types()[0].DType != Concrete(lang.Bool) {
				return false
			}
		}
		switch x.Op {
		case lang.OpAdd, lang.OpSub, lang.OpMul, lang.OpDiv, lang.OpFloorDiv, lang.OpMod, lang.OpMin, lang.OpMax, lang.OpNeg,
			lang.OpEq, lang.OpNe, lang.OpLt, lang.OpLe, lang.OpGt, lang.OpGe, lang.OpLogicAnd, lang.OpLogicOr, lang.OpLogicNot:
			return true
		}
	}
	return false
}

// gives reports a branch that is one such scalar.
func gives(b *Body) bool {
	return b != nil && len(b.Stmts) == 0 && len(b.Results) == 1 && beforeLaunch(b.Results[0])
}

// Over is what the axis walks, as the source says it: `N`, or `N[1 .. N - 1]`.
func (a *Axis) Over() string {
	switch {
	case a.Part.IsValid():
		return a.Dim.String() + "[" + a.Part.Text() + "]"
	case a.Kind != WholeAxis || a.Len.Equal(a.Dim):
		return a.Dim.String()
	}
	return a.Dim.String() + "[" + a.Lo.String() + " .. " + a.Lo.Add(a.Len).String() + "]"
}
