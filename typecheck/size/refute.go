package size

// This file looks for sizes that a proof attempt cannot survive: most
// inequalities that do not hold are already false when every dimension is 1,
// or when all are some multiple of 12, and trying costs next to nothing.

// samples are the sizes to try: the symbol's turn among those of the inequality gives its value.
var samples = []func(turn int) int64{
	func(int) int64 { return 1 },
	func(int) int64 { return 12 },
	func(turn int) int64 { return 12 * int64(turn+2) },
}

// refuted reports an assignment of sizes, allowed by all that is known, under
// which s is negative. It answers only for sizes over dimensions and constants.
func (p *Prover) refuted(s Size) bool {
	symbols := s.Symbols()
	turn := map[*Symbol]int{}
	for i, sym := range symbols {
		turn[sym] = i
	}
	for _, sample := range samples {
		value := func(sym *Symbol) (int64, bool) {
			return sample(turn[sym]), sym.Kind != PositionSymbol
		}
		if n, err := s.Eval(value); err == nil && n < 0 && p.allowed(symbols, value) {
			return true
		}
	}
	return false
}

// allowed reports that an assignment agrees with every fact about the symbols.
func (p *Prover) allowed(symbols []*Symbol, value func(*Symbol) (int64, bool)) bool {
	for _, sym := range symbols {
		for _, f := range p.facts[sym] {
			if n, err := f.Eval(value); err != nil || n < 0 {
				return false
			}
		}
	}
	return true
}
