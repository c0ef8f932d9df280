package block

import (
	"slices"

	"tilec/jit/ir"
)

// This file says which of several forms that give the same values a block has.

// Form is which form the block has, by the name of the setting that asks for one (lang.Forms): 1 for the plain one.
func (p *Program) Form(name string) int64 {
	switch name {
	case "longest":
		if p.LongestFirst != nil {
			return p.LongestFirst.Together
		}
	case "overlap":
		form := int64(awaited)
		for _, x := range p.Pipelines {
			switch {
			case x.Overlap == nil:
			case x.Overlap.Turns:
				form = inTurns
			default:
				form = max(form, overlapped)
			}
		}
		return form
	case "kept":
		switch {
		case len(p.RowCopies) > 0 && p.Tiles != nil:
			return copiedAhead
		case len(p.RowCopies) > 0:
			return copied
		case slices.ContainsFunc(p.Func.Tensors, func(t *ir.Tensor) bool { return t.Shared }):
			return keptByThreads
		}
	case "deferred":
		if len(p.Deferred) > 0 {
			return 2
		}
	case "moments":
		if len(p.Moments) > 0 {
			return 2
		}
	case "chains":
		for _, c := range p.Products {
			if c.Chains > 1 && c.Parts == 1 {
				return 2
			}
		}
	case "selection":
		if p.findsThreshold() {
			return ByThreshold
		}
	case "stagger":
		if p.Staggered > 0 {
			return 2
		}
	case "words":
		if p.Words != nil {
			return byWords
		}
	case "phases":
		if len(p.Phases) > 0 {
			return 2
		}
	}
	return 1
}

// asks is the form that is asked for, or else the best.
func (p *Program) asks(name string, best int64) int64 {
	if n := p.Forms[name]; n > 0 {
		return n
	}
	return best
}
