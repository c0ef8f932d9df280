package blocks

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Facts is what is known of the body of a kernel for the proofs about its blocks.
type Facts struct {
	log    *report.Log
	hidden *size.Hidden
	Kernel *typed.Kernel
	Prover *size.Prover
	// where an axis is, as hidden symbols: its positions, its first and its end.
	Positions, Starts, Ends map[*typed.Axis]*size.Symbol
	IndexOf                 map[*typed.Local]*size.Symbol // the position of a scalar loop
	Through                 map[*size.Symbol]Walk         // what axes and the indices of loops go through, by their positions
	// Varying are the hidden symbols that may differ from block to block.
	Varying map[*size.Symbol]bool
	// Bounds are the axes whose start or end the program uses, with where it does first.
	Bounds map[*typed.Axis]lang.Span
	Writes []Access // stores and atomics
	Reads  []Access // loads of inout tensors
}

// NewFacts are those of a kernel of which nothing is known.
func NewFacts(l *report.Log, hidden *size.Hidden, k *typed.Kernel) *Facts {
	return &Facts{log: l, hidden: hidden, Kernel: k, Prover: &size.Prover{},
		Positions: map[*typed.Axis]*size.Symbol{}, Starts: map[*typed.Axis]*size.Symbol{}, Ends: map[*typed.Axis]*size.Symbol{},
		IndexOf: map[*typed.Local]*size.Symbol{}, Through: map[*size.Symbol]Walk{},
		Varying: map[*size.Symbol]bool{}, Bounds: map[*typed.Axis]lang.Span{}}
}

// Errorf reports an error at a place.
func (f *Facts) Errorf(code lang.Code, at lang.Span, format string, args ...any) report.Draft {
	return f.log.Errorf(code, at, format, args...)
}

// Judge reports what blocks must not do to one another.
func (f *Facts) Judge() {
	before := f.log.Found
	f.races()
	if f.log.Found == before { // blocks that write one element often do so for a reduction over what tells them apart
		f.extents()
		f.overwritten(f.Kernel.Body)
	}
}

// Walk is what an axis, or the index of a loop, goes through: the positions from lo up to and without hi.
type Walk struct {
	// Lo and hi are nil where no proof knows them.
	Lo, Hi *size.Size
	// Within, where it is not nil, is the dimension that the range is cut to.
	Within *size.Size
}

// ThroughAll is the walk of all positions of a dimension.
func ThroughAll(dim size.Size) Walk { return Walk{Lo: &size.Size{}, Hi: &dim} }

// ends are the first position and the one behind the last, after the cut; false where they are not known.
func (w Walk) ends(known *size.Prover) (from, to size.Size, ok bool) {
	if w.Lo == nil || w.Hi == nil {
		return size.Size{}, size.Size{}, false
	}
	from, to = *w.Lo, *w.Hi
	if w.Within == nil {
		return from, to, true
	}
	switch {
	case known.NonNegative(from):
	case known.NonNegative(from.Neg()):
		from = size.Size{}
	default:
		return size.Size{}, size.Size{}, false
	}
	switch {
	case known.AtMost(to, *w.Within):
	case known.AtMost(*w.Within, to):
		to = *w.Within
	default:
		return size.Size{}, size.Size{}, false
	}
	return from, to, true
}

// Access is a use of a tensor's elements, for the proofs that blocks do not meet.
type Access struct {
	Param  *typed.Param
	At     lang.Span
	Store  *typed.Store // nil of a load
	Atomic bool
	Scope  string // of an atomic
	// Positions has one entry a dimension; nil where nothing is known of the index.
	Positions []*size.Size
	Indices   []typed.Expr
	Checked   []bool
	// Needs has, by dimension, the dimensions that must not be 0.
	Needs [][]*size.Symbol
}
