package jit

import (
	"context"

	"tilec/jit/bug"
	"tilec/jit/graph"
	"tilec/jit/misuse"
	"tilec/jit/run"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/typed"
)

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
		return nil, misuse.Unset(call, "the test is nothing that the checker made")
	}
	if err := c.usable(call); err != nil {
		return nil, err
	}
	if err := opts.Check(t.Name, nil, nil); err != nil {
		return nil, err
	}
	b, checks, err := graph.BindTest(&c.Compiler, t, opts)
	if err != nil {
		return nil, err
	}
	p, err := run.New(&c.Compiler, c.Output, b, opts.Arena, nil)
	if err != nil && b.Fused() { // kernels that fit a device one after the other may be too much for it as one
		opts.Separate = true
		return c.RunTestContext(ctx, t, opts)
	}
	if err != nil {
		return nil, err
	}
	defer p.Close()
	results, err := p.RunContext(ctx, nil)
	if err != nil {
		return nil, err
	}
	next := func(v graph.Value) (elements, error) {
		if v.View == nil {
			e := elements{}
			if v.Scalar != nil {
				e = elements{dtype: v.Scalar.DType, scalar: v.Scalar.Value(nil), isScalar: true}
			}
			return e, nil
		}
		r := results[0].Tensor
		results = results[1:]
		e := elements{dtype: r.DType, shape: r.Shape, data: make([]byte, r.Bytes())}
		return e, tensor.ReadTensor(c.Device, r, e.data)
	}
	var failed []*CheckFailure
	for _, k := range checks {
		got, err := next(k.A)
		if err != nil {
			return nil, err
		}
		want, err := next(k.B)
		if err != nil {
			return nil, err
		}
		if f := compareCheck(k.Stmt, got, want); f != nil {
			f.Round = k.Round
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
