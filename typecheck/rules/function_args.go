package rules

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/report"
)

// This file has functions as arguments of functions: `fn twice(f, x) = f(f(x))`
// is called with the name of a fn, a function of the language or a lambda. Since
// calls are inlined, a parameter that stands for a function is another name of
// it, and no value.

// functionNamed is the function that an argument is: a lambda, or the name of one.
// It is nil where the argument is something else.
func functionNamed(s *Scope, x lang.Expr) *Entity {
	switch x := x.(type) {
	case *lang.LambdaExpr:
		return &Entity{Kind: EntLambda, At: x.Place, Lambda: x, Scope: s}
	case *lang.NameExpr:
		ent := s.Lookup(x.Name)
		switch {
		case ent == nil && takesValues(x.Name):
			return &Entity{Kind: entBuiltin, At: x.Place, builtin: x.Name}
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
func functionArg(in Caller, d *lang.FnDecl, p *lang.Param, x lang.Expr) (ent *Entity, done, ok bool) {
	name := p.Name.Name
	use := fnParamUse(d, name)
	given := functionNamed(in.Names(), x)
	switch {
	case given == nil && !use.calls:
		return nil, false, true
	case given == nil:
		if what := noFunction(in, x); what != "" {
			in.Errorf(lang.ErrNameKind, x.Span(), "%s calls its parameter %s, and %s is no function", d.Name.Name, name, what).
				LabelAt(p.Place, "declared here").Help("give the name of a function, or a lambda, as in `(a) => a * a`")
		}
		return nil, true, false
	case p.Type != nil || !use.calls && !use.passes:
		in.Errorf(lang.ErrNameKind, x.Span(), "%s is given a function for its parameter %s, which is a value", d.Name.Name, name).
			LabelAt(p.Place, "declared here").Help("call the function and give what it gives, or call %s in the body of %s", name, d.Name.Name)
		return nil, true, false
	}
	bound := *given
	bound.Name, bound.At, bound.given, bound.refused = name, p.Name.Place, x.Span(), new(bool)
	return &bound, true, true
}

// noFunction names what stands where a function is needed; "" where that is in error itself.
func noFunction(in Caller, x lang.Expr) string {
	if n, ok := x.(*lang.NameExpr); ok {
		if ent := in.Names().Lookup(n.Name); ent != nil && ent.Kind != EntInvalid {
			return n.Name
		}
	}
	if o := in.Value(x); o.Mode != Invalid {
		return in.Describe(o)
	}
	return ""
}

// Unfolding counts the calls that one body unfolds to, and tells which we are inside of.
type Unfolding struct {
	inlined int
	active  []lang.Node // the fns and lambdas whose bodies we are in, outermost first
	Frames  []Frame     // the calls of fns among them
	tooDeep bool        // a call too deep has been reported
}

// Frame is a fn being inlined.
type Frame struct {
	Fn *lang.FnDecl
	at lang.Span
}

// Inlining is the calls that a body is inside of.
func (u *Unfolding) Inlining() *Unfolding { return u }

// deeper reports that one call more, of a fn or a lambda, may be inlined.
func (u *Unfolding) deeper(in Caller, callee lang.Node, e *lang.CallExpr) bool {
	if len(u.active) == 0 {
		u.tooDeep = false
	}
	if u.tooDeep {
		return false // said already
	}
	if u.inlined++; u.inlined > maxInlined {
		if u.inlined == maxInlined+1 {
			in.Errorf(lang.ErrNesting, e.Place, "the calls of functions in this %s unfold to more than %d", in.Kind(), maxInlined).
				Help("bind what is computed twice with `let`: each call is inlined where it stands")
		}
		return false
	}
	if len(u.active) < MaxInlining {
		return true
	}
	u.tooDeep = true
	if slices.Contains(u.active, callee) { // by name it cannot call itself: see findRecursion
		in.Errorf(lang.ErrRecursion, e.Place, "%s is called inside itself, by way of what it is given, more than %d deep", e.Fn.Span().Text(), MaxInlining).
			Help("use a `for` loop, which carries values")
	} else {
		in.Errorf(lang.ErrNesting, e.Place, "the calls of functions in this %s are more than %d deep in one another", in.Kind(), MaxInlining).
			Help("let fewer functions do the same: each call is inlined where it stands")
	}
	return false
}

// wrongCount reports a call of a function that a fn was given, which takes
// n arguments and not so many: once, at what was given.
func wrongCount(in Caller, ent *Entity, e *lang.CallExpr, n int) {
	if *ent.refused {
		return
	}
	*ent.refused = true
	frames := in.Inlining().Frames
	in.Errorf(lang.ErrArgCount, ent.given, "this takes %s, and %s calls it with %d", report.Plural(n, "argument"), frames[len(frames)-1].Fn.Name.Name, len(e.Args)).
		LabelAt(e.Place, "called here")
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

// LabelCalls shows the calls that an error is inside of.
func LabelCalls(r report.Draft, frames []Frame) report.Draft {
	for i := len(frames) - 1; i >= 0; i-- {
		if i+1 < len(frames) && frames[i] == frames[i+1] {
			continue // inside itself
		}
		r.LabelAt(frames[i].at, "in this call of %s", frames[i].Fn.Name.Name)
	}
	return r
}
