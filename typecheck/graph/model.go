package graph

import (
	"tilec/lang"
	"tilec/typecheck/report"
	"tilec/typecheck/rules"
	"tilec/typecheck/typed"
)

// This file checks that a graph marked @generate or @logits can be run as a
// language model: `forward(tokens: i32[B, S], start: i32, inout cache: ..., w: Weights) -> logits: f32[B, V]`.

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
		_, inConfig := g.Config[p.Name]
		switch {
		case p.Mode == lang.InOut, t.Kind == typed.GStruct:
		case t.Kind == typed.GTensor && t.DType == typed.Concrete(lang.I32):
			switch {
			case tokens != nil:
				wrong(p.At, "%s has two integer tensors, and one is the tokens", mark).LabelAt(tokens.At, "the tokens").
					Help("make the other a field of the struct of weights, or `inout` when it is state")
			case len(t.Shape) != 2 || t.Shape[0].Symbol() == nil || t.Shape[1].Symbol() == nil:
				wrong(p.At, "the tokens of %s are %s, and must be i32[B, S]: sequences by positions", mark, t)
				return
			default:
				tokens = p
			}
		case t.Kind == typed.GScalar && (inConfig || p.Default != nil):
		case t.Kind == typed.GScalar && t.DType == typed.Concrete(lang.I32):
			if start != nil && mark != "@logits" {
				wrong(p.At, "nothing tells which of %s and %s is the position of the first token", start.Name, p.Name).LabelAt(start.At, "the other").
					Help("name the one that is not in `@config(%s = \"...\")`, or give it a default", p.Name)
			}
			start = p
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
		wrong(g.Decl.Name.Place, "%s needs a parameter `start: i32`, the position of the first token, and %s has none", mark, g.Name)
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
	if !fits || out.Type.DType != typed.Concrete(lang.F32) {
		wrong(out.At, "the logits of %s are %s, and must be f32%s", mark, out.Type, want).LabelAt(tokens.At, "the tokens are %s", tokens.Type)
	}
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
