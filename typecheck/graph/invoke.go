package graph

import (
	"fmt"

	"tilec/lang"
	"tilec/typecheck/kernel"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls of kernels and graphs: what a call of either has beyond arguments.go are the shapes, structs and
// state of whole tensors.

// invocation is a call of a kernel or a graph.
type invocation struct {
	*rules.Call
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
	Type     typed.GType
	mode     lang.ParamMode
	standard *lang.Literal
}

// callKernel types a call of a kernel.
func (g *graphChecker) callKernel(ent *rules.Entity, e *lang.CallExpr) rules.Operand {
	d := ent.Decl.(*lang.KernelDecl)
	k := kernel.Signature(g.Checker, ent.Module, d)
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
	if g.Broken[d] {
		g.ArgumentsOf(g, e)
		return rules.Bad(e.Place)
	}
	args, ok := v.check()
	if !ok {
		return rules.Bad(e.Place)
	}
	return v.give(&typed.GCall{GTyped: v.typeOf(outputs), Kernel: k, Args: args, Types: v.Types, Consts: v.constants()}, len(outputs))
}

// callGraph types a call of a graph.
func (g *graphChecker) callGraph(ent *rules.Entity, e *lang.CallExpr) rules.Operand {
	d := ent.Decl.(*lang.GraphDecl)
	callee := Signature(g.Checker, ent.Module, d)
	params := make([]invoked, len(callee.Params))
	for i, p := range callee.Params {
		params[i] = invoked{p.Name, p.At, p.Type, p.Mode, p.Default}
	}
	outputs := make([]typed.GType, len(callee.Outputs))
	for i, p := range callee.Outputs {
		outputs[i] = p.Type
	}
	v := g.invocation(e, ent, params, callee.Consts, callee.TypeParams)
	if g.Broken[d] || g.Recursive[d] {
		g.ArgumentsOf(g, e)
		return rules.Bad(e.Place)
	}
	args, ok := v.check()
	if !ok {
		return rules.Bad(e.Place)
	}
	call := &typed.GInvoke{GTyped: v.typeOf(outputs), Graph: callee, Args: args, Types: v.Types, Consts: v.constants()}
	g.copyResults(call)
	return v.give(call, len(outputs))
}

func (g *graphChecker) invocation(e *lang.CallExpr, ent *rules.Entity, params []invoked, consts []*size.Symbol, types []*typed.TypeParam) *invocation {
	v := &invocation{g: g, params: params, syms: map[*size.Symbol]size.Size{}, dimFrom: map[*size.Symbol]lang.Span{}, symbols: consts}
	to := &rules.Callee{Name: ent.Decl.DeclName().Name, At: ent.At, Types: types, ByName: true}
	shapes := make([][]size.Size, len(params))
	for i, p := range params {
		q := rules.Parameter{Name: p.name, At: p.at, Optional: p.standard != nil, DType: p.Type.DType, Written: p.mode == lang.InOut}
		if k := p.Type.Kind; k == typed.GStruct || k == typed.GArray {
			q.Fit = func(_ *rules.Call, o rules.Operand) bool { return v.fitTypes(p, o) }
		}
		to.Params = append(to.Params, q)
		shapes[i] = p.Type.Shape
	}
	to.Consts = rules.ConstantsOf(consts, to.Params, shapes)
	v.Call = g.NewCall(g, e, to)
	return v
}

// check types the arguments.
func (v *invocation) check() ([]typed.GExpr, bool) {
	ok := v.Match()
	for i, x := range v.Exprs {
		if x != nil {
			v.Args[i] = v.kind(i, v.In.Value(x))
			ok = ok && v.Args[i].Mode != rules.Invalid
		}
	}
	for _, c := range v.symbols {
		if o, known := v.Consts[c.Name]; known && c.DType == lang.I32 {
			v.syms[c] = o.Size
		}
	}
	if ok = v.Settle(ok); !ok {
		return nil, false
	}
	for i, p := range v.params {
		if o := v.Args[i]; v.Exprs[i] != nil && p.Type.Kind != typed.GScalar {
			ok = v.bindShapes(p, o) && (p.mode != lang.InOut || v.writable(o.Graph, p)) && ok
		}
	}
	if !ok {
		return nil, false
	}
	for known := -1; known < len(v.syms); { // what one tells can make another tell more
		known = len(v.syms)
		for i, p := range v.params {
			if v.Exprs[i] != nil {
				v.solveShapes(p, v.Args[i])
			}
		}
	}
	args := make([]typed.GExpr, len(v.params))
	for i, p := range v.params {
		if v.Exprs[i] != nil {
			ok = v.checkShapes(p, v.Args[i]) && ok
			args[i] = v.Args[i].Graph
		}
	}
	return args, ok && v.distinct()
}

// kind checks that an argument is what its parameter is: a scalar, a tensor, a struct or an array.
func (v *invocation) kind(i int, o rules.Operand) rules.Operand {
	p, at := v.params[i], v.Exprs[i].Span()
	want := p.Type.String()
	switch p.Type.Kind {
	case typed.GScalar:
		switch d := p.Type.DType; {
		case o.Mode == rules.List && d.Param == nil:
			o = v.In.Adapt(o, d)
		case o.Mode == rules.List:
			o = v.g.settled(o)
		}
		if o.Mode != rules.TypedValue || o.Graph.GType().Kind == typed.GScalar {
			return o
		}
		want = "a scalar " + want
	case typed.GTensor:
		if o.Mode == rules.List || o.Mode == rules.TypedValue && o.Graph.GType().Kind == typed.GTensor {
			return o
		}
		want = "the tensor " + want
	default:
		if o.Mode != rules.TypedValue || o.Graph.GType().Kind != p.Type.Kind {
			break
		}
		got, elem := o.Graph.GType(), p.Type
		name := p.name
		if p.Type.Kind == typed.GArray {
			got, elem, name = *got.Elem, *elem.Elem, name+"[i]"
		}
		if got.Struct != elem.Struct {
			v.In.Errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", name, v.To.Name, got, elem).LabelAt(p.at, "declared here")
			return rules.Bad(at)
		}
		return o
	}
	if o.Mode != rules.Invalid {
		v.In.Errorf(lang.ErrWrongType, at, "the argument for %s of %s is %s; %s is needed", p.name, v.To.Name, v.In.Describe(o), want).LabelAt(p.at, "declared here")
	}
	return rules.Bad(at)
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
func (v *invocation) fitTypes(p invoked, o rules.Operand) bool {
	return eachTensor(p.Type, o.Graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		return want.Kind != typed.GTensor ||
			v.BindType(want.DType, rules.Elements{DType: got.DType, Verb: "has elements of"}, rules.Parameter{Name: name, At: p.at}, o.At, nil)
	})
}

// bindShapes binds the dimensions that stand alone in the shapes of a parameter.
func (v *invocation) bindShapes(p invoked, o rules.Operand) bool {
	return eachTensor(p.Type, o.Graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		if want.Kind == typed.GArray {
			return v.bindShape([]size.Size{want.Len}, []size.Size{got.Len}, o.At, "the length of "+name)
		}
		return v.bindShape(want.Shape, got.Shape, o.At, name)
	})
}

func (v *invocation) bindShape(want, got []size.Size, at lang.Span, param string) bool {
	if len(want) != len(got) {
		v.In.Errorf(lang.ErrShape, at, "the argument for %s of %s has %s; %s has %d", param, v.To.Name, report.Plural(len(got), "dimension"), param, len(want)).
			LabelAt(v.To.At, "%s is declared with the shape %s", param, typed.SizesText(want)).Here("has the shape %s", typed.SizesText(got))
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
			v.In.Errorf(lang.ErrShape, at, "dimension %d of the argument for %s of %s is %s, and must be %s", i, param, v.To.Name, got[i], inCall(old, sym.Name)).
				LabelAt(v.dimFrom[sym], "%s is %s by this argument", sym.Name, old).Here("has the shape %s", typed.SizesText(got))
			return false
		}
	}
	return true
}

// solveShapes binds the dimensions that stand alone in no shape, where a size of the parameter tells one by what is known.
func (v *invocation) solveShapes(p invoked, o rules.Operand) {
	known := func(s *size.Symbol) bool { _, ok := v.syms[s]; return ok }
	tell := func(want, got size.Size) {
		if sym, a, b := want.Solve(known); sym != nil {
			sub := v.substitution()
			v.syms[sym], v.dimFrom[sym] = got.Sub(sub.Size(b)).FloorDiv(sub.Size(a)), o.At
		}
	}
	eachTensor(p.Type, o.Graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		if want.Kind == typed.GArray {
			tell(want.Len, got.Len)
		}
		for i, w := range want.Shape {
			tell(w, got.Shape[i])
		}
		return true
	})
}

// inCall is a size that a call needs, and what the callee calls it, where that is not the same.
func inCall(size size.Size, callee string) string {
	if size.String() == callee {
		return callee
	}
	return fmt.Sprintf("%s, which is its %s", size, callee)
}

// checkShapes checks the dimensions that are expressions of others.
func (v *invocation) checkShapes(p invoked, o rules.Operand) bool {
	sub := v.substitution()
	return eachTensor(p.Type, o.Graph.GType(), p.name, func(want, got typed.GType, name string) bool {
		for i, w := range want.Shape {
			if n := sub.Size(w); v.g.prover.Different(n, got.Shape[i]) {
				v.In.Errorf(lang.ErrShape, o.At, "dimension %d of the argument for %s of %s is %s, and must be %s", i, name, v.To.Name, got.Shape[i], inCall(n, w.String())).
					LabelAt(v.To.At, "declared here").Here("has the shape %s", typed.SizesText(got.Shape))
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
	v.In.Errorf(lang.ErrNotMutable, x.Span(), "%s writes its parameter %s, and this argument is no part of an inout parameter", v.To.Name, p.name).LabelAt(v.To.At, "declared here").
		Help("declare it as an `inout` parameter of the graph, or copy it to state: `inout s = ...`")
	return false
}

// distinct refuses a tensor that the call writes and is also given as another argument.
func (v *invocation) distinct() bool {
	for i, p := range v.params {
		if p.mode != lang.InOut || v.Exprs[i] == nil {
			continue
		}
		for j, other := range v.Args {
			if j != i && other.Graph != nil && v.g.overlap(v.Args[i].Graph, other.Graph) {
				v.In.Errorf(lang.ErrNotMutable, other.At, "%s writes %s, and this argument may lie in the same elements", v.To.Name, p.name).
					LabelAt(v.Args[i].At, "written by the call").Help("pass a copy, or a part of the tensor that does not meet it")
				return false
			}
		}
	}
	return true
}

func (v *invocation) substitution() rules.Substitution {
	return rules.Substitution{Types: v.Types, Sizes: v.syms}
}

// constants are those that the call gives.
func (v *invocation) constants() map[*size.Symbol]typed.GExpr {
	given := map[*size.Symbol]typed.GExpr{}
	for _, c := range v.symbols {
		if v.Given[c.Name] {
			given[c] = v.In.Adapt(v.Consts[c.Name], typed.Concrete(c.DType)).Graph
		}
	}
	return given
}

// typeOf is the type of a call with these outputs.
func (v *invocation) typeOf(outputs []typed.GType) typed.GTyped {
	types := make([]typed.GType, len(outputs))
	for i, t := range outputs {
		types[i] = v.substitution().GType(t)
	}
	if len(types) == 1 {
		return typed.GTyped{Type: types[0], At: v.Expr.Place}
	}
	return typed.GTyped{Type: typed.GType{Kind: typed.GTuple, Elems: types}, At: v.Expr.Place}
}

// give is the operand of a call with so many outputs.
func (v *invocation) give(call typed.GExpr, outputs int) rules.Operand {
	if outputs == 0 {
		return rules.Operand{Mode: rules.NoValue, At: v.Expr.Place, Graph: call}
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
