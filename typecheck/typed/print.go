package typed

import (
	"fmt"
	"io"
	"strings"

	"tilec/lang"
	"tilec/typecheck/size"
)

// Write writes a typed program for people to read: every expression with
// its operation, every binding with its element type and axes.
func Write(w io.Writer, p *Program) error {
	_, err := io.WriteString(w, Listing(p).String())
	return err
}

// Listing is what Write writes, with the place in the source of each line that has one.
func Listing(p *Program) lang.Listing {
	out := &printer{}
	for _, s := range p.Structs {
		if s.Decl != nil { // a test's program has no declarations
			out.at = s.Decl.Name.Span()
		}
		out.line("struct %s {", s.Name)
		for _, f := range s.Fields {
			out.line("  %s: %s", f.Name, f.Type)
		}
		out.line("}")
	}
	for _, k := range p.Kernels {
		out.kernel(k)
	}
	for _, g := range p.Graphs {
		out.graph(g)
	}
	for _, t := range p.Tests {
		if t.Decl != nil {
			out.at = t.Decl.Span()
		}
		out.line("test %q {", t.Name)
		out.graphBody(t.Graph.Body, nil)
		out.line("}")
	}
	return out.listing()
}

// KernelListing is the part of Listing that is of a kernel.
func KernelListing(k *Kernel) lang.Listing {
	out := &printer{}
	out.kernel(k)
	return out.listing()
}

// GraphListing is the part of Listing that is of a graph.
func GraphListing(g *Graph) lang.Listing {
	out := &printer{}
	out.graph(g)
	return out.listing()
}

type printer struct {
	out   strings.Builder
	depth int
	// at is where the lines come from that are printed now, places where each line does.
	at     lang.Span
	places []lang.Span
}

func (p *printer) listing() lang.Listing { return lang.NewListing(p.out.String(), p.places) }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(&p.out, "%s%s\n", strings.Repeat("  ", p.depth), fmt.Sprintf(format, args...))
	p.places = append(p.places, p.at)
}

func genericsText(types []*TypeParam, consts []*size.Symbol) string {
	var words []string
	for _, t := range types {
		words = append(words, t.Name+": "+t.Bound)
	}
	for _, c := range consts {
		words = append(words, "const "+c.Name+": "+c.DType.String())
	}
	if len(words) == 0 {
		return ""
	}
	return "<" + strings.Join(words, ", ") + ">"
}

func (p *printer) kernel(k *Kernel) {
	var params, outs []string
	for _, x := range k.Params {
		params = append(params, paramText(x))
	}
	for _, x := range k.Outputs {
		outs = append(outs, paramText(x))
	}
	if k.Decl != nil {
		p.at = k.Decl.Name.Span()
	}
	p.line("kernel %s%s(%s) -> %s {", k.Name, genericsText(k.TypeParams, k.Consts), strings.Join(params, ", "), strings.Join(outs, ", "))
	head := p.at
	p.depth++
	for i, part := range k.Launches() {
		p.at = head
		if i > 0 {
			p.line("then")
		}
		for _, a := range part.Axes {
			p.at = a.At
			p.line("%s", axisLine(a))
		}
		p.body(part.Body)
	}
	p.depth--
	p.at = head
	p.line("}")
}

func paramText(x *Param) string {
	text := x.Name + ": "
	if x.Mode == lang.InOut {
		text = "inout " + text
	}
	if x.IsTensor {
		return text + ShapeText(x.DType, x.Shape)
	}
	return text + x.DType.String()
}

func axisLine(a *Axis) string {
	text := [...]string{"grid", "loop", "axis"}[a.Kind] + " " + a.Name + " in " + AxisText(a)
	switch {
	case a.Scalar:
		text = "grid " + a.Name + " in " + a.Over() + ", one by one"
	case a.Tile != "":
		text += " by " + a.Tile
	}
	if len(a.Choices) > 0 {
		text += fmt.Sprint(" of ", a.Choices)
	}
	if a.Span > 0 {
		text += fmt.Sprint(" span ", a.Span)
	}
	if a.Extent > 0 && !a.Given() {
		text += fmt.Sprint(" extent ", a.Extent)
	}
	return text
}

func (p *printer) body(b *Body) {
	if b == nil {
		return
	}
	around := p.at
	defer func() { p.at = around }()
	for _, s := range b.Stmts {
		p.at = placeOf(s)
		switch s := s.(type) {
		case *Let:
			names := make([]string, len(s.Locals))
			for i, l := range s.Locals {
				names[i] = "_"
				if l != nil {
					names[i] = l.Name + ": " + l.Type.String()
				}
			}
			p.value("let "+strings.Join(names, ", ")+" = ", s.Value)
		case *Store:
			head := accessText(s.Param, s.Indices, s.Checked)
			if s.Op != lang.OpStore {
				head = s.Op.String() + " " + head
				for _, word := range []string{s.Order, s.Scope} {
					if word != "" {
						head += " " + word
					}
				}
				if s.Old != nil {
					head = "let " + s.Old.Name + ": " + s.Old.Type.String() + " = " + head
				}
			}
			if s.New != nil {
				head += " from " + exprText(s.New)
			}
			if s.Else != nil {
				head += " else " + exprText(s.Else)
			}
			p.value(head+" = ", s.Value)
		case *Print:
			p.line("print %q%s", s.Text, argsText(s.Args))
		case *Assert:
			head := "assert "
			if s.Debug {
				head = "debug assert "
			}
			p.line("%s%s, %q%s", head, exprText(s.Cond), s.Text, argsText(s.Args))
		case *StaticAssert:
			p.line("static_assert %s, %q", exprText(s.Cond), s.Text)
		case *Do:
			p.value("", s.X)
		default:
			panic(Unknown(s))
		}
	}
	for _, r := range b.Results {
		p.at = spanOf(r)
		p.value("=> ", r)
	}
}

// spanOf is the place of an expression; the zero Span of none.
func spanOf(e interface{ Span() lang.Span }) lang.Span {
	if e == nil {
		return lang.Span{}
	}
	return e.Span()
}

// placeOf is the place of a statement in the source.
func placeOf(s Stmt) lang.Span {
	switch s := s.(type) {
	case *Let:
		return s.At
	case *Store:
		return s.At
	case *Print:
		return s.At
	case *Assert:
		return s.At
	case *StaticAssert:
		return s.At
	case *Do:
		return spanOf(s.X)
	}
	panic(Unknown(s))
}

func argsText(xs []Expr) string {
	text := ""
	for _, x := range xs {
		text += ", " + exprText(x)
	}
	return text
}

// value prints an expression behind a head; those with blocks take lines of their own.
func (p *printer) value(head string, e Expr) {
	switch e := e.(type) {
	case *For:
		p.line("%s%s {", head, loopText(e))
		p.nested(e.Body)
		p.line("}")
	case *If:
		p.line("%sif %s {", head, exprText(e.Cond))
		p.nested(e.Then)
		if e.Else != nil && len(e.Else.Stmts)+len(e.Else.Results) > 0 {
			p.line("} else {")
			p.nested(e.Else)
		}
		p.line("}")
	case *Inline:
		p.line("%sinline {", head)
		p.nested(e.Body)
		p.line("}")
	default:
		p.line("%s%s", head, exprText(e))
	}
}

// loopText is the header of a loop.
func loopText(e *For) string {
	var carried, init []string
	for _, c := range e.Carried {
		carried = append(carried, c.Name+": "+c.Type.String())
	}
	for _, x := range e.Init {
		init = append(init, exprText(x))
	}
	name := ""
	if e.Axis != nil {
		name = e.Axis.Name
	} else if e.Index != nil {
		name = e.Index.Name
	}
	text := fmt.Sprintf("for %s in %s .. %s", name, exprText(e.Lo), exprText(e.Hi))
	if len(carried) > 0 {
		text += " with " + strings.Join(carried, ", ") + " = " + strings.Join(init, ", ")
	}
	return text
}

func (p *printer) nested(b *Body) {
	p.depth++
	p.body(b)
	p.depth--
}

func accessText(param *Param, indices []Expr, checked []bool) string {
	words := make([]string, len(indices))
	for i, x := range indices {
		words[i] = exprText(x)
		if i < len(checked) && checked[i] {
			words[i] += "?"
		}
	}
	name := param.Name
	if param.Of != nil {
		name = param.viewText()
	}
	return name + "[" + strings.Join(words, ", ") + "]"
}

// exprText is an expression on one line; `?` marks an index that may lie outside.
func exprText(e Expr) string {
	switch e := e.(type) {
	case nil:
		return "nothing"
	case *Const:
		switch {
		case e.Type.DType == Concrete(lang.Bool):
			return fmt.Sprint(e.Int != 0)
		case IsFloat(e.Type.DType):
			return fmt.Sprintf("%v:%s", e.Float, e.Type.DType)
		}
		return fmt.Sprintf("%d:%s", e.Int, e.Type.DType)
	case *SizeExpr:
		return e.Size.String()
	case *ConstRef:
		return e.Symbol.Name
	case *ScalarRef:
		return e.Param.Name
	case *LocalRef:
		return e.Local.Name
	case *Apply:
		var args []string
		for _, a := range e.Args {
			args = append(args, exprText(a))
		}
		switch {
		case e.Op == lang.OpCast:
			return args[0] + " as " + e.Type.DType.String()
		case e.Op == lang.OpBitcast:
			args = append(args, e.Type.DType.String())
		case e.From != nil:
			args = append(args, e.From.Name+" -> "+e.Axis.Name)
		case e.Axis != nil:
			args = append(args, e.Axis.Name)
		}
		for _, a := range e.Axes {
			args = append(args, a.Name)
		}
		if len(e.Over) > 0 {
			args = append(args, "over "+AxisNames(e.Over))
		}
		return e.Op.String() + "(" + strings.Join(args, ", ") + ")"
	case *Sort:
		text := e.Op.String() + exprsText(e.Args)
		if e.Into != nil {
			text += " into " + e.Into.Name
		}
		text += " over " + e.Over.Name
		if e.Descending != nil {
			text += " descending " + exprText(e.Descending)
		}
		return text
	case *Load:
		text := accessText(e.Param, e.Indices, e.Checked)
		if e.Else != nil {
			text += " else " + exprText(e.Else)
		}
		return text
	case *Take:
		words := make([]string, len(e.Axes))
		for i, a := range e.Axes {
			words[i] = a.Name + " = " + exprText(e.Positions[i])
			if e.Checked[i] {
				words[i] += "?"
			}
		}
		text := exprText(e.X) + "[" + strings.Join(words, ", ") + "]"
		if e.Else != nil {
			text += " else " + exprText(e.Else)
		}
		return text
	case *Combine:
		text := e.Op.String() + exprsText(e.Args) + " over " + AxisNames(e.Over)
		if e.Reverse != nil {
			text += " reverse " + exprText(e.Reverse)
		}
		if e.Fn == nil {
			return text
		}
		names := make([]string, len(e.Params))
		for i, p := range e.Params {
			names[i] = p.Name
		}
		return text + " from " + exprsText(e.Identity) + " (" + strings.Join(names, ", ") + ") => { " + flat(e.Fn) + " }"
	case *Tuple:
		return exprsText(e.Elems)
	case *Inline:
		if len(e.Body.Stmts) == 0 && len(e.Body.Results) == 1 {
			return exprText(e.Body.Results[0])
		}
		return "{ " + flat(e.Body) + " }"
	case *If:
		return "if " + exprText(e.Cond) + " { " + flat(e.Then) + " } else { " + flat(e.Else) + " }"
	case *For:
		return loopText(e) + " { " + flat(e.Body) + " }"
	}
	panic(Unknown(e))
}

func exprsText(xs []Expr) string {
	words := make([]string, len(xs))
	for i, x := range xs {
		words[i] = exprText(x)
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// flat is a body on one line.
func flat(b *Body) string {
	p := &printer{}
	p.body(b)
	return strings.Join(strings.Fields(p.out.String()), " ")
}

func (p *printer) graph(g *Graph) {
	var params, outs []string
	for _, x := range g.Params {
		text := x.Name + ": " + x.Type.String()
		if x.Mode == lang.InOut {
			text = "inout " + text
		}
		params = append(params, text)
	}
	for _, x := range g.Outputs {
		outs = append(outs, x.Name+": "+x.Type.String())
	}
	if g.Decl != nil {
		p.at = g.Decl.Name.Span()
	}
	p.line("graph %s%s(%s) -> %s {", g.Name, genericsText(g.TypeParams, g.Consts), strings.Join(params, ", "), strings.Join(outs, ", "))
	p.graphBody(g.Body, nil)
	p.line("}")
}

func (p *printer) graphBody(stmts []GStmt, results []GExpr) {
	p.depth++
	around := p.at
	defer func() { p.at = around }()
	for _, s := range stmts {
		p.at = graphPlaceOf(s)
		switch s := s.(type) {
		case *GLet:
			names := make([]string, len(s.Locals))
			for i, l := range s.Locals {
				names[i] = "_"
				if l != nil {
					names[i] = l.Name + ": " + l.Type.String()
				}
			}
			p.graphValue("let "+strings.Join(names, ", ")+" = ", s.Value)
		case *GAssign:
			p.graphValue(s.Output.Name+" = ", s.Value)
		case *GDo:
			p.graphValue("", s.X)
		case *GCheck:
			if s.B == nil {
				p.graphValue("check ", s.A)
			} else {
				p.line("check %s ~ %s, abs %g, rel %g, ulps %g", graphText(s.A), graphText(s.B), s.Abs, s.Rel, s.Ulps)
			}
		default:
			panic(Unknown(s))
		}
	}
	for _, r := range results {
		p.at = spanOf(r)
		p.graphValue("=> ", r)
	}
	p.depth--
}

// graphPlaceOf is the place of a graph's statement in the source.
func graphPlaceOf(s GStmt) lang.Span {
	switch s := s.(type) {
	case *GLet:
		return s.At
	case *GAssign:
		return s.At
	case *GDo:
		return spanOf(s.X)
	case *GCheck:
		return spanOf(s.A)
	}
	panic(Unknown(s))
}

func (p *printer) graphValue(head string, e GExpr) {
	loop, ok := e.(*GFor)
	if !ok {
		p.line("%s%s", head, graphText(e))
		return
	}
	over := ""
	if loop.Over != nil {
		over = graphText(loop.Over)
	} else {
		over = graphText(loop.Lo) + " .. " + graphText(loop.Hi)
	}
	var carried []string
	for i, c := range loop.Carried {
		if c != nil {
			carried = append(carried, c.Name+": "+c.Type.String()+" = "+graphText(loop.Init[i]))
		}
	}
	name := "_"
	if loop.Var != nil {
		name = loop.Var.Name
	}
	text := head + "for " + name + " in " + over
	if len(carried) > 0 {
		text += " with " + strings.Join(carried, ", ")
	}
	p.line("%s {", text)
	p.graphBody(loop.Body, loop.Results)
	p.line("}")
}

func graphText(e GExpr) string {
	switch e := e.(type) {
	case nil:
		return "default"
	case *GParamRef:
		return e.Param.Name
	case *GLocalRef:
		return e.Local.Name
	case *GFieldOf:
		return graphText(e.X) + "." + e.X.GType().Fields[e.Index].Name
	case *GElem:
		return graphText(e.X) + "[" + graphText(e.Index) + "]"
	case *GRange:
		return graphText(e.X) + "[" + rangeText(e.Lo, e.Hi) + "]"
	case *GView:
		if from := e.X.GType().DType; from != e.Type.DType {
			return "bitcast(" + graphText(e.X) + ", " + e.Type.DType.String() + ")"
		}
		return "view(" + graphText(e.X) + ", " + SizesText(e.Type.Shape) + ")"
	case *GSlice:
		items := make([]string, len(e.Items))
		for i, it := range e.Items {
			switch {
			case it.Index != nil:
				items[i] = graphText(it.Index)
			default:
				items[i] = rangeText(it.Lo, it.Hi)
			}
		}
		return graphText(e.X) + "[" + strings.Join(items, ", ") + "]"
	case *GCall:
		return e.Kernel.Name + graphConsts(e.Kernel.Consts, e.Consts) + graphArgs(e.Args) + " : " + e.Type.String()
	case *GInvoke:
		return e.Graph.Name + graphConsts(e.Graph.Consts, e.Consts) + graphArgs(e.Args) + " : " + e.Type.String()
	case *GConst:
		switch {
		case e.Value.DType == lang.Bool:
			return fmt.Sprint(e.Value.Int != 0)
		case e.Value.DType.IsFloat():
			return fmt.Sprintf("%v:%s", e.Value.Float, e.Value.DType)
		}
		return fmt.Sprintf("%d:%s", e.Value.Int, e.Value.DType)
	case *GSizeOf:
		return e.Size.String()
	case *GConstRef:
		return e.Symbol.Name
	case *GApply:
		if e.Op == lang.OpCast {
			return graphText(e.Args[0]) + " as " + e.Type.DType.String()
		}
		return e.Op.String() + graphArgs(e.Args)
	case *GTupleOf:
		return graphArgs(e.Elems)
	case *GFor:
		return "for " + e.Type.String()
	case *GMake:
		rule := [...]string{"full", "arange", "list"}[e.Rule]
		if e.Value != nil {
			rule += "(" + graphText(e.Value) + ")"
		}
		return rule + " : " + e.Type.String()
	case *GIf:
		flat := func(body GBody) string {
			p := &printer{}
			p.graphBody(body.Stmts, body.Results)
			return strings.Join(strings.Fields(p.out.String()), " ")
		}
		return "if " + graphText(e.Cond) + " { " + flat(e.Then) + " } else { " + flat(e.Else) + " }"
	}
	panic(Unknown(e))
}

func rangeText(lo, hi GExpr) string {
	text := ""
	if lo != nil {
		text = graphText(lo)
	}
	text += ".."
	if hi != nil {
		text += graphText(hi)
	}
	return text
}

// graphConsts are the constant parameters that a call gives: `<C = 4>`.
func graphConsts(consts []*size.Symbol, given map[*size.Symbol]GExpr) string {
	var words []string
	for _, c := range consts {
		if x := given[c]; x != nil {
			words = append(words, c.Name+" = "+graphText(x))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "<" + strings.Join(words, ", ") + ">"
}

func graphArgs(xs []GExpr) string {
	words := make([]string, len(xs))
	for i, x := range xs {
		words[i] = graphText(x)
	}
	return "(" + strings.Join(words, ", ") + ")"
}
