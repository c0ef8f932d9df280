package size

import "fmt"

// Solve gives the one dimension d of the size that is not known, and sizes a and b of symbols that are, where the size is a times d and b more: then
// the size tells d. It is nil of others.
func (s Size) Solve(known func(*Symbol) bool) (d *Symbol, a, b Size) {
	for _, sym := range s.Symbols() {
		switch {
		case known(sym):
		case d != nil || sym.Kind != DimSymbol:
			return nil, Size{}, Size{}
		default:
			d = sym
		}
	}
	if d == nil || s.large {
		return nil, Size{}, Size{}
	}
	a, b, ok := s.Linear(d)
	if !ok {
		return nil, Size{}, Size{}
	}
	return d, a, b
}

// Tell gives the dimension that the size tells where the size is n, as Solve does, and what that dimension is; value gives the symbols that are known.
// The dimension is nil where the size tells none, and there is an error where no number of 0 or more makes the size n.
func (s Size) Tell(n int64, value func(*Symbol) (int64, bool)) (d *Symbol, is int64, err error) {
	d, a, b := s.Solve(func(sym *Symbol) bool { _, ok := value(sym); return ok })
	if d == nil {
		return nil, 0, nil
	}
	factor, err := a.Eval(value)
	if err != nil {
		return d, 0, err
	}
	more, err := b.Eval(value)
	if err != nil {
		return d, 0, err
	}
	switch {
	case factor == 0:
		return d, 0, fmt.Errorf("%s is 0, so that %s tells no %s", a, s, d.Name)
	case (n-more)%factor != 0 || (n-more)/factor < 0:
		return d, 0, fmt.Errorf("no %s makes %d of %s", d.Name, n, s)
	}
	return d, (n - more) / factor, nil
}

// Told gives the symbols that sizes tell one after the other, those that are told from the beginning among them. Constant parameters are known.
func Told(sizes []Size, from map[*Symbol]bool) map[*Symbol]bool {
	told := map[*Symbol]bool{}
	for sym := range from {
		told[sym] = true
	}
	known := func(sym *Symbol) bool { return sym.Kind == ConstSymbol || told[sym] }
	for n := -1; n < len(told); {
		n = len(told)
		for _, s := range sizes {
			if d, _, _ := s.Solve(known); d != nil {
				told[d] = true
			}
		}
	}
	return told
}
