package graph

import (
	"tilec/jit/compile"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// Bind binds a graph to its arguments' types and shapes.
func Bind(env *compile.Compiler, g *typed.Graph, args []tensor.Value, opts Options) (*Bound, error) {
	b := &binder{prog: &Bound{Name: g.Name, Deterministic: opts.Deterministic}, env: env, opts: opts, joins: true, runsAgain: true}
	inputs, err := b.inputs(g.Params, args)
	if err != nil {
		return nil, err
	}
	// The names in the options are this graph's; graphs that it calls have names of their own.
	out, err := b.enter(g, inputs, opts.constants(g.Consts), opts.Dims, opts.Types, g.Decl.Name.Span())
	return b.done(out, err)
}

// BindKernel binds one kernel; params are its parameters as a graph's.
func BindKernel(env *compile.Compiler, k *typed.Kernel, params []*typed.GParam, args []tensor.Value, opts Options) (*Bound, error) {
	b := &binder{prog: &Bound{Name: k.Name, Deterministic: opts.Deterministic}, env: env, opts: opts}
	inputs, err := b.inputs(params, args)
	if err != nil {
		return nil, err
	}
	out, err := b.Call(k, inputs, opts.constants(k.Consts), nil, opts.Dims, opts.Types, k.Decl.Name.Span())
	return b.done(out, err)
}

// BindTest binds a test, whose results are what its checks compare, in order.
func BindTest(env *compile.Compiler, t *typed.Test, opts Options) (*Bound, []Check, error) {
	b := &binder{prog: &Bound{Name: t.Name, Deterministic: opts.Deterministic}, env: env, opts: opts, joins: true}
	_, err := b.enter(t.Graph, nil, nil, nil, nil, t.Decl.Name.Span())
	out := Value{elems: []Value{}}
	for _, k := range b.checks {
		for _, v := range []Value{k.A, k.B} {
			if v.View != nil {
				out.elems = append(out.elems, v)
			}
		}
	}
	p, err := b.done(out, err)
	return p, b.checks, err
}

// done gives what was bound; where that failed, the memory that it took goes back.
func (b *binder) done(out Value, err error) (*Bound, error) {
	if err == nil {
		var p *Bound
		if p, err = b.finish(out); err == nil {
			return p, nil
		}
	}
	b.prog.Free(b.env.Device)
	return nil, err
}

// constants are those of a kernel or a graph that the options give, by name.
func (o *Options) constants(symbols []*size.Symbol) map[*size.Symbol]lang.Literal {
	consts := map[*size.Symbol]lang.Literal{}
	for _, s := range symbols {
		if v, ok := o.Consts[s.Name]; ok {
			consts[s] = v
		}
	}
	return consts
}
