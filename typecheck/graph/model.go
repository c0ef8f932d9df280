package graph

import (
	"slices"

	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/size"
	"tilec/typecheck/typed"
)

// This file checks that a graph marked @generate or @logits can be run as a
// language model: `forward(tokens: i32[B, S], start: i32[B], inout cache: ..., w: Weights) -> logits: f32[B, V]`.

// modelMarks checks the marks of a graph that is a language model.
func modelMarks(s *rules.Signature, g *typed.Graph, d *lang.GraphDecl) {
	for _, a := range d.Attrs {
		switch {
		case a.Name.Name == "generate" && g.Generate:
			oneModel(s.Checker, g, "@generate", a.Place, func(g *typed.Graph) bool { return g.Generate })
		case a.Name.Name == "logits" && g.Logits:
			oneModel(s.Checker, g, "@logits", a.Place, func(g *typed.Graph) bool { return g.Logits })
		default:
			continue
		}
		if s.OK {
			modelSignature(s.Checker, g, "@"+a.Name.Name, a.Place)
		}
	}
}

// modelSignature reports what keeps a marked graph from being a language model.
func modelSignature(c *rules.Checker, g *typed.Graph, mark string, at lang.Span) {
	wrong := func(place lang.Span, format string, args ...any) report.Draft {
		return c.Errorf(lang.ErrAttribute, place, format, args...).LabelAt(at, "marked here")
	}
	var tokens, start *typed.GParam
	for _, p := range g.Params {
		t := p.Type
		inConfig := g.ConfigRow(p.Name) != nil
		switch {
		case p.Mode == lang.InOut, t.Kind == typed.GStruct:
		case t.Kind == typed.GTensor && t.DType == typed.Concrete(lang.I32):
			switch to, what := &tokens, "the tokens"; {
			case len(t.Shape) != 1 && len(t.Shape) != 2 || slices.ContainsFunc(t.Shape, func(n size.Size) bool { return n.Symbol() == nil }):
				wrong(p.At, "%s of %s is %s: the tokens are i32[B, S], sequences by positions, and where each sequence begins is i32[B]", p.Name, mark, t)
				return
			default:
				if len(t.Shape) == 1 {
					to, what = &start, "the positions of the first tokens"
				}
				if *to != nil {
					wrong(p.At, "%s has two tensors %s, and one is %s", mark, t, what).LabelAt((*to).At, "%s", what).
						Help("make the other a field of the struct of weights, or `inout` when it is state")
				}
				*to = p
			}
		case t.Kind == typed.GScalar && (inConfig || p.Default != nil):
		case t.Kind == typed.GScalar && mark == "@logits": // the @config of the graph marked @generate holds for both
		case t.Kind == typed.GScalar:
			wrong(p.At, "nothing tells the value of %s", p.Name).Help("name its key of config.json in `@config(%s = \"...\")`, or give it a default", p.Name)
		default:
			wrong(p.At, "nothing fills %s, which is %s", p.Name, t).Help("make it a field of the struct of weights, or `inout` when it is state")
		}
	}
	switch {
	case tokens == nil:
		wrong(g.Decl.Name.Place, "%s needs a parameter `tokens: i32[B, S]`, and %s has none", mark, g.Name)
		return
	case start == nil:
		wrong(g.Decl.Name.Place, "%s needs a parameter `start: i32[B]`, the positions of the first tokens, and %s has none", mark, g.Name)
	case !start.Type.Shape[0].Equal(tokens.Type.Shape[0]):
		wrong(start.At, "%s has a position for each of %s sequences, and the tokens are those of %s", mark, start.Type.Shape[0], tokens.Type.Shape[0]).LabelAt(tokens.At, "the tokens")
	}
	if len(g.Outputs) != 1 {
		wrong(g.Decl.Name.Place, "%s gives one tensor of logits, and %s has %s", mark, g.Name, report.Plural(len(g.Outputs), "output"))
		return
	}
	out := g.Outputs[0]
	lead := tokens.Type.Shape[:1]
	want := "[" + lead[0].String() + ", V]"
	if mark == "@logits" {
		lead = tokens.Type.Shape
		want = "[" + lead[0].String() + ", " + lead[1].String() + ", V]"
	}
	fits := len(out.Type.Shape) == len(lead)+1
	for i := 0; fits && i < len(lead); i++ {
		fits = out.Type.Shape[i].Equal(lead[i])
	}
	inF32 := out.Type.DType == typed.Concrete(lang.F32)
	if mark == "@logits" && !inF32 {
		inF32 = ownType(g, out.Type.DType.Param)
		want += ", or of a type parameter that nothing else has and that allows f32"
	}
	if !fits || !inF32 {
		wrong(out.At, "the logits of %s are %s, and must be f32%s", mark, out.Type, want).LabelAt(tokens.At, "the tokens are %s", tokens.Type)
	}
}

// ownType says whether what has a type parameter can be f32 whatever the graph computes in: no parameter of the graph has the type.
func ownType(g *typed.Graph, of *typed.TypeParam) bool {
	if of == nil || !of.Accepts(lang.F32) {
		return false
	}
	own := true
	for _, p := range g.Params {
		p.Type.Walk(func(t typed.GType) { own = own && t.DType.Param != of })
	}
	return own
}

// oneModel reports a second graph of one mark.
func oneModel(c *rules.Checker, g *typed.Graph, mark string, at lang.Span, marked func(*typed.Graph) bool) {
	for _, other := range c.Program.Graphs {
		if other != g && marked(other) {
			c.Errorf(lang.ErrAttribute, at, "two graphs are marked %s, %s and %s: a model has one", mark, other.Name, g.Name).LabelAt(other.Decl.Name.Place, "the other")
			return
		}
	}
}
