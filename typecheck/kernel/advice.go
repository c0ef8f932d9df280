package kernel

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file finds the place where an error is mended, when that is not the place where it came to light.

// unknownValue reports a name that nothing declares where a value is read.
func (b *bodyChecker) unknownValue(e *lang.NameExpr) {
	r := b.UnknownName(b.scope, e.Name, e.Place, []string{"inf", "nan", "pi"}, false)
	if !b.isFormula {
		if b.asIndex == lang.Expr(e) && r.Fix == nil {
			b.lacksAxis(r, e)
		}
		return
	}
	if b.inIndex == 0 {
		return
	}
	// In an index of a formula a name is an axis: the dimension that has its letter is not meant.
	if r.Fix == nil || len(r.Fix.Edits) > 0 && strings.EqualFold(r.Fix.Edits[0].New, e.Name) {
		notAnAxis(r, e.Name)
	}
}

// lacksAxis says of a name that is an index, and near to no other, that it wants to be an axis over the dimension there. Said once it is nobody's in what follows.
func (b *bodyChecker) lacksAxis(r report.Draft, e *lang.NameExpr) {
	axis := fmt.Sprintf("axis %s in %s", e.Name, b.walked)
	if body := b.Kernel.Decl.Body; len(b.Frames) == 0 && body != nil && len(body.Stmts) > 0 {
		first := body.Stmts[0].Span()
		line := first.Source.Text[strings.LastIndexByte(first.Source.Text[:first.Start], '\n')+1 : first.Start]
		if strings.TrimSpace(line) == "" {
			r.Before(first, axis+"\n"+line, "declare it: `%s`", axis)
		}
	}
	r.OrHelp("declare it: `%s`", axis)
	b.Declare(b.scope, &rules.Entity{Kind: rules.EntInvalid, Name: e.Name, At: e.Place}, true)
}

// notAnAxis says what makes a name in an index of a formula an axis.
func notAnAxis(r report.Draft, name string) {
	r.Help("an axis of a formula is one that a line stores by or reduces over, as in `sum(..., over %s)`", name)
}

// lacksOver reports a contraction of a formula over names that nothing makes axes: there, `over` does.
func (b *bodyChecker) lacksOver(e *lang.CallExpr) bool {
	if !b.isFormula || len(e.Over) > 0 {
		return false
	}
	var names []string
	for _, a := range e.Args {
		lang.Walk(a.Value, func(n lang.Node) bool {
			x, ok := n.(*lang.IndexExpr)
			if !ok {
				return true
			}
			for _, index := range x.Indices {
				if n, ok := index.(*lang.NameExpr); ok && !b.scope.Lookup(n.Name).Counts() && !contains(names, n.Name) {
					names = append(names, n.Name)
				}
			}
			return true
		})
	}
	if len(names) == 0 {
		return false
	}
	function, over := e.Fn.Span().Text(), "over "+names[0]
	if len(names) > 1 {
		over = "over (" + strings.Join(names, ", ") + ")"
	}
	r := b.Errorf(lang.ErrArgCount, e.Place, "%s in a formula says what it contracts: no line stores by %s", function, strings.Join(names, " or "))
	if function == "dot" {
		last := e.Args[len(e.Args)-1].Value.Span()
		r.InsertAfter(last, ", "+over, "write `dot(..., %s)`", over)
	} else {
		r.Help("write `sum(a * b, %s)`, or a grid and a loop that carries the accumulator", over)
	}
	return true
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// wrongAccumulator reports an accumulator of another type than products of d add up in, where it begins.
func (b *bodyChecker) wrongAccumulator(acc lang.Expr, t typed.Type, d, want typed.DType) {
	start := acc
	if n, ok := acc.(*lang.NameExpr); ok {
		if e := b.scope.Lookup(n.Name); e != nil && e.Start != nil {
			start = e.Start
		}
	}
	message := fmt.Sprintf("the accumulator is %s; products of %s add up in %s", t, d, want)
	call, _ := start.(*lang.CallExpr)
	if call != nil && len(call.Args) > 1 && call.Args[0].Name == nil {
		switch call.Fn.Span().Text() {
		case "zeros", "ones", "full":
			at := call.Args[0].Value.Span()
			b.Errorf(lang.ErrWrongType, at, "%s", message).LabelAt(acc.Span(), "the products are added here").
				Replace(at, want.String(), "start it in `%s`, and convert the result where it is stored", want)
			return
		}
	}
	b.Errorf(lang.ErrWrongType, start.Span(), "%s", message).CastFix(start, want)
}
