package typecheck

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls of kernels and graphs: what a call of either has beyond arguments.go are the shapes, structs and
// state of whole tensors.

// invocation is a call of a kernel or a graph.
type invocation struct {
	*call
	g      *graphChecker
	params []invoked
	// syms is what dimensions and constants are in this call, and dimFrom the argument that told a dimension.
	syms    map[*size.Symbol]size.Size
	dimFrom map[*size.Symbol]lang.Span
	symbols []*size.Symbol
}

// invoked is a parameter of a kernel or a graph.
type invoked struct {
	name     string
	at       lang.Span
	typ      typed.GType
	mode     lang.ParamMode
	standard *lang.Literal
}

// callKernel types a call of a kernel.
func (g *graphChecker) callKernel(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.KernelDecl)
	k := kernelOf(g.checker, ent.module, d)
	gtype := func(p *typed.Param) typed.GType {
		if !p.IsTensor {
			return typed.GType{Kind: typed.GScalar, DType: p.DType}
		}
		return typed.GType{Kind: typed.GTensor, DType: p.DType, Shape: p.Shape}
	}
	params := make([]invoked, len(k.Params))
	for i, p := range k.Params {
		params[i] = invoked{p.Name, p.At, gtype(p), p.Mode, p.Default}
	}
	outputs := make([]typed.GType, len(k.Outputs))
	for i, p := range k.Outputs {
		outputs[i] = gtype(p)
	}
	v := g.invocation(e, ent, params, k.Consts, k.TypeParams)
	if g.broken[d] {
		g.argumentsOf(g, e)
		return bad(e.Place)
	}
	args, ok := v.check()
	if !ok {
		return bad(e.Place)
	}
	return v.give(&typed.GCall{GTyped: v.typeOf(outputs), Kernel: k, Args: args, Types: v.types, Consts: v.constants()}, len(outputs))
}

// callGraph types a call of a graph.
func (g *graphChecker) callGraph(ent *entity, e *lang.CallExpr) operand {
	d := ent.decl.(*lang.GraphDecl)
	callee := graphOf(g.checker, ent.module, d)
	params := make([]invoked, len(callee.Params))
	for i, p := range callee.Params {
		params[i] = invoked{p.Name, p.At, p.Type, p.Mode, p.Default}
	}
	outputs := make([]typed.GType, len(callee.Outputs))
	for i, p := range callee.Outputs {
		outputs[i] = p.Type
	}
	v := g.invocation(e, ent, params, callee.Consts, callee.TypeParams)
	if g.broken[d] || g.recursive[d] {
		g.argumentsOf(g, e)
		return bad(e.Place)
	}
	args, ok := v.check()
	if !ok {
		return bad(e.Place)
	}
	call := &typed.GInvoke{GTyped: v.typeOf(outputs), Graph: callee, Args: args, Types: v.types, Consts: v.constants()}
	g.copyResults(call)
	return v.give(call, len(outputs))
}

func (g *graphChecker) invocation(e *lang.CallExpr, ent *entity, params []invoked, consts []*size.Symbol, types []*typed.TypeParam) *invocation {
	v := &invocation{g: g, params: params, syms: map[*size.Symbol]size.Size{}, dimFrom: map[*size.Symbol]lang.Span{}, symbols: consts}
	to := &callee{name: ent.decl.DeclName().Name, at: ent.at, types: types, byName: true}
	shapes := make([][]size.Size, len(params))
	for i, p := range params {
		q := parameter{name: p.name, at: p.at, optional: p.standard != nil, dtype: p.typ.DType, written: p.mode == lang.InOut}
		if k := p.typ.Kind; k == typed.GStruct || k == typed.GArray {
			q.fit = func(_ *call, o operand) bool { return v.fitTypes(p, o) }
		}
		to.params = append(to.params, q)
		shapes[i] = p.typ.Shape
	}
	to.consts = constantsOf(consts, to.params, shapes)
	v.call = g.newCall(g, e, to)
	return v
}

// check types the arguments.
func (v *invocation) check() ([]typed.GExpr, bool) {
	ok := v.match()
	for i, x := range v.exprs {
		if x != nil {
			v.args[i] = v.kind(i, v.in.Value(x))
			ok = ok && v.args[i].mode != invalid
		}
	}
	for _, c := range v.symbols {
		if o, known := v.consts[c.Name]; known && c.DType == lang.I32 {
			v.syms[c] = o.size
		}
	}
	if ok = v.settle(ok); !ok {
		return nil, false
	}
	for i, p := range v.params {
		if o := v.args[i]; v.exprs[i] != nil && p.typ.Kind != typed.GScalar {
			ok = v.bindShapes(p, o) && (p.mode != lang.InOut || v.writable(o.graph, p)) && ok
		}
	}
	if !ok {
		return nil, false
	}
	args := make([]typed.GExpr, len(v.params))
	for i, p := range v.params {
		if v.exprs[i] != nil {
			ok = v.checkShapes(p, v.args[i]) && ok
			args[i] = v.args[i].graph
		}
	}
	return args, ok && v.distinct()
}

// kind checks that an argument is what its parameter is: a scalar, a tensor, a struct or an array.
func (v *invocation) kind(i int, o operand) operand {
	p, at := v.params[i], v.exprs[i].Span()
	want := p.typ.String()
	switch p.typ.Kind {
	case typed.GScalar:
		switch d := p.typ.DType; {
		case o.mode == list && d.Param == nil:
			o = v.in.Adapt(o, d)
		case o.mode == list:
			o = v.g.settled(o)
		}
		if o.mode != typedValue || o.graph.GType().Kind == typed.GScalar {
			return o
		}
		want = "a scalar " + want
	case typed.GTensor:
		if o.mode == list || o.mode == typedValue && o.graph.GType().Kind == typed.GTensor {
			return o
		}
		want = "the tensor " + want
	default:
		if o.mode != typedValue || o.graph.GType().Kind != p.typ.Kind {
			break
		}
		got, elem := o.graph.GType(), p.typ
		name := p.name
		if p.typ.Kind == typed.GArray {
			got, elem, name = *got.Elem, *elem.Elem, name+"[i]"
		}
		if got.Struct != elem.Struct {
			v.in.Errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", name, v.to.name, got, elem).label(p.at, "declared here")
			return bad(at)
		}
		return o
	}
	if o.mode != invalid {
		v.in.Errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", p.name, v.to.name, v.in.Describe(o), want).label(p.at, "declared here")
	}
	return bad(at)
}

// eachTensor goes through what a parameter and its argument hold: tensors, and arrays, of which the length is told.
func eachTensor(want, got typed.GType, name string, visit func(want, got typed.GType, name string) bool) bool {
	switch want.Kind {
	case typed.GTensor:
		return visit(want, got, name)
	case typed.GStruct:
		for i, f := range want.Fields {
			if !eachTensor(f.Type, got.Fields[i].Type, name+"."+f.Name, visit) {
				return false
			}
		}
	case typed.GArray:
		return visit(want, got, name) && eachTensor(*want.Elem, *got.Elem, name+"[i]", visit)
	}
	return true
}

// fitTypes matches the element types of what a struct or an array holds.
func (v *invocation) fitTypes(p invoked, o operand) bool {
	return eachTensor(p.typ, o.graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		return want.Kind != typed.GTensor ||
			v.bindType(want.DType, elements{got.DType, "has elements of"}, parameter{name: name, at: p.at}, o.at, nil)
	})
}

// bindShapes binds the dimensions that stand alone in the shapes of a parameter.
func (v *invocation) bindShapes(p invoked, o operand) bool {
	return eachTensor(p.typ, o.graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		if want.Kind == typed.GArray {
			return v.bindShape([]size.Size{want.Len}, []size.Size{got.Len}, o.at, "the length of "+name)
		}
		return v.bindShape(want.Shape, got.Shape, o.at, name)
	})
}

func (v *invocation) bindShape(want, got []size.Size, at lang.Span, param string) bool {
	if len(want) != len(got) {
		v.in.Errorf(lang.ErrShape, at, "the argument for %s of %s has %s; %s has %d", param, v.to.name, plural(len(got), "dimension"), param, len(want)).
			label(v.to.at, "%s is declared with the shape %s", param, typed.SizesText(want)).here("has the shape %s", typed.SizesText(got))
		return false
	}
	for i, w := range want {
		sym := w.Symbol()
		if sym == nil || sym.Kind != size.DimSymbol {
			continue
		}
		if old, ok := v.syms[sym]; !ok {
			v.syms[sym], v.dimFrom[sym] = got[i], at
		} else if v.g.prover.Different(old, got[i]) {
			v.in.Errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s, and must be %s", i, param, v.to.name, got[i], inCall(old, sym.Name)).
				label(v.dimFrom[sym], "%s is %s by this argument", sym.Name, old).here("has the shape %s", typed.SizesText(got))
			return false
		}
	}
	return true
}

// inCall is a size that a call needs, and what the callee calls it, where that is not the same.
func inCall(size size.Size, callee string) string {
	if size.String() == callee {
		return callee
	}
	return fmt.Sprintf("%s, which is its %s", size, callee)
}

// checkShapes checks the dimensions that are expressions of others.
func (v *invocation) checkShapes(p invoked, o operand) bool {
	sub := v.substitution()
	return eachTensor(p.typ, o.graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		for i, w := range want.Shape {
			if n := sub.size(w); v.g.prover.Different(n, got.Shape[i]) {
				v.in.Errorf(lang.ErrShape, o.at, "dimension %d of the argument for %s of %s is %s, and must be %s", i, name, v.to.name, got.Shape[i], inCall(n, w.String())).
					label(v.to.at, "declared here").here("has the shape %s", typed.SizesText(got.Shape))
				return false
			}
		}
		return true
	})
}

// writable checks an inout argument.
func (v *invocation) writable(x typed.GExpr, p invoked) bool {
	if v.g.isMutable(x) {
		return true
	}
	v.in.Errorf(lang.ErrNotMutable, x.Span(), "%s writes its parameter %s, and this argument is no part of an inout parameter", v.to.name, p.name).label(v.to.at, "declared here").
		help("declare it as an `inout` parameter of the graph, or copy it to state: `inout s = ...`")
	return false
}

// distinct refuses a tensor that the call writes and is also given as another argument.
func (v *invocation) distinct() bool {
	for i, p := range v.params {
		if p.mode != lang.InOut || v.exprs[i] == nil {
			continue
		}
		for j, other := range v.args {
			if j != i && other.graph != nil && v.g.overlap(v.args[i].graph, other.graph) {
				v.in.Errorf(lang.ErrNotMutable, other.at, "%s writes %s, and this argument may lie in the same elements", v.to.name, p.name).
					label(v.args[i].at, "written by the call").help("pass a copy, or a part of the tensor that does not meet it")
				return false
			}
		}
	}
	return true
}

func (v *invocation) substitution() substitution { return substitution{v.types, v.syms} }

// constants are those that the call gives.
func (v *invocation) constants() map[*size.Symbol]typed.GExpr {
	given := map[*size.Symbol]typed.GExpr{}
	for _, c := range v.symbols {
		if v.given[c.Name] {
			given[c] = v.in.Adapt(v.consts[c.Name], typed.Concrete(c.DType)).graph
		}
	}
	return given
}

// typeOf is the type of a call with these outputs.
func (v *invocation) typeOf(outputs []typed.GType) typed.GTyped {
	types := make([]typed.GType, len(outputs))
	for i, t := range outputs {
		types[i] = v.substitution().gtype(t)
	}
	if len(types) == 1 {
		return typed.GTyped{Type: types[0], At: v.expr.Place}
	}
	return typed.GTyped{Type: typed.GType{Kind: typed.GTuple, Elems: types}, At: v.expr.Place}
}

// give is the operand of a call with so many outputs.
func (v *invocation) give(call typed.GExpr, outputs int) operand {
	if outputs == 0 {
		return operand{mode: noValue, at: v.expr.Place, graph: call}
	}
	return graphOperand(call)
}

// copyResults prepares copies of the results of a call that reads state.
func (g *graphChecker) copyResults(call *typed.GInvoke) {
	reads := false
	call.State = make([]bool, len(call.Args))
	for i, x := range call.Args {
		if x != nil && call.Graph.Params[i].Mode == lang.In && x.GType().Kind != typed.GScalar {
			call.State[i] = g.isMutable(x)
			reads = reads || call.State[i]
		}
	}
	if !reads {
		return
	}
	types := []typed.GType{call.Type}
	if call.Type.Kind == typed.GTuple {
		types = call.Type.Elems
	}
	for _, t := range types {
		result := &typed.GLocalRef{GTyped: typed.GTyped{Type: t, At: call.At}, Local: &typed.GLocal{Name: "result", Type: t, At: call.At}}
		call.Copies = append(call.Copies, g.copyOf(result).(*typed.GCall))
	}
}
