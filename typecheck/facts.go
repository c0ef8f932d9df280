package typecheck

import (
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// facts is what is known of the body of a kernel for the proofs about its blocks.
type facts struct {
	log    *log
	hidden *size.Hidden
	kernel *typed.Kernel
	prover *size.Prover
	// where an axis is, as hidden symbols: its positions, its first and its end.
	positions, starts, ends map[*typed.Axis]*size.Symbol
	indexOf                 map[*typed.Local]*size.Symbol // the position of a scalar loop
	through                 map[*size.Symbol]walk         // what axes and the indices of loops go through, by their positions
	// varying are the hidden symbols that may differ from block to block.
	varying map[*size.Symbol]bool
	// bounds are the axes whose start or end the program uses, with where it does first.
	bounds map[*typed.Axis]lang.Span
	writes []access // stores and atomics
	reads  []access // loads of inout tensors
}

// newFacts are those of a kernel of which nothing is known.
func newFacts(l *log, hidden *size.Hidden, k *typed.Kernel) *facts {
	return &facts{log: l, hidden: hidden, kernel: k, prover: &size.Prover{},
		positions: map[*typed.Axis]*size.Symbol{}, starts: map[*typed.Axis]*size.Symbol{}, ends: map[*typed.Axis]*size.Symbol{},
		indexOf: map[*typed.Local]*size.Symbol{}, through: map[*size.Symbol]walk{},
		varying: map[*size.Symbol]bool{}, bounds: map[*typed.Axis]lang.Span{}}
}

// Errorf reports an error at a place.
func (f *facts) Errorf(code lang.Code, at lang.Span, format string, args ...any) report {
	return f.log.Errorf(code, at, format, args...)
}

// judge reports what blocks must not do to one another.
func (f *facts) judge() {
	before := f.log.found
	f.races()
	if f.log.found == before { // blocks that write one element often do so for a reduction over what tells them apart
		f.seen()
		f.overwritten(f.kernel.Body)
	}
}

// walk is what an axis, or the index of a loop, goes through: the positions from lo up to and without hi.
type walk struct {
	// lo and hi are nil where no proof knows them.
	lo, hi *size.Size
	// within, where it is not nil, is the dimension that the range is cut to.
	within *size.Size
}

// throughAll is the walk of all positions of a dimension.
func throughAll(dim size.Size) walk { return walk{lo: &size.Size{}, hi: &dim} }

// ends are the first position and the one behind the last, after the cut; false where they are not known.
func (w walk) ends(known *size.Prover) (from, to size.Size, ok bool) {
	if w.lo == nil || w.hi == nil {
		return size.Size{}, size.Size{}, false
	}
	from, to = *w.lo, *w.hi
	if w.within == nil {
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
	case known.AtMost(to, *w.within):
	case known.AtMost(*w.within, to):
		to = *w.within
	default:
		return size.Size{}, size.Size{}, false
	}
	return from, to, true
}

// access is a use of a tensor's elements, for the proofs that blocks do not meet.
type access struct {
	param  *typed.Param
	at     lang.Span
	store  *typed.Store // nil of a load
	atomic bool
	scope  string // of an atomic
	// positions has one entry a dimension; nil where nothing is known of the index.
	positions []*size.Size
	indices   []typed.Expr
	checked   []bool
	// needs has, by dimension, the dimensions that must not be 0.
	needs [][]*size.Symbol
}
