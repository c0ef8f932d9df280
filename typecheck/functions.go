package typecheck

import (
	"slices"

	"tilec/lang"
)

// This file has functions as arguments of functions: `fn twice(f, x) = f(f(x))`
// is called with the name of a fn, a function of the language or a lambda. Since
// calls are inlined, a parameter that stands for a function is another name of
// it, and no value.

// functionNamed is the function that an argument is: a lambda, or the name of one.
// It is nil where the argument is something else.
func functionNamed(s *scope, x lang.Expr) *entity {
	switch x := x.(type) {
	case *lang.LambdaExpr:
		return &entity{kind: entLambda, at: x.Place, lambda: x, scope: s}
	case *lang.NameExpr:
		ent := s.lookup(x.Name)
		switch {
		case ent == nil && takesValues(x.Name):
			return &entity{kind: entBuiltin, at: x.Place, builtin: x.Name}
		case ent != nil && ent.isFunction():
			return ent
		}
	}
	return nil
}

// takesValues reports a function of the language whose arguments are values: one of the table.
func takesValues(name string) bool {
	op, ok := lang.FindOp(name, lang.FormCall)
	_, reduces := lang.FindOp(name, lang.FormReduce)
	return reduces || ok && op.Row().Elementwise
}

// fnParam is how a fn uses a parameter: it calls it, hands it on, or needs its value.
type fnParam struct{ calls, passes bool }

// fnParamUse looks at the body of a fn.
func fnParamUse(d *lang.FnDecl, name string) (use fnParam) {
	is := func(e lang.Expr) bool {
		n, ok := e.(*lang.NameExpr)
		return ok && n.Name == name
	}
	lang.Walk(d.Body, func(n lang.Node) bool {
		call, ok := n.(*lang.CallExpr)
		if !ok {
			return true
		}
		use.calls = use.calls || is(call.Fn)
		for i, a := range call.Args {
			use.passes = use.passes || is(a.Value)
			if callee, ok := call.Fn.(*lang.NameExpr); ok && i == 2 && is(a.Value) {
				op, _ := lang.OpByName(callee.Name)
				use.calls = use.calls || op == lang.OpReduce || op == lang.OpScan
			}
		}
		return true
	})
	return use
}

// functionArg gives what a parameter stands for where a function is given for
// it; done is false where the argument is a value like any other. Where a
// function is needed and none is given, or the reverse, it says so and ok is false.
func functionArg(in caller, d *lang.FnDecl, p *lang.Param, x lang.Expr) (ent *entity, done, ok bool) {
	name := p.Name.Name
	use := fnParamUse(d, name)
	given := functionNamed(in.Names(), x)
	switch {
	case given == nil && !use.calls:
		return nil, false, true
	case given == nil:
		if what := noFunction(in, x); what != "" {
			in.Errorf(lang.ErrNameKind, x.Span(), "%s calls its parameter %s, and %s is no function", d.Name.Name, name, what).
				label(p.Place, "declared here").help("give the name of a function, or a lambda, as in `(a) => a * a`")
		}
		return nil, true, false
	case p.Type != nil || !use.calls && !use.passes:
		in.Errorf(lang.ErrNameKind, x.Span(), "%s is given a function for its parameter %s, which is a value", d.Name.Name, name).
			label(p.Place, "declared here").help("call the function and give what it gives, or call %s in the body of %s", name, d.Name.Name)
		return nil, true, false
	}
	bound := *given
	bound.name, bound.at, bound.given, bound.refused = name, p.Name.Place, x.Span(), new(bool)
	return &bound, true, true
}

// noFunction names what stands where a function is needed; "" where that is in error itself.
func noFunction(in caller, x lang.Expr) string {
	if n, ok := x.(*lang.NameExpr); ok {
		if ent := in.Names().lookup(n.Name); ent != nil && ent.kind != entInvalid {
			return n.Name
		}
	}
	if o := in.Value(x); o.mode != invalid {
		return in.Describe(o)
	}
	return ""
}

// inlining counts the calls that one body unfolds to, and tells which we are inside of.
type inlining struct {
	inlined int
	active  []lang.Node // the fns and lambdas whose bodies we are in, outermost first
	frames  []frame     // the calls of fns among them
	tooDeep bool        // a call too deep has been reported
}

// frame is a fn being inlined.
type frame struct {
	fn *lang.FnDecl
	at lang.Span
}

// Inlining is the calls that a body is inside of.
func (u *inlining) Inlining() *inlining { return u }

// deeper reports that one call more, of a fn or a lambda, may be inlined.
func (u *inlining) deeper(in caller, callee lang.Node, e *lang.CallExpr) bool {
	if len(u.active) == 0 {
		u.tooDeep = false
	}
	if u.tooDeep {
		return false // said already
	}
	if u.inlined++; u.inlined > maxInlined {
		if u.inlined == maxInlined+1 {
			in.Errorf(lang.ErrNesting, e.Place, "the calls of functions in this %s unfold to more than %d", in.Kind(), maxInlined).
				help("bind what is computed twice with `let`: each call is inlined where it stands")
		}
		return false
	}
	if len(u.active) < maxInlining {
		return true
	}
	u.tooDeep = true
	if slices.Contains(u.active, callee) { // by name it cannot call itself: see findRecursion
		in.Errorf(lang.ErrRecursion, e.Place, "%s is called inside itself, by way of what it is given, more than %d deep", e.Fn.Span().Text(), maxInlining).
			help("use a `for` loop, which carries values")
	} else {
		in.Errorf(lang.ErrNesting, e.Place, "the calls of functions in this %s are more than %d deep in one another", in.Kind(), maxInlining).
			help("let fewer functions do the same: each call is inlined where it stands")
	}
	return false
}

// wrongCount reports a call of a function that a fn was given, which takes
// n arguments and not so many: once, at what was given.
func wrongCount(in caller, ent *entity, e *lang.CallExpr, n int) {
	if *ent.refused {
		return
	}
	*ent.refused = true
	frames := in.Inlining().frames
	in.Errorf(lang.ErrArgCount, ent.given, "this takes %s, and %s calls it with %d", plural(n, "argument"), frames[len(frames)-1].fn.Name.Name, len(e.Args)).
		label(e.Place, "called here")
}

// countPositional is how many arguments of a call have no name.
func countPositional(e *lang.CallExpr) int {
	n := 0
	for _, a := range e.Args {
		if a.Name == nil {
			n++
		}
	}
	return n
}

// labelCalls shows the calls that an error is inside of.
func labelCalls(r report, frames []frame) report {
	for i := len(frames) - 1; i >= 0; i-- {
		if i+1 < len(frames) && frames[i] == frames[i+1] {
			continue // inside itself
		}
		r.label(frames[i].at, "in this call of %s", frames[i].fn.Name.Name)
	}
	return r
}
