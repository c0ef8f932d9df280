package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"tilec/lang"
)

// The operations of the table by what they take and give, so that a new row is generated with no more code.
var (
	numeric    = rows(lang.RuleNumeric)
	floating   = rows(lang.RuleFloat)
	integral   = rows(lang.RuleInt)
	comparing  = rows(lang.RuleCompare)
	inspecting = rows(lang.RuleTest)
	logical    = rows(lang.RuleBool)
	sums       = reductions(lang.RuleSum)
	same       = reductions(lang.RuleSame)
	means      = reductions(lang.RuleMean)
	places     = reductions(lang.RuleArg)
	decisions  = reductions(lang.RuleBool)
)

func rows(rule lang.Rule) []lang.Op {
	var ops []lang.Op
	for _, op := range lang.Ops() {
		if r := op.Row(); r.Elementwise && r.Rule == rule {
			ops = append(ops, op)
		}
	}
	return ops
}

func reductions(rule lang.Rule) []lang.Op {
	var ops []lang.Op
	for _, op := range lang.Ops() {
		if r := op.Row(); r.Group == lang.GroupReduce && r.Rule == rule {
			ops = append(ops, op)
		}
	}
	return ops
}

// apply writes an operation on operands.
func apply(op lang.Op, args ...string) string {
	r := op.Row()
	switch r.Form {
	case lang.FormInfix:
		if op == lang.OpFloorDiv { // where lines break inside brackets, spaces would make it a comment
			return "(" + args[0] + r.Spelling + args[1] + ")"
		}
		return "(" + args[0] + " " + r.Spelling + " " + args[1] + ")"
	case lang.FormPrefix:
		if r.Spelling == "not" {
			return "(not " + args[0] + ")"
		}
		return "(" + r.Spelling + args[0] + ")"
	}
	return r.Spelling + "(" + strings.Join(args, ", ") + ")"
}

var commonTypes = []lang.DType{lang.F32, lang.F32, lang.F32, lang.F32, lang.F16, lang.F16, lang.BF16, lang.BF16, lang.F64,
	lang.I32, lang.I32, lang.I32, lang.I8, lang.U8, lang.I16, lang.U16, lang.U32, lang.I64, lang.U64, lang.Bool, lang.F4E2M1, lang.F8E4M3, lang.F8E5M2}

// someType chooses an element type, common ones more often.
func (g *generator) someType() elem {
	if g.generic != nil && g.chance(40) {
		return *g.generic
	}
	return concrete(pick(g.r, commonTypes...))
}

func (g *generator) someFloat() elem {
	for {
		if e := g.someType(); e.d.IsFloat() {
			return e
		}
	}
}

func (g *generator) someNumber() elem {
	for {
		if e := g.someType(); e.d != lang.Bool {
			return e
		}
	}
}

// widest is how many axes a tile has at most.
const widest = 3

// within generates with another frame.
// It is called, not copied to its many callers: the binary is smaller.
//
//go:noinline
func (g *generator) within(axes []*axis, make func() value) value {
	outer := g.frame
	g.frame = axes
	v := make()
	g.frame = outer
	return v
}

// tileAxes are the axes in scope that tiles may have.
func (g *generator) tileAxes() []*axis {
	var out []*axis
	for _, a := range g.axes {
		if !a.scalar {
			out = append(out, a)
		}
	}
	return out
}

// someAxes chooses at most n of the axes in scope.
func (g *generator) someAxes(n int) []*axis {
	all := g.tileAxes()
	g.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), g.r.IntN(n+1))]
}

// expr makes an expression of an element type over axes of the frame.
func (g *generator) expr(e elem, depth int) value {
	g.fuel--
	if depth <= 0 || g.fuel < 0 || g.chance(12) {
		return g.leaf(e)
	}
	switch {
	case e.d == lang.Bool:
		return g.boolExpr(depth)
	case e.d.IsFloat():
		return g.floatExpr(e, depth)
	}
	return g.intExpr(e, depth)
}

// combine applies an operation to operands of one type, of which one is typed.
func (g *generator) combine(op lang.Op, operand, result elem, depth int) value {
	n := len(op.Row().Operands)
	args := make([]value, n)
	literal := -1
	if n > 1 && g.chance(20) {
		literal = g.r.IntN(n)
	}
	texts := make([]string, n)
	for i := range n {
		if i == literal && operand.d != lang.Bool {
			args[i] = value{text: g.literal(operand)}
		} else {
			args[i] = g.expr(operand, depth-1)
		}
		texts[i] = args[i].text
	}
	v := value{apply(op, texts...), result, union(args...)}
	g.work(v.axes)
	return v
}

func union(vs ...value) []*axis {
	var out []*axis
	for _, v := range vs {
		for _, a := range v.axes {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

func (g *generator) floatExpr(e elem, depth int) value {
	switch k := g.r.IntN(100); {
	case k < 38:
		return g.combine(pick(g.r, numeric...), e, e, depth)
	case k < 56:
		return g.combine(pick(g.r, floating...), e, e, depth)
	case k < 62:
		return g.selection(e, depth)
	case k < 70:
		return g.conversion(e, depth)
	case k < 84:
		return g.reduction(e, depth)
	case k < 92 && e.acc() == e:
		return g.contraction(e, depth)
	case k < 96:
		return g.callHelper(e, depth)
	}
	return g.leaf(e)
}

func (g *generator) intExpr(e elem, depth int) value {
	switch k := g.r.IntN(100); {
	case k < 35:
		return g.combine(pick(g.r, numeric...), e, e, depth)
	case k < 60:
		return g.combine(pick(g.r, integral...), e, e, depth)
	case k < 66:
		return g.selection(e, depth)
	case k < 74:
		return g.conversion(e, depth)
	case k < 87:
		return g.reduction(e, depth)
	case k < 92 && e.acc() == e:
		return g.contraction(e, depth)
	case k < 95:
		return g.callHelper(e, depth)
	}
	return g.leaf(e)
}

func (g *generator) boolExpr(depth int) value {
	e := concrete(lang.Bool)
	switch k := g.r.IntN(100); {
	case k < 50:
		return g.combine(pick(g.r, comparing...), g.someNumber(), e, depth)
	case k < 75:
		return g.combine(pick(g.r, logical...), e, e, depth)
	case k < 83:
		return g.combine(pick(g.r, inspecting...), g.someFloat(), e, depth)
	case k < 87:
		return g.selection(e, depth)
	case k < 97:
		if a := g.reducible(); a != nil {
			return g.reduced(pick(g.r, decisions...), a, e, e, depth)
		}
	}
	return g.leaf(e)
}

func (g *generator) selection(e elem, depth int) value {
	c, a, b := g.expr(concrete(lang.Bool), depth-1), g.expr(e, depth-1), g.expr(e, depth-1)
	return value{fmt.Sprintf("where(%s, %s, %s)", c.text, a.text, b.text), e, union(c, a, b)}
}

func (g *generator) conversion(e elem, depth int) value {
	if from, ok := g.sameWidth(e); ok && g.chance(10) {
		v := g.expr(from, depth-1)
		return value{"bitcast(" + v.text + ", " + e.name + ")", e, v.axes}
	}
	from := g.someType()
	v := g.expr(from, depth-1)
	return value{"(" + v.text + " as " + e.name + ")", e, v.axes}
}

// reducible is an axis over which results do not depend on the plan, nil where there is none.
func (g *generator) reducible() *axis {
	var as []*axis
	for _, a := range g.tileAxes() {
		if a.kind == wholeAxis || a.kind == loopAxis && !a.choices {
			as = append(as, a)
		}
	}
	if len(as) == 0 {
		return nil
	}
	return pick(g.r, as...)
}

func (g *generator) reduction(e elem, depth int) value {
	if g.chance(20) {
		return g.scanned(e, depth)
	}
	a := g.reducible()
	if a == nil {
		return g.leaf(e)
	}
	from := e
	if e.acc() == e && g.chance(40) { // a narrower operand
		for _, d := range []lang.DType{lang.F16, lang.BF16, lang.I8, lang.U8, lang.I16, lang.U16} {
			if d.Accumulator() == e.d && g.chance(40) {
				from = concrete(d)
			}
		}
	}
	var ops []lang.Op
	if from.acc() == e {
		ops = append(ops, sums...)
		if e.d.IsFloat() {
			ops = append(ops, means...)
		}
	}
	if from == e {
		ops = append(ops, same...)
	}
	if e == concrete(lang.I32) && g.chance(25) {
		return g.reduced(pick(g.r, places...), a, g.someNumber(), e, depth)
	}
	return g.reduced(pick(g.r, ops...), a, from, e, depth)
}

// reduced is a reduction over one axis, or over two.
func (g *generator) reduced(op lang.Op, a *axis, from, to elem, depth int) value {
	frame := g.frame
	if !slices.Contains(frame, a) {
		if len(frame) >= widest {
			frame = frame[:widest-1]
		}
		frame = append(slices.Clone(frame), a)
	}
	x := g.within(frame, func() value { return g.along(g.expr(from, depth-1), a) })
	over := []*axis{a}
	for _, b := range x.axes {
		if b != a && (b.kind == wholeAxis || b.kind == loopAxis && !b.choices) && op.Row().Rule != lang.RuleArg && g.chance(15) {
			over = append(over, b)
			break
		}
	}
	g.work(x.axes)
	return value{fmt.Sprintf("%s(%s, %s)", op.Row().Spelling, x.text, overText(over)), to, without(x.axes, over)}
}

func overText(over []*axis) string {
	names := make([]string, len(over))
	for i, a := range over {
		names[i] = a.name
	}
	if len(names) == 1 {
		return "over " + names[0]
	}
	return "over (" + strings.Join(names, ", ") + ")"
}

func without(axes, drop []*axis) []*axis {
	var out []*axis
	for _, a := range axes {
		if !slices.Contains(drop, a) {
			out = append(out, a)
		}
	}
	return out
}

// along makes a value have an axis.
func (g *generator) along(v value, a *axis) value {
	if v.has(a) {
		return v
	}
	x := g.load(v.e, []*axis{a})
	op := lang.OpAdd
	if v.e.d == lang.Bool {
		op = pick(g.r, logical[:2]...)
	} else if g.chance(50) {
		op = lang.OpMul
	}
	r := value{apply(op, v.text, x.text), v.e, union(v, x)}
	g.work(r.axes)
	return r
}

// contraction is a dot or mma; e is the accumulator.
func (g *generator) contraction(e elem, depth int) value {
	k := g.reducible()
	if k == nil {
		return g.leaf(e)
	}
	var from []elem
	for _, d := range []lang.DType{lang.F16, lang.BF16, lang.F32, lang.F64, lang.I8, lang.U8, lang.I16, lang.I32, lang.I64, lang.F4E2M1, lang.F8E4M3} {
		if d.Accumulator() == e.d {
			from = append(from, concrete(d))
		}
	}
	if g.generic != nil && g.generic.d.IsFloat() && e.d == lang.F32 {
		from = append(from, *g.generic)
	}
	if len(from) == 0 {
		return g.leaf(e)
	}
	f := pick(g.r, from...)
	// Each operand is over k and some axes of the frame, mostly of its own.
	var left, right []*axis
	for i, a := range without(g.frame, []*axis{k}) {
		if i >= 2 {
			break
		}
		switch g.r.IntN(8) {
		case 0:
			left, right = append(left, a), append(right, a)
		case 1, 2, 3:
			left = append(left, a)
		default:
			right = append(right, a)
		}
	}
	side := func(axes []*axis) value {
		axes = append(slices.Clone(axes), k)
		if g.chance(60) {
			return g.load(f, g.shuffled(axes))
		}
		return g.within(axes, func() value { return g.along(g.expr(f, min(depth-1, 2)), k) })
	}
	a, b := side(left), side(right)
	axes := without(union(a, b), []*axis{k})
	g.work(append(slices.Clone(axes), k))
	if g.chance(30) && !slices.Contains(g.storedAlong, k) {
		acc := value{g.zeros(e, axes), e, axes}
		if len(axes) > 0 && g.chance(50) {
			x := g.within(axes, func() value { return g.expr(e, depth-2) })
			acc = value{"(" + acc.text + " + " + x.text + ")", e, axes}
		}
		g.contracted = append(g.contracted, k)
		return value{fmt.Sprintf("mma(%s, %s, %s)", a.text, b.text, acc.text), e, axes}
	}
	if g.chance(20) {
		return value{fmt.Sprintf("sum(%s * %s, over %s)", a.text, b.text, k.name), e, axes}
	}
	return value{fmt.Sprintf("dot(%s, %s, over %s)", a.text, b.text, k.name), e, axes}
}

func (g *generator) shuffled(axes []*axis) []*axis {
	out := slices.Clone(axes)
	g.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// zeros is a tile of zeros, or another constant, over axes.
func (g *generator) zeros(e elem, axes []*axis) string {
	args := []string{e.name}
	for _, a := range axes {
		args = append(args, a.name)
	}
	return pick(g.r, "zeros", "zeros", "ones") + "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) callHelper(e elem, depth int) value {
	if len(g.helpers) == 0 {
		return g.leaf(e)
	}
	h := pick(g.r, g.helpers...)
	switch {
	case h.kind == "float" && !e.d.IsFloat(), h.kind == "int" && e.d.IsFloat(), h.kind == "narrow" && (!e.d.IsFloat() || e.d == lang.F64):
		return g.leaf(e)
	case h.kind == "axis":
		a := g.reducible()
		if a == nil || !slices.Contains(g.frame, a) {
			return g.leaf(e)
		}
		x := g.along(g.expr(e, depth-1), a)
		g.work(x.axes)
		return value{fmt.Sprintf("%s(%s, %s)", h.name, x.text, a.name), e, x.axes}
	}
	args, texts := make([]value, h.params), make([]string, h.params)
	for i := range args {
		args[i] = g.expr(e, depth-1)
		texts[i] = args[i].text
	}
	g.work(union(args...))
	// A fn may leave an argument out, and with it that argument's axes; adding it brings them back.
	text := fmt.Sprintf("%s(%s%s)", h.name, strings.Join(texts, ", "), h.more)
	if h.more == "" && g.chance(20) {
		text = g.handed(h, texts)
	}
	return g.spread(value{text, e, nil}, union(args...))
}

// handed calls a helper by way of a fn that is given it, by name or inside a lambda.
func (g *generator) handed(h helper, args []string) string {
	names := []string{"la", "lb"}[:h.params]
	list := strings.Join(names, ", ")
	by := fmt.Sprintf("with%d", h.params)
	if fn := fmt.Sprintf("fn %s(lf, %s) = lf(%s)", by, list, list); !slices.Contains(g.fns, fn) {
		g.fns = append(g.fns, fn)
	}
	given := h.name
	if g.chance(50) {
		given = fmt.Sprintf("(%s) => %s(%s)", list, h.name, list)
	}
	return fmt.Sprintf("%s(%s, %s)", by, given, strings.Join(args, ", "))
}

// spread makes a value of which only the largest set of axes is known be over exactly these.
func (g *generator) spread(v value, axes []*axis) value {
	if len(axes) == 0 {
		return v
	}
	return value{"(" + v.text + " + " + g.zeros(v.e, axes) + ")", v.e, axes}
}
