package typed

import (
	"tilec/lang"
	"tilec/typecheck/size"
)

// This file is the typed form of what puts elements in order or combines them by a function.

// Combine is a reduction or a scan: OpReduce and OpScan by a function, or
// OpCumSum and OpCumProd, which need none.
type Combine struct {
	Op lang.Op
	// Args are the operands, which broadcast by name; Identity is, for each, what nothing gives.
	Args, Identity []Expr
	Over           []*Axis
	// Reverse is a bool that the specialisation decides; nil is false.
	Reverse Expr
	// Params are the values of the function's first argument, then those of the second.
	Params []*Local
	Fn     *Body
	Of     []Type
	At     lang.Span
}

// Types are the types of the results, one for each operand.
func (c *Combine) Types() []Type { return c.Of }

// Span is the place in the source.
func (c *Combine) Span() lang.Span { return c.At }

// Sort is `sort((keys, ...), over v)` or `topk(x, r, over v)`: it gives a value
// for each argument of a sort, the values and the positions of a topk.
type Sort struct {
	Op   lang.Op
	Args []Expr
	Over *Axis
	// Into is topk's axis of results.
	Into *Axis
	// Descending is a bool that a specialisation decides; nil for the ascending order.
	Descending Expr
	Of         []Type
	At         lang.Span
}

// Types are those of the results.
func (o *Sort) Types() []Type { return o.Of }

// Span is the place in the source.
func (o *Sort) Span() lang.Span { return o.At }

// Claim is a relation between sizes that a shape operation rests on and that
// only a specialisation can decide: Left is equal to Right, or at most it.
type Claim struct {
	Left, Right size.Size
	AtMost      bool
	// Text says what is compared, with a %d for each side.
	Text string
	At   lang.Span
}

// Broken reports sizes for which the claim does not hold.
func (c Claim) Broken(left, right int64) bool {
	return left > right || left < right && !c.AtMost
}
