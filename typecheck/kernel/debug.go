package kernel

import (
	"strings"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file types print, assert, static_assert and assume.

// say types `print("... {}", x, ...)`.
func (b *bodyChecker) say(e *lang.CallExpr) rules.Operand {
	done := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if !b.wantArgs(e, 1, -1, `print("x is {}", x)`) || !b.mayAct(e, "print", "print what it gives where it is called") {
		return rules.Bad(e.Place)
	}
	if text, args, ok := b.message(e.Args); ok {
		b.emit(&typed.Print{Text: text, Args: args, At: e.Place})
		return done
	}
	return rules.Bad(e.Place)
}

// mayAct reports that an effect stands in a kernel; a fn has none.
func (b *bodyChecker) mayAct(e *lang.CallExpr, verb, instead string) bool {
	if len(b.Frames) > 0 {
		b.Errorf(lang.ErrPure, e.Place, "a fn is pure and cannot %s", verb).Help("%s", instead)
		return false
	}
	return true
}

// message types a text and the values in the place of its {}.
func (b *bodyChecker) message(args []lang.Arg) (string, []typed.Expr, bool) {
	ok := true
	var xs []typed.Expr
	for _, a := range args[1:] {
		x := b.Settle(b.value(a.Value))
		if x.Mode == rules.Invalid {
			ok = false
			continue
		}
		xs = append(xs, x.Expr)
	}
	at := args[0].Value.Span()
	text, isText := args[0].Value.(*lang.StringLit)
	if !isText {
		b.Errorf(lang.ErrFormat, at, "a text belongs here, not %s", at.Text()).Help(`write what is said, with {} in the place of each value: "x is {}"`)
		return "", nil, false
	}
	holes, bad := countHoles(text.Value)
	switch {
	case bad != "":
		b.Errorf(lang.ErrFormat, at, "the text has %s; a value stands in the place of {}, and {{ and }} are the braces themselves", bad)
		return "", nil, false
	case holes != len(args)-1:
		b.Errorf(lang.ErrFormat, at, "the text has %s for %s", report.Plural(holes, "{}"), report.Plural(len(args)-1, "value"))
		return "", nil, false
	}
	return text.Value, xs, ok
}

// countHoles counts the {} of a text. Bad is the first brace that is neither of one nor doubled.
func countHoles(text string) (holes int, bad string) {
	for i := 0; i < len(text); i++ {
		switch two := text[i:min(i+2, len(text))]; {
		case two == "{}":
			holes++
			i++
		case two == "{{" || two == "}}":
			i++
		case text[i] == '{':
			end := strings.IndexByte(text[i:], '}')
			if end < 0 {
				return holes, "a { without its }"
			}
			return holes, text[i : i+end+1]
		case text[i] == '}':
			return holes, "a } without its {"
		}
	}
	return holes, ""
}

// asserted types `assert(cond, "...", x, ...)`.
func (b *bodyChecker) asserted(e *lang.CallExpr) rules.Operand {
	if !b.wantArgs(e, 1, -1, `assert(x > 0, "x is {}", x)`) || !b.mayAct(e, "assert", "assert where it is called") {
		return rules.Bad(e.Place)
	}
	cond, ok := b.boolArg(e)
	text, args, okText := lang.Quoted(e.Args[0].Value.Span().Text()), []typed.Expr(nil), true
	if len(e.Args) > 1 {
		text, args, okText = b.message(e.Args[1:])
	}
	if !ok || !okText {
		return rules.Bad(e.Place)
	}
	for i, x := range args {
		if extra := typed.WithoutAxes(x.Types()[0].Axes, cond.Types()[0].Axes); len(extra) > 0 {
			b.Errorf(lang.ErrStoreAxes, e.Args[2+i].Value.Span(), "the value is %s, and the condition is not over %s: which element to say is not known", x.Types()[0], typed.AxisNames(extra)).
				LabelAt(cond.Span(), "%s", cond.Types()[0]).LabelAt(extra[0].At, "axis %s", extra[0].Name).
				Help("reduce the value over %s", typed.AxisNames(extra))
			return rules.Bad(e.Place)
		}
	}
	b.emit(&typed.Assert{Cond: cond, Text: text, Args: args, At: e.Place})
	return rules.Operand{Mode: rules.NoValue, At: e.Place}
}

// boolArg types the first argument of an assert or an assume.
func (b *bodyChecker) boolArg(e *lang.CallExpr) (typed.Expr, bool) {
	o := b.value(e.Args[0].Value)
	if o.Mode == rules.Invalid {
		return nil, false
	}
	if o.Mode != rules.TypedValue || o.Type().DType != typed.Concrete(lang.Bool) {
		b.Errorf(lang.ErrCondition, e.Args[0].Value.Span(), "the condition is %s, not bool", b.DescribeOperand(o))
		return nil, false
	}
	return o.Expr, true
}

// staticAssert types `static_assert(cond, "...")`.
func (b *bodyChecker) staticAssert(e *lang.CallExpr) rules.Operand {
	done := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if !b.wantArgs(e, 1, 2, `static_assert(D % 8 == 0, "D must be a multiple of 8")`) {
		return rules.Bad(e.Place)
	}
	cond, ok := b.boolArg(e)
	text := ""
	if len(e.Args) > 1 {
		t, isText := e.Args[1].Value.(*lang.StringLit)
		if !isText {
			b.Errorf(lang.ErrFormat, e.Args[1].Value.Span(), "a text belongs here, not %s", e.Args[1].Value.Span().Text())
			return rules.Bad(e.Place)
		}
		text = t.Value
	}
	if !ok {
		return rules.Bad(e.Place)
	}
	at := e.Args[0].Value.Span()
	if x := notStatic(cond, false); x != nil {
		b.Errorf(lang.ErrNotConstant, x.Span(), "a static_assert is of constants and dimensions, and this is only known when the kernel runs").
			Help("use `assert`")
		return rules.Bad(e.Place)
	}
	if holds, known := constantCondition(cond); known {
		if !holds {
			b.Errorf(lang.ErrStaticAssert, at, "%s", (&typed.StaticAssert{Text: text, At: at}).Failure())
		}
		return done
	}
	b.emit(&typed.StaticAssert{Cond: cond, Text: text, At: at})
	return done
}

// notStatic is the first part of a condition that a launch does not know
// before it runs; nil when it knows all. It knows scalar parameters when scalars is set.
func notStatic(x typed.Expr, scalars bool) typed.Expr {
	unknown, _ := typed.Find(x, func(x typed.Expr) bool {
		switch x := x.(type) {
		case *typed.Const, *typed.SizeExpr, *typed.ConstRef:
			return false
		case *typed.ScalarRef:
			return !scalars
		case *typed.Apply:
			return !staticOps[x.Op] || x.Op == lang.OpCast && !typed.IsInt(x.Type.DType) ||
				typed.IsFloat(x.Args[0].Types()[0].DType) && !comparesOnly(x.Op)
		}
		return true
	})
	return unknown
}

// staticOps are what a condition that is decided before a launch may compute.
var staticOps = map[lang.Op]bool{
	lang.OpEq: true, lang.OpNe: true, lang.OpLt: true, lang.OpLe: true, lang.OpGt: true, lang.OpGe: true,
	lang.OpLogicAnd: true, lang.OpLogicOr: true, lang.OpLogicNot: true, lang.OpNeg: true, lang.OpCast: true,
	lang.OpAdd: true, lang.OpSub: true, lang.OpMul: true, lang.OpDiv: true, lang.OpFloorDiv: true, lang.OpMod: true,
	lang.OpMin: true, lang.OpMax: true,
}

// comparesOnly reports an operation that rounds nothing, so that it may be computed on floats anywhere.
func comparesOnly(op lang.Op) bool { return op.Row().Rule == lang.RuleCompare || op == lang.OpNeg }

// constantCondition decides a condition of which every part is a literal.
func constantCondition(x typed.Expr) (holds, known bool) {
	switch x := x.(type) {
	case *typed.Const:
		return x.Int != 0, true
	case *typed.Apply:
		switch x.Op {
		case lang.OpLogicNot:
			a, ok := constantCondition(x.Args[0])
			return !a, ok
		case lang.OpLogicAnd, lang.OpLogicOr:
			a, okA := constantCondition(x.Args[0])
			c, okC := constantCondition(x.Args[1])
			if x.Op == lang.OpLogicAnd {
				return a && c, okA && okC || okA && !a || okC && !c
			}
			return a || c, okA && okC || okA && a || okC && c
		}
	}
	return false, false
}

// assume types `assume(cond)`. What it says of dimensions, constants and scalar
// parameters every launch checks, and proofs may use; what it says of tiles is an
// assert of debug builds.
func (b *bodyChecker) assume(e *lang.CallExpr) rules.Operand {
	done := rules.Operand{Mode: rules.NoValue, At: e.Place}
	if !b.wantArgs(e, 1, 1, "assume(N % 16 == 0)") || !b.mayAct(e, "assume", "assume where it is called") {
		return rules.Bad(e.Place)
	}
	cond, ok := b.boolArg(e)
	if !ok {
		return rules.Bad(e.Place)
	}
	at := e.Args[0].Value.Span()
	if holds, known := constantCondition(cond); known {
		if !holds {
			b.Errorf(lang.ErrStaticAssert, at, "assume: %s does not hold", at.Text())
		}
		return done
	}
	if b.stmts != b.top || notStatic(cond, true) != nil {
		b.emit(&typed.Assert{Cond: cond, Text: lang.Quoted(at.Text()), At: e.Place, Debug: true})
		return done
	}
	b.Kernel.Assumes = append(b.Kernel.Assumes, &typed.Assume{Cond: cond, At: at})
	b.learn(e.Args[0].Value)
	return done
}

// learn gives the prover what a condition says.
func (b *bodyChecker) learn(cond lang.Expr) {
	e, ok := cond.(*lang.BinaryExpr)
	if !ok {
		return
	}
	if e.Op == "and" {
		b.learn(e.X)
		b.learn(e.Y)
		return
	}
	x, okX := b.value(e.X).Position()
	y, okY := b.value(e.Y).Position()
	if !okX && okY && isRemainder(e.X) && e.Op == "==" && y.Equal(size.Size{}) {
		// By a constant parameter, which may be negative: but of whether a number is a multiple, a remainder is another than that of a size.
		b.Sizing++
		x, okX = b.value(e.X).Position()
		b.Sizing--
	}
	if !okX || !okY {
		return
	}
	one := size.Const(1)
	switch e.Op {
	case "<=":
		b.Prover.Assume(y.Sub(x))
	case "<":
		b.Prover.Assume(y.Sub(x).Sub(one))
	case ">=":
		b.Prover.Assume(x.Sub(y))
	case ">":
		b.Prover.Assume(x.Sub(y).Sub(one))
	case "==":
		b.Prover.Assume(y.Sub(x))
		b.Prover.Assume(x.Sub(y))
		b.learnDivisor(e)
	}
}

func isRemainder(e lang.Expr) bool {
	rest, ok := e.(*lang.BinaryExpr)
	return ok && rest.Op == "%"
}

// mostDivisor is up to which divisors of a divisor a proof knows.
const mostDivisor = 256

// learnDivisor notes `N % 16 == 0` of a dimension.
func (b *bodyChecker) learnDivisor(e *lang.BinaryExpr) {
	rest, ok := e.X.(*lang.BinaryExpr)
	if !ok || rest.Op != "%" {
		return
	}
	zero, okZero := b.value(e.Y).Position()
	dim, okDim := b.value(rest.X).Position()
	by, okBy := b.value(rest.Y).Position()
	if !okZero || !okDim || !okBy {
		return
	}
	n, isConst := by.Const()
	if !isConst || n < 2 || !zero.Equal(size.Size{}) {
		return
	}
	for d := int64(2); d < min(n, mostDivisor); d++ { // a number of eights is one of halves
		if n%d == 0 {
			b.Prover.Assume(dim.Mod(size.Const(d)).Neg())
		}
	}
	if sym := dim.Symbol(); sym != nil && sym.Kind == size.DimSymbol {
		if b.Kernel.Divisors == nil {
			b.Kernel.Divisors = map[*size.Symbol]int64{}
		}
		m := max(b.Kernel.Divisors[sym], 1)
		if lcm := m / size.Gcd(m, n) * n; lcm <= maxDivisor {
			b.Kernel.Divisors[sym] = lcm
		}
	}
}

// maxDivisor keeps products of divisors small.
const maxDivisor = 1 << 20
