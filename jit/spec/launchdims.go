package spec

import (
	"fmt"
	"tilec/jit/bug"
	"tilec/jit/ir"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// LaunchDims tells how a launch computes the sizes that a compiled kernel takes
// as parameters, by the name of the ir.Dim: passes may copy the Dim itself.
type LaunchDims struct {
	Sizes   map[string]size.Size
	Strides map[string]Stride
	// Views are the tensors (in the order of params) over whose memory the kernel has views, one for each in order.
	Views []int
	// Ranges are what grid axes over a part of their dimension walk, and where they begin.
	Ranges map[string]GridRange
	// nonEmpty are accesses to positions that are there where dimensions are not 0.
	nonEmpty []nonEmpty
	// Counted are sizes of which the kernel counts positions in i32.
	Counted []CountedSize
	// parts are those of the fused kernels, ofPart their dimensions by the names that they have in the joined IR.
	parts  []*LaunchDims
	ofPart map[string]partDim
}

// Half has the strides of the tensors of a half, which have other places than those of the whole kernel.
func (l *LaunchDims) Half(s *Spec) {
	for name, at := range l.Strides {
		if at.Tensor = s.inHalf(at.Tensor); at.Tensor < 0 {
			delete(l.Strides, name)
		} else {
			l.Strides[name] = at
		}
	}
}

// nonEmpty is an access that is in bounds where none of the dimensions is 0.
type nonEmpty struct {
	at   lang.Span
	dims []*size.Symbol
}

// Needs notes an access that is in bounds where none of the dimensions is 0.
func (l *LaunchDims) Needs(at lang.Span, dims []*size.Symbol) {
	if len(dims) > 0 {
		l.nonEmpty = append(l.nonEmpty, nonEmpty{at, dims})
	}
}

// CheckNonEmpty reports the first access of a launch that needs a dimension that is 0.
func (l *LaunchDims) CheckNonEmpty(s *Spec) error {
	for _, n := range l.nonEmpty {
		for _, d := range n.dims {
			if size, ok := s.Value(d); ok && size == 0 {
				return &lang.Diagnostic{Code: lang.ErrArgShape, At: d.At,
					Message: fmt.Sprintf("dimension %s of %s is 0, but the kernel accesses a position that is only there where it is 1 or more", d.Name, s.Kernel.Name),
					Labels:  []lang.Label{{At: n.at, Text: "accessed here"}}}
			}
		}
	}
	for i, part := range l.parts {
		if err := part.CheckNonEmpty(s.Fused[i].Spec); err != nil {
			return err
		}
	}
	return nil
}

// Size computes an unknown dimension of a kernel for the sizes of a
// specialisation. One that scalars decide is the most that it can be.
func (l *LaunchDims) Size(d *ir.Dim, s *Spec) (int64, error) { return l.sizeOf(d.Name, s) }

func (l *LaunchDims) sizeOf(name string, s *Spec) (int64, error) {
	if p, ok := l.Ranges[name]; ok {
		return p.Size(s, nil)
	}
	if d, ok := l.ofPart[name]; ok {
		return l.parts[d.part].sizeOf(d.name, s.Fused[d.part].Spec)
	}
	size, ok := l.Sizes[name]
	if !ok {
		return 0, bug.New("run", "kernel %s has a dimension %s that no launch can compute", s.Kernel.Name, name)
	}
	return size.Eval(s.Value)
}

// Stride is where a launch finds a stride that the compiled kernel takes as a
// parameter: that of a tensor (in the order of params) along a dimension, in
// elements of the tensor; times/by of it in those of a view.
type Stride struct {
	Tensor, Dim int
	Times, By   int64
}

// CountedSize is a size of which a kernel counts positions in a type that holds fewer than Most.
type CountedSize struct {
	Size size.Size
	Most int64
	At   lang.Span
	// What says what counts them, and fix what to write instead, which may be nothing.
	What, Fix string
}

// CheckCounted reports the first size of which a launch has too many positions.
func (l *LaunchDims) CheckCounted(s *Spec) error {
	for _, c := range l.Counted {
		n, err := c.Size.Eval(s.Value)
		if err != nil {
			return err
		}
		if n <= c.Most {
			continue
		}
		return c.TooMany(s, n)
	}
	for i, part := range l.parts {
		if err := part.CheckCounted(s.Fused[i].Spec); err != nil {
			return err
		}
	}
	return nil
}

// TooMany is the error of a launch with n of them.
func (c CountedSize) TooMany(s *Spec, n int64) *lang.Diagnostic {
	d := &lang.Diagnostic{Code: lang.ErrPosition, At: c.At,
		Message: fmt.Sprintf("%s: %s counts up to %d, and %s of %s is %d", s.Kernel.Name, c.What, c.Most, c.Size, s.Kernel.Name, n)}
	if c.Fix != "" {
		d.Fix = &lang.Fix{Message: c.Fix}
	}
	return d
}

// GridRange is a number that a launch computes: how many positions a grid axis has, or where it begins.
type GridRange struct {
	Axis  *typed.Axis
	Begin bool
}

// Size is the number, given the scalars of a run; nil where they are not known
// yet, which gives the most that it can be.
func (p GridRange) Size(s *Spec, scalars map[*typed.Param]lang.Literal) (int64, error) {
	dim, err := p.Axis.Dim.Eval(s.Value)
	if err != nil {
		return 0, err
	}
	e := &evaluator{spec: s, scalars: scalars}
	from, okFrom := e.value(p.Axis.From)
	to, okTo := e.value(p.Axis.To)
	if (!okFrom || !okTo) && scalars != nil {
		return 0, Errorf(p.Axis.At, lang.ErrArgShape, "the range of %s of %s overflows for %s", p.Axis.Name, s.Kernel.Name, e.given(p.Axis.From))
	}
	if !okFrom {
		from = number{}
	}
	if !okTo {
		to = number{int: dim}
	}
	begin := min(max(from.int, 0), dim)
	if p.Begin {
		return begin, nil
	}
	return max(min(to.int, dim)-begin, 0), nil
}

// ByScalars reports a number that differs from run to run.
func (p GridRange) ByScalars() bool { return usesScalars(p.Axis.From) || usesScalars(p.Axis.To) }

func usesScalars(x typed.Expr) bool {
	_, found := typed.Find(x, func(*typed.ScalarRef) bool { return true })
	return found
}
