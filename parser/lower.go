package parser

import (
	"github.com/alecthomas/participle/v2/lexer"

	"tilec/lang"
)

// at is the place of the tokens of a node.
func (g *grammar) at(e extent) lang.At {
	if len(e.Tokens) == 0 {
		return lang.At{Place: g.span(0, 0)}
	}
	return lang.At{Place: g.span(e.Tokens[0].Pos.Offset, endOf(&e.Tokens[len(e.Tokens)-1]))}
}

// lower adds a declaration to the module.
func (g *grammar) lower(d *declaration, mod *lang.Module) {
	head := lang.Head{At: g.at(d.extent), Doc: g.doc(d.Tokens)}
	for _, a := range d.Attrs {
		head.Attrs = append(head.Attrs, g.lowerAttr(a))
	}
	named := func(n ident) lang.Head {
		head.Name = g.lowerIdent(n)
		return head
	}
	var decl lang.Decl
	switch {
	case d.Import != nil:
		path := unquote(d.Import.Path.Value)
		if path == "" && d.Import.Path.Value != `""` { // a string that does not end: which file was meant, nobody knows
			g.losses = append(g.losses, loss{offset: head.Place.Start})
			return
		}
		mod.Imports = append(mod.Imports, &lang.Import{At: head.At, Path: path})
		return
	case d.Const != nil:
		decl = &lang.ConstDecl{Head: named(d.Const.Name), Value: d.Const.Value}
	case d.Fn != nil:
		decl = g.lowerFn(d.Fn, named(d.Fn.Name))
	case d.Kernel != nil:
		decl = g.lowerKernel(d.Kernel, named(d.Kernel.Name))
	case d.Struct != nil:
		decl = g.lowerStruct(d.Struct, named(d.Struct.Name))
	case d.Graph != nil:
		k := d.Graph
		gd := &lang.GraphDecl{Head: named(k.Name), Generics: g.lowerGenerics(k.Generics), Params: g.lowerParams(k.Params, lang.In),
			Outputs: g.lowerOutputs(k.Outputs), Body: k.Body.(*lang.Block)}
		g.checkBindings(outputsOf(gd.Params, gd.Outputs)...)
		decl = gd
	case d.Test != nil:
		head.Name = lang.Ident{At: lang.At{Place: g.spanOf(&d.Test.Name)}, Name: unquote(d.Test.Name.Value)}
		g.checkBindings()
		decl = &lang.TestDecl{Head: head, Body: d.Test.Body.(*lang.Block)}
	}
	mod.Decls = append(mod.Decls, decl)
}

// doc is the `///` text above the first of the tokens, or above the word
// behind the attributes.
func (g *grammar) doc(tokens []lexer.Token) string {
	for i := range tokens {
		t := &tokens[i]
		if text, ok := g.docs[t.Pos.Offset]; ok && t.Type != kindNewline {
			return text
		}
		if beginsDecl(t, t) || is(t, "test") {
			break
		}
	}
	return ""
}

func (g *grammar) lowerFn(d *fnDecl, head lang.Head) *lang.FnDecl {
	fn := &lang.FnDecl{Head: head, Generics: g.lowerGenerics(d.Generics), Params: g.lowerParams(d.Params, lang.In), Result: g.lowerType(d.Result), Body: d.Value}
	if d.Body != nil {
		fn.Body = d.Body
	}
	g.checkBindings()
	return fn
}

func (g *grammar) lowerKernel(d *kernelDecl, head lang.Head) *lang.KernelDecl {
	k := &lang.KernelDecl{Head: head, Generics: g.lowerGenerics(d.Generics), Params: g.lowerParams(d.Params, lang.In),
		Outputs: g.lowerOutputs(d.Outputs), Body: d.Body.(*lang.Block)}
	for _, c := range d.Clauses {
		for _, t := range c.Tune {
			k.Tunes = append(k.Tunes, g.lowerTune(t))
		}
		if c.Grid != nil && k.Grid != nil {
			g.report(g.failAt(lang.ErrSyntax, g.at(c.extent).Place, "a second `grid` in one kernel", "name all axes in one: `grid i in M, j in N`"), k.Place.Start)
			continue
		}
		for _, a := range c.Grid {
			k.Grid = append(k.Grid, g.lowerAxis(a))
		}
	}
	g.checkBindings(outputsOf(k.Params, k.Outputs)...)
	return k
}

// outputsOf is everything that a body may assign.
func outputsOf(params, outputs []*lang.Param) []*lang.Param {
	all := append([]*lang.Param(nil), outputs...)
	for _, p := range params {
		if p.Mode != lang.In {
			all = append(all, p)
		}
	}
	return all
}

func (g *grammar) lowerStruct(d *structDecl, head lang.Head) *lang.StructDecl {
	s := &lang.StructDecl{Head: head, Generics: g.lowerGenerics(d.Generics)}
	for _, f := range d.Fields {
		low := &lang.Field{At: g.at(f.extent), Doc: g.docs[f.Tokens[0].Pos.Offset], Name: g.lowerIdent(f.Name), Type: g.lowerType(f.Type)}
		for _, a := range f.Attrs {
			low.Attrs = append(low.Attrs, g.lowerAttr(a))
		}
		s.Fields = append(s.Fields, low)
	}
	return s
}

func (g *grammar) lowerIdent(n ident) lang.Ident {
	return lang.Ident{At: lang.At{Place: g.spanOf(&n.Token)}, Name: n.Token.Value}
}

func (g *grammar) lowerIdents(names []*ident) []lang.Ident {
	var out []lang.Ident
	for _, n := range names {
		out = append(out, g.lowerIdent(*n))
	}
	return out
}

func (g *grammar) lowerAttr(a *attribute) *lang.Attr {
	low := &lang.Attr{At: g.at(a.extent), Name: g.lowerIdent(a.Name)}
	if list, ok := a.Args.(*argumentList); ok {
		low.Args = list.args
		for _, axis := range list.over {
			g.report(g.failAt(lang.ErrSyntax, axis.Place, "`over` cannot stand in an attribute", ""), a.Tokens[0].Pos.Offset)
		}
	}
	return low
}

func (g *grammar) lowerGenerics(in []*generic) []*lang.Generic {
	var out []*lang.Generic
	for _, p := range in {
		low := &lang.Generic{At: g.at(p.extent), Name: g.lowerIdent(p.Name), IsConst: p.Const != "", Bound: g.lowerIdent(p.Bound)}
		if p.Default != nil {
			low.Default = p.Default
			if !low.IsConst {
				g.report(g.failAt(lang.ErrSyntax, p.Default.Span(), "an element type parameter has no default", "only `const` parameters have one"), p.Default.Span().Start)
			}
		}
		out = append(out, low)
	}
	return out
}

func (g *grammar) lowerParams(in []*param, mode lang.ParamMode) []*lang.Param {
	var out []*lang.Param
	for _, p := range in {
		low := &lang.Param{At: g.at(p.extent), Mode: mode, IsAxis: p.Axis != "", Name: g.lowerIdent(p.Name), Type: g.lowerType(p.Type), Default: p.Default}
		switch p.Mode {
		case "out":
			low.Mode = lang.Out
		case "inout":
			low.Mode = lang.InOut
		}
		out = append(out, low)
	}
	return out
}

func (g *grammar) lowerOutputs(o *outputs) []*lang.Param {
	if o == nil {
		return nil
	}
	return g.lowerParams(o.Params, lang.Out)
}

func (g *grammar) lowerType(t *typeExpr) *lang.TypeExpr {
	if t == nil {
		return nil
	}
	low := &lang.TypeExpr{At: g.at(t.extent), Count: t.Count, Name: g.lowerIdent(t.Name)}
	for _, a := range t.Args {
		low.Args = append(low.Args, g.lowerType(a))
	}
	if t.Shape != nil {
		low.HasShape, low.Shape = true, t.Shape.Dims
	}
	return low
}

func (g *grammar) lowerTune(t *tune) *lang.Tune {
	low := &lang.Tune{At: g.at(t.extent), Name: g.lowerIdent(t.Name), Choices: t.Choices}
	if t.Fixed != nil {
		low.Choices, low.Fixed = []lang.Expr{t.Fixed}, true
	}
	return low
}

// lowerAxis takes the sub-range of `k in K[lo .. hi]` from the index that it was parsed as.
func (g *grammar) lowerAxis(a *axisClause) *lang.AxisClause {
	low := &lang.AxisClause{At: g.at(a.extent), Name: g.lowerIdent(a.Name), Over: a.Over, By: a.By}
	if ix, ok := a.Over.(*lang.IndexExpr); ok && len(ix.Indices) == 1 && ix.Else == nil {
		if r, ok := ix.Indices[0].(*lang.RangeExpr); ok {
			low.Over, low.Range = ix.X, r
		}
	}
	return low
}
