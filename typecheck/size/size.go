// Package size has symbolic integers - dimensions, constants, positions, and
// arithmetic over them - and a prover of linear inequalities between them. It
// knows nothing of axes, tensors or programs.
package size

import (
	"errors"
	"fmt"
	"math"
)

// MaxLength bounds the numbers and symbols of a size, as its canonical form has them: the product
// of n sums has two to the nth.
const MaxLength = 300

// Size is an integer expression over symbols: a dimension, a constant, or
// arithmetic over them, kept in a canonical form so that equal expressions
// compare equal. The zero Size is 0.
type Size struct {
	constant int64
	// terms are the non-constant monomials, sorted; each is a coefficient times a product of atoms.
	terms []term
	// large sizes have more parts than MaxParts: what they are is not kept.
	large bool
}

type term struct {
	coefficient int64
	atoms       []atom // sorted
}

// atom is a symbol, or a floor division or remainder of sizes that does not simplify.
type atom struct {
	symbol *Symbol
	op     string // "//" or "%" when symbol is nil
	x, y   *Size
}

// Const is a number.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Const(n int64) Size { return Size{constant: n} }

// Of is a symbol alone.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func Of(s *Symbol) Size {
	return Size{terms: []term{{1, []atom{{symbol: s}}}}}
}

// Symbol is the symbol that the size is alone, nil when it is anything else.
func (s Size) Symbol() *Symbol {
	if s.constant == 0 && len(s.terms) == 1 && s.terms[0].coefficient == 1 && len(s.terms[0].atoms) == 1 {
		return s.terms[0].atoms[0].symbol
	}
	return nil
}

// length is how many numbers and symbols the size is written with.
func (s Size) length() int {
	n := 1
	for _, t := range s.terms {
		n++
		for _, a := range t.atoms {
			if a.symbol != nil {
				n++
			} else {
				n += a.x.length() + a.y.length()
			}
		}
	}
	return n
}

// bounded is s, or a large size where it has too many parts.
func (s Size) bounded() Size {
	if s.large || s.length() > MaxLength {
		return Size{large: true}
	}
	return s
}

// divisors lists what the size divides by, constants left out.
func (s Size) divisors() []Size {
	var all []Size
	for _, t := range s.terms {
		for _, a := range t.atoms {
			if a.symbol != nil {
				continue
			}
			if _, isConst := a.y.Const(); !isConst {
				all = append(all, *a.y)
			}
			all = append(append(all, a.x.divisors()...), a.y.divisors()...)
		}
	}
	return all
}

// degree is how many atoms its longest product has.
func (s Size) degree() int {
	n := 0
	for _, t := range s.terms {
		n = max(n, len(t.atoms))
	}
	return n
}

// Large reports a size of more than MaxParts, of which nothing more is known.
func (s Size) Large() bool { return s.large }

// Constant is the number that stands beside the terms.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (s Size) Constant() int64 { return s.constant }

// Const gives the number that the size is; false when it depends on a symbol.
func (s Size) Const() (int64, bool) { return s.constant, len(s.terms) == 0 && !s.large }

// Eval computes the size. It fails where a symbol has no value or a divisor is not positive.
func (s Size) Eval(value func(*Symbol) (int64, bool)) (int64, error) {
	if s.large {
		return 0, errTooLong
	}
	sum := s.constant
	for _, t := range s.terms {
		p := t.coefficient
		for _, a := range t.atoms {
			v, err := a.eval(value)
			if err != nil {
				return 0, err
			}
			if p, err = timesExact(p, v); err != nil {
				return 0, err
			}
		}
		next := sum + p
		if p != 0 && (next > sum) != (p > 0) {
			return 0, errTooLarge
		}
		sum = next
	}
	return sum, nil
}

// Most bounds the size from above, for symbols from 0 up to what most gives;
// math.MaxInt64 where 64 bits cannot hold the bound.
func (s Size) Most(most func(*Symbol) int64) int64 {
	if s.large {
		return math.MaxInt64
	}
	sum := max(s.constant, 0)
	for _, t := range s.terms {
		p := max(t.coefficient, 0) // what is taken away may be nothing
		for _, a := range t.atoms {
			var err error
			if p, err = timesExact(p, a.most(most)); err != nil {
				return math.MaxInt64
			}
		}
		if sum += p; sum < 0 {
			return math.MaxInt64
		}
	}
	return sum
}

func (a atom) most(most func(*Symbol) int64) int64 {
	if a.symbol != nil {
		return most(a.symbol)
	}
	x := a.x.Most(most)
	if y := a.y.Most(most); a.op == "%" {
		return min(x, y)
	}
	return x
}

var (
	errTooLarge = errors.New("it is larger than 64 bits can hold")
	errTooLong  = fmt.Errorf("its expression has more than %d parts", MaxLength)
)

// timesExact is a * b, or an error where 64 bits cannot hold it.
func timesExact(a, b int64) (int64, error) {
	p := a * b
	if a != 0 && (p/a != b || a == -1 && b == math.MinInt64) {
		return 0, errTooLarge
	}
	return p, nil
}

func (a atom) eval(value func(*Symbol) (int64, bool)) (int64, error) {
	if a.symbol != nil {
		v, ok := value(a.symbol)
		if !ok {
			return 0, fmt.Errorf("%s is not known", a.symbol.Name)
		}
		return v, nil
	}
	x, err := a.x.Eval(value)
	if err != nil {
		return 0, err
	}
	y, err := a.y.Eval(value)
	if err != nil {
		return 0, err
	}
	if y <= 0 {
		return 0, fmt.Errorf("it divides by %s, which is %d and must be 1 or more", a.y, y)
	}
	q := FloorDiv(x, y)
	if a.op == "%" {
		return x - q*y, nil
	}
	return q, nil
}

// IsPlain reports a symbol or a constant: a value that no wrapping arithmetic made.
func (s Size) IsPlain() bool {
	_, isConst := s.Const()
	return isConst || s.Symbol() != nil
}
