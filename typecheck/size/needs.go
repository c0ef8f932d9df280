package size

import "slices"

// Accesses are proven for dimensions of at least 1. A launch may have dimensions of 0: this file says which of them an
// access minds.

// Needs lists the dimensions that must be at least 1 for a position to lie in [0, dim), where that is proven for
// dimensions that all are. Where the tensor is written, positions of different blocks must differ too,
// which their own dimensions decide.
func (p *Prover) Needs(pos, dim Size, written bool) []*Symbol {
	if p.walks(pos, dim) { // most are: no proof is needed
		return nil
	}
	var needed []*Symbol
	if written {
		for _, s := range pos.Symbols() {
			if s.Kind == DimSymbol {
				needed = append(needed, s)
			}
		}
	}
	if p.WithZeros().Inside(pos, dim) {
		return needed
	}
	free := &Prover{facts: p.facts, zero: map[*Symbol]bool{}}
	for _, s := range p.dimsAbout(pos, dim) {
		free.zero[s] = true
		if !free.Inside(pos, dim) {
			delete(free.zero, s)
			if !slices.Contains(needed, s) {
				needed = append(needed, s)
			}
		}
	}
	return needed
}

// walks reports a position that is one along an axis over [0, dim) itself: where there is such a position, dim is not 0.
func (p *Prover) walks(pos, dim Size) bool {
	sym := pos.Symbol()
	if sym == nil {
		return false
	}
	says := func(s Size) bool { return slices.ContainsFunc(p.facts[sym], s.Equal) }
	return says(pos) && says(dim.Sub(Const(1)).Sub(pos))
}

// dimsAbout lists the dimensions in sizes, and in what is known of the symbols in them.
func (p *Prover) dimsAbout(sizes ...Size) []*Symbol {
	var dims []*Symbol
	seen := map[*Symbol]bool{}
	for len(sizes) > 0 {
		s := sizes[0]
		sizes = sizes[1:]
		for _, sym := range s.Symbols() {
			if seen[sym] {
				continue
			}
			seen[sym] = true
			if sym.Kind == DimSymbol {
				dims = append(dims, sym)
			}
			sizes = append(sizes, p.facts[sym]...)
		}
	}
	return dims
}

// Inside reports a proof that a position lies in [0, dim).
func (p *Prover) Inside(pos, dim Size) bool {
	return p.NonNegative(pos) && p.NonNegative(dim.Sub(Const(1)).Sub(pos))
}
