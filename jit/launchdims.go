package jit

import (
	"fmt"
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// launchDims tells how a launch computes the sizes that a compiled kernel takes
// as parameters, by the name of the ir.Dim: passes may copy the Dim itself.
type launchDims struct {
	sizes   map[string]size.Size
	strides map[string]stride
	// views are the tensors (in the order of params) over whose memory the kernel has views, one for each in order.
	views []int
	// parts are what grid axes over a part of their dimension walk, and where they begin.
	parts map[string]gridPart
	// nonEmpty are accesses to positions that are there where dimensions are not 0.
	nonEmpty []nonEmpty
	// counted are sizes of which the kernel counts positions in i32.
	counted []countedSize
}

// nonEmpty is an access that is in bounds where none of the dimensions is 0.
type nonEmpty struct {
	at   lang.Span
	dims []*size.Symbol
}

// needs notes an access that is in bounds where none of the dimensions is 0.
func (l *launchDims) needs(at lang.Span, dims []*size.Symbol) {
	if len(dims) > 0 {
		l.nonEmpty = append(l.nonEmpty, nonEmpty{at, dims})
	}
}

// checkNonEmpty reports the first access of a launch that needs a dimension that is 0.
func (l *launchDims) checkNonEmpty(s *Spec) error {
	for _, n := range l.nonEmpty {
		for _, d := range n.dims {
			if size, ok := s.value(d); ok && size == 0 {
				return &lang.Diagnostic{Code: lang.ErrArgShape, At: d.At,
					Message: fmt.Sprintf("dimension %s of %s is 0, but the kernel accesses a position that is only there where it is 1 or more", d.Name, s.Kernel.Name),
					Labels:  []lang.Label{{At: n.at, Text: "accessed here"}}}
			}
		}
	}
	return nil
}

// size computes an unknown dimension of a kernel for the sizes of a
// specialisation. One that scalars decide is the most that it can be.
func (l *launchDims) size(d *ir.Dim, s *Spec) (int64, error) {
	if p, ok := l.parts[d.Name]; ok {
		return p.size(s, nil)
	}
	size, ok := l.sizes[d.Name]
	if !ok {
		return 0, bug.New("run", "kernel %s has a dimension %s that no launch can compute", s.Kernel.Name, d.Name)
	}
	return size.Eval(s.value)
}

// stride is where a launch finds a stride that the compiled kernel takes as a
// parameter: that of a tensor (in the order of params) along a dimension, in
// elements of the tensor; times/by of it in those of a view.
type stride struct {
	tensor, dim int
	times, by   int64
}

// countedSize is a size of which a kernel counts positions in a type that holds fewer than Most.
type countedSize struct {
	size size.Size
	most int64
	at   lang.Span
	// what says what counts them, and fix what to write instead, which may be nothing.
	what, fix string
}

// checkCounted reports the first size of which a launch has too many positions.
func (l *launchDims) checkCounted(s *Spec) error {
	for _, c := range l.counted {
		n, err := c.size.Eval(s.value)
		if err != nil {
			return err
		}
		if n <= c.most {
			continue
		}
		return c.tooMany(s, n)
	}
	return nil
}

func (c countedSize) tooMany(s *Spec, n int64) *lang.Diagnostic {
	d := &lang.Diagnostic{Code: lang.ErrPosition, At: c.at,
		Message: fmt.Sprintf("%s: %s counts up to %d, and %s of %s is %d", s.Kernel.Name, c.what, c.most, c.size, s.Kernel.Name, n)}
	if c.fix != "" {
		d.Fix = &lang.Fix{Message: c.fix}
	}
	return d
}

// gridPart is a number that a launch computes: how many positions a grid axis has, or where it begins.
type gridPart struct {
	axis  *typed.Axis
	begin bool
}

// size is the number, given the scalars of a run; nil where they are not known
// yet, which gives the most that it can be.
func (p gridPart) size(s *Spec, scalars map[*typed.Param]lang.Literal) (int64, error) {
	dim, err := p.axis.Dim.Eval(s.value)
	if err != nil {
		return 0, err
	}
	e := &evaluator{spec: s, scalars: scalars}
	from, okFrom := e.value(p.axis.From)
	to, okTo := e.value(p.axis.To)
	if (!okFrom || !okTo) && scalars != nil {
		return 0, launchError(p.axis.At, lang.ErrArgShape, "the range of %s of %s overflows for %s", p.axis.Name, s.Kernel.Name, e.given(p.axis.From))
	}
	if !okFrom {
		from = number{}
	}
	if !okTo {
		to = number{int: dim}
	}
	begin := min(max(from.int, 0), dim)
	if p.begin {
		return begin, nil
	}
	return max(min(to.int, dim)-begin, 0), nil
}

// byScalars reports a number that differs from run to run.
func (p gridPart) byScalars() bool { return usesScalars(p.axis.From) || usesScalars(p.axis.To) }

func usesScalars(x typed.Expr) bool {
	_, found := typed.Find(x, func(*typed.ScalarRef) bool { return true })
	return found
}
