package size

import (
	"encoding/binary"
	"maps"
	"sort"
	"strconv"
	"unsafe"
)

// This file proves linear inequalities between sizes by Fourier-Motzkin
// elimination: to prove e >= 0 it assumes -e - 1 >= 0, adds what is known of
// every symbol in sight, and looks for a contradiction. Products of symbols are
// variables of their own, about which the products of known facts speak.

// Prover holds what is known: sizes that are at least 0, by a symbol that brings them into a proof.
// Dimensions are at least 1 without being told, unless zeros says that they may all be 0, or zero that one may.
type Prover struct {
	facts map[*Symbol][]Size
	zeros bool
	zero  map[*Symbol]bool
	// always is what holds in every launch, those in which dimensions are 0 too.
	always []Size
}

const (
	maxFacts       = 400     // constraints, beyond which a proof is given up
	manyFacts      = 20      // facts about one symbol, which are not all tried at first
	maxCoefficient = 1 << 30 // keeps products of two coefficients inside an int64
	maxDegree      = 4
)

// Assume records that s >= 0, whatever runs.
func (p *Prover) Assume(s Size) {
	p.always = append(p.always, s)
	p.UnlessEmpty(s)
}

// UnlessEmpty records that s >= 0 where no dimension is 0.
func (p *Prover) UnlessEmpty(s Size) {
	for _, sym := range s.Symbols() {
		p.Where(sym, s)
	}
}

// Where records that s >= 0 wherever there is a position sym. A proof uses it
// only about what mentions sym: an axis may be empty, a loop may make no step,
// and then nothing follows from its positions for anything else.
func (p *Prover) Where(sym *Symbol, s Size) {
	if s.large {
		return
	}
	if p.facts == nil {
		p.facts = map[*Symbol][]Size{}
	}
	p.facts[sym] = append(p.facts[sym], s)
}

// Bound records what a launch makes sure of, where s is the size of a tensor or
// of what an axis walks: it divides by positive numbers only.
func (p *Prover) Bound(s Size) {
	for _, d := range s.divisors() {
		p.Assume(d.Sub(Const(1)))
	}
}

// NonNegative reports a proof of s >= 0.
func (p *Prover) NonNegative(s Size) bool {
	if c, ok := s.Const(); ok {
		return c >= 0
	}
	if s.large || p.refuted(s) {
		return false
	}
	leftOut := true
	sys := systems.Get().(*system)
	defer sys.release()
	for _, try := range attempts {
		if try.all && try.degree == 2 && !leftOut {
			continue
		}
		sys.begin(p, try)
		opposite := s.Neg().Sub(Const(1))
		sys.add(opposite)
		for _, d := range s.divisors() { // n <= x // d is about n d and x
			if sys.positive(d) {
				sys.add(opposite.Mul(d))
			}
		}
		leftOut = sys.saturate()
		if sys.contradiction() {
			return true
		}
	}
	return false
}

// attempt is how a proof is tried.
type attempt struct {
	degree int // of the largest products that known facts are added about
	// all: with the facts about a symbol of which there are more than manyFacts; what a proof needs of
	// them is most often known of something else in sight too.
	all bool
}

// attempts begin with the shortest: most proofs are short, and what a longer one needs may be too much for them.
var attempts = []attempt{{2, false}, {2, true}, {maxDegree, true}}

// least is the size that a dimension has at least.
func (p *Prover) least(dim *Symbol) int64 {
	if p.zeros || p.zero[dim] {
		return 0
	}
	return 1
}

// Each gives every fact with the symbol that brings it into a proof.
func (p *Prover) Each(visit func(sym *Symbol, fact Size)) {
	for sym, facts := range p.facts {
		for _, f := range facts {
			visit(sym, f)
		}
	}
}

// Clone knows the same, and what it learns stays its own.
func (p *Prover) Clone() *Prover { return &Prover{facts: maps.Clone(p.facts), zeros: p.zeros} }

// Always is what is known of every launch, those in which dimensions are 0 too.
func (p *Prover) Always() *Prover {
	q := &Prover{zeros: true}
	for _, s := range p.always {
		q.Assume(s)
	}
	return q
}

// WithZeros is what is known when dimensions may be 0.
func (p *Prover) WithZeros() *Prover { return &Prover{facts: p.facts, zeros: true} }

// AtMost reports a proof of s <= t.
func (p *Prover) AtMost(s, t Size) bool { return p.NonNegative(t.Sub(s)) }

// Different reports a proof that s and t are never equal.
func (p *Prover) Different(s, t Size) bool {
	d := p.primitive(s.Sub(t))
	one := Const(1)
	return p.NonNegative(d.Sub(one)) || p.NonNegative(d.Neg().Sub(one))
}

// NonNegative reports a proof of s >= 0 from nothing but that dimensions are at least 1.
func NonNegative(s Size) bool { return new(Prover).NonNegative(s) }

// row is a constraint: constant plus the sum of coefficient times variable is at least 0.
type row struct {
	constant int64
	coeff    []coefficient // by variable, each once
}

type coefficient struct {
	variable int
	of       int64
}

// at is the coefficient of a variable.
func (r row) at(v int) int64 {
	for _, c := range r.coeff {
		if c.variable == v {
			return c.of
		}
	}
	return 0
}

// sum is a times one row plus b times another.
func sum(r row, a int64, q row, b int64) row {
	out := row{constant: r.constant*a + q.constant*b, coeff: make([]coefficient, 0, len(r.coeff)+len(q.coeff))}
	x, y := r.coeff, q.coeff
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].variable < y[0].variable:
			out.coeff = append(out.coeff, coefficient{x[0].variable, x[0].of * a})
			x = x[1:]
		case len(x) == 0 || y[0].variable < x[0].variable:
			out.coeff = append(out.coeff, coefficient{y[0].variable, y[0].of * b})
			y = y[1:]
		default:
			out.coeff = append(out.coeff, coefficient{x[0].variable, x[0].of*a + y[0].of*b})
			x, y = x[1:], y[1:]
		}
	}
	return out
}

// add turns s >= 0 into a row, making variables of its monomials.
func (y *system) add(s Size) {
	if s.large {
		return // which says nothing
	}
	r := row{constant: s.constant, coeff: make([]coefficient, len(s.terms))}
	for i, t := range s.terms {
		r.coeff[i] = coefficient{y.variable(t.atoms), t.coefficient}
	}
	sort.Slice(r.coeff, func(i, j int) bool { return r.coeff[i].variable < r.coeff[j].variable }) // a generic sort of another type is 9 KB more of the binary
	y.push(r)
}

func (y *system) push(r row) {
	if !r.reduce() {
		y.failed = true
		return
	}
	k := r.key()
	if y.seen[k] {
		return
	}
	y.seen[k] = true
	y.rows = append(y.rows, r)
}

func (y *system) variable(atoms []atom) int {
	k := y.text[:0]
	for _, a := range atoms {
		k = append(appendAtom(k, a), '*')
	}
	y.text = k
	v, ok := y.vars[string(k)]
	if !ok {
		v = len(y.monomials)
		y.vars[string(k)] = v
		y.monomials = append(y.monomials, atoms)
	}
	return v
}

func appendAtom(to []byte, a atom) []byte {
	if a.symbol != nil { // by its address
		return strconv.AppendUint(to, uint64(uintptr(unsafe.Pointer(a.symbol))), 16)
	}
	to = append(appendSize(append(to, '('), *a.x), a.op...)
	return append(appendSize(to, *a.y), ')')
}

func appendSize(to []byte, s Size) []byte {
	to = strconv.AppendInt(to, s.constant, 10)
	for _, t := range s.terms {
		to = strconv.AppendInt(append(to, '+'), t.coefficient, 10)
		for _, a := range t.atoms {
			to = appendAtom(append(to, '*'), a)
		}
	}
	return to
}

// Key is a text that equal sizes of one kernel share, and no others: it names symbols by what tells them apart.
func (s Size) Key() string { return string(appendSize(nil, s)) }

// saturate adds what is known of every monomial, including those that the facts themselves bring in, and reports
// whether it left anything out.
func (y *system) saturate() (leftOut bool) {
	var last []atom
	for v := 0; v < len(y.monomials) && len(y.rows) < maxFacts; v++ {
		m := y.monomials[v]
		if len(m) == 1 {
			if m[0].symbol != nil && len(y.facts[m[0].symbol]) > manyFacts {
				last = append(last, m[0])
				continue
			}
			for _, f := range y.about(m[0]) {
				y.add(f)
			}
			continue
		}
		if len(m) > y.degree {
			continue
		}
		for i, a := range m { // fact(a) * rest >= 0 where the rest is not negative
			rest := make([]atom, 0, len(m)-1)
			rest = append(append(rest, m[:i]...), m[i+1:]...)
			if !y.allNonNegative(rest) {
				continue
			}
			for _, f := range y.about(a) {
				if f := f.Mul(Size{terms: []term{{1, rest}}}); f.degree() <= y.degree {
					y.add(f)
				}
			}
		}
	}
	for _, a := range last {
		if !y.all {
			return true
		}
		for _, f := range y.about(a) {
			if len(y.rows) < maxFacts {
				y.add(f)
			}
		}
	}
	return false
}

// about lists sizes, at least 0, that bound an atom.
func (y *system) about(a atom) []Size {
	self := atomSize(a)
	if s := a.symbol; s != nil {
		facts := y.facts[s]
		if s.Kind == DimSymbol {
			facts = append([]Size{self.Sub(Const(y.least(s)))}, facts...)
		}
		return facts
	}
	if !y.positive(*a.y) {
		return nil
	}
	if a.op == "%" { // x == y (x // y) + x % y
		rest := a.x.Sub(a.y.Mul(a.x.FloorDiv(*a.y))).Sub(self)
		return []Size{self, a.y.Sub(Const(1)).Sub(self), rest, rest.Neg()}
	}
	below := a.x.Sub(a.y.Mul(self)) // 0 <= x - y q <= y - 1
	return []Size{below, a.y.Sub(Const(1)).Sub(below)}
}

func (y *system) positive(s Size) bool {
	if c, ok := s.Const(); ok {
		return c > 0
	}
	if sym := s.Symbol(); sym != nil {
		return y.atLeast(sym, 1)
	}
	// What a divisor of it goes into is not 0: heads by the heads that share keys and values.
	of, by, ok := s.Quotient()
	return ok && y.positive(of) && y.positive(by) && y.divides(by, of)
}

// divides reports that an assumption says that of is a multiple of by.
func (y *system) divides(by, of Size) bool {
	none := of.Mod(by).Neg()
	for _, sym := range of.Symbols() {
		for _, f := range y.facts[sym] {
			if f.Equal(none) {
				return true
			}
		}
	}
	return false
}

// atLeast looks for a fact that is a plain lower bound of a symbol.
func (y *system) atLeast(sym *Symbol, n int64) bool {
	if sym.Kind == DimSymbol && n <= y.least(sym) {
		return true
	}
	for _, f := range y.facts[sym] {
		rest := f.Sub(Of(sym))
		if c, ok := rest.Const(); ok && -c >= n {
			return true
		}
	}
	return false
}

func (y *system) allNonNegative(atoms []atom) bool {
	for _, a := range atoms {
		switch {
		case a.symbol != nil:
			if !y.atLeast(a.symbol, 0) {
				return false
			}
		case !y.positive(*a.y):
			return false
		case a.op == "//":
			if s := a.x.Symbol(); s == nil || !y.atLeast(s, 0) {
				return false
			}
		}
	}
	return true
}

// contradiction eliminates every variable; it reports whether a row "negative number >= 0" is left.
func (y *system) contradiction() bool {
	for {
		y.prune()
		v, ok := y.cheapest()
		for _, r := range y.rows {
			if len(r.coeff) == 0 && r.constant < 0 {
				return true
			}
		}
		if !ok || y.failed {
			return false
		}
		pos, neg, rest := y.pos[:0], y.neg[:0], y.rest[:0]
		for _, r := range y.rows {
			switch c := r.at(v); {
			case c > 0:
				pos = append(pos, r)
			case c < 0:
				neg = append(neg, r)
			default:
				rest = append(rest, r)
			}
		}
		y.pos, y.neg, y.rest = pos, neg, rest
		if len(rest)+len(pos)*len(neg) > maxFacts {
			return false
		}
		y.rows = y.rows[:0]
		clear(y.seen)
		for _, r := range rest {
			y.push(r)
		}
		for _, p := range pos {
			for _, n := range neg {
				y.push(sum(p, -n.at(v), n, p.at(v))) // which cancels v
			}
		}
	}
}

// reduce drops zeros and divides by the greatest common divisor of the
// coefficients; the constant rounds down, since the variables are integers.
func (r *row) reduce() bool {
	var g int64
	kept := r.coeff[:0]
	for _, c := range r.coeff {
		if c.of == 0 {
			continue
		}
		if c.of > maxCoefficient || c.of < -maxCoefficient {
			return false
		}
		g = Gcd(g, c.of)
		kept = append(kept, c)
	}
	r.coeff = kept
	if r.constant > maxCoefficient || r.constant < -maxCoefficient {
		return false
	}
	if g > 1 {
		for i := range r.coeff {
			r.coeff[i].of /= g
		}
		r.constant = FloorDiv(r.constant, g)
	}
	return true
}

// Gcd is the greatest common divisor of x and y, which are not both 0.
func Gcd(a, b int64) int64 {
	if b < 0 {
		b = -b
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// key is a text that equal rows share, and no others.
func (r row) key() string {
	var room [96]byte
	k := binary.AppendVarint(room[:0], r.constant)
	for _, c := range r.coeff {
		k = binary.AppendVarint(binary.AppendVarint(k, int64(c.variable)), c.of)
	}
	return string(k)
}
