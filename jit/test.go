package jit

import (
	"context"
	"strings"

	"tilec/jit/bug"
	"tilec/lang"
	"tilec/typecheck/typed"
)

// check is one check of a test that is bound: what it compares.
type check struct {
	stmt *typed.GCheck
	a, b gval // b is empty when the check is of a bool
	// round is which rounds of loops it is in; "" for none.
	round string
}

// check writes down what a check compares.
func (f *frame) check(s *typed.GCheck) (err error) {
	c := check{stmt: s, round: strings.Join(f.rounds, ", ")}
	if c.a, err = f.eval(s.A); err != nil {
		return err
	}
	if s.B != nil {
		if c.b, err = f.eval(s.B); err != nil {
			return err
		}
	}
	f.checks = append(f.checks, c)
	return nil
}

// RunTest runs a test on the compiler's device and gives the checks that do not
// hold, in the order of the source. An error means that the test could not be run.
func (c *Compiler) RunTest(t *typed.Test, opts Options) ([]*CheckFailure, error) {
	return c.RunTestContext(context.Background(), t, opts)
}

// RunTestContext is RunTest until a context is done: then the error is the context's cause.
func (c *Compiler) RunTestContext(ctx context.Context, t *typed.Test, opts Options) (_ []*CheckFailure, err error) {
	defer bug.Catch(&err, "bind")
	const call = "Compiler.RunTest"
	if t == nil || t.Graph == nil || t.Decl == nil {
		return nil, unset(call, "the test is nothing that the checker made")
	}
	if err := c.usable(call); err != nil {
		return nil, err
	}
	if err := opts.check(&Function{Name: t.Name}); err != nil {
		return nil, err
	}
	b := c.newBinder(t.Name, opts)
	if _, err := b.enter(t.Graph, nil, nil, nil, nil, t.Decl.Name.Span()); err != nil {
		b.prog.Close()
		return nil, err
	}
	out := gval{elems: []gval{}}
	for _, k := range b.checks {
		for _, v := range []gval{k.a, k.b} {
			if v.view != nil {
				out.elems = append(out.elems, v)
			}
		}
	}
	p, err := b.finish(out)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	results, err := p.RunContext(ctx, nil)
	if err != nil {
		return nil, err
	}
	next := func(v gval) (elements, error) {
		if v.view == nil {
			e := elements{}
			if v.scalar != nil {
				e = elements{dtype: v.scalar.dtype, scalar: v.scalar.value(nil), isScalar: true}
			}
			return e, nil
		}
		r := results[0].Tensor
		results = results[1:]
		e := elements{dtype: r.DType, shape: r.Shape, data: make([]byte, r.Bytes())}
		return e, ReadTensor(c.Device, r, e.data)
	}
	var failed []*CheckFailure
	for _, k := range b.checks {
		got, err := next(k.a)
		if err != nil {
			return nil, err
		}
		want, err := next(k.b)
		if err != nil {
			return nil, err
		}
		if f := compareCheck(k.stmt, got, want); f != nil {
			f.Round = k.round
			failed = append(failed, f)
		}
	}
	return failed, nil
}

// elements are the elements of a tensor on the host, or one scalar that stands for all.
type elements struct {
	dtype    lang.DType
	shape    []int64
	data     []byte
	scalar   lang.Literal
	isScalar bool
}

// at is element i, in row-major order.
func (e *elements) at(i int64) lang.Literal {
	if e.isScalar {
		return e.scalar
	}
	return literalOf(e.dtype, e.dtype.RawBitsAt(e.data, i))
}
