package typecheck

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file has what a grid over a part of a dimension needs: the ends of its
// range, and the proof that an output that is stored along it is stored as a whole.

// interval is a range of positions, from and up to and without to. What no proof knows is nil.
type interval struct{ from, to *size.Size }

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
	zero, in := size.Size{}, interval{} // cut to the dimension
	if from, ok := lo.position(); ok {
		switch {
		case b.prover.NonNegative(from):
			in.from = &from
		case b.prover.NonNegative(from.Neg()):
			in.from = &zero
		}
	}
	if to, ok := hi.position(); ok {
		switch {
		case b.prover.AtMost(to, x.Dim):
			in.to = &to
		case b.prover.AtMost(x.Dim, to):
			in.to = &x.Dim
		}
	}
	b.ranges[x] = in
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
				return !isInt(d) && d != typed.Concrete(lang.Bool)
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
				here("along a part").label(x.At, "%s is declared here", x.Name).label(p.At, "%s: %s", p.Name, typed.ShapeText(p.DType, p.Shape)).
				help("make it a parameter `inout %s: %s`, whose other elements keep what they were, or store the rest too", p.Name, typed.ShapeText(p.DType, p.Shape))
			break
		}
	}
}

// stretch is what a store writes of dimension d, where it goes along an axis over a part of its own.
func (b *bodyChecker) stretch(w access, d int) (interval, *typed.Axis) {
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
		moved := func(s *size.Size) *size.Size {
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
func (b *bodyChecker) cover(parts []interval, n size.Size) bool {
	reached := size.Size{}
	for range parts {
		for _, in := range parts {
			if in.from != nil && in.to != nil && b.prover.AtMost(*in.from, reached) && b.prover.AtMost(reached, *in.to) {
				reached = *in.to
			}
		}
	}
	return b.prover.AtMost(n, reached)
}
