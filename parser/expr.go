package parser

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// Binding strengths of the binary operators, loosest first. `not` stands
// between `and` and the comparisons, `as` between the products and the unary
// operators, `**` between those and the postfix forms.
const (
	levelLambda = iota
	levelOr
	levelAnd
	levelNot
	levelCompare
	levelBitOr
	levelBitXor
	levelBitAnd
	levelShift
	levelSum
	levelProduct
)

var binaryLevel = map[string]int{
	"or": levelOr, "and": levelAnd,
	"==": levelCompare, "!=": levelCompare, "<": levelCompare, "<=": levelCompare, ">": levelCompare, ">=": levelCompare,
	"|": levelBitOr, "^": levelBitXor, "&": levelBitAnd,
	"<<": levelShift, ">>": levelShift,
	"+": levelSum, "-": levelSum,
	"*": levelProduct, "/": levelProduct, "//": levelProduct, "%": levelProduct,
}

const (
	// maxNesting is how deep expressions and blocks may be nested.
	maxNesting = 400
	// maxChain is how many operators may follow each other on one level (`a + b + c`).
	maxChain = 5000
)

// enter goes one level of nesting deeper; leave goes back.
func (g *grammar) enter(lex *lexer.PeekingLexer) error {
	if g.depth++; g.depth > maxNesting {
		g.depth--
		return g.fail(lang.ErrNesting, lex.Peek(), fmt.Sprintf("this is nested more than %d deep", maxNesting), "name a part of it with `let`")
	}
	return nil
}

func (g *grammar) leave() { g.depth-- }

// chain counts the operators of one level.
func (g *grammar) chain(n *int, lex *lexer.PeekingLexer) error {
	if *n++; *n > maxChain {
		return g.fail(lang.ErrNesting, lex.Peek(), fmt.Sprintf("more than %d operations in a row", maxChain), "name a part of it with `let`")
	}
	return nil
}

// beginsOperand are the operators and keywords that an expression can begin with.
var beginsOperand = set("( [ - ~ not if for true false")

// beginsExpr reports whether an expression can begin with the token.
func beginsExpr(t *lexer.Token) bool {
	switch t.Type {
	case kindIdent, kindInt, kindFloat, kindString:
		return true
	case kindOp, kindKeyword:
		return beginsOperand[t.Value]
	}
	return false
}

// parseExpr is the production lang.Expr.
func (g *grammar) parseExpr(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if !beginsExpr(lex.Peek()) {
		return nil, participle.NextMatch
	}
	return g.expr(lex)
}

// parseSum is the production sum.
func (g *grammar) parseSum(lex *lexer.PeekingLexer) (sum, error) {
	if !beginsExpr(lex.Peek()) {
		return nil, participle.NextMatch
	}
	return g.binary(lex, levelBitOr)
}

func (g *grammar) expr(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	start := lex.Peek().Pos.Offset
	x, err := g.binary(lex, levelOr)
	if err != nil || !is(lex.Peek(), "=>") {
		return x, err
	}
	params, err := g.lambdaParams(lex, x)
	if err != nil {
		return nil, err
	}
	lex.Next()
	bodyExpr, err := g.lambdaBody(lex)
	if err != nil {
		return nil, err
	}
	return &lang.LambdaExpr{At: g.since(start, lex), Params: params, Body: bodyExpr}, nil
}

// lambdaParams reads what stands before `=>`, parsed as an expression, as names and tuples of names.
func (g *grammar) lambdaParams(lex *lexer.PeekingLexer, x lang.Expr) ([]lang.Pattern, error) {
	elems := []lang.Expr{x}
	if t, ok := x.(*lang.TupleExpr); ok {
		elems = t.Elems
	}
	params := make([]lang.Pattern, len(elems))
	for i, e := range elems {
		params[i].At = lang.At{Place: e.Span()}
		names := []lang.Expr{e}
		if t, ok := e.(*lang.TupleExpr); ok {
			names, params[i].Tuple = t.Elems, true
		}
		for _, x := range names {
			n, ok := x.(*lang.NameExpr)
			if !ok {
				return nil, g.failAt(lang.ErrSyntax, x.Span(), "a parameter of a lambda must be a name", "write `(a, b) => ...`, or `((a, i), (b, j)) => ...` for tuples")
			}
			params[i].Names = append(params[i].Names, lang.Ident{At: n.At, Name: n.Name})
		}
	}
	return params, nil
}

func (g *grammar) lambdaBody(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if is(lex.Peek(), "{") {
		return g.block(lex)
	}
	return g.expr(lex)
}

// binary is precedence climbing: it takes the operators of a level and tighter.
func (g *grammar) binary(lex *lexer.PeekingLexer, level int) (lang.Expr, error) {
	start := lex.Peek().Pos.Offset
	x, err := g.operand(lex, level)
	if err != nil {
		return nil, err
	}
	var compared *lexer.Token
	for n := 0; ; {
		op := lex.Peek()
		l, ok := binaryLevel[op.Value]
		if !ok || op.Type == kindString || l < level {
			return x, nil
		}
		if l != levelCompare {
			compared = nil
		} else if compared != nil {
			return nil, g.chained(compared, op)
		} else {
			compared = op
		}
		if err := g.chain(&n, lex); err != nil {
			return nil, err
		}
		lex.Next()
		y, err := g.binary(lex, l+1)
		if err != nil {
			return nil, err
		}
		x = &lang.BinaryExpr{At: g.since(start, lex), Op: op.Value, OpAt: g.spanOf(op), X: x, Y: y}
	}
}

func (g *grammar) chained(first, second *lexer.Token) error {
	return g.fail(lang.ErrSyntax, second, fmt.Sprintf("`%s` cannot follow `%s`: comparisons do not chain", second.Value, first.Value),
		fmt.Sprintf("join two comparisons with `and`: `a %s b and b %s c`", first.Value, second.Value))
}

// operand is what stands between binary operators of a level: `not x` where it
// may stand, and otherwise a unary expression with its conversions.
func (g *grammar) operand(lex *lexer.PeekingLexer, level int) (lang.Expr, error) {
	op := lex.Peek()
	if is(op, "not") && op.Type == kindKeyword {
		if level > levelNot {
			return nil, g.fail(lang.ErrSyntax, op, "`not` binds looser than the operator before it", "put it in brackets: `(not x)`")
		}
		return g.prefixed(lex, func() (lang.Expr, error) { return g.binary(lex, levelNot) })
	}
	start := op.Pos.Offset
	x, err := g.unary(lex)
	for n := 0; err == nil && is(lex.Peek(), "as"); {
		if err = g.chain(&n, lex); err != nil {
			break
		}
		lex.Next()
		name, e := g.name(lex, "an element type")
		if e != nil {
			return nil, e
		}
		x = &lang.CastExpr{At: g.since(start, lex), X: x, Type: &lang.TypeExpr{At: name.At, Name: name}}
	}
	return x, err
}

// prefixed takes an operator and the operand behind it.
func (g *grammar) prefixed(lex *lexer.PeekingLexer, parse func() (lang.Expr, error)) (lang.Expr, error) {
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	op := lex.Next()
	x, err := parse()
	if err != nil {
		return nil, err
	}
	return &lang.UnaryExpr{At: g.since(op.Pos.Offset, lex), Op: op.Value, OpAt: g.spanOf(op), X: x}, nil
}

// unary is `-x`, `~x`, or a power.
func (g *grammar) unary(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if t := lex.Peek(); is(t, "-") || is(t, "~") {
		return g.prefixed(lex, func() (lang.Expr, error) { return g.unary(lex) })
	}
	start := lex.Peek().Pos.Offset
	x, err := g.postfix(lex)
	if err != nil || !is(lex.Peek(), "**") {
		return x, err
	}
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	op := lex.Next()
	y, err := g.unary(lex)
	if err != nil {
		return nil, err
	}
	return &lang.BinaryExpr{At: g.since(start, lex), Op: op.Value, OpAt: g.spanOf(op), X: x, Y: y}, nil
}

// postfix is a primary with calls, indexes and fields behind it.
func (g *grammar) postfix(lex *lexer.PeekingLexer) (lang.Expr, error) {
	start := lex.Peek().Pos.Offset
	x, err := g.primary(lex)
	for n := 0; err == nil; {
		t := lex.Peek()
		switch {
		case isText(x) && is(t, "else"): // in @config and @name: `"key" else 1`
			var y lang.Expr
			if y, err = g.otherwise(lex); err == nil {
				x = &lang.BinaryExpr{At: g.since(start, lex), Op: t.Value, OpAt: g.spanOf(t), X: x, Y: y}
			}
		case is(t, "("):
			var args *argumentList
			if args, err = g.argumentList(lex); err == nil {
				call := &lang.CallExpr{Fn: x, Args: args.args, Over: args.over}
				call.Else, err = g.otherwise(lex)
				call.At = g.since(start, lex)
				x = call
			}
		case is(t, "["):
			x, err = g.index(lex, start, x)
		case is(t, "."):
			lex.Next()
			var name lang.Ident
			if name, err = g.name(lex, "the name of a field"); err == nil {
				x = &lang.FieldExpr{At: g.since(start, lex), X: x, Name: name}
			}
		default:
			return x, nil
		}
		if err == nil {
			err = g.chain(&n, lex)
		}
	}
	return nil, err
}

func isText(x lang.Expr) bool {
	_, ok := x.(*lang.StringLit)
	return ok
}

// index is `[a, b] @hint else e` behind x.
func (g *grammar) index(lex *lexer.PeekingLexer, start int, x lang.Expr) (lang.Expr, error) {
	ix := &lang.IndexExpr{X: x}
	lex.Next()
	for !is(lex.Peek(), "]") {
		e, err := g.indexItem(lex)
		if err != nil {
			return nil, err
		}
		ix.Indices = append(ix.Indices, e)
		if is(lex.Peek(), "]") {
			break
		}
		if err := g.expect(lex, ",", "`,` or `]`"); err != nil {
			return nil, err
		}
	}
	lex.Next()
	if err := g.hints(lex, ix); err != nil {
		return nil, err
	}
	e, err := g.otherwise(lex)
	if err != nil {
		return nil, err
	}
	if ix.Else = e; e != nil {
		if err := g.hints(lex, ix); err != nil {
			return nil, err
		}
	}
	ix.At = g.since(start, lex)
	return ix, nil
}

// otherwise is `else e`, or nothing.
func (g *grammar) otherwise(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if !is(lex.Peek(), "else") {
		return nil, nil
	}
	lex.Next()
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	return g.unary(lex)
}

func (g *grammar) hints(lex *lexer.PeekingLexer, ix *lang.IndexExpr) error {
	for is(lex.Peek(), "@") {
		a, err := g.attr.ParseFromLexer(lex, allowTrailing)
		if err != nil {
			return err
		}
		ix.Attrs = append(ix.Attrs, g.lowerAttr(a))
	}
	return nil
}

// indexItem is an index or a range `lo .. hi`.
func (g *grammar) indexItem(lex *lexer.PeekingLexer) (lang.Expr, error) {
	start := lex.Peek().Pos.Offset
	var lo, hi lang.Expr
	var err error
	if !is(lex.Peek(), "..") {
		if lo, err = g.expr(lex); err != nil || !is(lex.Peek(), "..") {
			return lo, err
		}
	}
	lex.Next()
	if t := lex.Peek(); !is(t, ",") && !is(t, "]") {
		if hi, err = g.expr(lex); err != nil {
			return nil, err
		}
	}
	return &lang.RangeExpr{At: g.since(start, lex), Lo: lo, Hi: hi}, nil
}

func (g *grammar) primary(lex *lexer.PeekingLexer) (lang.Expr, error) {
	t := lex.Peek()
	at := g.spanOf(t)
	switch t.Type {
	case kindIdent:
		lex.Next()
		return &lang.NameExpr{At: lang.At{Place: at}, Name: t.Value}, nil
	case kindInt:
		lex.Next()
		v, _ := intValue(t.Value) // the scanner reported it
		return &lang.IntLit{At: lang.At{Place: at}, Value: v}, nil
	case kindFloat:
		lex.Next()
		v, _ := floatValue(strings.ReplaceAll(t.Value, "_", ""))
		return &lang.FloatLit{At: lang.At{Place: at}, Value: v}, nil
	case kindString:
		lex.Next()
		return &lang.StringLit{At: lang.At{Place: at}, Value: unquote(t.Value)}, nil
	}
	switch {
	case is(t, "true"), is(t, "false"):
		lex.Next()
		return &lang.BoolLit{At: lang.At{Place: at}, Value: t.Value == "true"}, nil
	case is(t, "("):
		return g.tuple(lex)
	case is(t, "["):
		return g.shapeList(lex)
	case is(t, "if"):
		return g.ifExpr(lex)
	case is(t, "for"):
		return g.forExpr(lex)
	}
	return nil, g.unexpected(t, "an expression")
}

func unquote(text string) string {
	s, _ := strconv.Unquote(text) // the scanner reported it
	return s
}

// tuple is `(a)`, which is a, or `(a, b)`.
func (g *grammar) tuple(lex *lexer.PeekingLexer) (lang.Expr, error) {
	open := lex.Peek()
	elems, err := g.sequence(lex, ")")
	if err != nil {
		return nil, err
	}
	switch {
	case len(elems) == 1:
		return elems[0], nil
	case len(elems) == 0 && !is(lex.Peek(), "=>"):
		return nil, g.failAt(lang.ErrSyntax, g.since(open.Pos.Offset, lex).Place, "expected an expression between `(` and `)`", "")
	}
	return &lang.TupleExpr{At: g.since(open.Pos.Offset, lex), Elems: elems}, nil
}

func (g *grammar) shapeList(lex *lexer.PeekingLexer) (lang.Expr, error) {
	start := lex.Peek().Pos.Offset
	elems, err := g.sequence(lex, "]")
	if err != nil {
		return nil, err
	}
	return &lang.ListExpr{At: g.since(start, lex), Elems: elems}, nil
}

// sequence is expressions with commas between, in the brackets that end with closer.
func (g *grammar) sequence(lex *lexer.PeekingLexer, closer string) ([]lang.Expr, error) {
	lex.Next()
	var elems []lang.Expr
	for !is(lex.Peek(), closer) {
		e, err := g.expr(lex)
		if err != nil {
			return nil, err
		}
		elems = append(elems, e)
		if is(lex.Peek(), closer) {
			break
		}
		if err := g.expect(lex, ",", fmt.Sprintf("`,` or `%s`", closer)); err != nil {
			return nil, err
		}
	}
	lex.Next()
	return elems, nil
}

// argumentList is the arguments of a call or of an attribute.
type argumentList struct {
	lang.At
	args []lang.Arg
	over []lang.Ident
}

// parseArguments is the production arguments.
func (g *grammar) parseArguments(lex *lexer.PeekingLexer) (arguments, error) {
	if !is(lex.Peek(), "(") {
		return nil, participle.NextMatch
	}
	return g.argumentList(lex)
}

func (g *grammar) argumentList(lex *lexer.PeekingLexer) (*argumentList, error) {
	list := &argumentList{}
	start := lex.Next().Pos.Offset
	for !is(lex.Peek(), ")") {
		if err := g.argument(lex, list); err != nil {
			return nil, err
		}
		if is(lex.Peek(), ")") {
			break
		}
		if err := g.expect(lex, ",", "`,` or `)`"); err != nil {
			return nil, err
		}
	}
	lex.Next()
	list.At = g.since(start, lex)
	return list, nil
}

// argument is `over k`, `name = e`, `a -> b` or an expression.
func (g *grammar) argument(lex *lexer.PeekingLexer, list *argumentList) error {
	t := lex.Peek()
	start := t.Pos.Offset
	if is(t, "over") {
		if list.over != nil {
			return g.fail(lang.ErrSyntax, t, "a second `over` in one call", "name all axes in one: `over (i, j)`")
		}
		var err error
		list.over, err = g.over(lex)
		return err
	}
	arg := lang.Arg{}
	if t.Type == kindIdent {
		before := lex.MakeCheckpoint()
		if lex.Next(); is(lex.Peek(), "=") {
			lex.Next()
			arg.Name = &lang.Ident{At: lang.At{Place: g.spanOf(t)}, Name: t.Value}
		} else {
			lex.LoadCheckpoint(before)
		}
	}
	e, err := g.expr(lex)
	if err != nil {
		return err
	}
	if is(lex.Peek(), "->") {
		lex.Next()
		to, err := g.expr(lex)
		if err != nil {
			return err
		}
		e = &lang.MapExpr{At: lang.At{Place: e.Span().To(g.since(start, lex).Place)}, From: e, To: to}
	}
	arg.Value = e
	arg.At = g.since(start, lex)
	list.args = append(list.args, arg)
	return nil
}

// over is `over k` or `over (i, j)`.
func (g *grammar) over(lex *lexer.PeekingLexer) ([]lang.Ident, error) {
	lex.Next()
	if !is(lex.Peek(), "(") {
		axis, err := g.name(lex, "an axis")
		return []lang.Ident{axis}, err
	}
	var axes []lang.Ident
	for {
		lex.Next()
		axis, err := g.name(lex, "an axis")
		if err != nil {
			return nil, err
		}
		axes = append(axes, axis)
		if is(lex.Peek(), ")") {
			lex.Next()
			return axes, nil
		}
		if !is(lex.Peek(), ",") {
			return nil, g.unexpected(lex.Peek(), "`,` or `)`")
		}
	}
}

func (g *grammar) ifExpr(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	start := lex.Peek().Pos.Offset
	c, err := g.cond.ParseFromLexer(lex, allowTrailing)
	if err != nil {
		return nil, err
	}
	x := &lang.IfExpr{At: g.since(start, lex), Cond: c.Cond, Then: c.Then.(*lang.Block)}
	if c.Else != nil {
		x.Else = c.Else
	}
	return x, nil
}

func (g *grammar) forExpr(lex *lexer.PeekingLexer) (lang.Expr, error) {
	if err := g.enter(lex); err != nil {
		return nil, err
	}
	defer g.leave()
	start := lex.Peek().Pos.Offset
	f, err := g.loop.ParseFromLexer(lex, allowTrailing)
	if err != nil {
		return nil, err
	}
	return &lang.ForExpr{At: g.since(start, lex), Axis: g.lowerAxis(f.Axis), Carried: g.lowerIdents(f.Carried), Init: f.Init, Body: f.Body.(*lang.Block)}, nil
}

// name takes a name; what says what it would name.
func (g *grammar) name(lex *lexer.PeekingLexer, what string) (lang.Ident, error) {
	t := lex.Peek()
	if t.Type != kindIdent {
		return lang.Ident{}, g.unexpected(t, what)
	}
	lex.Next()
	return lang.Ident{At: lang.At{Place: g.spanOf(t)}, Name: t.Value}, nil
}

// expect takes an operator; what names everything that could stand here.
func (g *grammar) expect(lex *lexer.PeekingLexer, op, what string) error {
	if !is(lex.Peek(), op) {
		return g.unexpected(lex.Peek(), what)
	}
	lex.Next()
	return nil
}

// span is a place in the source that is being parsed.
func (g *grammar) span(start, end int) lang.Span {
	end = min(end, len(g.src.Text)) // a repaired bracket is longer than its place
	return lang.Span{Source: g.src, Start: min(start, end), End: end}
}

func (g *grammar) spanOf(t *lexer.Token) lang.Span { return g.span(t.Pos.Offset, endOf(t)) }

// since is the place from an offset to the token that was taken last.
func (g *grammar) since(start int, lex *lexer.PeekingLexer) lang.At {
	at := lex.RawCursor()
	return lang.At{Place: g.span(start, endOf(&lex.Range(at-1, at)[0]))}
}
