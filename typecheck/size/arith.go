package size

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// This file is the arithmetic of sizes. Every result is canonical: like terms
// are merged, terms and atoms sorted, divisions by a constant split into the
// part that divides and the part that does not.

// Add is s + t.
func (s Size) Add(t Size) Size {
	if s.large || t.large {
		return Size{large: true}
	}
	terms := make([]term, 0, len(s.terms)+len(t.terms))
	terms = append(append(terms, s.terms...), t.terms...)
	return canonical(s.constant+t.constant, terms).bounded()
}

// Neg is -s.
func (s Size) Neg() Size { return s.Scale(-1) }

// Sub is s - t.
func (s Size) Sub(t Size) Size { return s.Add(t.Neg()) }

// Mul is s * t.
func (s Size) Mul(t Size) Size {
	if s.large || t.large || len(s.terms)*len(t.terms) > MaxLength {
		return Size{large: true}
	}
	sum := t.Scale(s.constant)
	for _, a := range s.terms {
		var terms []term
		if t.constant != 0 {
			terms = append(terms, term{a.coefficient * t.constant, a.atoms})
		}
		for _, b := range t.terms {
			atoms := append(append([]atom{}, a.atoms...), b.atoms...)
			sort.SliceStable(atoms, func(i, j int) bool { return compareAtoms(atoms[i], atoms[j]) < 0 })
			terms = append(terms, term{a.coefficient * b.coefficient, atoms})
		}
		sum = sum.Add(canonical(0, terms))
	}
	return sum
}

// Scale is n times the size.
func (s Size) Scale(n int64) Size {
	if s.large {
		return s
	}
	terms := make([]term, 0, len(s.terms))
	for _, t := range s.terms {
		terms = append(terms, term{t.coefficient * n, t.atoms})
	}
	return canonical(s.constant*n, terms)
}

// FloorDiv is s divided by t, rounded down. A division by the constant 0 stays
// as it is, and fails when it is evaluated.
func (s Size) FloorDiv(t Size) Size {
	if s.large || t.large {
		return Size{large: true}
	}
	if c, ok := t.Const(); ok && c != 0 {
		if c < 0 {
			return s.Neg().FloorDiv(Const(-c))
		}
		whole, rest := s.takeMultiple(c)
		if n, ok := rest.Const(); ok {
			return whole.Add(Const(FloorDiv(n, c)))
		}
		if inner, by, ok := rest.singleQuotient(); ok { // (x // a) // b == x // (a b)
			return whole.Add(quotient(inner, Const(by*c)))
		}
		return whole.Add(quotient(rest, t))
	}
	if q, ok := s.exactQuotient(t); ok {
		return q
	}
	return quotient(s, t)
}

// Mod is the remainder of FloorDiv, which has the sign of t.
func (s Size) Mod(t Size) Size {
	if s.large || t.large {
		return Size{large: true}
	}
	if c, ok := t.Const(); ok && c > 0 {
		_, rest := s.takeMultiple(c)
		if n, ok := rest.Const(); ok {
			return Const(n - FloorDiv(n, c)*c)
		}
		return atomSize(atom{op: "%", x: &rest, y: &t})
	}
	if _, ok := s.exactQuotient(t); ok {
		return Size{}
	}
	return atomSize(atom{op: "%", x: &s, y: &t})
}

// FloorDiv is x / y rounded towards minus infinity.
func FloorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func quotient(x, y Size) Size { return atomSize(atom{op: "//", x: &x, y: &y}) }

func atomSize(a atom) Size { return Size{terms: []term{{1, []atom{a}}}}.bounded() }

// takeMultiple writes s as c*whole + rest, with every coefficient of rest in [0, c).
func (s Size) takeMultiple(c int64) (whole, rest Size) {
	var ws, rs []term
	for _, t := range s.terms {
		q := FloorDiv(t.coefficient, c)
		if q != 0 {
			ws = append(ws, term{q, t.atoms})
		}
		if r := t.coefficient - q*c; r != 0 {
			rs = append(rs, term{r, t.atoms})
		}
	}
	q := FloorDiv(s.constant, c)
	return canonical(q, ws), canonical(s.constant-q*c, rs)
}

// singleQuotient recognises x // c alone, c a positive constant.
func (s Size) singleQuotient() (x Size, c int64, ok bool) {
	if s.constant != 0 || len(s.terms) != 1 || s.terms[0].coefficient != 1 || len(s.terms[0].atoms) != 1 {
		return Size{}, 0, false
	}
	a := s.terms[0].atoms[0]
	if a.symbol != nil || a.op != "//" {
		return Size{}, 0, false
	}
	c, isConst := a.y.Const()
	return *a.x, c, isConst && c > 0
}

// Linear writes s as c * sym + rest with sym in neither; it fails where s is no such sum, or c is 0.
func (s Size) Linear(sym *Symbol) (c, rest Size, ok bool) {
	rest = Const(s.constant)
	for _, t := range s.terms {
		at := slices.IndexFunc(t.atoms, func(a atom) bool { return a.symbol == sym })
		if at < 0 {
			rest = rest.Add(Size{terms: []term{t}})
			continue
		}
		others := append(append([]atom{}, t.atoms[:at]...), t.atoms[at+1:]...)
		if len(others) == 0 {
			c = c.Add(Const(t.coefficient))
		} else {
			c = c.Add(Size{terms: []term{{t.coefficient, others}}})
		}
	}
	if slices.Contains(rest.Symbols(), sym) || slices.Contains(c.Symbols(), sym) || c.Equal(Size{}) {
		return Size{}, Size{}, false
	}
	return c, rest, true
}

// Division gives x and y where the only term of the size is a multiple of x // y.
func (s Size) Division() (x, y Size, ok bool) {
	if len(s.terms) != 1 || len(s.terms[0].atoms) != 1 || s.terms[0].atoms[0].op != "//" {
		return Size{}, Size{}, false
	}
	q := s.terms[0].atoms[0]
	return *q.x, *q.y, true
}

// Quotient gives x and y where the size is x // y.
func (s Size) Quotient() (x, y Size, ok bool) { return s.operation("//") }

// Remainder gives x and y where the size is x % y.
func (s Size) Remainder() (x, y Size, ok bool) { return s.operation("%") }

// operation gives the operands where the size is an operation on them and nothing else.
func (s Size) operation(op string) (x, y Size, ok bool) {
	if s.constant != 0 || len(s.terms) != 1 || s.terms[0].coefficient != 1 || len(s.terms[0].atoms) != 1 || s.terms[0].atoms[0].op != op {
		return Size{}, Size{}, false
	}
	a := s.terms[0].atoms[0]
	return *a.x, *a.y, true
}

// exactQuotient divides by a single monomial that divides every term of s.
func (s Size) exactQuotient(t Size) (Size, bool) {
	if s.constant != 0 || t.constant != 0 || len(t.terms) != 1 || len(s.terms) == 0 {
		return Size{}, false
	}
	d := t.terms[0]
	q := Size{}
	for _, n := range s.terms {
		if n.coefficient%d.coefficient != 0 {
			return Size{}, false
		}
		rest := append([]atom{}, n.atoms...)
		for _, a := range d.atoms {
			at := -1
			for i := range rest {
				if compareAtoms(rest[i], a) == 0 {
					at = i
					break
				}
			}
			if at < 0 {
				return Size{}, false
			}
			rest = append(rest[:at], rest[at+1:]...)
		}
		c := n.coefficient / d.coefficient
		if len(rest) == 0 {
			q = q.Add(Const(c))
		} else {
			q = q.Add(Size{terms: []term{{c, rest}}})
		}
	}
	return q, true
}

func canonical(constant int64, terms []term) Size {
	sort.SliceStable(terms, func(i, j int) bool { return compareMonomials(terms[i].atoms, terms[j].atoms) < 0 })
	out := Size{constant: constant}
	for _, t := range terms {
		if n := len(out.terms); n > 0 && compareMonomials(out.terms[n-1].atoms, t.atoms) == 0 {
			out.terms[n-1].coefficient += t.coefficient
		} else {
			out.terms = append(out.terms, t)
		}
	}
	kept := out.terms[:0]
	for _, t := range out.terms {
		if t.coefficient != 0 {
			kept = append(kept, t)
		}
	}
	out.terms = kept
	if len(kept) == 0 {
		out.terms = nil
	}
	return out
}

// compareMonomials orders by degree, largest first, then by atoms.
func compareMonomials(a, b []atom) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	for i := range a {
		if c := compareAtoms(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

func compareAtoms(a, b atom) int {
	switch {
	case a.symbol != nil && b.symbol != nil:
		return compareSymbols(a.symbol, b.symbol)
	case a.symbol != nil:
		return -1
	case b.symbol != nil:
		return 1
	}
	if c := strings.Compare(a.op, b.op); c != 0 {
		return c
	}
	if c := compareSizes(*a.x, *b.x); c != 0 {
		return c
	}
	return compareSizes(*a.y, *b.y)
}

func compareSymbols(a, b *Symbol) int {
	switch {
	case a == b:
		return 0
	case a.Name != b.Name:
		return strings.Compare(a.Name, b.Name)
	case a.Serial != b.Serial:
		return a.Serial - b.Serial
	case a.At.Start != b.At.Start:
		return a.At.Start - b.At.Start
	}
	return strings.Compare(fmt.Sprintf("%p", a), fmt.Sprintf("%p", b))
}

func compareSizes(a, b Size) int {
	if len(a.terms) != len(b.terms) {
		return len(a.terms) - len(b.terms)
	}
	for i := range a.terms {
		if c := compareMonomials(a.terms[i].atoms, b.terms[i].atoms); c != 0 {
			return c
		}
		if d := a.terms[i].coefficient - b.terms[i].coefficient; d != 0 {
			return sign(d)
		}
	}
	return sign(a.constant - b.constant)
}

func sign(n int64) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// Equal reports sizes that are the same expression, and so the same number whatever the symbols are.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (s Size) Equal(t Size) bool { return !s.large && !t.large && compareSizes(s, t) == 0 }

// Subst replaces symbols; those for which value gives false stay.
func (s Size) Subst(value func(*Symbol) (Size, bool)) Size {
	if s.large {
		return s
	}
	sum := Const(s.constant)
	for _, t := range s.terms {
		p := Const(t.coefficient)
		for _, a := range t.atoms {
			p = p.Mul(a.subst(value))
		}
		sum = sum.Add(p)
	}
	return sum
}

func (a atom) subst(value func(*Symbol) (Size, bool)) Size {
	if a.symbol != nil {
		if v, ok := value(a.symbol); ok {
			return v
		}
		return Of(a.symbol)
	}
	x, y := a.x.Subst(value), a.y.Subst(value)
	if a.op == "%" {
		return x.Mod(y)
	}
	return x.FloorDiv(y)
}

// Symbols lists every symbol in the size once, in order of appearance.
func (s Size) Symbols() []*Symbol {
	var all []*Symbol
	seen := map[*Symbol]bool{}
	var walk func(Size)
	walk = func(s Size) {
		for _, t := range s.terms {
			for _, a := range t.atoms {
				switch {
				case a.symbol == nil:
					walk(*a.x)
					walk(*a.y)
				case !seen[a.symbol]:
					seen[a.symbol] = true
					all = append(all, a.symbol)
				}
			}
		}
	}
	walk(s)
	return all
}

// String is the size as the source would spell it: `2 * N + 1`, `D // 2`.
func (s Size) String() string {
	if s.large {
		return "..."
	}
	if len(s.terms) == 0 {
		return fmt.Sprint(s.constant)
	}
	var b strings.Builder
	for i, t := range s.terms {
		c := t.coefficient
		switch {
		case i > 0 && c < 0:
			b.WriteString(" - ")
			c = -c
		case i > 0:
			b.WriteString(" + ")
		case c < 0:
			b.WriteString("-")
			c = -c
		}
		factors := make([]string, 0, len(t.atoms)+1)
		if c != 1 {
			factors = append(factors, fmt.Sprint(c))
		}
		for _, a := range t.atoms {
			text := a.String()
			if a.symbol == nil && len(t.atoms)+len(factors) > 1 {
				text = "(" + text + ")"
			}
			factors = append(factors, text)
		}
		b.WriteString(strings.Join(factors, " * "))
	}
	switch {
	case s.constant > 0:
		fmt.Fprintf(&b, " + %d", s.constant)
	case s.constant < 0:
		fmt.Fprintf(&b, " - %d", -s.constant)
	}
	return b.String()
}

// String is the atom as sizes are written.
func (a atom) String() string {
	if a.symbol != nil {
		return a.symbol.Name
	}
	return a.x.operand() + " " + a.op + " " + a.y.operand()
}

// operand is the size in parentheses unless it is one symbol or number.
func (s Size) operand() string {
	if _, ok := s.Const(); ok && s.constant >= 0 || s.Symbol() != nil {
		return s.String()
	}
	return "(" + s.String() + ")"
}
