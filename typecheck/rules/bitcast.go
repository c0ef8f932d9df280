package rules

import (
	"tilec/lang"
	"tilec/typecheck/typed"
)

// This file has the rules of looking at the bits of one type as another.

// SameWidth checks that values of one type can be looked at as another.
func (c *Checker) SameWidth(in Caller, from, to typed.DType, at lang.Span) bool {
	if from != to && !c.HaveBits(in, from, to, at) {
		return false
	}
	if from.Of.Bits() != to.Of.Bits() {
		in.Errorf(lang.ErrBitcast, at, "a bitcast keeps the width: %s has %d bits, %s has %d", from, from.Of.Bits(), to, to.Of.Bits()).
			Help("convert the value with `as %s`", to)
		return false
	}
	return true
}

// HaveBits checks that the bits of both types are known.
func (c *Checker) HaveBits(in Caller, from, to typed.DType, at lang.Span) bool {
	switch {
	case from.Param != nil || to.Param != nil:
		p := from
		if p.Param == nil {
			p = to
		}
		in.Errorf(lang.ErrBitcast, at, "a bitcast looks at bits, and how many %s has is not known", c.DescribeDType(p))
	case from.Of == lang.Bool || to.Of == lang.Bool:
		in.Errorf(lang.ErrBitcast, at, "bool has no bits to look at").Help("convert with `as`, or compare with 0")
	default:
		return true
	}
	return false
}
