package kernel

import (
	"fmt"
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types calls of functions of the language: the operation table's,
// and the few that have rules of their own.

// special types the calls that have rules of their own.
func (b *bodyChecker) special(name string) func(*lang.CallExpr) rules.Operand {
	switch name {
	case "zeros":
		return func(e *lang.CallExpr) rules.Operand { return b.fill(e, 0) }
	case "ones":
		return func(e *lang.CallExpr) rules.Operand { return b.fill(e, 1) }
	case "full":
		return b.full
	case "index":
		return b.indexCall
	case "rename":
		return b.rename
	case "split", "merge":
		return b.regroup
	case "slice":
		return b.slice
	case "cat":
		return b.cat
	case "pick":
		return b.pick
	case "insert":
		return b.insert
	case "iota":
		return b.iota
	case "bitcast":
		return b.bitcast
	case "broadcast":
		return b.broadcast
	case "dot":
		return b.dot
	case "mma":
		return b.mma
	case "sort":
		return b.sort
	case "topk":
		return b.topk
	case "random_bits", "rand", "randn":
		return b.random
	case "print":
		return b.say
	case "assert":
		return b.asserted
	case "static_assert":
		return b.staticAssert
	case "assume":
		return b.assume
	}
	if op, ok := lang.FindOp(name, lang.FormCall); ok && op.IsAtomic() {
		return func(e *lang.CallExpr) rules.Operand { return b.atomic(op, e) }
	}
	return nil
}

// callBuiltin types a call of a function of the language.
func (b *bodyChecker) callBuiltin(name string, e *lang.CallExpr) rules.Operand {
	n := e.Fn.(*lang.NameExpr)
	if e.Else != nil && name != "pick" {
		b.Errorf(lang.ErrBounds, e.Else.Span(), "%s reads nothing that may lie outside, and takes no `else`", name).RemoveElse(e.Else.Span())
		return rules.Bad(e.Place)
	}
	switch op, _ := lang.OpByName(name); op {
	case lang.OpReduce, lang.OpScan:
		return b.combine(op, e)
	case lang.OpCumSum, lang.OpCumProd:
		return b.cumulate(op, e)
	}
	if special := b.special(name); special != nil {
		if op, _ := lang.FindOp(name, lang.FormCall); !op.IsAtomic() && op != lang.OpSort && !b.AllByPosition(b, e) {
			return rules.Bad(e.Place)
		}
		return special(e)
	}
	if e.Over != nil {
		if op, ok := lang.FindOp(name, lang.FormReduce); ok {
			return b.reduce(op, e)
		}
	}
	if op, ok := lang.FindOp(name, lang.FormCall); ok && e.Over == nil {
		if _, both := lang.FindOp(name, lang.FormReduce); both && len(e.Args) == 1 {
			return b.reduce(lang.OpInvalid, e)
		}
		return b.elementwise(op, e)
	}
	if op, ok := lang.FindOp(name, lang.FormReduce); ok {
		return b.reduce(op, e)
	}
	switch {
	case e.Over != nil && rules.IsBuiltin(name):
		b.Errorf(lang.ErrArgName, e.Place, "%s does not reduce and takes no `over`", name)
	case name == "view":
		b.Errorf(lang.ErrNameKind, n.Place, "view is of whole tensors, in a graph")
	default:
		if d, ok := lang.ParseDType(name); ok {
			r := b.Errorf(lang.ErrNameKind, n.Place, "%s is a type and is not called", name)
			if len(e.Args) == 1 {
				r.Replace(e.Place, report.Held(e.Place, report.InBrackets(e.Args[0].Value.Span())+" as "+d.String()), "convert with `as %s`", d)
			}
			return rules.Bad(e.Place)
		}
		b.UnknownName(b.scope, name, n.Place, rules.FunctionNames(), false, rules.CalledPlaces...)
		// What another language's function is given are no arguments of ours, and of an atomic the first is no value.
		if lang.FindNeighbour(name, rules.CalledPlaces...) == nil && !strings.HasPrefix(strings.ToLower(name), "atomic") {
			b.ArgumentsOf(b, e)
		}
	}
	return rules.Bad(e.Place)
}

// args types the arguments of a call as values.
func (b *bodyChecker) args(e *lang.CallExpr) ([]rules.Operand, []lang.Expr, bool) {
	ok := b.AllByPosition(b, e)
	var ops []rules.Operand
	var exprs []lang.Expr
	for _, a := range e.Args {
		o := b.value(a.Value)
		ok = ok && o.Mode != rules.Invalid
		ops = append(ops, o)
		exprs = append(exprs, a.Value)
	}
	return ops, exprs, ok
}

func (b *bodyChecker) elementwise(op lang.Op, e *lang.CallExpr) rules.Operand {
	if !b.AllByPosition(b, e) { // it is no operand, and one error
		return rules.Bad(e.Place)
	}
	ops, exprs, ok := b.args(e)
	if n := len(op.Row().Operands); len(ops) != n {
		b.Errorf(lang.ErrArgCount, e.Place, "%s takes %s, not %d", op.Row().Spelling, report.Plural(n, "argument"), len(ops))
		return rules.Bad(e.Place)
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	o := b.Apply(op, e.Place, e.Fn.Span(), ops, exprs)
	switch {
	case (op == lang.OpMin || op == lang.OpMax) && len(ops) == 2:
		b.linear(&o, func() (size.Size, bool) { return b.linearOp(op, ops[0], ops[1]) })
	case op == lang.OpClamp && len(ops) == 3:
		b.linear(&o, func() (size.Size, bool) { return b.clamped(ops) })
	}
	return o
}

// clamped is the position min(max(x, lo), hi), of which x need not be known.
func (b *bodyChecker) clamped(ops []rules.Operand) (size.Size, bool) {
	lo, okLo := ops[1].Position()
	hi, okHi := ops[2].Position()
	if !okLo || !okHi || !b.Prover.AtMost(lo, hi) {
		return size.Size{}, false
	}
	m := b.NewHidden(fmt.Sprintf("clamp(%s, %s)", lo, hi))
	b.Varying[m] = true
	s := size.Of(m)
	b.limit(m, []size.Size{lo}, []size.Size{hi})
	return s, true
}

// wantArgs checks the number of arguments.
func (b *bodyChecker) wantArgs(e *lang.CallExpr, lo, hi int, usage string) bool {
	if n := len(e.Args); n < lo || hi >= 0 && n > hi {
		b.Errorf(lang.ErrArgCount, e.Place, "%s has %s", e.Fn.Span().Text(), report.Plural(n, "argument")).Help("write `%s`", usage)
		return false
	}
	return true
}

// fill types zeros and ones.
func (b *bodyChecker) fill(e *lang.CallExpr, n int64) rules.Operand {
	name := e.Fn.Span().Text()
	if !b.wantArgs(e, 1, -1, name+"(f32, i, j)") {
		return rules.Bad(e.Place)
	}
	return b.filled(e, rules.IntOperand(e.Place, n), e.Args[1:])
}

// full is `full(f32, value, i, j)`.
func (b *bodyChecker) full(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, -1, "full(f32, value, i, j)") {
		return rules.Bad(e.Place)
	}
	v := b.value(e.Args[1].Value)
	if v.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	return b.filled(e, v, e.Args[2:])
}

// filled is one value over axes.
func (b *bodyChecker) filled(e *lang.CallExpr, v rules.Operand, axisArgs []lang.Arg) rules.Operand {
	var d typed.DType
	ok := false
	if n, isName := e.Args[0].Value.(*lang.NameExpr); isName {
		d, ok = b.DTypeNamed(b.scope, n.Name, n.Place)
	} else {
		f, isField := e.Args[0].Value.(*lang.FieldExpr)
		if !isField || !b.OfModule(b.scope, false, f) {
			b.Errorf(lang.ErrUnknownType, e.Args[0].Value.Span(), "the first argument is the element type, as in `f32`")
		}
	}
	var axes []*typed.Axis
	for _, a := range axisArgs {
		x, axisOK := b.axisArg(a.Value)
		switch {
		case !axisOK:
			ok = false
		case typed.HasAxis(axes, x):
			b.Errorf(lang.ErrDuplicate, a.Place, "the axis %s stands twice", x.Name)
			ok = false
		default:
			axes = append(axes, x)
		}
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	if v.IsUntyped() && d == typed.Concrete(lang.Bool) {
		if n, isConst := v.Constant(); isConst && (n == 0 || n == 1) {
			v = rules.BoolOperand(v.At, n == 1)
		}
	}
	v = b.Convert(v, d)
	if v.Mode != rules.TypedValue {
		return rules.Bad(e.Place)
	}
	t := v.Type()
	if len(t.Axes) > 0 {
		b.Errorf(lang.ErrNotScalar, v.At, "the value of `full` is the tile %s; a scalar is needed", t)
		return rules.Bad(e.Place)
	}
	if t.DType != d {
		b.Errorf(lang.ErrWrongType, v.At, "the value is %s, not %s", t, d).CastFix(e.Args[1].Value, d)
		return rules.Bad(e.Place)
	}
	return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: d, Axes: axes}, At: e.Place}, Op: lang.OpFull, Args: []typed.Expr{v.Expr}, Axes: axes})
}

// indexCall is `index(i)`.
func (b *bodyChecker) indexCall(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 1, 1, "index(i)") {
		return rules.Bad(e.Place)
	}
	n, ok := e.Args[0].Value.(*lang.NameExpr)
	if ok {
		if ent := b.scope.Lookup(n.Name); ent != nil && ent.Kind == rules.EntAxis {
			return b.positionsOf(ent.Axis, e.Place)
		}
	}
	if x, ok := b.axisArg(e.Args[0].Value); ok {
		return b.positionsOf(x, e.Place)
	}
	return rules.Bad(e.Place)
}

// rename is `rename(x, i -> j)`.
func (b *bodyChecker) rename(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 2, 2, "rename(x, i -> j)") {
		return rules.Bad(e.Place)
	}
	x := b.value(e.Args[0].Value)
	m, ok := e.Args[1].Value.(*lang.MapExpr)
	if !ok {
		b.Errorf(lang.ErrRename, e.Args[1].Value.Span(), "the second argument says which axis becomes which, as in `i -> j`")
		return rules.Bad(e.Place)
	}
	from, okFrom := b.axisArg(m.From)
	to, okTo := b.axisArg(m.To)
	if !okFrom || !okTo || x.Mode == rules.Invalid {
		return rules.Bad(e.Place)
	}
	x = b.Settle(x)
	t := x.Type()
	switch {
	case !typed.HasAxis(t.Axes, from):
		b.Errorf(lang.ErrNoAxis, m.From.Span(), "the tile %s has no axis %s", t, from.Name)
	case typed.HasAxis(t.Axes, to):
		b.Errorf(lang.ErrRename, m.To.Span(), "the tile %s has an axis %s already", t, to.Name)
	case !b.samePositions(from, to):
		b.Errorf(lang.ErrRename, m.Place, "%s and %s do not hold the same positions", from.Name, to.Name).
			LabelAt(from.At, "%s is over %s", from.Name, typed.AxisText(from)).LabelAt(to.At, "%s is over %s", to.Name, typed.AxisText(to)).
			Help("rename between axes that are each the whole of one dimension")
	default:
		axes := make([]*typed.Axis, len(t.Axes))
		for i, a := range t.Axes {
			if a == from {
				a = to
			}
			axes[i] = a
		}
		return rules.TypedOperand(&typed.Apply{Typed: typed.Typed{Type: typed.Type{DType: t.DType, Axes: axes}, At: e.Place}, Op: lang.OpRename, Args: []typed.Expr{x.Expr}, From: from, Axis: to})
	}
	return rules.Bad(e.Place)
}

// samePositions reports axes whose tiles always hold the same positions: whole axes over equal ranges.
func (b *bodyChecker) samePositions(x, y *typed.Axis) bool {
	return x.Kind == typed.WholeAxis && y.Kind == typed.WholeAxis && x.Len.Equal(y.Len) && (x.Lo.Equal(y.Lo) || x.IsFree || y.IsFree)
}
