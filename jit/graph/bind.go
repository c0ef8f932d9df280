package graph

import (
	"fmt"

	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file binds generic things to the arguments of a call: element type
// parameters to types, dimensions to sizes. What does not fit is the user's
// error, reported with the parameter and both sizes.

// bindings is what the symbols of one kernel or graph stand for.
type bindings struct {
	owner  string
	types  map[*typed.TypeParam]lang.DType
	consts map[*size.Symbol]lang.Literal
	dims   map[*size.Symbol]int64
	// from tells, for messages, which parameter bound a symbol.
	from map[*size.Symbol]string
}

func newBindings(owner string) *bindings {
	return &bindings{
		owner:  owner,
		types:  map[*typed.TypeParam]lang.DType{},
		consts: map[*size.Symbol]lang.Literal{},
		dims:   map[*size.Symbol]int64{},
		from:   map[*size.Symbol]string{},
	}
}

// value looks a symbol up for Size.Eval.
func (b *bindings) value(s *size.Symbol) (int64, bool) {
	if c, ok := b.consts[s]; ok {
		return c.Int, true
	}
	n, ok := b.dims[s]
	return n, ok
}

// dtype binds an element type as written to that of an argument.
func (b *bindings) dtype(name string, want typed.DType, got lang.DType, at lang.Span) error {
	if want.Param == nil {
		if want.Of != got {
			return spec.Errorf(at, lang.ErrArgType, "%s of %s is %s, the argument %s", name, b.owner, want.Of, got)
		}
		return nil
	}
	if bound, ok := b.types[want.Param]; ok {
		if bound != got {
			return spec.Errorf(at, lang.ErrArgType, "%s of %s is %s, which is %s here, but the argument is %s", name, b.owner, want.Param.Name, bound, got)
		}
		return nil
	}
	if !want.Param.Accepts(got) {
		return spec.Errorf(at, lang.ErrArgType, "%s of %s must be of a type that %s: %s allows, and %s is not", name, b.owner, want.Param.Name, want.Param.Bound, got)
	}
	b.types[want.Param] = got
	return nil
}

// rank checks a shape's rank and binds the dimensions that stand alone in it.
func (b *bindings) rank(name string, want []size.Size, got []int64, at lang.Span) error {
	if len(want) != len(got) {
		return spec.Errorf(at, lang.ErrArgShape, "%s of %s has the shape %s, %d dimensions, but the argument has %d: %s",
			name, b.owner, formatSizes(want), len(want), len(got), tensor.FormatShape(got))
	}
	for i, w := range want {
		sym := w.Symbol()
		if sym == nil || sym.Kind != size.DimSymbol {
			continue
		}
		if n, ok := b.dims[sym]; ok && n != got[i] {
			return spec.Errorf(at, lang.ErrArgShape, "dimension %s of %s is %d by %s, but %d in %s, which has the shape %s and must have %s",
				sym.Name, b.owner, n, b.from[sym], got[i], name, tensor.FormatShape(got), b.formatKnown(want))
		} else if !ok {
			b.dims[sym], b.from[sym] = got[i], name
		}
	}
	return nil
}

// solve binds the dimensions that stand alone in no shape, where a size tells one by what is known.
func (b *bindings) solve(name string, want []size.Size, got []int64, at lang.Span) error {
	for i, w := range want {
		switch sym, n, err := w.Tell(got[i], b.value); {
		case sym == nil:
		case err != nil:
			return spec.Errorf(at, lang.ErrArgShape, "%s of %s has the shape %s and must have %s: %v",
				name, b.owner, tensor.FormatShape(got), b.formatKnown(want), err)
		default:
			b.dims[sym], b.from[sym] = n, name
		}
	}
	return nil
}

// solved runs solve for all arguments until no dimension is told any more: what one argument tells can make another tell more.
func (b *bindings) solved(solve func() error) error {
	for known := -1; known < len(b.dims); {
		known = len(b.dims)
		if err := solve(); err != nil {
			return err
		}
	}
	return nil
}

// sizes checks the dimensions of a shape that are expressions of others.
func (b *bindings) sizes(name string, want []size.Size, got []int64, at lang.Span) error {
	for i, w := range want {
		n, err := w.Eval(b.value)
		if err != nil {
			return spec.Errorf(at, lang.ErrArgShape, "dimension %s of %s in %s: %v; give it by name", w, name, b.owner, err)
		}
		if n != got[i] {
			return spec.Errorf(at, lang.ErrArgShape, "%s of %s has the shape %s and must have %s: %s is %d",
				name, b.owner, tensor.FormatShape(got), b.formatKnown(want), w, n)
		}
	}
	return nil
}

// shape evaluates every size of a shape.
func (b *bindings) shape(name string, sizes []size.Size, at lang.Span) ([]int64, error) {
	// What fits is for the device to say, but the number of elements must not overflow.
	const most = 1 << 48
	elements := int64(1)
	shape := make([]int64, len(sizes))
	for i, s := range sizes {
		n, err := s.Eval(b.value)
		if err != nil {
			return nil, spec.Errorf(at, lang.ErrArgShape, "shape %s of %s in %s: %v; give it by name", formatSizes(sizes), name, b.owner, err)
		}
		if n < 0 {
			return nil, spec.Errorf(at, lang.ErrArgShape, "shape %s of %s in %s has a negative size: %s is %d", formatSizes(sizes), name, b.owner, s, n)
		}
		if n > 0 && elements > most/n {
			return nil, spec.Errorf(at, lang.ErrArgShape, "shape %s of %s in %s has more than 2^48 elements: it is %s", formatSizes(sizes), name, b.owner, b.formatKnown(sizes))
		}
		elements *= n
		shape[i] = n
	}
	return shape, nil
}

func formatSizes(sizes []size.Size) string {
	s := "["
	for i, d := range sizes {
		if i > 0 {
			s += ", "
		}
		s += d.String()
	}
	return s + "]"
}

// formatKnown shows a wanted shape with numbers where they are known.
func (b *bindings) formatKnown(sizes []size.Size) string {
	s := "["
	for i, d := range sizes {
		if i > 0 {
			s += ", "
		}
		if n, err := d.Eval(b.value); err == nil {
			s += fmt.Sprint(n)
		} else {
			s += d.String()
		}
	}
	return s + "]"
}

// constants binds constant parameters: those given, the rest to their defaults.
func (b *bindings) constants(consts []*size.Symbol, given map[*size.Symbol]lang.Literal, at lang.Span) error {
	for _, c := range consts {
		switch v, ok := given[c]; {
		case ok:
			b.consts[c] = v
		case c.Default != nil:
			b.consts[c] = *c.Default
		default:
			return spec.Errorf(at, lang.ErrArgMissing, "constant %s of %s is not given and has no default", c.Name, b.owner)
		}
	}
	return nil
}
