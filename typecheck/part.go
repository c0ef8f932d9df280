package typecheck

import "tilec/lang"

// This file has what a grid over a part of a dimension needs: the ends of its
// range, and the proof that an output that is stored along it is stored as a whole.

// interval is a range of positions, from and up to and without to. What no proof knows is nil.
type interval struct{ from, to *Size }

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

// between notes the range of an axis, for the proof of what is stored, and lets proofs use that its positions lie there.
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
	zero, in := Size{}, interval{} // cut to the dimension
	if from, ok := lo.position(); ok {
		switch {
		case b.prover.nonNegative(from):
			in.from = &from
		case b.prover.nonNegative(from.Neg()):
			in.from = &zero
		}
	}
	if to, ok := hi.position(); ok {
		switch {
		case b.prover.atMost(to, x.Dim):
			in.to = &to
		case b.prover.atMost(x.Dim, to):
			in.to = &x.Dim
		}
	}
	b.ranges[x] = in
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

// covered reports outputs of which the stores, each along an axis over a part of its dimension, leave something out.
func (b *bodyChecker) covered() {
	for _, p := range b.kernel.Outputs {
		for d, n := range p.Shape {
			var parts []interval
			var last *access
			for i, w := range b.writes {
				if w.param != p {
					continue
				}
				in, x := b.stretch(w, d)
				if x == nil { // along all of the dimension, or of which nothing is known
					last = nil
					break
				}
				parts, last = append(parts, in), &b.writes[i]
			}
			if last == nil || b.cover(parts, n) {
				continue
			}
			_, x := b.stretch(*last, d)
			b.errorf(lang.ErrNeverStored, last.at, "the output %s is not proven to be stored as a whole: %s is a part of %s, dimension %d of %s is %s", p.Name, x.Name, x.Dim, d, p.Name, n).
				here("along a part").label(x.At, "%s is declared here", x.Name).label(p.At, "%s: %s", p.Name, shapeText(p.DType, p.Shape)).
				help("make it a parameter `inout %s: %s`, whose other elements keep what they were, or store the rest too", p.Name, shapeText(p.DType, p.Shape))
			break
		}
	}
}

// stretch is what a store writes of dimension d, where it goes along an axis over a part of its own.
func (b *bodyChecker) stretch(w access, d int) (interval, *Axis) {
	if w.positions[d] == nil || w.atomic {
		return interval{}, nil
	}
	for x, in := range b.ranges {
		c, rest, ok := b.coefficient(*w.positions[d], b.positions[x])
		if n, isConst := c.Const(); !ok || !isConst || n != 1 {
			continue
		}
		for _, s := range rest.Symbols() {
			if b.varying[s] {
				return interval{}, nil
			}
		}
		moved := func(s *Size) *Size {
			if s == nil {
				return nil
			}
			t := s.Add(rest)
			return &t
		}
		return interval{moved(in.from), moved(in.to)}, x
	}
	return interval{}, nil
}

// cover reports a proof that every position below n lies in one of the intervals.
func (b *bodyChecker) cover(parts []interval, n Size) bool {
	reached := Size{}
	for range parts {
		for _, in := range parts {
			if in.from != nil && in.to != nil && b.prover.atMost(*in.from, reached) && b.prover.atMost(reached, *in.to) {
				reached = *in.to
			}
		}
	}
	return b.prover.atMost(n, reached)
}
