// Package graph binds graphs and kernels to the shapes of their arguments: what comes out is data, the launches and the
// places of what lies between them. It must not know how launches run.
package graph

import (
	"fmt"

	"tilec/jit/backend"
	"tilec/jit/compile"
	"tilec/jit/spec"
	"tilec/jit/tensor"
	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file binds a graph: it walks the typed graph once with the shapes of the
// arguments and writes down the launches that it makes. Loops unroll, views and
// slices become strides, calls of graphs are entered; only scalars that arrive
// at run time stay open.

// Options bind what the arguments do not tell.
type Options struct {
	// Dims and Consts give dimensions and constants by name.
	Dims   map[string]int64
	Consts map[string]lang.Literal
	// Types gives element type parameters by name, where no argument binds them.
	Types map[string]lang.DType
	// Pins fixes tile extents by name.
	Pins map[string]int64
	// Precision of f32 contractions, unless a kernel says its own: "", "ieee" or "tf32x3".
	Precision string
	// Deterministic gives each element of a result the same bits however many others are computed beside it, up to 64 in each
	// dimension that a kernel is not compiled for: a sequence alone and in a batch. It costs speed where there are few.
	Deterministic bool
	// Debug checks what an assume says of tiles, as an assert does.
	Debug bool
	// Guard is how many bytes to leave unused behind each result and intermediate, for tests that look for stray writes.
	Guard int64
	// Separate leaves every call a launch of its own, for who looks at each.
	Separate bool
	// Dump, if set, sees the launches of a graph, as they were written down ("") and after each pass that changed them.
	Dump func(pass string, launches lang.Listing)
	// Arena is for intermediate results, shared by programs that never run at the same time; nil for one of the program's own.
	Arena *backend.Arena
}

// Value is the value of a graph expression at bind time: a tensor, a scalar, or
// elements (of a struct, an array or a tuple).
type Value struct {
	View   *View
	Scalar *Scalar
	elems  []Value
}

type binder struct {
	prog *Bound
	env  *compile.Compiler
	opts Options
	// checks are those of the test that is bound.
	checks []Check
	// joins: launches may become one. runsAgain: it may run more than once, as a test does not.
	joins, runsAgain bool
	// rounds are the rounds of the loops that are being unrolled, the outermost first: "n = 2".
	rounds []string
	// unrolled counts the iterations of loops and the calls so far.
	unrolled int64
}

// maxUnrolled is how many iterations and calls a graph may have in all: each is written down with its launches.
const maxUnrolled = 1 << 17

// unroll counts n iterations or calls more.
func (b *binder) unroll(n int64, at lang.Span) error {
	if n > maxUnrolled-b.unrolled {
		return spec.Advise(at, lang.ErrLimit, "let a loop of a kernel go through so many, or run the graph several times",
			"%s unrolls to more than %d loop iterations and calls", b.prog.Name, int64(maxUnrolled))
	}
	b.unrolled += n
	return nil
}

// frame is one activation of a graph.
type frame struct {
	*binder
	*bindings
	params  map[*typed.GParam]Value
	locals  map[*typed.GLocal]Value
	outputs map[*typed.GParam]Value
}

// finish gives what was bound, with its results.
func (b *binder) finish(out Value) (*Bound, error) {
	p := b.prog
	results := out.elems
	if out.elems == nil {
		results = []Value{out}
	}
	for _, r := range results {
		if r.View == nil {
			return nil, fmt.Errorf("%s: an output is not a tensor", p.Name)
		}
		b.use(r.View, len(p.Calls))
		p.Outputs = append(p.Outputs, *r.View)
	}
	if b.joins {
		if err := p.rewrite(b.env, b.opts, b.runsAgain); err != nil {
			return nil, err
		}
	}
	if !b.opts.Separate {
		if err := p.cut(b.env, &b.opts); err != nil {
			return nil, err
		}
		if err := p.relayout(b.env, &b.opts); err != nil {
			return nil, err
		}
	}
	p.depend(b.env.Device.Target().Name)
	for i := range p.Calls {
		p.Calls[i].Spec.Timed = b.env.Timed && b.env.Device.Target().IsGPU()
	}
	return p, nil
}

// use notes that step n needs a tensor.
func (b *binder) use(v *View, n int) {
	if v.Slot.Temp {
		t := &b.prog.Temps[v.Slot.Index]
		t.last = max(t.last, n)
	}
}

// fresh makes a temporary, written by the next step.
func (b *binder) fresh(d lang.DType, shape []int64) *View {
	n := len(b.prog.Calls)
	size := (d.Bytes(tensor.Elements(shape)) + b.opts.Guard + tempAlign - 1) / tempAlign * tempAlign
	b.prog.Temps = append(b.prog.Temps, Temp{Size: size, First: n, last: n})
	return &View{Slot: Slot{Temp: true, Index: len(b.prog.Temps) - 1}, DType: d, Shape: shape, Strides: tensor.Contiguous(shape)}
}

// enter runs a graph's body with its arguments and gives its outputs. Dims and
// types are by name, for what the arguments do not tell.
func (b *binder) enter(g *typed.Graph, args []Value, consts map[*size.Symbol]lang.Literal, dims map[string]int64, types map[string]lang.DType, at lang.Span) (Value, error) {
	if err := b.unroll(1, at); err != nil {
		return Value{}, err
	}
	f := &frame{binder: b, bindings: newBindings(g.Name),
		params: map[*typed.GParam]Value{}, locals: map[*typed.GLocal]Value{}, outputs: map[*typed.GParam]Value{}}
	for _, d := range g.Dims {
		if n, ok := dims[d.Name]; ok {
			f.dims[d], f.from[d] = n, "its given value"
		}
	}
	for _, p := range g.TypeParams {
		if d, ok := types[p.Name]; ok {
			f.types[p] = d
		}
	}
	if err := f.constants(g.Consts, consts, at); err != nil {
		return Value{}, err
	}
	if len(args) != len(g.Params) {
		return Value{}, spec.Errorf(at, lang.ErrArgMissing, "%s has %d parameters, %d arguments are given", g.Name, len(g.Params), len(args))
	}
	each := func(check shapeCheck) error {
		for i, p := range g.Params {
			if err := f.bind(p.Name, p.Type, &args[i], p.Default, at, check); err != nil {
				return err
			}
			f.params[p] = args[i]
		}
		return nil
	}
	if err := each(f.rank); err != nil {
		return Value{}, err
	}
	if err := f.solved(func() error { return each(f.solve) }); err != nil {
		return Value{}, err
	}
	if err := each(f.sizes); err != nil {
		return Value{}, err
	}
	if _, err := f.run(g.Body, nil); err != nil {
		return Value{}, err
	}
	out := Value{elems: []Value{}}
	for _, o := range g.Outputs {
		v := f.outputs[o]
		if err := f.bind(o.Name, o.Type, &v, nil, o.At, f.rank); err != nil {
			return Value{}, err
		}
		if err := f.bind(o.Name, o.Type, &v, nil, o.At, f.sizes); err != nil {
			return Value{}, err
		}
		out.elems = append(out.elems, v)
	}
	if len(out.elems) == 1 {
		return out.elems[0], nil
	}
	return out, nil
}

type shapeCheck func(name string, want []size.Size, got []int64, at lang.Span) error

// bind matches an argument with a parameter's type, by one of the two checks of shapes.
func (f *frame) bind(name string, t typed.GType, v *Value, def *lang.Literal, at lang.Span, check shapeCheck) error {
	mismatch := func(what string) error {
		return spec.Errorf(at, lang.ErrArgType, "%s of %s must be %s", name, f.owner, what)
	}
	switch t.Kind {
	case typed.GTensor:
		if v.View == nil {
			return mismatch("a tensor " + t.DType.String() + formatSizes(t.Shape))
		}
		if err := f.dtype(name, t.DType, v.View.DType, at); err != nil {
			return err
		}
		return check(name, t.Shape, v.View.Shape, at)
	case typed.GScalar:
		if v.Scalar == nil && def != nil {
			*v = Value{Scalar: knownScalar(*def)}
		}
		if v.Scalar == nil {
			return mismatch("a scalar " + t.DType.String())
		}
		return f.dtype(name, t.DType, v.Scalar.DType, at)
	case typed.GStruct:
		if len(v.elems) != len(t.Fields) {
			return mismatch("a struct " + t.Struct.Name)
		}
		for i, field := range t.Fields {
			if err := f.bind(name+"."+field.Name, field.Type, &v.elems[i], nil, at, check); err != nil {
				return err
			}
		}
	case typed.GArray:
		if v.elems == nil {
			return mismatch("an array")
		}
		if err := check("the length of "+name, []size.Size{t.Len}, []int64{int64(len(v.elems))}, at); err != nil {
			return err
		}
		for i := range v.elems {
			if err := f.bind(fmt.Sprintf("%s[%d]", name, i), *t.Elem, &v.elems[i], nil, at, check); err != nil {
				return err
			}
		}
	case typed.GTuple:
		if len(v.elems) != len(t.Elems) {
			return mismatch(fmt.Sprintf("%d values", len(t.Elems)))
		}
	}
	return nil
}

// run executes statements, then gives the values of the results.
func (f *frame) run(stmts []typed.GStmt, results []typed.GExpr) ([]Value, error) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *typed.GLet:
			v, err := f.eval(s.Value)
			if err != nil {
				return nil, err
			}
			if len(s.Locals) == 1 {
				f.let(s.Locals[0], v)
				continue
			}
			for i, l := range s.Locals {
				f.let(l, v.elems[i])
			}
		case *typed.GAssign:
			v, err := f.eval(s.Value)
			if err != nil {
				return nil, err
			}
			f.outputs[s.Output] = v
		case *typed.GDo:
			if _, err := f.eval(s.X); err != nil {
				return nil, err
			}
		case *typed.GCheck:
			if err := f.check(s); err != nil {
				return nil, err
			}
		default:
			panic(typed.Unknown(s))
		}
	}
	out := make([]Value, len(results))
	for i, r := range results {
		v, err := f.eval(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (f *frame) let(l *typed.GLocal, v Value) {
	if l != nil {
		f.locals[l] = v
	}
}

func (f *frame) eval(x typed.GExpr) (Value, error) {
	switch x := x.(type) {
	case *typed.GParamRef:
		return f.params[x.Param], nil
	case *typed.GLocalRef:
		return f.locals[x.Local], nil
	case *typed.GConst:
		return Value{Scalar: knownScalar(x.Value)}, nil
	case *typed.GConstRef:
		return Value{Scalar: knownScalar(f.consts[x.Symbol])}, nil
	case *typed.GSizeOf:
		n, err := x.Size.Eval(f.value)
		if err != nil {
			return Value{}, spec.Errorf(x.At, lang.ErrArgShape, "%s: %v", x.Size, err)
		}
		d := x.Type.DType.Resolve(f.types)
		l := lang.Literal{DType: d, Int: n}
		if d.IsFloat() {
			l = lang.Literal{DType: d, Float: float64(n)}
		}
		return Value{Scalar: knownScalar(l)}, nil
	case *typed.GFieldOf:
		v, err := f.eval(x.X)
		if err != nil {
			return Value{}, err
		}
		return v.elems[x.Index], nil
	case *typed.GElem:
		return f.elem(x)
	case *typed.GRange:
		return f.arrayRange(x)
	case *typed.GView:
		return f.reshape(x)
	case *typed.GSlice:
		return f.slice(x)
	case *typed.GApply:
		args, err := f.evalAll(x.Args)
		if err != nil {
			return Value{}, err
		}
		s := &Scalar{op: x.Op, DType: x.Type.DType.Resolve(f.types)}
		for _, a := range args {
			s.args = append(s.args, a.Scalar)
		}
		return Value{Scalar: s.fold()}, nil
	case *typed.GCall:
		args, err := f.evalAll(x.Args)
		if err != nil {
			return Value{}, err
		}
		consts, err := f.literals(x.Consts)
		if err != nil {
			return Value{}, err
		}
		shapes := make([][]int64, len(x.Shapes))
		for i, s := range x.Shapes {
			if shapes[i], err = f.shape("a tensor", s, x.At); err != nil {
				return Value{}, err
			}
		}
		return f.Call(x.Kernel, args, consts, shapes, nil, f.named(x.Types), x.At)
	case *typed.GInvoke:
		args, err := f.evalAll(x.Args)
		if err != nil {
			return Value{}, err
		}
		consts, err := f.literals(x.Consts)
		if err != nil {
			return Value{}, err
		}
		out, err := f.enter(x.Graph, args, consts, nil, f.named(x.Types), x.At)
		if err != nil || x.Copies == nil {
			return out, err
		}
		return f.copied(x, args, out)
	case *typed.GFor:
		return f.loop(x)
	case *typed.GIf:
		return f.choice(x)
	case *typed.GMake:
		return f.make(x)
	case *typed.GTupleOf:
		elems, err := f.evalAll(x.Elems)
		return Value{elems: elems}, err
	}
	panic(typed.Unknown(x))
}

func (f *frame) evalAll(xs []typed.GExpr) ([]Value, error) {
	out := make([]Value, len(xs))
	for i, x := range xs {
		if x == nil {
			continue // the parameter's default
		}
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (f *frame) literals(consts map[*size.Symbol]typed.GExpr) (map[*size.Symbol]lang.Literal, error) {
	out := map[*size.Symbol]lang.Literal{}
	for sym, x := range consts {
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		if v.Scalar == nil || !v.Scalar.Known() {
			return nil, spec.Errorf(x.Span(), lang.ErrArgType, "constant %s must be known when the graph is bound", sym.Name)
		}
		out[sym] = v.Scalar.literal
	}
	return out, nil
}

// named resolves the element types that a call gives, by parameter name.
func (f *frame) named(types map[*typed.TypeParam]typed.DType) map[string]lang.DType {
	out := map[string]lang.DType{}
	for p, d := range types {
		if r := d.Resolve(f.types); r != lang.Invalid {
			out[p.Name] = r
		}
	}
	return out
}

// index evaluates an integer that must be known when the graph is bound.
func (f *frame) index(x typed.GExpr, what string) (int64, error) {
	v, err := f.eval(x)
	if err != nil {
		return 0, err
	}
	if v.Scalar == nil || !v.Scalar.Known() {
		return 0, spec.Errorf(x.Span(), lang.ErrArgType, "%s must be known when the graph is bound: it depends on a scalar argument", what)
	}
	return v.Scalar.literal.Int, nil
}

func (f *frame) loop(x *typed.GFor) (Value, error) {
	carried, err := f.evalAll(x.Init)
	if err != nil {
		return Value{}, err
	}
	var over []Value
	lo, hi := int64(0), int64(0)
	if x.Over != nil {
		v, err := f.eval(x.Over)
		if err != nil {
			return Value{}, err
		}
		over, hi = v.elems, int64(len(v.elems))
	} else {
		if lo, err = f.index(x.Lo, "the start of an unrolled loop"); err != nil {
			return Value{}, err
		}
		if hi, err = f.index(x.Hi, "the end of an unrolled loop"); err != nil {
			return Value{}, err
		}
	}
	if err := f.unroll(max(0, hi-lo), x.At); err != nil {
		return Value{}, err
	}
	defer func(outer int) { f.rounds = f.rounds[:outer] }(len(f.rounds))
	f.rounds = append(f.rounds, "")
	name := "_"
	if x.Var != nil {
		name = x.Var.Name
	}
	for n := lo; n < hi; n++ {
		round := &f.rounds[len(f.rounds)-1]
		if over != nil {
			*round = fmt.Sprintf("%s is number %d", name, n)
			f.let(x.Var, over[n])
		} else {
			*round = fmt.Sprintf("%s = %d", name, n)
			f.let(x.Var, Value{Scalar: knownScalar(lang.Literal{DType: lang.I32, Int: n})})
		}
		for i, c := range x.Carried {
			f.let(c, carried[i])
		}
		if carried, err = f.run(x.Body, x.Results); err != nil {
			return Value{}, err
		}
	}
	if len(carried) == 1 {
		return carried[0], nil
	}
	return Value{elems: carried}, nil
}
