package size

// primitive divides a size by the product of positive atoms that all of its
// terms have, and by nothing else: it is 0, positive or negative where the size
// is. Element counts of two shapes share most of their dimensions, and the
// proofs about what is left are far shorter.
func (p *Prover) primitive(s Size) Size {
	if s.constant != 0 || len(s.terms) == 0 {
		return s
	}
	y := &system{Prover: p}
	var common []atom
	for _, a := range s.terms[0].atoms {
		if a.symbol == nil || !y.atLeast(a.symbol, 1) {
			continue
		}
		everywhere := true
		for _, t := range s.terms {
			everywhere = everywhere && count(t.atoms, a.symbol) > count(common, a.symbol)
		}
		if everywhere {
			common = append(common, a)
		}
	}
	if common == nil {
		return s
	}
	out := Size{}
	for _, t := range s.terms {
		rest := Size{constant: t.coefficient}
		taken := append([]atom(nil), common...)
		for _, a := range t.atoms {
			if n := indexOf(taken, a.symbol); a.symbol != nil && n >= 0 {
				taken = append(taken[:n], taken[n+1:]...)
			} else {
				rest = rest.Mul(atomSize(a))
			}
		}
		out = out.Add(rest)
	}
	return out
}

func count(atoms []atom, s *Symbol) int {
	n := 0
	for _, a := range atoms {
		if a.symbol == s {
			n++
		}
	}
	return n
}

func indexOf(atoms []atom, s *Symbol) int {
	for i, a := range atoms {
		if a.symbol == s {
			return i
		}
	}
	return -1
}
